#include "base/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "base/thread_own.h"

#define LEVEL        1
#define LEVEL_ONCE   12
#define MEMBER_MIN   18   /* bytes of the shortest member: head, one empty block, tail */
#define RATIO_MAX    1032 /* no deflate stream grows by more: 258 bytes for two bits */
#define FIRST_RATIO  4    /* a guess at what profiles shrink by */
#define SMALLEST_TRY 1024

static void *make_decompressor(void)
{
	return libdeflate_alloc_decompressor();
}

static void free_decompressor(void *decompressor)
{
	libdeflate_free_decompressor(decompressor);
}

static void *make_compressor(void)
{
	return libdeflate_alloc_compressor(LEVEL);
}

static void free_compressor(void *compressor)
{
	libdeflate_free_compressor(compressor);
}

static struct thread_own decompressors = THREAD_OWN(make_decompressor, free_decompressor);
static struct thread_own compressors = THREAD_OWN(make_compressor, free_compressor);

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many bytes to try first. The last four bytes say what the last member holds:
 * a hint that makes the common stream of one member a single try, and no more.
 */
static size_t first_try(struct str bytes, size_t limit)
{
	uint32_t declared;

	memcpy(&declared, bytes.data + bytes.length - sizeof(declared), sizeof(declared));
	if (declared <= limit && declared / RATIO_MAX <= bytes.length)
		return declared;
	if (bytes.length > limit / FIRST_RATIO)
		return limit;
	return smaller(bytes.length * FIRST_RATIO + SMALLEST_TRY, limit);
}

/* The buffer that all members go to, one behind the other. */
struct output {
	struct arena *arena;
	char *data;
	size_t length;
	size_t capacity;
	size_t limit;
};

/* False when the limit is reached or the arena is full. */
static bool grow(struct output *output)
{
	size_t wanted = smaller(output->capacity, SIZE_MAX / 2) * 2;
	char *data;

	if (output->capacity == output->limit)
		return false;
	if (wanted < SMALLEST_TRY)
		wanted = SMALLEST_TRY;
	wanted = smaller(wanted, output->limit);
	if (output->length == 0) {
		arena_undo(output->arena, output->data, output->capacity);
		output->capacity = 0;
		data = arena_alloc_raw(output->arena, wanted);
	} else {
		data = arena_resize(output->arena, output->data, output->capacity, wanted);
	}
	if (!data)
		return false;
	output->data = data;
	output->capacity = wanted;
	return true;
}

static int inflate_member(struct str *bytes, struct output *output, struct error *err)
{
	struct libdeflate_decompressor *decompressor = thread_own_get(&decompressors);

	for (;;) {
		size_t taken;
		size_t made;
		const enum libdeflate_result result = libdeflate_gzip_decompress_ex(
			decompressor, bytes->data, bytes->length, output->data + output->length,
			output->capacity - output->length, &taken, &made);

		if (result == LIBDEFLATE_SUCCESS) {
			*bytes = str_skip(*bytes, taken);
			output->length += made;
			return 0;
		}
		if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
			return error_set(err, ERROR_INVALID, "gzip data is damaged or cut");
		if (!grow(output)) {
			if (arena_overflowed(output->arena))
				return arena_error(output->arena, err);
			return error_set(err, ERROR_TOO_LARGE,
			                 "gzip data inflates to more than %zu bytes",
			                 output->limit);
		}
	}
}

int gzip_inflate(struct str bytes, size_t limit_bytes, struct arena *arena, struct str *out,
                 struct error *err)
{
	struct output output = { .arena = arena, .limit = limit_bytes };

	if (!gzip_is(bytes))
		return error_set(err, ERROR_INVALID, "no gzip data");
	if (bytes.length < MEMBER_MIN)
		return error_set(err, ERROR_INVALID, "gzip data is damaged or cut");
	output.capacity = first_try(bytes, limit_bytes);
	output.data = arena_alloc_raw(arena, output.capacity);
	if (!output.data)
		return arena_error(arena, err);
	do {
		if (inflate_member(&bytes, &output, err) < 0)
			return -1;
		if (bytes.length > 0 && !gzip_is(bytes))
			return error_set(err, ERROR_INVALID, "%zu bytes behind the gzip data",
			                 bytes.length);
	} while (bytes.length > 0);
	*out = str_make(arena_resize(arena, output.data, output.capacity, output.length),
	                output.length);
	return 0;
}

static void deflate(struct libdeflate_compressor *compressor, struct str bytes, struct strbuf *out)
{
	const size_t bound = libdeflate_gzip_compress_bound(compressor, bytes.length);
	size_t length = 0;

	if (!strbuf_overflowed(out)) {
		/* the bound is generous: the result may fit where the bound does not */
		const size_t room = smaller(bound, out->limit - out->length);
		char *to = strbuf_reserve(out, room);

		length = libdeflate_gzip_compress(compressor, bytes.data, bytes.length, to, room);
	}
	if (length > 0)
		strbuf_advance(out, length);
	else
		(void)strbuf_reserve(out, SIZE_MAX); /* it did not fit: let the buffer know */
}

void gzip_deflate(struct str bytes, struct strbuf *out)
{
	deflate(thread_own_get(&compressors), bytes, out);
}

void gzip_deflate_once(struct str bytes, struct strbuf *out)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL_ONCE);

	if (!compressor)
		abort(); /* as base/mem.c: without memory there is no way on */
	deflate(compressor, bytes, out);
	libdeflate_free_compressor(compressor);
}
