#include "collector/identity/pod_table.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct pod_table {
	pthread_mutex_t lock; /* guards everything below */
	struct pod_record *pods;
	size_t count;
	size_t capacity;
	uint64_t refused;
};

struct pod_table *pod_table_new(void)
{
	struct pod_table *table = mem_zalloc(1, sizeof(*table));

	(void)pthread_mutex_init(&table->lock, NULL);
	return table;
}

static void empty(struct pod_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		pod_record_fini(&table->pods[i]);
	free(table->pods);
	table->pods = NULL;
	table->count = table->capacity = 0;
}

void pod_table_free(struct pod_table *table)
{
	if (!table)
		return;
	empty(table);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct pod_record *find_uid(const struct pod_table *table, struct str uid)
{
	for (size_t i = 0; i < table->count; i++)
		if (str_equals(uid, table->pods[i].uid))
			return &table->pods[i];
	return NULL;
}

static void put(struct pod_table *table, struct pod_record *record)
{
	struct pod_record *old = find_uid(table, str_of(record->uid));

	if (old) {
		pod_record_fini(old);
		*old = *record;
		return;
	}
	if (table->count == POD_TABLE_MAX) {
		table->refused++;
		pod_record_fini(record);
		return;
	}
	if (table->count == table->capacity) {
		table->capacity = table->capacity ? table->capacity * 2 : 16;
		table->pods = mem_resize(table->pods, table->capacity, sizeof(*table->pods));
	}
	table->pods[table->count++] = *record;
}

void pod_table_put(struct pod_table *table, struct pod_record *record)
{
	(void)pthread_mutex_lock(&table->lock);
	put(table, record);
	(void)pthread_mutex_unlock(&table->lock);
	*record = (struct pod_record){ .container_count = 0 };
}

void pod_table_remove(struct pod_table *table, struct str uid)
{
	struct pod_record *record;

	(void)pthread_mutex_lock(&table->lock);
	record = find_uid(table, uid);
	if (record) {
		pod_record_fini(record);
		*record = table->pods[--table->count];
	}
	(void)pthread_mutex_unlock(&table->lock);
}

void pod_table_replace(struct pod_table *table, struct pod_table *from)
{
	(void)pthread_mutex_lock(&table->lock);
	empty(table);
	table->pods = TAKE(from->pods);
	table->count = from->count;
	table->capacity = from->capacity;
	table->refused += from->refused;
	(void)pthread_mutex_unlock(&table->lock);
	from->count = from->capacity = 0;
}

/* ---- asking ---- */

static bool is_asked_for(const struct pod_record *record, const struct pod_question *question)
{
	if (question->uid[0])
		return strcmp(record->uid, question->uid) == 0 ||
		       strcmp(record->static_uid, question->uid) == 0;
	return question->name.length > 0 && str_equals(question->name, record->name.text) &&
	       str_equals(question->pod_namespace, record->pod_namespace.text);
}

static void answer(const struct pod_record *record, const struct pod_question *question,
                   struct pod_facts *out)
{
	const struct pod_container *container =
		pod_record_container(record, question->container_id);

	*out = (struct pod_facts){
		.name = record->name,
		.pod_namespace = record->pod_namespace,
		.app = record->app,
		.owner_kind = record->owner_kind,
		.owner_name = record->owner_name,
	};
	if (container)
		out->container = container->name;
}

bool pod_table_find(struct pod_table *table, const struct pod_question *question,
                    struct pod_facts *out)
{
	bool is_found = false;

	(void)pthread_mutex_lock(&table->lock);
	for (size_t i = 0; i < table->count && !is_found; i++) {
		is_found = is_asked_for(&table->pods[i], question);
		if (is_found)
			answer(&table->pods[i], question, out);
	}
	(void)pthread_mutex_unlock(&table->lock);
	return is_found;
}

struct pod_table_counts pod_table_counts(struct pod_table *table)
{
	struct pod_table_counts counts;

	(void)pthread_mutex_lock(&table->lock);
	counts = (struct pod_table_counts){ table->count, table->refused };
	(void)pthread_mutex_unlock(&table->lock);
	return counts;
}
