#include "formats/jfr_stacks.h"

#include "base/uuid.h"

/* What constants are before they are asked for. */
#define UNSEEN (UINT32_MAX - 1)

#define FRAME_NONE  UINT32_MAX /* of a method that nobody describes */
#define KNOWN_BITS  11
#define KNOWN_COUNT ((size_t)1 << KNOWN_BITS) /* 32 KiB: most frames of a second level cache */

int jfr_stacks_init(struct jfr_stacks *stacks, size_t name_bytes, struct arena *arena,
                    struct error *err)
{
	const struct uuid random = uuid_random();

	*stacks = (struct jfr_stacks){ .arena = arena,
		                       .name_bytes_left = name_bytes,
		                       .name_work_left = name_bytes * JFR_NAMES_WORK };
	memcpy(&stacks->secret, random.bytes, sizeof(stacks->secret));
	stacks->known = arena_array_raw(arena, KNOWN_COUNT, sizeof(*stacks->known));
	if (!stacks->known || !number_map_init(&stacks->frame_ids, arena, 0))
		return arena_error(arena, err);
	return 0;
}

/* A number for each constant of a class. NULL when the arena is full. */
static uint32_t *make_unseen(const struct jfr_stacks *stacks, enum jfr_pool_class class)
{
	const size_t count = stacks->pools->pools[class].count;
	uint32_t *numbers = arena_array_raw(stacks->arena, count, sizeof(*numbers));

	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = UNSEEN;
	return numbers;
}

int jfr_stacks_begin(struct jfr_stacks *stacks, const struct jfr_pools *pools, struct error *err)
{
	stacks->pools = pools;
	stacks->symbol_places = make_unseen(stacks, JFR_POOL_SYMBOL);
	stacks->classes = make_unseen(stacks, JFR_POOL_CLASS);
	stacks->methods = make_unseen(stacks, JFR_POOL_METHOD);
	stacks->traces = make_unseen(stacks, JFR_POOL_STACK_TRACE);
	stacks->symbol_count = 0;
	if (!stacks->symbol_places || !stacks->classes || !stacks->methods || !stacks->traces ||
	    !ARENA_GROW(stacks->arena, stacks->symbols, 0, stacks->symbol_capacity))
		return arena_error(stacks->arena, err);
	stacks->symbols[stacks->symbol_count++] = (struct jfr_symbol){ STR(""), STR("") };
	for (size_t i = 0; i < KNOWN_COUNT; i++)
		stacks->known[i].frame = UNSEEN;
	return 0;
}

/* ---- names ---- */

static void append(char **to, struct str text)
{
	if (text.length > 0)
		memcpy(*to, text.data, text.length);
	*to += text.length;
}

/* "<class>.<method>" in the arena. */
static int make_name(struct jfr_stacks *stacks, const struct jfr_symbol *class,
                     const struct jfr_symbol *method, char **out, size_t *out_length,
                     struct error *err)
{
	const size_t length = class->head.length + class->tail.length + 1 + method->head.length +
	                      method->tail.length;
	char *text;
	char *to;

	if (length > stacks->name_bytes_left || length > stacks->name_work_left)
		return error_set(err, ERROR_TOO_LARGE,
		                 "JFR: the functions' names are longer than the recording allows");
	stacks->name_work_left -= length;
	text = to = arena_alloc_raw(stacks->arena, length);
	if (!text)
		return arena_error(stacks->arena, err);
	append(&to, class->head);
	append(&to, class->tail);
	*to++ = '.';
	append(&to, method->head);
	append(&to, method->tail);
	*out = text;
	*out_length = length;
	return 0;
}

static int add_function(struct jfr_stacks *stacks, const struct jfr_symbol *class,
                        const struct jfr_symbol *method, uint32_t *out, struct error *err)
{
	const size_t count = stacks->name_ids.count;
	struct hash128 hash;
	size_t length = 0;
	bool is_new;
	char *name = NULL;
	uint32_t id;

	if (!ARENA_GROW(stacks->arena, stacks->names, count, stacks->name_capacity))
		return arena_error(stacks->arena, err);
	if (make_name(stacks, class, method, &name, &length, err) < 0)
		return -1;
	hash = hash128(stacks->secret, name, length);
	id = intern_add(&stacks->name_ids, stacks->arena, hash, &is_new);
	if (id == INTERN_NONE)
		return arena_error(stacks->arena, err);
	if (is_new) {
		stacks->name_bytes_left -= length;
		stacks->names[id] = str_make(name, length);
	} else {
		arena_undo(stacks->arena, name, length);
	}
	*out = id;
	return 0;
}

/* The place among `symbols` of what a key names. */
static int find_symbol(struct jfr_stacks *stacks, uint64_t key, uint32_t *out, struct error *err)
{
	const uint32_t entry = jfr_pools_find(stacks->pools, JFR_POOL_SYMBOL, key);
	struct str text;

	*out = 0;
	if (entry == JFR_POOL_NONE)
		return 0;
	*out = stacks->symbol_places[entry];
	if (*out != UNSEEN)
		return 0;
	if (!ARENA_GROW(stacks->arena, stacks->symbols, stacks->symbol_count,
	                stacks->symbol_capacity) ||
	    !jfr_pools_symbol(stacks->pools, entry, &text))
		return arena_error(stacks->arena, err);
	*out = stacks->symbol_places[entry] = (uint32_t)stacks->symbol_count;
	stacks->symbols[stacks->symbol_count++] = jfr_symbol_clean(text);
	return 0;
}

/* The place among `symbols` of a class' name. */
static int find_class(struct jfr_stacks *stacks, uint32_t class, uint32_t *out, struct error *err)
{
	uint64_t slots[JFR_POOL_SLOTS];

	*out = stacks->classes[class];
	if (*out != UNSEEN)
		return 0;
	jfr_pools_get(stacks->pools, JFR_POOL_CLASS, class, slots);
	if (find_symbol(stacks, slots[JFR_CLASS_NAME], out, err) < 0)
		return -1;
	stacks->classes[class] = *out;
	return 0;
}

/* The function of a method, or PROFILE_NONE when its class is described nowhere. */
static int find_function(struct jfr_stacks *stacks, uint32_t method, uint32_t *out,
                         struct error *err)
{
	const struct jfr_pools *pools = stacks->pools;
	uint64_t of_method[JFR_POOL_SLOTS];
	uint32_t class_name;
	uint32_t method_name;
	uint32_t class;

	*out = PROFILE_NONE;
	jfr_pools_get(pools, JFR_POOL_METHOD, method, of_method);
	class = jfr_pools_find(pools, JFR_POOL_CLASS, of_method[JFR_METHOD_TYPE]);
	if (class == JFR_POOL_NONE)
		return 0;
	if (find_class(stacks, class, &class_name, err) < 0 ||
	    find_symbol(stacks, of_method[JFR_METHOD_NAME], &method_name, err) < 0)
		return -1;
	return add_function(stacks, &stacks->symbols[class_name], &stacks->symbols[method_name],
	                    out, err);
}

/* ---- frames ---- */

static int find_frame(struct jfr_stacks *stacks, uint32_t function, int32_t line, uint32_t *out,
                      struct error *err)
{
	uint32_t *id = number_map_at(&stacks->frame_ids, (uint64_t)function << 32 | (uint32_t)line);

	if (!id)
		return arena_error(stacks->arena, err);
	if (*id == NUMBER_MAP_NONE) {
		if (stacks->frame_count == JFR_FRAMES_MAX)
			return error_set(err, ERROR_TOO_LARGE, "JFR: more than %u different frames",
			                 JFR_FRAMES_MAX);
		*id = (uint32_t)stacks->frame_count;
		if (!ARENA_GROW(stacks->arena, stacks->frames, stacks->frame_count,
		                stacks->frame_capacity))
			return arena_error(stacks->arena, err);
		stacks->frames[stacks->frame_count++] = (struct jfr_frame){ function, line };
	}
	*out = *id;
	return 0;
}

/* The frame of a method at a line, or FRAME_NONE. */
static int make_frame(struct jfr_stacks *stacks, uint64_t key, int32_t line, uint32_t *out,
                      struct error *err)
{
	const uint32_t entry = jfr_pools_find(stacks->pools, JFR_POOL_METHOD, key);
	uint32_t *function;

	*out = FRAME_NONE;
	if (entry == JFR_POOL_NONE)
		return 0;
	function = &stacks->methods[entry];
	if (*function == UNSEEN && find_function(stacks, entry, function, err) < 0)
		return -1;
	if (*function == PROFILE_NONE)
		return 0;
	return find_frame(stacks, *function, line, out, err);
}

static struct jfr_known_frame *known_place(const struct jfr_stacks *stacks, uint64_t key,
                                           int32_t line)
{
	const uint64_t mix = (key ^ (uint64_t)(uint32_t)line << 24) * UINT64_C(0x9e3779b97f4a7c15);

	return &stacks->known[mix >> (64 - KNOWN_BITS)];
}

/* ---- stacks ---- */

static int reserve_frames(struct jfr_stacks *stacks, uint64_t count, struct error *err)
{
	const size_t needed = stacks->run_length + count;

	if (needed > UINT32_MAX)
		return error_set(err, ERROR_TOO_LARGE, "JFR: stacks have too many frames");
	while (stacks->run_capacity < needed)
		if (!arena_grow(stacks->arena, (void **)&stacks->runs, sizeof(*stacks->runs),
		                &stacks->run_capacity))
			return arena_error(stacks->arena, err);
	return 0;
}

static int push_frames(struct jfr_stacks *stacks, uint32_t trace, struct error *err)
{
	uint64_t count;
	struct jfr_reader reader = jfr_pools_frames(stacks->pools, trace, &count);
	uint64_t slots[JFR_POOL_SLOTS];

	if (count > jfr_left(&reader))
		count = jfr_left(&reader);
	if (reserve_frames(stacks, count, err) < 0)
		return -1;
	for (; count > 0 && jfr_pools_frame(stacks->pools, &reader, slots); count--) {
		const uint64_t key = slots[JFR_FRAME_METHOD];
		const int32_t line = (int32_t)slots[JFR_FRAME_LINE];
		struct jfr_known_frame *known = known_place(stacks, key, line);

		if (known->frame == UNSEEN || known->method != key || known->line != line) {
			*known = (struct jfr_known_frame){ key, line, UNSEEN };
			if (make_frame(stacks, key, line, &known->frame, err) < 0)
				return -1;
		}
		if (known->frame != FRAME_NONE)
			stacks->runs[stacks->run_length++] = known->frame;
	}
	return 0;
}

/* Makes the run of frames from `first` on a stack, unless there is one like it. */
static int close_run(struct jfr_stacks *stacks, size_t first, uint32_t *out, struct error *err)
{
	const uint32_t nothing = 0;
	const uint32_t *run = stacks->runs ? stacks->runs + first : &nothing;
	const size_t depth = stacks->run_length - first;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(stacks->arena, stacks->stacks, stacks->stack_ids.count,
	                stacks->stack_capacity))
		return arena_error(stacks->arena, err);
	id = intern_add(&stacks->stack_ids, stacks->arena,
	                hash128(stacks->secret, run, depth * sizeof(*run)), &is_new);
	if (id == INTERN_NONE)
		return arena_error(stacks->arena, err);
	if (is_new)
		stacks->stacks[id] = (struct jfr_stack){ (uint32_t)first, (uint32_t)depth };
	else
		stacks->run_length = first;
	*out = id;
	return 0;
}

int jfr_stacks_find(struct jfr_stacks *stacks, uint64_t key, uint32_t *out_stack, struct error *err)
{
	const uint32_t trace = jfr_pools_find(stacks->pools, JFR_POOL_STACK_TRACE, key);
	const size_t first = stacks->run_length;

	*out_stack = JFR_STACK_NONE;
	if (trace == JFR_POOL_NONE)
		return 0;
	if (stacks->traces[trace] == UNSEEN &&
	    (push_frames(stacks, trace, err) < 0 ||
	     close_run(stacks, first, &stacks->traces[trace], err) < 0))
		return -1;
	*out_stack = stacks->traces[trace];
	return 0;
}
