#include "base/zstd.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

struct contexts {
	ZSTD_CCtx *compression;
	ZSTD_DCtx *decompression;
};

static pthread_key_t contexts_key;

static void free_contexts(void *pointer)
{
	struct contexts *contexts = pointer;

	(void)ZSTD_freeCCtx(contexts->compression);
	(void)ZSTD_freeDCtx(contexts->decompression);
	free(contexts);
}

static void make_key(void)
{
	if (pthread_key_create(&contexts_key, free_contexts) != 0)
		abort();
}

/* The calling thread's own; released when the thread ends. */
static struct contexts *own_contexts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct contexts *contexts;

	(void)pthread_once(&once, make_key);
	contexts = pthread_getspecific(contexts_key);
	if (!contexts) {
		contexts = mem_zalloc(1, sizeof(*contexts));
		if (pthread_setspecific(contexts_key, contexts) != 0)
			abort();
	}
	return contexts;
}

static ZSTD_CCtx *own_compression(void)
{
	struct contexts *contexts = own_contexts();

	if (!contexts->compression) {
		contexts->compression = ZSTD_createCCtx();
		if (!contexts->compression)
			abort();
		/* SQLite does not check its pages: the frame does */
		(void)ZSTD_CCtx_setParameter(contexts->compression, ZSTD_c_checksumFlag, 1);
	}
	return contexts->compression;
}

static ZSTD_DCtx *own_decompression(void)
{
	struct contexts *contexts = own_contexts();

	if (!contexts->decompression)
		contexts->decompression = ZSTD_createDCtx();
	if (!contexts->decompression)
		abort();
	return contexts->decompression;
}

void zstd_pack(struct str bytes, int level, struct strbuf *out)
{
	ZSTD_CCtx *context = own_compression();
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
	length = ZSTD_decompressDCtx(own_decompression(), to, (size_t)size, frame.data,
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
