#include "base/zstd.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/thread_own.h"

#define FIRST_RATIO  16 /* a guess at what messages shrink by, and some */
#define SMALLEST_TRY 4096

static void *make_compression(void)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	/* SQLite does not check its pages: the frame does */
	if (context)
		(void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	return context;
}

static void free_compression(void *context)
{
	(void)ZSTD_freeCCtx(context);
}

static void *make_decompression(void)
{
	return ZSTD_createDCtx();
}

static void free_decompression(void *context)
{
	(void)ZSTD_freeDCtx(context);
}

static struct thread_own compressions = THREAD_OWN(make_compression, free_compression);
static struct thread_own decompressions = THREAD_OWN(make_decompression, free_decompression);

void zstd_pack(struct str bytes, int level, struct strbuf *out)
{
	ZSTD_CCtx *context = thread_own_get(&compressions);
	const size_t bound = ZSTD_compressBound(bytes.length);
	size_t room;
	size_t length;

	if (strbuf_overflowed(out))
		return;
	/* the bound is generous: the result may fit where the bound does not */
	room = out->limit - out->length;
	if (room > bound)
		room = bound;
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	length = ZSTD_compress2(context, strbuf_reserve(out, room), room, bytes.data, bytes.length);
	if (!ZSTD_isError(length))
		strbuf_advance(out, length);
	else
		(void)strbuf_reserve(out, SIZE_MAX); /* it did not fit: let the buffer know */
}

int zstd_unpack(struct str frame, size_t limit_bytes, struct arena *arena, struct str *out,
                struct error *err)
{
	const unsigned long long size = ZSTD_getFrameContentSize(frame.data, frame.length);
	size_t length;
	char *to;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return error_set(err, ERROR_CORRUPT, "no zstd frame of a known size");
	if (size > limit_bytes)
		return error_set(err, ERROR_CORRUPT, "a zstd frame of %llu bytes, more than %zu",
		                 size, limit_bytes);
	to = arena_alloc_raw(arena, (size_t)size);
	if (!to)
		return arena_error(arena, err);
	length = ZSTD_decompressDCtx(thread_own_get(&decompressions), to, (size_t)size, frame.data,
	                             frame.length);
	if (ZSTD_isError(length))
		return error_set(err, ERROR_CORRUPT, "a damaged zstd frame: %s",
		                 ZSTD_getErrorName(length));
	if (length != size)
		return error_set(err, ERROR_CORRUPT, "a zstd frame of %zu bytes that claims %llu",
		                 length, size);
	*out = str_make(to, length);
	return 0;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many bytes to try first: what the first frame says, if that can be so. */
static size_t first_try(struct str bytes, size_t limit)
{
	const unsigned long long declared = ZSTD_getFrameContentSize(bytes.data, bytes.length);
	const size_t likely = bytes.length > limit / FIRST_RATIO
	                              ? limit
	                              : smaller(bytes.length * FIRST_RATIO + SMALLEST_TRY, limit);

	if (declared == ZSTD_CONTENTSIZE_UNKNOWN || declared == ZSTD_CONTENTSIZE_ERROR ||
	    declared == 0 || declared > likely)
		return likely;
	return (size_t)declared;
}

int zstd_inflate(struct str bytes, size_t limit_bytes, struct arena *arena, struct str *out,
                 struct error *err)
{
	size_t room = first_try(bytes, limit_bytes);

	if (bytes.length == 0)
		return error_set(err, ERROR_INVALID, "no zstd data");
	for (;;) {
		char *to = arena_alloc_raw(arena, room);
		size_t length;

		if (!to)
			return arena_error(arena, err);
		length = ZSTD_decompressDCtx(thread_own_get(&decompressions), to, room, bytes.data,
		                             bytes.length);
		if (!ZSTD_isError(length)) {
			*out = str_make(arena_resize(arena, to, room, length), length);
			return 0;
		}
		arena_undo(arena, to, room);
		if (ZSTD_getErrorCode(length) != ZSTD_error_dstSize_tooSmall)
			return error_set(err, ERROR_INVALID, "zstd data is damaged or cut: %s",
			                 ZSTD_getErrorName(length));
		if (room == limit_bytes)
			return error_set(err, ERROR_TOO_LARGE,
			                 "zstd data inflates to more than %zu bytes", limit_bytes);
		room = room > limit_bytes / 2 ? limit_bytes : room * 2;
	}
}
