#include "profile/path_table.h"

#undef path_table_error /* the function itself */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "profile/intern.h"

#define STEP        UINT32_C(1024) /* entries whose memory is taken from the budget at once */
#define NAME_BYTES  (sizeof(struct str) + 40) /* its place in the map with it */
#define FIRST_SLOTS 1024

_Static_assert(PATH_NONE == ID_MAP_NONE, "ids of names pass through");

struct path_table {
	uint64_t number;
	uint64_t secret;
	struct budget *budget; /* or NULL */
	_Atomic size_t holds;
	_Atomic size_t bytes; /* of the budget, without those of texts */
	_Atomic size_t text_bytes;
	_Atomic uint32_t path_count;
	_Atomic uint32_t name_count;

	pthread_mutex_t lock; /* guards what changes below; columns are read without */
	struct column paths;
	struct column names;
	struct id_map name_ids; /* by hash */
	struct arena *texts;    /* bytes of names */
	uint32_t *slots;        /* paths by (parent, name); 0: empty, as the root is in none */
	uint32_t slot_count;    /* a power of two */
};

static bool charge(struct path_table *table, size_t bytes)
{
	if (table->budget && !budget_take(table->budget, bytes))
		return false;
	atomic_fetch_add_explicit(&table->bytes, bytes, memory_order_relaxed);
	return true;
}

static void discharge(struct path_table *table, size_t bytes)
{
	if (table->budget)
		budget_give(table->budget, bytes);
	atomic_fetch_sub_explicit(&table->bytes, bytes, memory_order_relaxed);
}

struct path_table *path_table_new(uint64_t number, struct budget *budget)
{
	struct path_table *table = mem_zalloc(1, sizeof(*table));
	const struct uuid random = uuid_random();
	bool is_new;

	table->number = number;
	memcpy(&table->secret, random.bytes, sizeof(table->secret));
	table->budget = budget;
	atomic_init(&table->holds, 1);
	(void)pthread_mutex_init(&table->lock, NULL);
	column_init(&table->paths, sizeof(struct path));
	column_init(&table->names, sizeof(struct str));
	table->texts = arena_new(SIZE_MAX, budget);
	*(struct path *)column_add(&table->paths, 0) = (struct path){ .parent = PATH_NONE };
	*(struct str *)column_add(&table->names, 0) = STR("");
	(void)id_map_add(&table->name_ids, hash128_str(table->secret, STR("")), &is_new);
	atomic_init(&table->path_count, 1);
	atomic_init(&table->name_count, 1);
	table->slots = mem_zalloc(FIRST_SLOTS, sizeof(*table->slots));
	table->slot_count = FIRST_SLOTS;
	return table;
}

struct path_table *path_table_hold(struct path_table *table)
{
	atomic_fetch_add_explicit(&table->holds, 1, memory_order_relaxed);
	return table;
}

void path_table_release(struct path_table *table)
{
	if (!table || atomic_fetch_sub_explicit(&table->holds, 1, memory_order_acq_rel) > 1)
		return;
	discharge(table, atomic_load_explicit(&table->bytes, memory_order_relaxed));
	column_fini(&table->paths);
	column_fini(&table->names);
	id_map_fini(&table->name_ids);
	arena_free(table->texts);
	free(table->slots);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
}

uint64_t path_table_number(const struct path_table *table)
{
	return table->number;
}

struct paths path_table_view(const struct path_table *table)
{
	return (struct paths){ column_chunks(&table->paths), column_chunks(&table->names) };
}

size_t path_table_bytes(const struct path_table *table)
{
	return atomic_load_explicit(&table->bytes, memory_order_relaxed) +
	       atomic_load_explicit(&table->text_bytes, memory_order_relaxed);
}

uint32_t path_table_count(const struct path_table *table)
{
	return atomic_load_explicit(&table->path_count, memory_order_acquire);
}

uint32_t path_table_name_count(const struct path_table *table)
{
	return atomic_load_explicit(&table->name_count, memory_order_acquire);
}

void path_table_lock(struct path_table *table)
{
	(void)pthread_mutex_lock(&table->lock);
}

void path_table_unlock(struct path_table *table)
{
	(void)pthread_mutex_unlock(&table->lock);
}

int path_table_error(struct error *err)
{
	return error_set(err, ERROR_UNAVAILABLE,
	                 "memory limit: no room for the functions of these stacks");
}

/* ---- names ---- */

/* Room for an entry behind `count`. */
static bool make_room(struct path_table *table, uint32_t count, size_t entry_bytes)
{
	return count < PATH_COUNT_MAX && (count % STEP != 1 || charge(table, STEP * entry_bytes));
}

uint32_t path_table_add_name(struct path_table *table, struct str name)
{
	const uint32_t count = atomic_load_explicit(&table->name_count, memory_order_relaxed);
	const struct hash128 key = hash128_str(table->secret, name);
	uint32_t id = id_map_find(&table->name_ids, key);
	struct str copy;
	bool is_new;

	if (id != ID_MAP_NONE)
		return id;
	if (!make_room(table, count, NAME_BYTES))
		return PATH_NONE;
	copy = arena_copy(table->texts, name);
	if (!copy.data) {
		if (count % STEP == 1)
			discharge(table, STEP * NAME_BYTES);
		return PATH_NONE;
	}
	atomic_store_explicit(&table->text_bytes, arena_taken(table->texts), memory_order_relaxed);
	id = id_map_add(&table->name_ids, key, &is_new);
	*(struct str *)column_add(&table->names, id) = copy;
	atomic_store_explicit(&table->name_count, count + 1, memory_order_release);
	return id;
}

uint32_t path_table_find_name(struct path_table *table, struct str name)
{
	const struct hash128 key = hash128_str(table->secret, name);
	uint32_t id;

	path_table_lock(table);
	id = id_map_find(&table->name_ids, key);
	path_table_unlock(table);
	return id;
}

/* ---- paths ---- */

/* The slot that holds the path, or the empty one where it belongs. */
static uint32_t *place(const struct path_table *table, struct path path)
{
	const uint32_t mask = table->slot_count - 1;
	uint32_t at = (uint32_t)intern_pair(table->secret, path.parent, path.name).low & mask;

	for (;; at = (at + 1) & mask) {
		const uint32_t id = table->slots[at];
		const struct path *there = COLUMN_AT(&table->paths, struct path, id);

		if (id == 0 || (there->parent == path.parent && there->name == path.name))
			return &table->slots[at];
	}
}

/* Twice as many slots when two thirds are taken. */
static bool make_slots(struct path_table *table, uint32_t path_count)
{
	if ((uint64_t)path_count * 3 <= (uint64_t)table->slot_count * 2)
		return true;
	if (!charge(table, table->slot_count * sizeof(*table->slots)))
		return false;
	free(table->slots);
	table->slot_count *= 2;
	table->slots = mem_zalloc(table->slot_count, sizeof(*table->slots));
	for (uint32_t id = 1; id < path_count; id++)
		*place(table, *COLUMN_AT(&table->paths, struct path, id)) = id;
	return true;
}

uint32_t path_table_add(struct path_table *table, uint32_t parent, uint32_t name)
{
	const uint32_t count = atomic_load_explicit(&table->path_count, memory_order_relaxed);
	const struct path path = { parent, name };
	uint32_t *slot = place(table, path);

	if (*slot != 0)
		return *slot;
	if (!make_slots(table, count) || !make_room(table, count, sizeof(path)))
		return PATH_NONE;
	*(struct path *)column_add(&table->paths, count) = path;
	*place(table, path) = count;
	atomic_store_explicit(&table->path_count, count + 1, memory_order_release);
	return count;
}

static uint32_t find_child(const struct path_table *table, uint32_t parent, struct str name)
{
	const uint32_t id = id_map_find(&table->name_ids, hash128_str(table->secret, name));
	const uint32_t path = id == ID_MAP_NONE ? 0 : *place(table, (struct path){ parent, id });

	return path ? path : PATH_NONE;
}

uint32_t path_table_find(struct path_table *table, const struct str *names, size_t count)
{
	uint32_t path = 0;

	path_table_lock(table);
	for (size_t i = 0; i < count && path != PATH_NONE; i++)
		path = find_child(table, path, names[i]);
	path_table_unlock(table);
	return path;
}
