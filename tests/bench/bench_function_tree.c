/*
 * What it costs to make paths of a window's stacks, once, then to merge its sums into a
 * function tree, and what follows until the answer.
 *
 * 	bench_function_tree [STACKS SUMS]    70,000 and 10,000 when not given
 *
 * The window is made: a random prefix tree of stacks, some 25 frames deep, over 10,000
 * functions with names as Go has them and three locations in each. Prints the median of
 * ROUNDS rounds in milliseconds, CPU time of the thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "profile/flame_graph.h"
#include "profile/path_tree.h"
#include "profile/stack_paths.h"

#define ROUNDS      15
#define FUNCTIONS   10000
#define LOCATIONS   (3 * FUNCTIONS)
#define MAX_NODES   8192
#define ARENA_BYTES ((size_t)1 << 30)

struct window {
	struct symbols symbols;
	uint32_t *stacks;
	int64_t *sums;
	size_t sum_count;
};

/* The chunk pointers of a column that lies in one piece. */
static void *chunked(void *column, size_t count, size_t size)
{
	const size_t chunk_count = (count >> SYMBOLS_CHUNK_BITS) + 1;
	char **chunks = mem_zalloc(chunk_count, sizeof(*chunks));

	for (size_t i = 0; i < chunk_count; i++)
		chunks[i] = (char *)column + (i << SYMBOLS_CHUNK_BITS) * size;
	return chunks;
}

static uint32_t below(size_t limit)
{
	return (uint32_t)((size_t)random() % limit);
}

static void make_functions(struct window *window)
{
	static const char *const packages[] = { "github.com/example/service/internal/handler",
		                                "runtime", "net/http",
		                                "github.com/example/storage/index" };
	struct str *strings = mem_zalloc(FUNCTIONS, sizeof(*strings));
	struct symbol_function *functions = mem_zalloc(FUNCTIONS, sizeof(*functions));

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[128];
		const int length = snprintf(name, sizeof(name), "%s.(*Type%u).method%u",
		                            packages[below(4)], below(400), i);

		strings[i] = str_make(mem_strndup(name, (size_t)length), (size_t)length);
		functions[i] = (struct symbol_function){ .name = i };
	}
	window->symbols.strings = chunked(strings, FUNCTIONS, sizeof(*strings));
	window->symbols.functions = chunked(functions, FUNCTIONS, sizeof(*functions));
	window->symbols.string_count = window->symbols.function_count = FUNCTIONS;
}

/*
 * Each stack grows on a recent one, as stacks of one profile do; locations are numbered
 * as they are met.
 */
static void make_stacks(struct window *window, size_t count)
{
	struct symbol_location *locations = mem_zalloc(LOCATIONS, sizeof(*locations));
	struct symbol_line *lines = mem_zalloc(LOCATIONS, sizeof(*lines));
	struct symbol_stack *stacks = mem_zalloc(count, sizeof(*stacks));
	uint32_t known[LOCATIONS] = { 0 }; /* by address: id + 1 */
	uint32_t location_count = 0;

	for (uint32_t i = 1; i < count; i++) {
		const uint32_t back = 1 + below(i < 400 ? i : below(8) ? 2 : 400);
		const uint32_t function = below(FUNCTIONS);
		const uint32_t address = 3 * function + i % 3;

		if (!known[address]) {
			locations[location_count] = (struct symbol_location){
				.address = address,
				.mapping = PROFILE_NONE,
				.first_line = location_count,
				.line_count = 1,
			};
			lines[location_count].function = function;
			known[address] = ++location_count;
		}
		stacks[i] = (struct symbol_stack){ back <= i ? i - back : 0, known[address] - 1 };
	}
	window->symbols.locations = chunked(locations, LOCATIONS, sizeof(*locations));
	window->symbols.lines = chunked(lines, LOCATIONS, sizeof(*lines));
	window->symbols.stacks = chunked(stacks, count, sizeof(*stacks));
	window->symbols.location_count = window->symbols.line_count = location_count;
	window->symbols.stack_count = (uint32_t)count;
}

static void make_sums(struct window *window, size_t stack_count, size_t sum_count)
{
	window->stacks = mem_zalloc(sum_count, sizeof(*window->stacks));
	window->sums = mem_zalloc(sum_count, sizeof(*window->sums));
	window->sum_count = sum_count;
	for (size_t i = 0; i < sum_count; i++) {
		window->stacks[i] = (uint32_t)(1 + i * (stack_count - 1) / sum_count);
		window->sums[i] = 1 + below(1000000);
	}
}

static double cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

enum part {
	PART_MAKE,
	PART_ADD,
	PART_FINISH,
	PART_FLAME,
	PART_COUNT,
};

static int run_once(const struct window *window, struct path_table *table, double ms[PART_COUNT],
                    struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct stack_sums sums = { &window->symbols, 0, window->stacks, window->sums,
		                         window->sum_count };
	const struct path_cut cut = { .max_nodes = MAX_NODES };
	struct stack_paths *paths = stack_paths_new(table);
	CLEANUP(path_tree_freep) struct path_tree *merged = NULL;
	struct path_sums by_path;
	struct function_tree *tree;
	struct flame_graph graph;
	double at[PART_COUNT + 1];
	int result;

	at[PART_MAKE] = cpu_ms();
	result = stack_paths_of_sums(paths, table, &sums, arena, &by_path, err);
	at[PART_ADD] = cpu_ms();
	if (result == 0)
		result = stack_paths_of_sums(paths, table, &sums, arena, &by_path, err);
	stack_paths_release(paths);
	if (result < 0 || path_tree_new(arena, &merged, err) < 0 ||
	    path_tree_add(merged, &by_path, 1, err) < 0)
		return -1;
	at[PART_FINISH] = cpu_ms();
	if (path_tree_finish(merged, &cut, &tree, err) < 0)
		return -1;
	at[PART_FLAME] = cpu_ms();
	if (flame_graph_make(tree, MAX_NODES, arena, &graph, err) < 0)
		return -1;
	at[PART_COUNT] = cpu_ms();
	for (size_t i = 0; i < PART_COUNT; i++)
		ms[i] = at[i + 1] - at[i];
	return 0;
}

static int compare_doubles(const void *left, const void *right)
{
	const double a = *(const double *)left;
	const double b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	const size_t stack_count = argc > 2 ? strtoul(argv[1], NULL, 10) : 70000;
	const size_t sum_count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	static const char *const names[PART_COUNT] = { "new paths", "add", "finish", "flame" };
	struct window window = { 0 };
	double ms[PART_COUNT][ROUNDS];
	size_t path_count = 0;

	srandom(1);
	make_functions(&window);
	make_stacks(&window, stack_count);
	make_sums(&window, stack_count, sum_count);
	for (size_t i = 0; i < ROUNDS; i++) {
		struct path_table *table = path_table_new(i, NULL);
		double once[PART_COUNT];
		struct error err;

		if (run_once(&window, table, once, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		for (size_t j = 0; j < PART_COUNT; j++)
			ms[j][i] = once[j];
		path_count = path_table_count(table);
		path_table_release(table);
	}
	printf("%zu stacks, %zu sums, %zu paths\n", stack_count, sum_count, path_count);
	for (size_t j = 0; j < PART_COUNT; j++) {
		qsort(ms[j], ROUNDS, sizeof(ms[j][0]), compare_doubles);
		printf("%-9s %6.2f ms\n", names[j], ms[j][ROUNDS / 2]);
	}
	return 0;
}
