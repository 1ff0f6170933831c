#include "storage/page.h"

#include "base/hash.h"
#include "base/zstd.h"

enum packing {
	PACKING_PLAIN = 0,
	PACKING_ZSTD = 1,
};

#define PLAIN_HEAD 5
#define PACK_MIN   48 /* bytes below which a frame's own head eats what it saves; measured */

static uint32_t check_of(struct str bytes)
{
	return (uint32_t)hash64(0, bytes.data, bytes.length);
}

static void put_plain(struct str raw, struct strbuf *out)
{
	const uint32_t check = check_of(raw);

	strbuf_add_byte(out, PACKING_PLAIN);
	for (int i = 0; i < 4; i++)
		strbuf_add_byte(out, (char)(check >> 8 * i));
	strbuf_add_str(out, raw);
}

void page_seal(struct str raw, int level, struct strbuf *out)
{
	const size_t head = out->length;

	if (raw.length >= PACK_MIN) {
		strbuf_add_byte(out, PACKING_ZSTD);
		zstd_pack(raw, level, out);
		if (strbuf_overflowed(out) || out->length - head < PLAIN_HEAD + raw.length)
			return;
		out->length = head;
	}
	put_plain(raw, out);
}

static int open_plain(struct str body, struct str *out_raw, struct error *err)
{
	const uint8_t *head = (const uint8_t *)body.data;
	struct str raw;
	uint32_t check;

	if (body.length < PLAIN_HEAD)
		return error_set(err, ERROR_CORRUPT, "page of %zu bytes is cut", body.length);
	raw = str_skip(body, PLAIN_HEAD);
	check = (uint32_t)head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 |
	        (uint32_t)head[4] << 24;
	if (check != check_of(raw))
		return error_set(err, ERROR_CORRUPT, "page of %zu bytes fails its check",
		                 body.length);
	*out_raw = raw;
	return 0;
}

int page_open(struct str body, struct arena *arena, struct str *out_raw, struct error *err)
{
	if (body.length == 0)
		return error_set(err, ERROR_CORRUPT, "page is empty");
	switch (body.data[0]) {
	case PACKING_PLAIN:
		return open_plain(body, out_raw, err);
	case PACKING_ZSTD:
		return zstd_unpack(str_skip(body, 1), PAGE_RAW_MAX, arena, out_raw, err);
	default:
		return error_set(err, ERROR_CORRUPT, "page of an unknown packing %d", body.data[0]);
	}
}
