#include "profile/frame_set.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/uuid.h"

const char *frame_kind_name(enum function_kind kind)
{
	static const char *const names[] = {
		[FUNCTION_OTHER] = "other",   [FUNCTION_NATIVE] = "native",
		[FUNCTION_PYTHON] = "python", [FUNCTION_INTERPRETER] = "interpreter",
		[FUNCTION_CUDA] = "cuda",     [FUNCTION_KERNEL] = "kernel",
	};

	/* a window's file may say anything */
	return (size_t)kind < ARRAY_LENGTH(names) ? names[kind] : names[FUNCTION_OTHER];
}

int frame_set_new(struct arena *arena, enum frame_detail detail, struct frame_set **out,
                  struct error *err)
{
	struct frame_set *set = arena_alloc(arena, sizeof(*set));
	const struct uuid random = uuid_random();

	if (!set)
		return arena_error(arena, err);
	set->arena = arena;
	set->detail = detail;
	memcpy(&set->secret, random.bytes, sizeof(set->secret));
	if (!ARENA_GROW(arena, set->frames, set->count, set->capacity))
		return arena_error(arena, err);
	set->frames[set->count++] = (struct graph_frame){ .name = STR(""), .file = STR("") };
	*out = set;
	return 0;
}

static bool copy_text(struct arena *arena, struct str text, struct str *out)
{
	*out = text.length > 0 ? arena_copy(arena, text) : STR("");
	return out->data != NULL;
}

/* The frame gets its id when its bytes are there, so that every id has a frame. */
uint32_t frame_set_add(struct frame_set *set, const struct graph_frame *frame)
{
	const struct hash128 name = hash128_str(set->secret, frame->name);
	const struct hash128 file = hash128_str(set->secret, frame->file);
	const int64_t line = set->detail == FRAME_BY_LINE ? frame->line : 0;
	const uint64_t parts[] = { name.low,  name.high,      file.low,
		                   file.high, (uint64_t)line, (uint64_t)frame->kind };
	const struct hash128 key = hash128(set->secret, parts, sizeof(parts));
	uint32_t id = intern_find(&set->ids, key);
	struct graph_frame copy = { .line = line, .kind = frame->kind };
	bool is_new;

	if (id != INTERN_NONE)
		return id + 1;
	if (!copy_text(set->arena, frame->name, &copy.name) ||
	    !copy_text(set->arena, frame->file, &copy.file) ||
	    !ARENA_GROW(set->arena, set->frames, set->count, set->capacity))
		return FRAME_NONE;
	id = intern_add(&set->ids, set->arena, key, &is_new);
	if (id == INTERN_NONE)
		return FRAME_NONE;
	set->frames[set->count++] = copy;
	return id + 1;
}

/* ---- lines ---- */

bool frame_set_weigh(struct frame_set *set, uint32_t frame, int64_t line, enum frame_side side,
                     int64_t weight)
{
	const uint64_t parts[] = { frame, (uint64_t)line };
	uint32_t id;
	bool is_new;

	if (set->detail == FRAME_BY_LINE || line <= 0)
		return true;
	if (!ARENA_GROW(set->arena, set->lines, set->line_ids.count, set->line_capacity))
		return false;
	id = intern_add(&set->line_ids, set->arena, hash128(set->secret, parts, sizeof(parts)),
	                &is_new);
	if (id == INTERN_NONE)
		return false;
	if (is_new)
		set->lines[id] = (struct frame_line){ .frame = frame, .line = line };
	if (__builtin_add_overflow(set->lines[id].weights[side], weight,
	                           &set->lines[id].weights[side]))
		set->lines[id].weights[side] = INT64_MAX;
	return true;
}

/* Whether `a` is chosen before `b`. */
static bool is_better(const struct frame_line *a, const struct frame_line *b)
{
	if (a->weights[FRAME_RIGHT] != b->weights[FRAME_RIGHT])
		return a->weights[FRAME_RIGHT] > b->weights[FRAME_RIGHT];
	if (a->weights[FRAME_LEFT] != b->weights[FRAME_LEFT])
		return a->weights[FRAME_LEFT] > b->weights[FRAME_LEFT];
	return a->line < b->line;
}

int frame_set_choose_lines(struct frame_set *set, struct error *err)
{
	const struct frame_line **best;

	if (set->line_ids.count == 0)
		return 0;
	best = arena_array(set->arena, set->count, sizeof(struct frame_line *));
	if (!best)
		return arena_error(set->arena, err);
	for (size_t i = 0; i < set->line_ids.count; i++) {
		const struct frame_line *line = &set->lines[i];

		if (!best[line->frame] || is_better(line, best[line->frame]))
			best[line->frame] = line;
	}
	for (size_t i = 0; i < set->count; i++)
		if (best[i])
			set->frames[i].line = best[i]->line;
	return 0;
}

/* ---- order ---- */

/* A frame with the first eight bytes of its name as a number of the same order. */
struct sortable_frame {
	uint64_t prefix;
	const struct graph_frame *frame;
};

static uint64_t name_prefix(struct str name)
{
	uint64_t prefix = 0;

	if (name.length > 0)
		memcpy(&prefix, name.data,
		       name.length < sizeof(prefix) ? name.length : sizeof(prefix));
	return __builtin_bswap64(prefix);
}

static int compare_frames(const void *left, const void *right)
{
	const struct sortable_frame *a = left;
	const struct sortable_frame *b = right;
	int order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	order = str_compare(a->frame->name, b->frame->name);
	if (order == 0)
		order = str_compare(a->frame->file, b->frame->file);
	if (order == 0)
		order = (a->frame->kind > b->frame->kind) - (a->frame->kind < b->frame->kind);
	return order ? order
	             : (a->frame->line > b->frame->line) - (a->frame->line < b->frame->line);
}

int frame_set_rank(const struct frame_set *set, struct arena *arena, uint32_t **out_ranks,
                   struct error *err)
{
	uint32_t *ranks = arena_array_raw(arena, set->count, sizeof(*ranks));
	struct sortable_frame *sorted = arena_array_raw(arena, set->count, sizeof(*sorted));

	if (!ranks || !sorted)
		return arena_error(arena, err);
	for (size_t i = 0; i < set->count; i++)
		sorted[i] = (struct sortable_frame){ name_prefix(set->frames[i].name),
			                             &set->frames[i] };
	qsort(sorted, set->count, sizeof(*sorted), compare_frames);
	for (size_t i = 0; i < set->count; i++)
		ranks[sorted[i].frame - set->frames] = (uint32_t)i;
	*out_ranks = ranks;
	return 0;
}
