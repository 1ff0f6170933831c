/*
 * A checkpoint record: start, duration, the way to the next older record (signed; 0: it is
 * the last), a byte, the count of pools. A pool: the id of its class, the count of its
 * constants, and for each a key and a value.
 */
#include "formats/jfr_pools.h"

#include "base/uuid.h"

#define POOL_BYTES  2 /* a pool takes at least as many */
#define TABLE_SLACK 1024

static const struct {
	const char *class;
	struct jfr_wanted wanted[JFR_POOL_SLOTS];
	size_t wanted_count;
} pool_classes[JFR_POOL_CLASSES] = {
	[JFR_POOL_STRING] = { "java.lang.String", { { "", JFR_WANT_STRING } }, 1 },
	[JFR_POOL_SYMBOL] = { "jdk.types.Symbol", { { "string", JFR_WANT_STRING } }, 1 },
	[JFR_POOL_CLASS] = { "java.lang.Class", { { "name", JFR_WANT_KEY } }, 1 },
	[JFR_POOL_METHOD] = { "jdk.types.Method",
	                      { { "type", JFR_WANT_KEY }, { "name", JFR_WANT_KEY } },
	                      2 },
	[JFR_POOL_STACK_TRACE] = { "jdk.types.StackTrace", { { "frames", JFR_WANT_ARRAY } }, 1 },
	[JFR_POOL_THREAD_STATE] = { "jdk.types.ThreadState", { { "name", JFR_WANT_STRING } }, 1 },
};

static const struct jfr_wanted frame_wanted[JFR_POOL_SLOTS] = {
	[JFR_FRAME_METHOD] = { "method", JFR_WANT_KEY },
	[JFR_FRAME_LINE] = { "lineNumber", JFR_WANT_NUMBER },
};

static int cut(struct error *err)
{
	return error_set(err, ERROR_INVALID, "JFR: the constants of a chunk are cut or broken");
}

static uint32_t find_class(const struct jfr_metadata *metadata, const char *name)
{
	for (size_t i = metadata->class_count; i > 0; i--)
		if (str_equals(metadata->classes[i - 1].name, name))
			return (uint32_t)(i - 1);
	return PROFILE_NONE;
}

/* The class of a stack trace's frames, when they stand in the trace. */
static uint32_t frame_class(const struct jfr_metadata *metadata, uint32_t trace)
{
	const struct jfr_class *class = &metadata->classes[trace];

	for (uint32_t i = 0; i < class->field_count; i++) {
		const struct jfr_field *field = &metadata->fields[class->first_field + i];

		if (str_equals(field->name, "frames") && field->is_array && !field->is_pooled)
			return field->class;
	}
	return PROFILE_NONE;
}

static int make_layouts(struct jfr_pools *pools, struct jfr_layouts *layouts, struct error *err)
{
	const struct jfr_metadata *metadata = layouts->metadata;
	uint32_t class;

	for (size_t i = 0; i < JFR_POOL_CLASSES; i++) {
		pools->pools[i].layout = JFR_LAYOUT_NONE;
		class = find_class(metadata, pool_classes[i].class);
		if (class != PROFILE_NONE &&
		    jfr_layout_make(layouts, class, pool_classes[i].wanted,
		                    pool_classes[i].wanted_count, &pools->pools[i].layout, err) < 0)
			return -1;
	}
	pools->frame_layout = JFR_LAYOUT_NONE;
	class = find_class(metadata, pool_classes[JFR_POOL_STACK_TRACE].class);
	if (class != PROFILE_NONE)
		class = frame_class(metadata, class);
	if (class == PROFILE_NONE)
		return 0;
	if (jfr_layout_make(layouts, class, frame_wanted, JFR_POOL_SLOTS, &pools->frame_layout,
	                    err) < 0)
		return -1;
	pools->frames_are_numbers = jfr_layout_is_numbers(layouts, pools->frame_layout);
	return 0;
}

/* ---- reading the records ---- */

/* The pool that a class belongs to, or NULL. */
static struct jfr_pool *pool_of(struct jfr_pools *pools, const struct jfr_class *class)
{
	for (size_t i = 0; i < JFR_POOL_CLASSES; i++)
		if (pools->pools[i].layout != JFR_LAYOUT_NONE &&
		    str_equals(class->name, pool_classes[i].class))
			return &pools->pools[i];
	return NULL;
}

static bool reserve(struct arena *arena, void **array, size_t size, size_t count, size_t needed,
                    size_t *capacity)
{
	const size_t wanted = needed > 2 * *capacity ? needed : 2 * *capacity;
	void *grown;

	if (needed <= *capacity)
		return true;
	grown = arena_resize(arena, *array, count * size, wanted * size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

static int keep_constants(struct jfr_pools *pools, struct jfr_pool *pool, struct jfr_reader *reader,
                          uint64_t count, struct error *err)
{
	const uint8_t *base = pools->chunk->bytes;

	if (!reserve(pools->arena, (void **)&pool->keys, sizeof(*pool->keys), pool->count,
	             pool->count + count, &pool->key_capacity) ||
	    !reserve(pools->arena, (void **)&pool->places, sizeof(*pool->places), pool->count,
	             pool->count + count, &pool->place_capacity))
		return arena_error(pools->arena, err);
	for (; count > 0; count--) {
		if (!jfr_read_long(reader, &pool->keys[pool->count]))
			return cut(err);
		pool->places[pool->count++] = (uint32_t)(reader->at - base);
		if (!jfr_layout_read(pools->layouts, pool->layout, reader, base, NULL))
			return cut(err);
	}
	return 0;
}

static int skip_constants(struct jfr_pools *pools, struct jfr_layouts *layouts, uint32_t class,
                          struct jfr_reader *reader, uint64_t count, struct error *err)
{
	uint32_t layout;
	uint64_t key;

	if (jfr_layout_make(layouts, class, NULL, 0, &layout, err) < 0)
		return -1;
	for (; count > 0; count--)
		if (!jfr_read_long(reader, &key) ||
		    !jfr_layout_read(layouts, layout, reader, pools->chunk->bytes, NULL))
			return cut(err);
	return 0;
}

static int read_pool(struct jfr_pools *pools, struct jfr_layouts *layouts,
                     struct jfr_reader *reader, struct error *err)
{
	struct jfr_pool *pool;
	uint64_t id;
	uint64_t count;
	uint32_t class;

	if (!jfr_read_long(reader, &id))
		return cut(err);
	class = jfr_metadata_find(layouts->metadata, id);
	if (class == PROFILE_NONE)
		return error_set(err, ERROR_INVALID,
		                 "JFR: constants of the class %llu, which is described nowhere",
		                 (unsigned long long)id);
	pool = pool_of(pools, &layouts->metadata->classes[class]);
	if (!jfr_read_count(reader, pool ? 1 + layouts->layouts[pool->layout].least_bytes : 1,
	                    &count))
		return cut(err);
	if (pool)
		return keep_constants(pools, pool, reader, count, err);
	return skip_constants(pools, layouts, class, reader, count, err);
}

/* Reads one record; *out_delta leads to the next one. */
static int read_checkpoint(struct jfr_pools *pools, struct jfr_layouts *layouts,
                           struct jfr_reader *reader, uint64_t *out_delta, struct error *err)
{
	uint64_t count;

	if (!jfr_skip_longs(reader, 2) || !jfr_read_long(reader, out_delta) ||
	    !jfr_skip(reader, 1) || !jfr_read_count(reader, POOL_BYTES, &count))
		return cut(err);
	for (; count > 0; count--)
		if (read_pool(pools, layouts, reader, err) < 0)
			return -1;
	return 0;
}

/* A chain that visits no record twice is no longer than the chunk. */
static int read_chain(struct jfr_pools *pools, struct jfr_layouts *layouts, struct error *err)
{
	const struct jfr_chunk *chunk = pools->chunk;
	uint64_t at = chunk->pools_at;
	uint64_t delta = 1;
	size_t bytes = 0;

	while (delta != 0) {
		struct jfr_reader reader;

		if (jfr_chunk_record(chunk, at, JFR_RECORD_CHECKPOINT, &reader, err) < 0)
			return -1;
		bytes += (size_t)(reader.end - (chunk->bytes + at));
		if (bytes > chunk->size)
			return error_set(
				err, ERROR_INVALID,
				"JFR: the chain of constants goes in a circle at byte %llu",
				(unsigned long long)at);
		if (read_checkpoint(pools, layouts, &reader, &delta, err) < 0)
			return -1;
		at += delta; /* signed: it wraps */
	}
	return 0;
}

/* ---- finding ---- */

static size_t hash_place(const struct jfr_pools *pools, const struct jfr_pool *pool, uint64_t key)
{
	uint64_t mix = (key ^ pools->secret) * UINT64_C(0x9e3779b97f4a7c15);

	mix ^= mix >> 32;
	mix *= UINT64_C(0xd6e8feb86659fd93);
	return (mix ^ mix >> 32) & (pool->index_length - 1);
}

/* The place in the index where a key stands, or would. */
static uint32_t *index_place(const struct jfr_pools *pools, const struct jfr_pool *pool,
                             uint64_t key)
{
	size_t at;

	if (pool->is_table)
		return &pool->index[key];
	at = hash_place(pools, pool, key);
	while (pool->index[at] != 0 && pool->keys[pool->index[at] - 1] != key)
		at = (at + 1) & (pool->index_length - 1);
	return &pool->index[at];
}

static uint64_t greatest_key(const struct jfr_pool *pool)
{
	uint64_t greatest = 0;

	for (size_t i = 0; i < pool->count; i++)
		greatest = pool->keys[i] > greatest ? pool->keys[i] : greatest;
	return greatest;
}

/* Small keys are places in a table; others are hashed, at most two thirds full. */
static bool make_index(const struct jfr_pools *pools, struct jfr_pool *pool)
{
	const uint64_t greatest = greatest_key(pool);

	pool->is_table = greatest < 2 * pool->count + TABLE_SLACK;
	pool->index_length = 16;
	while (pool->index_length / 3 * 2 < pool->count)
		pool->index_length *= 2;
	if (pool->is_table)
		pool->index_length = (size_t)greatest + 1;
	pool->index = arena_array(pools->arena, pool->index_length, sizeof(*pool->index));
	if (!pool->index)
		return false;
	for (size_t i = 0; i < pool->count; i++) {
		uint32_t *place = index_place(pools, pool, pool->keys[i]);

		if (*place == 0)
			*place = (uint32_t)i + 1;
	}
	return true;
}

int jfr_pools_read(const struct jfr_chunk *chunk, struct jfr_layouts *layouts, struct arena *arena,
                   struct jfr_pools *out, struct error *err)
{
	const struct uuid random = uuid_random();

	*out = (struct jfr_pools){ .chunk = chunk, .layouts = layouts, .arena = arena };
	memcpy(&out->secret, random.bytes, sizeof(out->secret));
	if (make_layouts(out, layouts, err) < 0 || read_chain(out, layouts, err) < 0)
		return -1;
	for (size_t i = 0; i < JFR_POOL_CLASSES; i++)
		if (!make_index(out, &out->pools[i]))
			return arena_error(arena, err);
	out->texts = arena_array(arena, out->pools[JFR_POOL_STRING].count, sizeof(*out->texts));
	return out->texts ? 0 : arena_error(arena, err);
}

uint32_t jfr_pools_find_hashed(const struct jfr_pools *pools, const struct jfr_pool *pool,
                               uint64_t key)
{
	return *index_place(pools, pool, key) - 1;
}

/* ---- reading constants ---- */

static struct jfr_reader reader_at(const struct jfr_pools *pools, uint64_t place)
{
	return (struct jfr_reader){
		.at = pools->chunk->bytes + place,
		.end = pools->chunk->bytes + pools->chunk->size,
		.fixed = pools->chunk->fixed,
	};
}

void jfr_pools_get(const struct jfr_pools *pools, enum jfr_pool_class class, uint32_t entry,
                   uint64_t slots[static JFR_POOL_SLOTS])
{
	const struct jfr_pool *pool = &pools->pools[class];

	memset(slots, 0, JFR_POOL_SLOTS * sizeof(*slots));
	jfr_layout_peek(pools->layouts, pool->layout, reader_at(pools, pool->places[entry]),
	                pools->chunk->bytes, slots);
}

/* The string that stands at a place; keys among strings lead no further. */
static struct jfr_text text_at(const struct jfr_pools *pools, uint64_t place)
{
	struct jfr_reader reader = reader_at(pools, place);
	struct jfr_text text;

	if (place == 0 || !jfr_read_text(&reader, &text))
		return (struct jfr_text){ .encoding = JFR_EMPTY };
	return text;
}

/* Few bytes may ask for one that is long: it is decoded once. */
static bool pooled_text(const struct jfr_pools *pools, uint64_t key, struct str *out)
{
	const uint32_t entry = jfr_pools_find(pools, JFR_POOL_STRING, key);
	uint64_t slots[JFR_POOL_SLOTS];
	struct jfr_text text;

	*out = STR("");
	if (entry == JFR_POOL_NONE)
		return true;
	if (!pools->texts[entry].data) {
		jfr_pools_get(pools, JFR_POOL_STRING, entry, slots);
		text = text_at(pools, slots[JFR_STRING_TEXT]);
		if (!jfr_text_decode(&text, pools->arena, &pools->texts[entry]))
			return false;
	}
	*out = pools->texts[entry];
	return true;
}

bool jfr_pools_text(const struct jfr_pools *pools, uint64_t place, struct str *out)
{
	const struct jfr_text text = text_at(pools, place);

	return text.encoding == JFR_POOLED ? pooled_text(pools, text.key, out)
	                                   : jfr_text_decode(&text, pools->arena, out);
}

bool jfr_pools_symbol(const struct jfr_pools *pools, uint32_t entry, struct str *out)
{
	uint64_t slots[JFR_POOL_SLOTS];

	jfr_pools_get(pools, JFR_POOL_SYMBOL, entry, slots);
	return jfr_pools_text(pools, slots[JFR_SYMBOL_TEXT], out);
}

struct jfr_reader jfr_pools_frames(const struct jfr_pools *pools, uint32_t trace,
                                   uint64_t *out_count)
{
	uint64_t slots[JFR_POOL_SLOTS];
	struct jfr_reader reader;

	*out_count = 0;
	jfr_pools_get(pools, JFR_POOL_STACK_TRACE, trace, slots);
	reader = reader_at(pools, slots[JFR_TRACE_FRAMES]);
	/* Frames that take no bytes are none: their count bounds nothing. */
	if (pools->frame_layout == JFR_LAYOUT_NONE || slots[JFR_TRACE_FRAMES] == 0 ||
	    pools->layouts->layouts[pools->frame_layout].least_bytes == 0 ||
	    !jfr_read_int(&reader, out_count))
		*out_count = 0;
	return reader;
}
