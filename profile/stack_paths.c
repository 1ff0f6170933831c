#include "profile/stack_paths.h"

#include <stdlib.h>

#include "base/mem.h"
#include "profile/function_tree.h"

/* Numbers by id, 0 at first; they are kept in whole chunks. */
struct known {
	struct column numbers;
	_Atomic uint32_t count; /* ids that have a place */
};

struct stack_paths {
	uint64_t table_number;
	_Atomic size_t holds;
	_Atomic size_t bytes;
	struct known stacks;    /* path, which is never 0 but for the root */
	struct known locations; /* name + 1, of those of one frame */
	struct known strings;   /* name + 1 */
};

static void known_init(struct known *known)
{
	column_init(&known->numbers, sizeof(_Atomic uint32_t));
	atomic_init(&known->count, 0);
}

/* A place for each id below `count`, and the bytes that it took. */
static size_t known_reserve(struct known *known, uint32_t count)
{
	const uint32_t before = atomic_load_explicit(&known->count, memory_order_relaxed);
	uint32_t id = before;

	for (; id < count; id += SYMBOLS_CHUNK)
		(void)column_add(&known->numbers, id);
	atomic_store_explicit(&known->count, id, memory_order_release);
	return column_bytes(&known->numbers, id - before);
}

static _Atomic uint32_t *known_at(const struct known *known, uint32_t id)
{
	_Atomic uint32_t *const *chunks = column_chunks(&known->numbers);

	return SYMBOLS_AT(chunks, id);
}

static uint32_t known_get(const struct known *known, uint32_t id)
{
	return atomic_load_explicit(known_at(known, id), memory_order_acquire);
}

static void known_set(const struct known *known, uint32_t id, uint32_t number)
{
	atomic_store_explicit(known_at(known, id), number, memory_order_release);
}

/* ---- life ---- */

struct stack_paths *stack_paths_new(const struct path_table *table)
{
	struct stack_paths *own = mem_zalloc(1, sizeof(*own));

	own->table_number = path_table_number(table);
	atomic_init(&own->holds, 1);
	known_init(&own->stacks);
	known_init(&own->locations);
	known_init(&own->strings);
	return own;
}

struct stack_paths *stack_paths_hold(struct stack_paths *own)
{
	atomic_fetch_add_explicit(&own->holds, 1, memory_order_relaxed);
	return own;
}

void stack_paths_release(struct stack_paths *own)
{
	if (!own || atomic_fetch_sub_explicit(&own->holds, 1, memory_order_acq_rel) > 1)
		return;
	column_fini(&own->stacks.numbers);
	column_fini(&own->locations.numbers);
	column_fini(&own->strings.numbers);
	free(own);
}

bool stack_paths_is_of(const struct stack_paths *own, const struct path_table *table)
{
	return own->table_number == path_table_number(table);
}

size_t stack_paths_bytes(const struct stack_paths *own)
{
	return sizeof(*own) + atomic_load_explicit(&own->bytes, memory_order_relaxed);
}

/* ---- making paths; all with the table locked ---- */

/* A window's symbols while paths are made of them. */
struct making {
	struct stack_paths *own;
	struct path_table *table;
	const struct symbols *symbols;
	struct arena *arena; /* for names that are put together, and for: */
	uint32_t *waiting;   /* stacks on the way to a known one */
	size_t waiting_capacity;
};

static uint32_t string_name(const struct making *making, uint32_t string)
{
	uint32_t name = known_get(&making->own->strings, string);

	if (name == 0) {
		name = path_table_add_name(making->table, symbols_string(making->symbols, string)) +
		       1;
		known_set(&making->own->strings, string, name);
	}
	return name - 1;
}

static uint32_t line_name(const struct making *making, uint32_t line)
{
	const struct symbols *symbols = making->symbols;
	const uint32_t function = SYMBOLS_AT(symbols->lines, line)->function;

	return string_name(making, SYMBOLS_AT(symbols->functions, function)->name);
}

static uint32_t bare_name(const struct making *making, const struct symbol_location *location)
{
	const struct symbols *symbols = making->symbols;
	struct str file = { NULL, 0 };
	struct str name;

	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	name = function_tree_bare_name(file, location->address, making->arena);
	return name.data ? path_table_add_name(making->table, name) : PATH_NONE;
}

/* The name of a location of one frame. */
static uint32_t location_name(const struct making *making, uint32_t id,
                              const struct symbol_location *location)
{
	uint32_t name = known_get(&making->own->locations, id);

	if (name == 0) {
		name = (location->line_count == 0 ? bare_name(making, location)
		                                  : line_name(making, location->first_line)) +
		       1;
		known_set(&making->own->locations, id, name);
	}
	return name - 1;
}

static uint32_t add_frame(const struct making *making, uint32_t path, uint32_t name)
{
	return name == PATH_NONE ? name : path_table_add(making->table, path, name);
}

/* The path of a location's innermost frame behind `path`. */
static uint32_t add_location(const struct making *making, uint32_t path, uint32_t id)
{
	const struct symbol_location *location = SYMBOLS_AT(making->symbols->locations, id);

	if (location->line_count <= 1)
		return add_frame(making, path, location_name(making, id, location));
	for (uint32_t i = location->line_count; i-- > 0 && path != PATH_NONE;)
		path = add_frame(making, path, line_name(making, location->first_line + i));
	return path;
}

/* The path of a stack, and of all above it. */
static uint32_t make_path(struct making *making, uint32_t stack)
{
	const struct known *stacks = &making->own->stacks;
	size_t count = 0;
	uint32_t path;

	for (; stack != 0 && known_get(stacks, stack) == 0;
	     stack = SYMBOLS_AT(making->symbols->stacks, stack)->parent) {
		if (!ARENA_GROW(making->arena, making->waiting, count, making->waiting_capacity))
			return PATH_NONE;
		making->waiting[count++] = stack;
	}
	path = stack == 0 ? 0 : known_get(stacks, stack);
	while (count > 0 && path != PATH_NONE) {
		stack = making->waiting[--count];
		path = add_location(making, path,
		                    SYMBOLS_AT(making->symbols->stacks, stack)->location);
		if (path != PATH_NONE)
			known_set(stacks, stack, path);
	}
	return path;
}

static void reserve(struct stack_paths *own, const struct symbols *symbols)
{
	const size_t bytes = known_reserve(&own->strings, symbols->string_count) +
	                     known_reserve(&own->locations, symbols->location_count) +
	                     known_reserve(&own->stacks, symbols->stack_count);

	atomic_fetch_add_explicit(&own->bytes, bytes, memory_order_relaxed);
}

/* ---- asking ---- */

/* What is known of sums above 0: 0 for a path that is to be made. Says how many are. */
static size_t look_up(const struct stack_paths *own, const struct stack_sums *sums, uint32_t *paths,
                      int64_t *kept, size_t *out_count)
{
	const uint32_t known = atomic_load_explicit(&own->stacks.count, memory_order_acquire);
	size_t count = 0;
	size_t missing = 0;

	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t stack = sums->stacks[i];

		if (sums->sums[i] <= 0)
			continue;
		paths[count] = stack < known ? known_get(&own->stacks, stack) : 0;
		missing += paths[count] == 0;
		kept[count++] = sums->sums[i];
	}
	*out_count = count;
	return missing;
}

/* False when there is no room. */
static bool make_missing(struct making *making, const struct stack_sums *sums, uint32_t *paths)
{
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		if (sums->sums[i] <= 0)
			continue;
		if (paths[count] == 0)
			paths[count] = make_path(making, sums->stacks[i]);
		if (paths[count++] == PATH_NONE)
			return false;
	}
	return true;
}

int stack_paths_of_sums(struct stack_paths *own, struct path_table *table,
                        const struct stack_sums *sums, struct arena *arena, struct path_sums *out,
                        struct error *err)
{
	struct making making = { own, table, sums->symbols, arena, NULL, 0 };
	uint32_t *paths = arena_array_raw(arena, sums->count, sizeof(*paths));
	int64_t *kept = arena_array_raw(arena, sums->count, sizeof(*kept));
	size_t count;
	bool done = true;

	if (!paths || !kept)
		return arena_error(arena, err);
	if (look_up(own, sums, paths, kept, &count) > 0) {
		path_table_lock(table);
		reserve(own, sums->symbols);
		done = make_missing(&making, sums, paths);
		path_table_unlock(table);
	}
	if (!done)
		return arena_overflowed(arena) ? arena_error(arena, err) : path_table_error(err);
	*out = (struct path_sums){ table, sums->part, paths, kept, count };
	return 0;
}
