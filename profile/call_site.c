#include "profile/call_site.h"

#include "profile/function_tree.h"

struct matcher_run {
	const struct symbols *symbols;
	const struct str *names;
	size_t count;
	uint32_t *depths; /* by function stack: see visit() */
	struct arena *arena;
};

/* What a node's depth can be beside how many names its path matches (1 or more). */
#define DEPTH_UNKNOWN  0
#define DEPTH_ASKED    UINT32_MAX
#define DEPTH_MISMATCH (UINT32_MAX - 1)

static int frame_is(const struct matcher_run *run, uint32_t frame, struct str name)
{
	const struct symbols *symbols = run->symbols;
	const struct symbol_location *location;
	struct str file = { NULL, 0 };
	struct str bare;

	if (!(frame & SYMBOLS_BARE))
		return str_equal(
			symbols_string(symbols, SYMBOLS_AT(symbols->functions, frame)->name), name);
	location = SYMBOLS_AT(symbols->locations, frame & ~SYMBOLS_BARE);
	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	bare = function_tree_bare_name(file, location->address, run->arena);
	return bare.data ? str_equal(bare, name) : -1;
}

/* The depth of an asked node whose parent's depth is known. */
static int visit(const struct matcher_run *run, uint32_t stack)
{
	const struct symbol_function_stack *node = SYMBOLS_AT(run->symbols->function_stacks, stack);
	const uint32_t above = node->parent ? run->depths[node->parent] : 0;
	int is_equal;

	if (above == DEPTH_MISMATCH || above == run->count) {
		run->depths[stack] = above;
		return 0;
	}
	is_equal = frame_is(run, node->frame, run->names[above]);
	if (is_equal < 0)
		return -1;
	run->depths[stack] = is_equal ? above + 1 : DEPTH_MISMATCH;
	return 0;
}

static int match(const struct matcher_run *run, const struct stack_sums *in)
{
	const struct symbols *symbols = run->symbols;

	for (size_t i = 0; i < in->count; i++) {
		uint32_t at = SYMBOLS_AT(symbols->stacks, in->stacks[i])->function_stack;

		while (at != 0 && run->depths[at] == DEPTH_UNKNOWN) {
			run->depths[at] = DEPTH_ASKED;
			at = SYMBOLS_AT(symbols->function_stacks, at)->parent;
		}
	}
	for (uint32_t i = 1; i < symbols->function_stack_count; i++)
		if (run->depths[i] == DEPTH_ASKED && visit(run, i) < 0)
			return -1;
	return 0;
}

int call_site_filter(const struct stack_sums *in, const struct str *names, size_t count,
                     struct arena *arena, struct stack_sums *out, struct error *err)
{
	const struct symbols *symbols = in->symbols;
	struct matcher_run run = { symbols, names, count, NULL, arena };
	uint32_t *stacks;
	int64_t *sums;
	size_t kept = 0;

	if (count == 0) {
		*out = *in;
		return 0;
	}
	if (count >= DEPTH_MISMATCH)
		return error_set(err, ERROR_TOO_LARGE, "the call site has too many functions");
	run.depths = arena_array(arena, symbols->function_stack_count, sizeof(*run.depths));
	stacks = arena_array_raw(arena, in->count, sizeof(*stacks));
	sums = arena_array_raw(arena, in->count, sizeof(*sums));
	if (!run.depths || !stacks || !sums || match(&run, in) < 0)
		return arena_error(arena, err);
	for (size_t i = 0; i < in->count; i++) {
		const uint32_t stack = SYMBOLS_AT(symbols->stacks, in->stacks[i])->function_stack;

		if (stack == 0 || run.depths[stack] != count)
			continue;
		stacks[kept] = in->stacks[i];
		sums[kept++] = in->sums[i];
	}
	*out = (struct stack_sums){ symbols, in->part, stacks, sums, kept };
	return 0;
}
