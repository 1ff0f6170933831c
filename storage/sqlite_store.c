#include "storage/sqlite_store.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"
#include "storage/window_memory.h"

#define QUEUE_MAX_BYTES  ((size_t)64 << 20)
#define QUEUE_MAX_LENGTH 10000
#define CHUNKS_KEPT      8 /* a block is decoded in three or four */
#define IDLE_NS          (300 * NS_PER_S)
#define SEAL_AFTER_NS    (86400 * NS_PER_S) /* as long as a profile sent again is known */
#define COMPACT_AFTER_NS (120 * NS_PER_S)   /* senders try again for so long; a guess */

int sqlite_store_need_writer(const struct sqlite_store *store, struct error *err)
{
	if (store->writer)
		return 0;
	return error_set(err, ERROR_FORBIDDEN, "store %s is open for reading only",
	                 store->folder.path);
}

/* ---- damage ---- */

static int set_aside(struct writer *writer, void *context, struct error *err)
{
	return writer_set_aside(writer, context, err);
}

void sqlite_store_set_aside(struct sqlite_store *store, struct window *window, struct error *err)
{
	struct error failed;

	if (!store->writer) {
		/* not ours to rename */
		window_set_note_damage(&store->windows, window);
		(void)error_context(err, "%s is damaged and left out from now on", window->path);
		return;
	}
	if (writer_run(store->writer, set_aside, window, &failed) < 0)
		(void)error_context(err, "%s is damaged", window->path);
	else
		(void)error_context(err, "%s is damaged and was set aside", window->path);
}

/* ---- operations ---- */

static int append(struct store *store, struct store_write *write, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);

	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	return writer_append(own->writer, write, err);
}

static bool version(struct store *store, struct str tenant, uint64_t *out)
{
	struct sqlite_store *own = sqlite_store_of(store);

	if (!own->writer)
		return false;
	*out = tenant_versions_get(&own->versions, tenant);
	return true;
}

static void usage(struct store *store, struct store_usage *out)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct disk_usage disk = { 0 };
	struct window_set_counts windows;
	struct writer_counts writer = { 0 };
	struct compactor_counts compactor = { 0 };
	struct error ignored;

	(void)disk_usage_measure(own->folder.path, &disk, &ignored);
	window_set_count(&own->windows, &windows);
	if (own->writer)
		writer_count(own->writer, &writer);
	if (own->compactor)
		compactor_count(own->compactor, &compactor);
	*out = (struct store_usage){
		.disk_bytes = disk.bytes,
		.wal_bytes = disk.wal_bytes,
		.window_count = windows.windows,
		.open_window_count = windows.open,
		.cache_bytes = windows.cache_bytes,
		.queue_bytes = writer.queue_bytes,
		.queue_length = writer.queue_length,
		.profiles_appended = writer.profiles_appended,
		.profiles_deduplicated = writer.profiles_deduplicated,
		.commits = writer.commits,
		.blocks_made = compactor.blocks,
		.profiles_compacted = compactor.profiles,
		.compaction_cpu_ns = compactor.cpu_ns,
		.compaction_backlog = compactor.backlog,
		.damaged_windows = windows.damaged,
		.sealed_window_count = windows.sealed,
	};
}

static void close_store(struct store *store)
{
	struct sqlite_store *own = sqlite_store_of(store);

	compactor_stop(own->compactor); /* before the writer, which it works with */
	writer_stop(own->writer);
	crew_free(own->crew);
	window_set_close(&own->windows);
	chunk_cache_free(own->chunks);
	store_folder_close(&own->folder);
	(void)pthread_mutex_destroy(&own->removing);
	free(own);
}

static void close_storep(struct sqlite_store **store)
{
	if (*store)
		close_store(&(*store)->store);
}

static const struct store_operations operations = {
	.append = append,
	.series = sqlite_store_series,
	.label_names = sqlite_store_label_names,
	.label_values = sqlite_store_label_values,
	.scan = sqlite_store_scan,
	.scan_samples = sqlite_store_scan_samples,
	.scan_spans = sqlite_store_scan_spans,
	.merge = sqlite_store_merge,
	.merge_paths = sqlite_store_merge_paths,
	.remove = sqlite_store_remove,
	.version = version,
	.stats = sqlite_store_stats,
	.settings = sqlite_store_settings,
	.put_setting = sqlite_store_put_setting,
	.remove_setting = sqlite_store_remove_setting,
	.days = sqlite_store_days,
	.usage = usage,
	.close = close_store,
};

/* ---- opening ---- */

static int start_writer(struct sqlite_store *store, const struct sqlite_store_options *options,
                        struct error *err)
{
	struct writer_options writer = {
		.windows = &store->windows,
		.folder = &store->folder,
		.versions = &store->versions,
		.retention = {
			.path = store->folder.path,
			.age_ns = options->retention_ns,
			.max_bytes = options->max_bytes,
		},
		.sync = options->sync,
		.queue_max_bytes =
			options->queue_max_bytes ? options->queue_max_bytes : QUEUE_MAX_BYTES,
		.queue_max_length =
			options->queue_max_length ? options->queue_max_length : QUEUE_MAX_LENGTH,
		.idle_ns = options->idle_ns ? options->idle_ns : IDLE_NS,
		.budget = options->budget,
	};

	if (writer.retention.max_bytes == 0 &&
	    retention_default_bytes(store->folder.path, &writer.retention.max_bytes, err) < 0)
		return -1;
	return writer_start(&writer, &store->writer, err);
}

static int start_compactor(struct sqlite_store *store, const struct sqlite_store_options *options,
                           struct error *err)
{
	return compactor_start(
		&(struct compactor_options){
			.windows = &store->windows,
			.writer = store->writer,
			.grace_ns = options->compact_after_ns ? options->compact_after_ns
	                                                      : COMPACT_AFTER_NS,
			.seal_after_ns = options->seal_after_ns ? options->seal_after_ns
	                                                        : SEAL_AFTER_NS,
			.last_used_unix_ns = store->folder.last_used_unix_ns,
			.budget = options->budget,
		},
		&store->compactor, err);
}

int sqlite_store_open(const struct sqlite_store_options *options, struct store **out,
                      struct error *err)
{
	CLEANUP(close_storep) struct sqlite_store *store = mem_zalloc(1, sizeof(*store));
	struct window_set_options windows;

	store->store.operations = &operations;
	store->folder.lock_fd = -1;
	(void)pthread_mutex_init(&store->removing, NULL);
	store->budget = options->budget;
	store->chunks = chunk_cache_new(CHUNKS_KEPT);
	store->crew = crew_new(options->threads ? options->threads - 1 : crew_default_size());
	if (store_folder_open(options->path,
	                      options->read_only ? STORE_FOLDER_READ : STORE_FOLDER_WRITE,
	                      options->allow_network_fs ? STORE_FOLDER_ANY_FILE_SYSTEM
	                                                : STORE_FOLDER_LOCAL_ONLY,
	                      &store->folder, err) < 0)
		return -1;
	windows = (struct window_set_options){
		.path = store->folder.path,
		.key = store->folder.key,
		.follows = options->read_only,
		.budget = options->budget,
	};
	if (window_set_open(&store->windows, &windows, err) < 0)
		return -1;
	if (!options->read_only &&
	    (start_writer(store, options, err) < 0 || start_compactor(store, options, err) < 0))
		return -1;
	*out = &store->store;
	store = NULL;
	return 0;
}

int sqlite_store_compact(struct store *store, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);

	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	return compactor_run(own->compactor, err);
}

int sqlite_store_set_retention(struct store *store, int64_t retention_ns, uint64_t max_bytes,
                               struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct retention retention = { .age_ns = retention_ns, .max_bytes = max_bytes };

	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	if (retention.max_bytes == 0 &&
	    retention_default_bytes(own->folder.path, &retention.max_bytes, err) < 0)
		return -1;
	return writer_set_retention(own->writer, &retention, err);
}
