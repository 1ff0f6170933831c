/*
 * The header, big-endian:
 *
 *	 0  u32 magic "FLR\0"       32  u64 start, Unix ns
 *	 4  u32 version 0x0002xxxx  40  u64 duration, ns
 *	 8  u64 size                48  u64 start, ticks
 *	16  u64 place of the pools  56  u64 ticks a second
 *	24  u64 place of metadata   64  u32 features: bit 0, numbers are compressed
 */
#include "formats/jfr_chunk.h"

#define MAGIC            STR("FLR\0")
#define VERSION_AT       4
#define SIZE_AT          8
#define POOLS_AT         16
#define METADATA_AT      24
#define FEATURES_AT      64
#define MAJOR_VERSION    2
#define FEATURE_COMPRESS 1

bool jfr_is(struct str bytes)
{
	return str_starts_with(bytes, MAGIC);
}

static uint64_t header_number(struct str header, size_t at, size_t width)
{
	struct jfr_reader reader = {
		.at = (const uint8_t *)header.data + at,
		.end = (const uint8_t *)header.data + header.length,
	};
	uint64_t number = 0;

	(void)jfr_read_fixed(&reader, width, &number);
	return number;
}

static int check_place(const char *what, uint64_t at, uint64_t size, struct error *err)
{
	if (at >= JFR_CHUNK_HEADER && at < size)
		return 0;
	return error_set(err, ERROR_INVALID,
	                 "JFR: the %s of a chunk of %llu bytes stand at byte %llu", what,
	                 (unsigned long long)size, (unsigned long long)at);
}

static int check_head(struct str rest, struct error *err)
{
	uint64_t version;

	if (rest.length < MAGIC.length || (rest.length < JFR_CHUNK_HEADER && jfr_is(rest)))
		return error_set(err, ERROR_INVALID,
		                 "JFR: a chunk's header has %zu bytes instead of %d", rest.length,
		                 JFR_CHUNK_HEADER);
	if (!jfr_is(rest))
		return error_set(err, ERROR_INVALID,
		                 "JFR: a chunk begins with %02x %02x %02x %02x instead of "
		                 "\"FLR\\0\"",
		                 (unsigned char)rest.data[0], (unsigned char)rest.data[1],
		                 (unsigned char)rest.data[2], (unsigned char)rest.data[3]);
	version = header_number(rest, VERSION_AT, 4);
	if (version >> 16 != MAJOR_VERSION)
		return error_set(err, ERROR_INVALID,
		                 "JFR: version %u.%u; only version %d.x can be read",
		                 (unsigned)(version >> 16), (unsigned)(version & 0xffff),
		                 MAJOR_VERSION);
	return 0;
}

int jfr_chunk_next(struct str *rest, struct jfr_chunk *out, struct error *err)
{
	uint64_t size;
	uint64_t pools_at;
	uint64_t metadata_at;

	if (rest->length == 0)
		return 0;
	if (check_head(*rest, err) < 0)
		return -1;
	size = header_number(*rest, SIZE_AT, 8);
	pools_at = header_number(*rest, POOLS_AT, 8);
	metadata_at = header_number(*rest, METADATA_AT, 8);
	if (size < JFR_CHUNK_HEADER || size > rest->length || size > UINT32_MAX)
		return error_set(err, ERROR_INVALID,
		                 "JFR: a chunk says that it has %llu bytes, %zu are there",
		                 (unsigned long long)size, rest->length);
	if (check_place("constants", pools_at, size, err) < 0 ||
	    check_place("types", metadata_at, size, err) < 0)
		return -1;
	*out = (struct jfr_chunk){
		.bytes = (const uint8_t *)rest->data,
		.size = (uint32_t)size,
		.pools_at = (uint32_t)pools_at,
		.metadata_at = (uint32_t)metadata_at,
		.fixed = (header_number(*rest, FEATURES_AT, 4) & FEATURE_COMPRESS) == 0,
	};
	*rest = str_skip(*rest, size);
	return 1;
}

struct jfr_reader jfr_chunk_records(const struct jfr_chunk *chunk)
{
	return (struct jfr_reader){
		.at = chunk->bytes + JFR_CHUNK_HEADER,
		.end = chunk->bytes + chunk->size,
		.fixed = chunk->fixed,
	};
}

int jfr_record_next(struct jfr_reader *reader, uint64_t *out_type, struct jfr_reader *out_body)
{
	const uint8_t *first = reader->at;
	const size_t left = jfr_left(reader);
	struct jfr_reader body = *reader;
	uint64_t size;

	if (left == 0)
		return 0;
	if (!jfr_read_int(&body, &size) || size > left || size < (size_t)(body.at - first))
		return -1;
	body.end = first + size;
	if (!jfr_read_long(&body, out_type))
		return -1;
	reader->at = body.end;
	*out_body = body;
	return 1;
}

int jfr_chunk_record(const struct jfr_chunk *chunk, uint64_t at, enum jfr_record_type type,
                     struct jfr_reader *out_body, struct error *err)
{
	struct jfr_reader reader = jfr_chunk_records(chunk);
	uint64_t found;

	if (at < JFR_CHUNK_HEADER || at >= chunk->size)
		return error_set(err, ERROR_INVALID, "JFR: no record stands at byte %llu",
		                 (unsigned long long)at);
	reader.at = chunk->bytes + at;
	if (jfr_record_next(&reader, &found, out_body) <= 0)
		return error_set(err, ERROR_INVALID,
		                 "JFR: the record at byte %llu has a size that does not fit",
		                 (unsigned long long)at);
	if (found != (uint64_t)type)
		return error_set(err, ERROR_INVALID,
		                 "JFR: the record at byte %llu has type %llu instead of %d",
		                 (unsigned long long)at, (unsigned long long)found, (int)type);
	return 0;
}
