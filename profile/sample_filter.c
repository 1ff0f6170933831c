#include "profile/sample_filter.h"

#include <stdlib.h>

#define QUOTED_MAX 128 /* bytes of a refused id in its message */

static int compare_uuids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct uuid));
}

static int compare_spans(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a;
	const uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static int compare_traces(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

/* `old` with room for `more` elements behind its `count`, as a new array. NULL: full. */
static void *grown_copy(const void *old, size_t count, size_t more, size_t size,
                        struct arena *arena)
{
	char *grown = arena_array_raw(arena, count + more, size);

	if (grown && count > 0)
		memcpy(grown, old, count * size);
	return grown;
}

int sample_filter_add_profile_ids(struct sample_filter *filter, const struct str *texts,
                                  size_t count, struct arena *arena, struct error *err)
{
	struct uuid *ids = grown_copy(filter->profile_ids, filter->profile_id_count, count,
	                              sizeof(*ids), arena);

	if (!ids)
		return arena_error(arena, err);
	for (size_t i = 0; i < count; i++)
		if (!uuid_parse(texts[i], &ids[filter->profile_id_count + i]))
			return error_set(err, ERROR_INVALID, "invalid profile id: \"%.*s\"",
			                 STR_ARGS(str_first(texts[i], QUOTED_MAX)));
	filter->profile_ids = ids;
	filter->profile_id_count += count;
	qsort(ids, filter->profile_id_count, sizeof(*ids), compare_uuids);
	return 0;
}

/* 2 * length hex digits into `to`. */
static int parse_hex(struct str text, const char *what, uint8_t *to, size_t length,
                     struct error *err)
{
	const char *problem = text.length == 2 * length ? "" : " length";

	if (hex_decode(text, to, length))
		return 0;
	return error_set(err, ERROR_INVALID, "invalid %s id%s: \"%.*s\"", what, problem,
	                 STR_ARGS(str_first(text, QUOTED_MAX)));
}

int sample_filter_add_span_ids(struct sample_filter *filter, const struct str *texts, size_t count,
                               struct arena *arena, struct error *err)
{
	uint64_t *ids =
		grown_copy(filter->span_ids, filter->span_id_count, count, sizeof(*ids), arena);

	if (!ids)
		return arena_error(arena, err);
	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[8];
		uint64_t id = 0;

		if (parse_hex(texts[i], "span", bytes, sizeof(bytes), err) < 0)
			return -1;
		for (size_t j = 0; j < sizeof(bytes); j++)
			id = id << 8 | bytes[j];
		ids[filter->span_id_count + i] = id;
	}
	filter->span_ids = ids;
	filter->span_id_count += count;
	qsort(ids, filter->span_id_count, sizeof(*ids), compare_spans);
	return 0;
}

int sample_filter_add_trace_ids(struct sample_filter *filter, const struct str *texts, size_t count,
                                struct arena *arena, struct error *err)
{
	struct trace_id *ids =
		grown_copy(filter->trace_ids, filter->trace_id_count, count, sizeof(*ids), arena);

	if (!ids)
		return arena_error(arena, err);
	for (size_t i = 0; i < count; i++)
		if (parse_hex(texts[i], "trace", ids[filter->trace_id_count + i].bytes,
		              TRACE_ID_SIZE, err) < 0)
			return -1;
	filter->trace_ids = ids;
	filter->trace_id_count += count;
	qsort(ids, filter->trace_id_count, sizeof(*ids), compare_traces);
	return 0;
}

bool sample_filter_has_profile(const struct sample_filter *filter, const struct uuid *id)
{
	if (!filter || filter->profile_id_count == 0)
		return true;
	return bsearch(id, filter->profile_ids, filter->profile_id_count, sizeof(*id),
	               compare_uuids) != NULL;
}

bool sample_filter_has_row(const struct sample_filter *filter, uint64_t span_id,
                           const uint8_t trace_id[TRACE_ID_SIZE])
{
	static const struct trace_id none;

	if (!filter)
		return true;
	if (filter->span_id_count > 0 &&
	    (span_id == 0 || !bsearch(&span_id, filter->span_ids, filter->span_id_count,
	                              sizeof(span_id), compare_spans)))
		return false;
	if (filter->trace_id_count == 0)
		return true;
	return memcmp(trace_id, none.bytes, TRACE_ID_SIZE) != 0 &&
	       bsearch(trace_id, filter->trace_ids, filter->trace_id_count, sizeof(struct trace_id),
	               compare_traces) != NULL;
}
