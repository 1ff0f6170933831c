#include "formats/push_request.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/wire.h"

/* Field numbers. */
enum {
	PUSH_REQUEST_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	SAMPLE_RAW_PROFILE = 1,
	SAMPLE_ID = 2,
};

/* A series that grows while it is read. */
struct series_builder {
	struct arena *arena;
	struct push_series series;
	size_t label_capacity;
	size_t sample_capacity;
};

struct request_builder {
	struct arena *arena;
	struct push_request request;
	size_t series_capacity;
};

static int add_label(struct series_builder *builder, struct label label, struct error *err)
{
	struct label_set *labels = &builder->series.labels;

	if (!ARENA_GROW(builder->arena, labels->labels, labels->count, builder->label_capacity))
		return arena_error(builder->arena, err);
	labels->labels[labels->count++] = label;
	return 0;
}

static int add_sample(struct series_builder *builder, struct push_sample sample, struct error *err)
{
	struct push_series *series = &builder->series;

	if (!ARENA_GROW(builder->arena, series->samples, series->sample_count,
	                builder->sample_capacity))
		return arena_error(builder->arena, err);
	series->samples[series->sample_count++] = sample;
	return 0;
}

static int add_series(struct request_builder *builder, const struct push_series *series,
                      struct error *err)
{
	struct push_request *request = &builder->request;

	if (!ARENA_GROW(builder->arena, request->series, request->series_count,
	                builder->series_capacity))
		return arena_error(builder->arena, err);
	request->series[request->series_count++] = *series;
	request->sample_count += series->sample_count;
	return 0;
}

/* ---- protobuf ---- */

static int malformed(struct error *err, const char *message)
{
	return error_set(err, ERROR_INVALID, "%s: malformed protobuf", message);
}

/* Messages of two texts, fields 1 and 2: labels and samples. */
static int decode_pair(struct str message, const char *name, struct str out[static 2],
                       struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	out[0] = out[1] = STR("");
	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number != 1 && field.number != 2)
			continue;
		if (field.type != WIRE_BYTES)
			return malformed(err, name);
		out[field.number - 1] = field.bytes;
	}
	return more < 0 ? malformed(err, name) : 0;
}

static int decode_label(struct series_builder *builder, struct str message, struct error *err)
{
	struct str pair[2];

	if (decode_pair(message, "LabelPair", pair, err) < 0)
		return -1;
	return add_label(builder, (struct label){ pair[LABEL_NAME - 1], pair[LABEL_VALUE - 1] },
	                 err);
}

static int decode_sample(struct series_builder *builder, struct str message, struct error *err)
{
	struct str pair[2];

	if (decode_pair(message, "RawSample", pair, err) < 0)
		return -1;
	return add_sample(builder,
	                  (struct push_sample){ pair[SAMPLE_RAW_PROFILE - 1], pair[SAMPLE_ID - 1] },
	                  err);
}

static int decode_series(struct request_builder *request, struct str message, struct error *err)
{
	struct series_builder builder = { .arena = request->arena };
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number != SERIES_LABELS && field.number != SERIES_SAMPLES)
			continue;
		if (field.type != WIRE_BYTES)
			return malformed(err, "RawProfileSeries");
		if (field.number == SERIES_LABELS ? decode_label(&builder, field.bytes, err) < 0
		                                  : decode_sample(&builder, field.bytes, err) < 0)
			return -1;
	}
	if (more < 0)
		return malformed(err, "RawProfileSeries");
	return add_series(request, &builder.series, err);
}

int push_request_decode(struct str message, struct arena *arena, struct push_request *out,
                        struct error *err)
{
	struct request_builder builder = { .arena = arena };
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number != PUSH_REQUEST_SERIES)
			continue;
		if (field.type != WIRE_BYTES)
			return malformed(err, "PushRequest");
		if (decode_series(&builder, field.bytes, err) < 0)
			return -1;
	}
	if (more < 0)
		return malformed(err, "PushRequest");
	*out = builder.request;
	return 0;
}

/* ---- JSON ---- */

/* A field by its JSON or its .proto name; *out is NULL when it is absent or null. */
static int find_field(const struct json *message, const char *name, const char *proto_name,
                      const struct json **out, struct error *err)
{
	const struct json *value = json_get(message, name);
	const struct json *other = strcmp(name, proto_name) ? json_get(message, proto_name) : NULL;

	if (value && other)
		return error_set(err, ERROR_INVALID, "duplicate field \"%s\"", name);
	value = value ? value : other;
	*out = json_kind(value) == JSON_NULL_VALUE ? NULL : value;
	return 0;
}

static int find_text(const struct json *message, const char *name, const char *proto_name,
                     struct str *out, struct error *err)
{
	const struct json *value = NULL;

	if (find_field(message, name, proto_name, &value, err) < 0)
		return -1;
	if (value && json_kind(value) != JSON_TEXT)
		return error_set(err, ERROR_INVALID, "invalid value for field %s", name);
	*out = value ? json_text(value) : STR("");
	return 0;
}

/* A list of messages; absent is empty. */
static int find_list(const struct json *message, const char *name, const struct json **out,
                     struct error *err)
{
	if (find_field(message, name, name, out, err) < 0)
		return -1;
	if (*out && json_kind(*out) != JSON_LIST)
		return error_set(err, ERROR_INVALID, "invalid value for field %s", name);
	for (size_t i = 0; i < json_length(*out); i++)
		if (json_kind(json_at(*out, i)) != JSON_MAP)
			return error_set(err, ERROR_INVALID,
			                 "invalid value for field %s: no object", name);
	return 0;
}

static int parse_label(struct series_builder *builder, const struct json *message,
                       struct error *err)
{
	struct label label = { 0 };

	if (find_text(message, "name", "name", &label.name, err) < 0 ||
	    find_text(message, "value", "value", &label.value, err) < 0)
		return -1;
	return add_label(builder, label, err);
}

static int parse_sample(struct series_builder *builder, const struct json *message,
                        struct error *err)
{
	struct push_sample sample = { 0 };
	struct str text = { 0 };

	if (find_text(message, "rawProfile", "raw_profile", &text, err) < 0 ||
	    find_text(message, "ID", "ID", &sample.id, err) < 0 ||
	    base64_decode(text, builder->arena, &sample.raw_profile, err) < 0)
		return -1;
	return add_sample(builder, sample, err);
}

static int parse_series(struct request_builder *request, const struct json *message,
                        struct error *err)
{
	struct series_builder builder = { .arena = request->arena };
	const struct json *labels;
	const struct json *samples;

	if (find_list(message, "labels", &labels, err) < 0 ||
	    find_list(message, "samples", &samples, err) < 0)
		return -1;
	for (size_t i = 0; i < json_length(labels); i++)
		if (parse_label(&builder, json_at(labels, i), err) < 0)
			return -1;
	for (size_t i = 0; i < json_length(samples); i++)
		if (parse_sample(&builder, json_at(samples, i), err) < 0)
			return -1;
	return add_series(request, &builder.series, err);
}

int push_request_parse(struct str text, struct arena *arena, struct push_request *out,
                       struct error *err)
{
	struct request_builder builder = { .arena = arena };
	const struct json *root;
	const struct json *series;

	if (json_parse(text, arena, &root, err) < 0)
		return -1;
	if (json_kind(root) != JSON_MAP)
		return error_set(err, ERROR_INVALID, "a JSON object is expected");
	if (find_list(root, "series", &series, err) < 0)
		return -1;
	for (size_t i = 0; i < json_length(series); i++)
		if (parse_series(&builder, json_at(series, i), err) < 0)
			return -1;
	*out = builder.request;
	return 0;
}
