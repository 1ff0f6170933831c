#include "storage/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct window *window_new(const char *tenants_path, const char *folder, int32_t day,
                          uint32_t number, uint64_t key)
{
	struct window *window = mem_zalloc(1, sizeof(*window));
	char file[WINDOW_FILE_SIZE];
	const size_t size = strlen(tenants_path) + strlen(folder) + sizeof(file) + 3;

	window_file_format(day, number, file);
	window->day = day;
	window->number = number;
	window->key = key;
	window->path = mem_zalloc(size, 1);
	(void)snprintf(window->path, size, "%s/%s/%s", tenants_path, folder, file);
	(void)pthread_mutex_init(&window->lock, NULL);
	window->times = group_times_new(day);
	atomic_init(&window->may_have_rows, true); /* until somebody has looked */
	return window;
}

void window_free(struct window *window)
{
	struct window_idle idle;

	if (!window)
		return;
	idle = window_detach_idle(window);
	window_free_idle(&idle);
	group_times_free(window->times);
	(void)pthread_mutex_destroy(&window->lock);
	free(window->path);
	free(window);
}

bool window_is_sealed(struct window *window)
{
	int seal = atomic_load_explicit(&window->seal, memory_order_relaxed);

	if (seal == WINDOW_SEAL_UNKNOWN) {
		seal = (int)window_file_seal(window->path);
		atomic_store_explicit(&window->seal, seal, memory_order_relaxed);
	}
	return seal == WINDOW_SEALED;
}

static bool has_part(const struct window *window, enum window_tables_part part)
{
	return window->tables && (part == WINDOW_TABLES_LABELS || window->tables->has_symbols);
}

static int load(struct window *window, enum window_tables_part part, struct database *database,
                struct error *err)
{
	CLEANUP(window_tables_freep) struct window_tables *fresh = NULL;

	if (has_part(window, part) && !window->follows)
		return 0;
	if (!window->tables)
		fresh = window_tables_new(window->key);
	if (window_tables_read(fresh ? fresh : window->tables, part, database, err) < 0)
		return -1;
	if (fresh)
		window->tables = TAKE(fresh);
	atomic_store_explicit(&window->table_bytes,
	                      window_tables_bytes(window->tables) +
	                              group_times_bytes(window->times),
	                      memory_order_relaxed);
	return 0;
}

int window_load(struct window *window, enum window_tables_part part, struct database *database,
                struct window_tables **out, struct error *err)
{
	int result;

	(void)pthread_mutex_lock(&window->lock);
	result = load(window, part, database, err);
	*out = window->tables;
	(void)pthread_mutex_unlock(&window->lock);
	return result;
}

struct window_tables *window_tables_of(struct window *window)
{
	struct window_tables *tables;

	(void)pthread_mutex_lock(&window->lock);
	tables = window->tables;
	(void)pthread_mutex_unlock(&window->lock);
	return tables;
}

struct stack_paths *window_take_paths(struct window *window, const struct path_table *table)
{
	struct stack_paths *old = NULL;
	struct stack_paths *paths;

	(void)pthread_mutex_lock(&window->lock);
	if (window->paths && !stack_paths_is_of(window->paths, table))
		old = TAKE(window->paths);
	if (!window->paths)
		window->paths = stack_paths_new(table);
	paths = stack_paths_hold(window->paths);
	(void)pthread_mutex_unlock(&window->lock);
	stack_paths_release(old);
	return paths;
}

void window_count_paths(struct window *window, const struct stack_paths *paths)
{
	(void)pthread_mutex_lock(&window->lock);
	if (window->paths == paths)
		atomic_store_explicit(&window->path_bytes, stack_paths_bytes(paths),
		                      memory_order_relaxed);
	(void)pthread_mutex_unlock(&window->lock);
}

int window_take_reader(struct window *window, struct reader **out, struct error *err)
{
	struct reader *reader = NULL;

	(void)pthread_mutex_lock(&window->lock);
	if (window->idle_count > 0)
		reader = window->idle[--window->idle_count];
	(void)pthread_mutex_unlock(&window->lock);
	if (!reader && reader_open(window, &reader, err) < 0)
		return -1;
	*out = reader;
	return 0;
}

void window_give_reader(struct window *window, struct reader *reader)
{
	(void)pthread_mutex_lock(&window->lock);
	if (window->idle_count < WINDOW_IDLE_READERS) {
		window->idle[window->idle_count++] = reader;
		reader = NULL;
	}
	(void)pthread_mutex_unlock(&window->lock);
	reader_close(reader);
}

void window_close_readers(struct window *window)
{
	for (;;) {
		struct reader *reader = NULL;

		(void)pthread_mutex_lock(&window->lock);
		if (window->idle_count > 0)
			reader = window->idle[--window->idle_count];
		(void)pthread_mutex_unlock(&window->lock);
		if (!reader)
			return;
		reader_close(reader);
	}
}

struct window_idle window_detach_idle(struct window *window)
{
	struct window_idle idle = { 0 };

	(void)pthread_mutex_lock(&window->lock);
	idle.tables = TAKE(window->tables);
	idle.paths = TAKE(window->paths);
	group_times_forget_all(window->times);
	idle.reader_count = window->idle_count;
	memcpy(idle.readers, window->idle, sizeof(idle.readers));
	window->idle_count = 0;
	atomic_store_explicit(&window->table_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&window->path_bytes, 0, memory_order_relaxed);
	(void)pthread_mutex_unlock(&window->lock);
	return idle;
}

void window_free_idle(struct window_idle *idle)
{
	for (size_t i = 0; i < idle->reader_count; i++)
		reader_close(idle->readers[i]);
	window_tables_free(idle->tables);
	stack_paths_release(idle->paths);
	*idle = (struct window_idle){ 0 };
}
