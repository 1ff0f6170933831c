#include "collector/watch/context_watches.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "collector/watch/library_table.h"
#include "collector/watch/process_scan.h"

/* A driver of a process: which file it is, and its probes. */
struct watched_driver {
	uint64_t device;
	uint64_t inode;
	void *link; /* NULL: it has none of the functions */
};

struct context_watch {
	struct process_key key;
	struct watched_driver drivers[LIBRARIES_OF_ONE_MAX];
	size_t count;
	bool is_given_up; /* some driver has no probes: it is not watched */
};

struct context_watches {
	struct context_attacher attacher;
	struct context_watch *watches; /* CONTEXT_WATCHES_MAX of them */
	size_t count;
	uint64_t refused;
	uint64_t errors;
	struct error trouble; /* ERROR_NONE: nothing since it was asked for */
};

struct context_watches *context_watches_new(const struct context_attacher *attacher)
{
	struct context_watches *watches = mem_zalloc(1, sizeof(*watches));

	watches->attacher = *attacher;
	watches->watches = mem_zalloc(CONTEXT_WATCHES_MAX, sizeof(*watches->watches));
	return watches;
}

static struct context_watch *find(struct context_watches *watches, const struct process_key *key)
{
	for (size_t i = 0; i < watches->count; i++)
		if (watches->watches[i].key.tgid == key->tgid &&
		    watches->watches[i].key.start_ns == key->start_ns)
			return &watches->watches[i];
	return NULL;
}

static void detach(const struct context_watches *watches, struct context_watch *watch)
{
	while (watch->count > 0)
		watches->attacher.detach(watches->attacher.context,
		                         watch->drivers[--watch->count].link);
}

static void give_up(struct context_watches *watches, struct context_watch *watch,
                    const struct error *why)
{
	watches->attacher.unwatch(watches->attacher.context, &watch->key);
	detach(watches, watch);
	watch->is_given_up = true;
	switch (why->code) {
	case ERROR_NOT_FOUND: /* it has ended already */
		break;
	case ERROR_TOO_LARGE:
	case ERROR_UNAVAILABLE:
		watches->refused++;
		break;
	default:
		watches->errors++;
		watches->trouble = *why;
		break;
	}
}

static void drop(struct context_watches *watches, struct context_watch *watch)
{
	watches->attacher.unwatch(watches->attacher.context, &watch->key);
	detach(watches, watch);
	*watch = watches->watches[--watches->count];
}

void context_watches_free(struct context_watches *watches)
{
	if (!watches)
		return;
	while (watches->count > 0)
		drop(watches, &watches->watches[watches->count - 1]);
	free(watches->watches);
	free(watches);
}

/* ---- drivers ---- */

static bool has_driver(const struct context_watch *watch, const struct stat *status)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->drivers[i].device == status->st_dev &&
		    watch->drivers[i].inode == status->st_ino)
			return true;
	return false;
}

static int attach(const struct context_watches *watches, struct context_watch *watch,
                  int descriptor, struct error *err)
{
	struct watched_driver *driver = &watch->drivers[watch->count];
	struct stat status;

	if (fstat(descriptor, &status) < 0)
		return error_set_errno(err, errno, "looking at a driver library");
	if (has_driver(watch, &status))
		return 0;
	if (watch->count == LIBRARIES_OF_ONE_MAX)
		return error_set(err, ERROR_TOO_LARGE,
		                 "process %u has mapped more than %d driver libraries",
		                 (unsigned)watch->key.tgid, LIBRARIES_OF_ONE_MAX);
	*driver = (struct watched_driver){ .device = status.st_dev, .inode = status.st_ino };
	if (watches->attacher.attach(watches->attacher.context, descriptor, watch->key.tgid,
	                             &driver->link, err) < 0)
		return -1;
	watch->count++;
	return 0;
}

/* A process that is being looked into. */
struct looking {
	struct context_watches *watches;
	struct context_watch *watch;
};

static void see_driver(void *context, const struct library_mapping *mapping)
{
	const struct looking *looking = context;
	struct error err = { 0 };
	int descriptor;

	if (looking->watch->is_given_up)
		return;
	if (library_file_open(mapping, &descriptor, &err) < 0) {
		give_up(looking->watches, looking->watch, &err);
		return;
	}
	if (attach(looking->watches, looking->watch, descriptor, &err) < 0)
		give_up(looking->watches, looking->watch, &err);
	(void)close(descriptor);
}

/* ---- processes ---- */

/* Sets probes on all that it has mapped; -1: it has no driver any more. */
static int look_into(struct context_watches *watches, struct context_watch *watch,
                     struct error *err)
{
	struct looking looking = { watches, watch };

	if (process_scan_one((pid_t)watch->key.tgid, see_driver, &looking, err) < 0)
		return -1;
	if (watch->count > 0 || watch->is_given_up)
		return 0;
	return error_set(err, ERROR_NOT_FOUND, "process %u maps no driver library",
	                 (unsigned)watch->key.tgid);
}

void context_watches_begin(struct context_watches *watches, const struct process_key *key)
{
	struct context_watch *watch;
	struct error err = { 0 };

	if (find(watches, key))
		return;
	if (watches->count == CONTEXT_WATCHES_MAX) {
		watches->refused++;
		return;
	}
	watch = &watches->watches[watches->count++];
	*watch = (struct context_watch){ .key = *key };
	if (look_into(watches, watch, &err) < 0)
		give_up(watches, watch, &err);
	if (watch->is_given_up || watches->attacher.watch(watches->attacher.context, key))
		return;
	(void)error_set(&err, ERROR_TOO_LARGE, "more than %d processes see several devices",
	                CONTEXT_WATCHES_MAX);
	give_up(watches, watch, &err);
}

void context_watches_mapped(struct context_watches *watches, const struct library_mapping *mapping)
{
	for (size_t i = 0; i < watches->count; i++) {
		struct context_watch *watch = &watches->watches[i];

		if (watch->key.tgid == (uint32_t)mapping->tgid)
			see_driver(&(struct looking){ watches, watch }, mapping);
	}
}

void context_watches_end(struct context_watches *watches, const struct process_key *key)
{
	struct context_watch *watch = find(watches, key);

	if (watch)
		drop(watches, watch);
}

struct context_watch_counts context_watches_counts(const struct context_watches *watches)
{
	struct context_watch_counts counts = { .refused = watches->refused,
		                               .errors = watches->errors };

	for (size_t i = 0; i < watches->count; i++)
		counts.processes += !watches->watches[i].is_given_up;
	return counts;
}

bool context_watches_trouble(struct context_watches *watches, struct error *out)
{
	if (watches->trouble.code == ERROR_NONE)
		return false;
	*out = watches->trouble;
	watches->trouble = (struct error){ .code = ERROR_NONE };
	return true;
}
