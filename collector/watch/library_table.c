#include "collector/watch/library_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

struct library_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t changed_ns;
};

struct library {
	struct library_identity identity;
	int descriptor;
	uint32_t owner; /* who brought it: a process, or 0 */
	void *link;     /* NULL: refused */
	size_t functions;
	int64_t mapped_ns; /* when it was last seen mapped */
	int64_t tried_ns;
};

struct library_table {
	struct library_attacher attacher;
	struct library libraries[LIBRARIES_MAX];
	size_t count;
	uint64_t errors;
};

struct library_table *library_table_new(const struct library_attacher *attacher)
{
	struct library_table *table = mem_zalloc(1, sizeof(*table));

	table->attacher = *attacher;
	return table;
}

static int identify(int descriptor, struct library_identity *out, struct error *err)
{
	struct stat status;

	if (fstat(descriptor, &status) < 0)
		return error_set_errno(err, errno, "looking at a driver library");
	*out = (struct library_identity){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
	};
	return 0;
}

static bool is_same_file(const struct library_identity *a, const struct library_identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static bool is_unchanged(const struct library_identity *a, const struct library_identity *b)
{
	return is_same_file(a, b) && a->size == b->size && a->changed_ns == b->changed_ns;
}

static struct library *find(struct library_table *table, const struct library_identity *identity)
{
	for (size_t i = 0; i < table->count; i++) {
		if (is_same_file(&table->libraries[i].identity, identity))
			return &table->libraries[i];
	}
	return NULL;
}

static void detach(struct library_table *table, struct library *library)
{
	if (library->link)
		table->attacher.detach(table->attacher.context, library->link);
	library->link = NULL;
	library->functions = 0;
}

static int attach(struct library_table *table, struct library *library, int64_t now_ns,
                  struct error *err)
{
	library->tried_ns = now_ns;
	if (table->attacher.attach(table->attacher.context, library->descriptor, &library->link,
	                           &library->functions, err) == 0)
		return 0;
	table->errors++;
	library->link = NULL;
	return -1;
}

static void drop(struct library_table *table, struct library *library)
{
	detach(table, library);
	(void)close(library->descriptor);
	*library = table->libraries[--table->count];
}

void library_table_free(struct library_table *table)
{
	if (!table)
		return;
	while (table->count > 0)
		drop(table, &table->libraries[table->count - 1]);
	free(table);
}

/* How many an owner has brought. */
static size_t count_of(const struct library_table *table, uint32_t owner)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++)
		count += table->libraries[i].owner == owner;
	return count;
}

/*
 * Of a full table, the refused library that was mapped longest ago makes room; else the one
 * of whoever has brought most, if that is more than the new one would have.
 */
static bool make_room(struct library_table *table, uint32_t owner)
{
	struct library *oldest = NULL;
	size_t most = count_of(table, owner) + 1;

	if (table->count < LIBRARIES_MAX)
		return true;
	for (size_t i = 0; i < table->count; i++) {
		struct library *library = &table->libraries[i];

		if (!library->link && (!oldest || library->mapped_ns < oldest->mapped_ns))
			oldest = library;
	}
	for (size_t i = 0; i < table->count && (!oldest || oldest->link); i++) {
		const size_t count = count_of(table, table->libraries[i].owner);

		if (count <= most)
			continue;
		most = count;
		oldest = &table->libraries[i];
	}
	if (oldest)
		drop(table, oldest);
	return oldest != NULL;
}

static int add(struct library_table *table, const struct library_identity *identity,
               const struct library_offer *offer, struct error *err)
{
	struct library *library;

	if (offer->owner != 0 && count_of(table, offer->owner) >= LIBRARIES_OF_ONE_MAX) {
		(void)close(offer->descriptor);
		table->errors++;
		return error_set(err, ERROR_TOO_LARGE,
		                 "process %u has mapped more than %d driver libraries",
		                 (unsigned)offer->owner, LIBRARIES_OF_ONE_MAX);
	}
	if (!make_room(table, offer->owner)) {
		(void)close(offer->descriptor);
		table->errors++;
		return error_set(err, ERROR_TOO_LARGE, "more than %d driver libraries are mapped",
		                 LIBRARIES_MAX);
	}
	library = &table->libraries[table->count++];
	*library = (struct library){ .identity = *identity,
		                     .descriptor = offer->descriptor,
		                     .owner = offer->owner,
		                     .mapped_ns = offer->now_ns };
	return attach(table, library, offer->now_ns, err);
}

/* Sees to a known library that may have changed, or was refused. */
static int renew(struct library_table *table, struct library *library,
                 const struct library_identity *identity, int64_t now_ns, struct error *err)
{
	if (!is_unchanged(&library->identity, identity)) {
		detach(table, library);
		library->identity = *identity;
		return attach(table, library, now_ns, err);
	}
	if (library->link || now_ns - library->tried_ns < LIBRARY_RETRY_NS)
		return 0;
	return attach(table, library, now_ns, err);
}

int library_table_offer(struct library_table *table, const struct library_offer *offer,
                        struct error *err)
{
	struct library_identity identity = { 0 };
	struct library *library;

	if (identify(offer->descriptor, &identity, err) < 0) {
		(void)close(offer->descriptor);
		return -1;
	}
	library = find(table, &identity);
	if (!library)
		return add(table, &identity, offer, err);
	(void)close(offer->descriptor);
	library->mapped_ns = offer->now_ns;
	return renew(table, library, &identity, offer->now_ns, err);
}

void library_table_sweep(struct library_table *table, int64_t now_ns)
{
	for (size_t i = table->count; i > 0; i--) {
		struct library *library = &table->libraries[i - 1];
		struct library_identity identity = { 0 };
		struct error err = { 0 };

		if (now_ns - library->mapped_ns > LIBRARY_KEEP_NS)
			drop(table, library);
		else if (identify(library->descriptor, &identity, &err) == 0)
			(void)renew(table, library, &identity, now_ns, &err);
	}
}

struct library_counts library_table_counts(const struct library_table *table)
{
	struct library_counts counts = { .errors = table->errors };

	for (size_t i = 0; i < table->count; i++) {
		counts.libraries += table->libraries[i].link != NULL;
		counts.refused += table->libraries[i].link == NULL;
		counts.functions += table->libraries[i].functions;
	}
	return counts;
}

void library_table_check(const struct library_table *table)
{
	assert(table->count <= LIBRARIES_MAX);
	for (size_t i = 0; i < table->count; i++) {
		const struct library *library = &table->libraries[i];

		assert(library->descriptor >= 0);
		assert(library->link || library->functions == 0);
		for (size_t j = 0; j < i; j++)
			assert(!is_same_file(&library->identity, &table->libraries[j].identity));
	}
}
