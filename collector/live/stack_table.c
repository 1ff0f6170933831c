#include "collector/live/stack_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/uuid.h"

#define SHRINK_MIN   4096 /* stacks: smaller tables are not worth the work (a guess) */
#define SCRATCH_MAX  ((size_t)64 << 10)
#define ID_BYTES     24 /* in a map of ids, about */
#define STRING_BYTES (sizeof(struct str) + ID_BYTES)
#define FRAME_BYTES  (sizeof(struct stack_frame) + ID_BYTES)
#define NODE_BYTES   (sizeof(struct stack_node) + ID_BYTES)
#define KEEP_INNER   500 /* frames of a stack that is too deep, the driver's included */
#define KEEP_OUTER   (STACK_DEPTH_MAX - KEEP_INNER - 1)

struct stack_table {
	size_t limit_bytes;
	uint64_t key; /* of all hashes; drawn for each table */
	uint64_t overflows;

	struct arena *texts;
	struct arena *scratch; /* of one string */
	struct id_map string_ids;
	struct str *strings;
	size_t string_capacity;
	size_t string_room; /* bytes of strings' texts */

	struct id_map frame_ids;
	struct stack_frame *frames;
	size_t frame_capacity;

	struct id_map node_ids;
	struct stack_node *nodes;
	size_t node_capacity;

	uint32_t function_frames[CUDA_FUNCTION_COUNT];
	uint32_t omitted_frame; /* "[frames left out]" */
	uint32_t sampled_frame; /* "[sampled]" */
};

/* ---- interning ---- */

/* Makes room for one element behind `count`. */
static void *grow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 256;
	return mem_resize(array, *capacity, size);
}

/* `text` as it may be stored: cut between characters, and valid. */
static struct str tidy_text(struct stack_table *table, struct str text)
{
	struct str repaired;

	if (text.length > STACK_STRING_MAX) {
		text.length = STACK_STRING_MAX;
		while (text.length > 0 && ((uint8_t)text.data[text.length] & 0xc0) == 0x80)
			text.length--;
	}
	if (utf8_is_valid(text))
		return text;
	arena_reset(table->scratch);
	repaired = utf8_repair(table->scratch, text);
	/* U+FFFD is three bytes for one: cut once more, between characters */
	if (repaired.length > STACK_STRING_MAX) {
		repaired.length = STACK_STRING_MAX;
		while ((uint8_t)repaired.data[repaired.length] >> 6 == 2)
			repaired.length--;
	}
	return repaired;
}

static uint32_t intern_string(struct stack_table *table, struct str text)
{
	uint32_t id;
	bool is_new;

	text = tidy_text(table, text);
	id = id_map_add(&table->string_ids, hash128_str(table->key, text), &is_new);
	if (!is_new)
		return id;
	table->strings = grow(table->strings, id, &table->string_capacity, sizeof(*table->strings));
	table->strings[id] = arena_copy(table->texts, text);
	assert(table->strings[id].data); /* has_room() asked before */
	table->string_room += text.length + 1;
	return id;
}

/*
 * What tells a frame from all others, before any of its strings is looked up: most frames
 * were seen before.
 */
static struct hash128 frame_key(const struct stack_table *table, const struct frame *frame)
{
	const struct str texts[] = { frame->name, frame->system_name, frame->file, frame->module,
		                     frame->build_id };
	uint64_t parts[ARRAY_LENGTH(texts) + 4];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		parts[count++] =
			texts[i].length ? hash64(table->key, texts[i].data, texts[i].length) : 0;
	parts[count++] = (uint64_t)frame->kind;
	parts[count++] = (uint64_t)frame->line;
	parts[count++] = (uint64_t)frame->start_line;
	parts[count++] = frame->address;
	return hash128(table->key, parts, sizeof(parts));
}

/* The number of the frame with this key; a new one has no content yet. */
static uint32_t place_frame(struct stack_table *table, struct hash128 key, bool *out_new)
{
	const uint32_t id = id_map_add(&table->frame_ids, key, out_new);

	if (*out_new)
		table->frames =
			grow(table->frames, id, &table->frame_capacity, sizeof(*table->frames));
	return id;
}

static uint32_t intern_frame(struct stack_table *table, const struct frame *frame)
{
	bool is_new;
	const uint32_t id = place_frame(table, frame_key(table, frame), &is_new);

	if (is_new)
		table->frames[id] = (struct stack_frame){
			.name = intern_string(table, frame->name),
			.system_name = intern_string(table, frame->system_name),
			.file = intern_string(table, frame->file),
			.module = intern_string(table, frame->module),
			.build_id = intern_string(table, frame->build_id),
			.kind = frame->kind,
			.line = frame->line,
			.start_line = frame->start_line,
			.address = frame->address,
		};
	return id;
}

static uint32_t intern_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	const uint32_t pair[] = { parent, frame };
	uint32_t id;
	bool is_new;

	id = id_map_add(&table->node_ids, hash128(table->key, pair, sizeof(pair)), &is_new);
	if (!is_new)
		return id;
	table->nodes = grow(table->nodes, id, &table->node_capacity, sizeof(*table->nodes));
	table->nodes[id] = (struct stack_node){
		.parent = parent,
		.frame = frame,
		.depth = parent == STACK_NONE ? 1 : table->nodes[parent].depth + 1,
	};
	return id;
}

/* ---- making ---- */

/* The frames and stacks that always are there, in the order of their numbers. */
static void add_fixed(struct stack_table *table)
{
	const struct frame lost = { .name = STR("[stack lost]") };
	const struct frame device = { .name = STR("[device]") };
	const struct frame earlier = { .name = STR("[allocated before profiling started]") };
	const struct frame omitted = { .name = STR("[frames left out]") };
	const struct frame sampled = { .name = STR("[sampled]") };
	uint32_t root;

	(void)intern_string(table, STR("")); /* string 0 */
	root = intern_node(table, STACK_NONE, intern_frame(table, &lost));
	assert(root == STACK_LOST);
	for (uint32_t i = 0; i < CUDA_FUNCTION_COUNT; i++) {
		const struct frame frame = {
			.name = str_of(cuda_function((enum cuda_function_id)i)->name),
			.module = STR("libcuda.so.1"),
			.kind = FUNCTION_CUDA,
		};

		table->function_frames[i] = intern_frame(table, &frame);
		root = intern_node(table, STACK_LOST, table->function_frames[i]);
		assert(root == stack_lost((enum cuda_function_id)i));
	}
	root = intern_node(table, STACK_NONE, intern_frame(table, &device));
	assert(root == STACK_DEVICE);
	root = intern_node(table, STACK_NONE, intern_frame(table, &earlier));
	assert(root == STACK_EARLIER);
	table->omitted_frame = intern_frame(table, &omitted);
	table->sampled_frame = intern_frame(table, &sampled);
}

static struct stack_table *new_table(size_t limit_bytes, uint64_t key)
{
	struct stack_table *table = mem_zalloc(1, sizeof(*table));

	table->key = key;
	table->limit_bytes = limit_bytes;
	table->texts = arena_new(SIZE_MAX / 2, NULL); /* has_room() holds the limit */
	table->scratch = arena_new(SCRATCH_MAX, NULL);
	add_fixed(table);
	return table;
}

struct stack_table *stack_table_new(size_t limit_bytes)
{
	const struct uuid random = uuid_random();
	uint64_t key;

	memcpy(&key, random.bytes, sizeof(key));
	return new_table(limit_bytes, key);
}

/* Everything but the struct itself. */
static void empty(struct stack_table *table)
{
	arena_free(table->texts);
	arena_free(table->scratch);
	id_map_fini(&table->string_ids);
	id_map_fini(&table->frame_ids);
	id_map_fini(&table->node_ids);
	free(table->strings);
	free(table->frames);
	free(table->nodes);
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	empty(table);
	free(table);
}

/* ---- adding ---- */

size_t stack_table_bytes(const struct stack_table *table)
{
	return sizeof(*table) + table->string_room + id_map_bytes(&table->string_ids) +
	       id_map_bytes(&table->frame_ids) + id_map_bytes(&table->node_ids) +
	       table->string_capacity * sizeof(*table->strings) +
	       table->frame_capacity * sizeof(*table->frames) +
	       table->node_capacity * sizeof(*table->nodes);
}

/* Arrays and hash tables double: below half of the limit, that keeps within it. */
static bool has_room(const struct stack_table *table)
{
	return stack_table_bytes(table) < table->limit_bytes / 2 &&
	       table->node_ids.count < ID_MAP_MAX - FRAMES_MAX;
}

/* What is stored, without the room that arrays have beyond it. */
static size_t stored_bytes(const struct stack_table *table)
{
	return table->string_room + table->string_ids.count * STRING_BYTES +
	       table->frame_ids.count * FRAME_BYTES + table->node_ids.count * NODE_BYTES;
}

/*
 * Whoever has stored as much as there is room for stores no more. What all may store together
 * is so much that the room for it, doubled and doubled again, is still within has_room().
 */
static bool has_share(const struct stack_table *table, size_t share)
{
	const size_t stored = stored_bytes(table);
	const size_t limit = table->limit_bytes / 8;

	return stored < limit && share <= limit - stored;
}

/* Of a stack that is too deep: frame `i` from the leaf is not one of the ends. */
static bool is_in_middle(size_t i, size_t count)
{
	return count + 1 > STACK_DEPTH_MAX && i >= KEEP_INNER - 1 && i < count - KEEP_OUTER;
}

static uint32_t add_stack(struct stack_table *table, enum cuda_function_id function,
                          const struct frame_list *callers)
{
	uint32_t node = STACK_NONE;

	for (size_t i = callers->count; i-- > 0;) {
		if (!is_in_middle(i, callers->count))
			node = intern_node(table, node, intern_frame(table, &callers->frames[i]));
		else if (i == KEEP_INNER - 1)
			node = intern_node(table, node, table->omitted_frame);
	}
	return intern_node(table, node, table->function_frames[function]);
}

static uint32_t find_node(const struct stack_table *table, uint32_t parent, uint32_t frame)
{
	const uint32_t pair[] = { parent, frame };

	return frame == ID_MAP_NONE
	               ? ID_MAP_NONE
	               : id_map_find(&table->node_ids, hash128(table->key, pair, sizeof(pair)));
}

/* The stack if it is there already, or the lost one. */
static uint32_t find_stack(struct stack_table *table, enum cuda_function_id function,
                           const struct frame_list *callers)
{
	uint32_t node = STACK_NONE;

	for (size_t i = callers->count; i-- > 0;) {
		uint32_t frame = table->omitted_frame;

		if (is_in_middle(i, callers->count) && i != KEEP_INNER - 1)
			continue;
		if (!is_in_middle(i, callers->count))
			frame = id_map_find(&table->frame_ids,
			                    frame_key(table, &callers->frames[i]));
		node = find_node(table, node, frame);
		if (node == ID_MAP_NONE)
			break;
	}
	if (node != ID_MAP_NONE)
		node = find_node(table, node, table->function_frames[function]);
	if (node != ID_MAP_NONE)
		return node;
	table->overflows++;
	return stack_lost(function);
}

uint32_t stack_table_add(struct stack_table *table, enum cuda_function_id function,
                         const struct frame_list *callers, size_t *share)
{
	const size_t before = stored_bytes(table);
	uint32_t stack;

	if (!callers || callers->count == 0)
		return stack_lost(function);
	if (!has_room(table) || (share && !has_share(table, *share)))
		return find_stack(table, function, callers);
	stack = add_stack(table, function, callers);
	if (share)
		*share += stored_bytes(table) - before;
	return stack;
}

uint32_t stack_table_sampled(struct stack_table *table, enum cuda_function_id function,
                             uint32_t stack)
{
	const uint32_t leaf = table->function_frames[function];
	uint32_t node;

	if (stack <= CUDA_FUNCTION_COUNT || table->nodes[stack].depth >= STACK_DEPTH_MAX)
		return stack_lost(function);
	if (has_room(table))
		return intern_node(
			table, intern_node(table, table->nodes[stack].parent, table->sampled_frame),
			leaf);
	node = find_node(table, table->nodes[stack].parent, table->sampled_frame);
	if (node != ID_MAP_NONE)
		node = find_node(table, node, leaf);
	if (node != ID_MAP_NONE)
		return node;
	table->overflows++;
	return stack_lost(function);
}

size_t stack_table_count(const struct stack_table *table)
{
	return table->node_ids.count;
}

const struct stack_node *stack_table_node(const struct stack_table *table, uint32_t stack)
{
	assert(stack < table->node_ids.count);
	return &table->nodes[stack];
}

size_t stack_table_frame_count(const struct stack_table *table)
{
	return table->frame_ids.count;
}

const struct stack_frame *stack_table_frame(const struct stack_table *table, uint32_t frame)
{
	assert(frame < table->frame_ids.count);
	return &table->frames[frame];
}

size_t stack_table_string_count(const struct stack_table *table)
{
	return table->string_ids.count;
}

struct str stack_table_string(const struct stack_table *table, uint32_t string)
{
	assert(string < table->string_ids.count);
	return table->strings[string];
}

uint64_t stack_table_overflows(const struct stack_table *table)
{
	return table->overflows;
}

/* ---- shrinking ---- */

uint8_t *stack_table_marks(const struct stack_table *table)
{
	return mem_zalloc(table->node_ids.count, 1);
}

/* Marks the callers of what is marked. Returns how many stacks are marked then. */
static uint32_t mark_callers(const struct stack_table *table, uint8_t *marks)
{
	uint32_t count = 0;

	for (uint32_t i = table->node_ids.count; i-- > 0;) {
		if (!marks[i])
			continue;
		count++;
		if (table->nodes[i].parent != STACK_NONE)
			marks[table->nodes[i].parent] = 1;
	}
	return count;
}

/* A frame of the old table in the new one, which has the same key. */
static uint32_t copy_frame(struct stack_table *to, const struct stack_table *from, uint32_t frame)
{
	bool is_new;
	const uint32_t id = place_frame(to, from->frame_ids.keys[frame], &is_new);
	struct stack_frame copy = from->frames[frame];

	if (!is_new)
		return id;
	copy.name = intern_string(to, from->strings[copy.name]);
	copy.system_name = intern_string(to, from->strings[copy.system_name]);
	copy.file = intern_string(to, from->strings[copy.file]);
	copy.module = intern_string(to, from->strings[copy.module]);
	copy.build_id = intern_string(to, from->strings[copy.build_id]);
	to->frames[id] = copy;
	return id;
}

void stack_table_shrink(struct stack_table *table, uint8_t *marks, uint32_t **out_numbers)
{
	const uint32_t count = table->node_ids.count;
	struct stack_table *fresh;
	uint32_t *numbers;

	*out_numbers = NULL;
	if (count < SHRINK_MIN || mark_callers(table, marks) >= count / 2) {
		free(marks);
		return;
	}
	fresh = new_table(table->limit_bytes, table->key);
	fresh->overflows = table->overflows;
	numbers = mem_zalloc(count, sizeof(*numbers));
	for (uint32_t i = 0; i < count; i++) {
		const struct stack_node *node = &table->nodes[i];

		if (i <= STACK_EARLIER) /* those that always are there */
			numbers[i] = i;
		else if (!marks[i])
			numbers[i] = STACK_NONE;
		else
			numbers[i] = intern_node(fresh,
			                         node->parent == STACK_NONE ? STACK_NONE
			                                                    : numbers[node->parent],
			                         copy_frame(fresh, table, node->frame));
	}
	free(marks);
	empty(table);
	*table = *fresh;
	free(fresh);
	*out_numbers = numbers;
}

/* ---- checking ---- */

void stack_table_check(const struct stack_table *table)
{
	id_map_check(&table->string_ids);
	id_map_check(&table->frame_ids);
	id_map_check(&table->node_ids);
	for (uint32_t i = 0; i < table->node_ids.count; i++) {
		const struct stack_node *node = &table->nodes[i];

		assert(node->frame < table->frame_ids.count);
		assert(node->depth <= STACK_DEPTH_MAX);
		assert(node->parent == STACK_NONE
		               ? node->depth == 1
		               : node->parent < i &&
		                         table->nodes[node->parent].depth + 1 == node->depth);
	}
	for (uint32_t i = 0; i < table->string_ids.count; i++)
		assert(table->strings[i].length <= STACK_STRING_MAX &&
		       utf8_is_valid(table->strings[i]));
}
