#include "formats/speedscope.h"

#include "base/uuid.h"
#include "formats/speedscope_stacks.h"
#include "formats/text_profile.h"

#define USUAL_SAMPLE_RATE 100 /* what clients say who say nothing */
#define NO_LIST           STR("[]")

/* What weights mean. */
struct unit {
	const char *name;
	const char *suffix;   /* of the application, when there are several profiles */
	uint32_t sample_rate; /* in the place of the usual one */
	double ns;            /* a weight's, at that rate */
	double plain;         /* a weight's value where it is no time, or the rate is another */
};

static const struct unit units[] = {
	{ "none", "cpu", 10000, 1e7, 100 },
	{ "nanoseconds", "nanoseconds", 1000000000, 1, 100 },
	{ "microseconds", "microseconds", 100000000, 1e3, 100 },
	{ "milliseconds", "milliseconds", 100000, 1e6, 100 },
	{ "seconds", "seconds", 100, 1e9, 100 },
	{ "bytes", "bytes", 0, 1, 1 },
};

enum lists {
	SAMPLED,
	EVENTED,
};

/* One element of `profiles`; lists are their text. */
struct head {
	struct str name;
	struct str type_name;
	struct str unit_name;
	double start;
	struct str samples;
	struct str weights;
	struct str events;

	enum lists type;
	const struct unit *unit;
	uint32_t merged; /* the profile that it is a part of */
};

/* What becomes a profile of ours. */
struct merged {
	const struct head *first; /* they are alike in everything but their lists */
	struct text_type type;
	struct profile_builder builder;
	struct speedscope_stacks stacks;
};

struct document {
	const struct format_input *input;
	struct arena *arena;
	struct str schema;
	struct str frame_list;
	struct str profile_list;

	struct speedscope_frames frames;
	struct head *heads;
	size_t head_count;
	size_t head_capacity;
	struct intern merged_ids;
	struct merged *merged;
};

/* ---- the text ---- */

static int read_text(struct json_reader *reader, struct arena *arena, struct str *out,
                     struct error *err)
{
	struct str raw;

	if (json_reader_kind(reader) == JSON_NULL_VALUE)
		return json_reader_skip(reader, &raw, err);
	return json_reader_text(reader, arena, out, err);
}

/* A missing list is an empty one. */
static int read_list(struct json_reader *reader, struct str *out, struct error *err)
{
	struct str raw;

	if (json_reader_skip(reader, &raw, err) < 0)
		return -1;
	if (!str_equals(raw, "null"))
		*out = raw;
	return 0;
}

static int read_shared(struct json_reader *reader, struct document *document, struct error *err)
{
	struct str raw;
	struct str key;
	int more;

	if (json_reader_enter_map(reader, err) < 0)
		return -1;
	while ((more = json_reader_next_member(reader, document->arena, &key, err)) > 0) {
		const bool is_frames = str_equals(key, "frames");

		if (read_list(reader, is_frames ? &document->frame_list : &raw, err) < 0)
			return -1;
	}
	return more;
}

static int read_document(struct str text, struct document *document, struct error *err)
{
	struct json_reader reader;
	struct str key;
	int more;

	json_reader_init(&reader, text);
	if (json_reader_enter_map(&reader, err) < 0)
		return -1;
	while ((more = json_reader_next_member(&reader, document->arena, &key, err)) > 0) {
		struct str raw;
		int result;

		if (str_equals(key, "$schema"))
			result = read_text(&reader, document->arena, &document->schema, err);
		else if (str_equals(key, "shared"))
			result = read_shared(&reader, document, err);
		else if (str_equals(key, "profiles"))
			result = read_list(&reader, &document->profile_list, err);
		else
			result = json_reader_skip(&reader, &raw, err);
		if (result < 0)
			return -1;
	}
	return more < 0 ? -1 : json_reader_end(&reader, err);
}

static int read_member(struct json_reader *reader, struct str key, struct arena *arena,
                       struct head *head, struct error *err)
{
	struct str raw;

	if (str_equals(key, "name"))
		return read_text(reader, arena, &head->name, err);
	if (str_equals(key, "type"))
		return read_text(reader, arena, &head->type_name, err);
	if (str_equals(key, "unit"))
		return read_text(reader, arena, &head->unit_name, err);
	if (str_equals(key, "startValue"))
		return json_reader_number(reader, &head->start, err);
	if (str_equals(key, "samples"))
		return read_list(reader, &head->samples, err);
	if (str_equals(key, "weights"))
		return read_list(reader, &head->weights, err);
	if (str_equals(key, "events"))
		return read_list(reader, &head->events, err);
	return json_reader_skip(reader, &raw, err);
}

static int read_head(struct json_reader *reader, struct arena *arena, struct head *out,
                     struct error *err)
{
	struct str key;
	int more;

	*out = (struct head){
		.name = STR(""),
		.samples = NO_LIST,
		.weights = NO_LIST,
		.events = NO_LIST,
	};
	if (json_reader_enter_map(reader, err) < 0)
		return -1;
	while ((more = json_reader_next_member(reader, arena, &key, err)) > 0)
		if (read_member(reader, key, arena, out, err) < 0)
			return -1;
	return more;
}

/* ---- profiles that are one ---- */

static const struct unit *find_unit(struct str name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (str_equals(name, units[i].name))
			return &units[i];
	return NULL;
}

static int understand(struct head *head, struct error *err)
{
	if (str_equals(head->type_name, "evented"))
		head->type = EVENTED;
	else if (str_equals(head->type_name, "sampled"))
		head->type = SAMPLED;
	else
		return error_set(err, ERROR_INVALID, "Profile type %.*s not supported",
		                 STR_ARGS(str_first(head->type_name, 100)));
	head->unit = find_unit(head->unit_name);
	if (!head->unit)
		return error_set(err, ERROR_INVALID, "invalid profile unit: unknown unit: %.*s",
		                 STR_ARGS(str_first(head->unit_name, 100)));
	return 0;
}

static int merge(struct document *document, struct head *head, uint64_t key, struct error *err)
{
	const struct str same = arena_printf(document->arena, "%d %s %a %.*s", (int)head->type,
	                                     head->unit->name, head->start, STR_ARGS(head->name));
	bool is_new;

	if (!same.data)
		return arena_error(document->arena, err);
	head->merged =
		intern_add(&document->merged_ids, document->arena, hash128_str(key, same), &is_new);
	return head->merged == INTERN_NONE ? arena_error(document->arena, err) : 0;
}

static int read_heads(struct document *document, uint64_t key, struct error *err)
{
	struct json_reader reader;
	int more;

	json_reader_init(&reader, document->profile_list);
	if (json_reader_enter_list(&reader, err) < 0)
		return -1;
	while ((more = json_reader_next_item(&reader, err)) > 0) {
		struct head *head;

		if (document->head_count == SPEEDSCOPE_PROFILES_MAX)
			return error_set(err, ERROR_TOO_LARGE, "more than %d profiles",
			                 SPEEDSCOPE_PROFILES_MAX);
		if (!ARENA_GROW(document->arena, document->heads, document->head_count,
		                document->head_capacity))
			return arena_error(document->arena, err);
		head = &document->heads[document->head_count++];
		if (read_head(&reader, document->arena, head, err) < 0 ||
		    understand(head, err) < 0 || merge(document, head, key, err) < 0)
			return -1;
	}
	return more;
}

/* ---- what they become ---- */

/*
 * The application with the suffix that decides the type. Of one profile alone that is what
 * the sender said, and bytes are bytes when it said nothing.
 */
static struct str name_app(const struct document *document, const struct unit *unit)
{
	const struct str app = document->input->params->name.app;
	const bool is_named = unit->sample_rate > 0 || str_index(app, '.') >= 0;

	if (document->merged_ids.count == 1 && is_named)
		return app;
	return arena_printf(document->arena, "%.*s.%s", STR_ARGS(app), unit->suffix);
}

static double factor_of(const struct unit *unit, const struct text_type *type, uint32_t sent_rate)
{
	if (!type->is_timed)
		return unit->plain;
	return sent_rate == USUAL_SAMPLE_RATE ? unit->ns : unit->plain * (double)type->type.period;
}

static int begin(const struct document *document, struct merged *merged, struct error *err)
{
	const struct ingest_limits *limits = document->input->limits;
	const struct unit *unit = merged->first->unit;
	const uint32_t sent_rate = document->input->params->sample_rate;
	const uint32_t rate = sent_rate == USUAL_SAMPLE_RATE ? unit->sample_rate : sent_rate;
	const struct str app = name_app(document, unit);

	if (!app.data)
		return arena_error(document->arena, err);
	if (text_type_of(app, rate, &merged->type, err) < 0)
		return -1;
	merged->type.type.scale = 1;
	profile_builder_init(&merged->builder, document->arena,
	                     &(struct profile_builder_limits){
				     .max_stacks = limits->max_samples,
				     .max_depth = limits->max_depth,
				     .max_frames = SPEEDSCOPE_FRAMES_MAX,
			     });
	merged->builder.key = document->frames.key;
	merged->stacks = (struct speedscope_stacks){
		.arena = document->arena,
		.frames = &document->frames,
		.builder = &merged->builder,
		.factor = factor_of(unit, &merged->type, sent_rate),
	};
	return 0;
}

static int make_merged(struct document *document, struct error *err)
{
	document->merged =
		arena_array(document->arena, document->merged_ids.count, sizeof(*document->merged));
	if (!document->merged)
		return arena_error(document->arena, err);
	for (size_t i = 0; i < document->head_count; i++) {
		const struct head *head = &document->heads[i];
		struct merged *merged = &document->merged[head->merged];

		if (merged->first)
			continue;
		merged->first = head;
		if (begin(document, merged, err) < 0)
			return -1;
	}
	return 0;
}

static int read_stacks(struct document *document, struct error *err)
{
	for (size_t i = 0; i < document->head_count; i++) {
		const struct head *head = &document->heads[i];
		struct speedscope_stacks *stacks = &document->merged[head->merged].stacks;
		const int result =
			head->type == SAMPLED
				? speedscope_stacks_add_samples(stacks, head->samples,
		                                                head->weights, err)
				: speedscope_stacks_add_events(stacks, head->events, err);

		if (result < 0)
			return error_context(err, "profile %zu", i);
	}
	return 0;
}

static int store(const struct document *document, struct format_output *out, struct error *err)
{
	const struct ingest_params *params = document->input->params;

	out->stage = FORMAT_STORING;
	if (text_profiles_reserve(document->merged_ids.count, document->input, out, err) < 0)
		return -1;
	for (size_t i = 0; i < document->merged_ids.count; i++) {
		const struct merged *merged = &document->merged[i];
		const struct text_profile profile = {
			.builder = &merged->builder,
			.type = &merged->type,
			.name = merged->first->name,
			/* of two that differ in their start alone none is a retry */
			.sender_id = arena_printf(document->arena, "speedscope %zu %.*s %u", i,
			                          STR_ARGS(params->name.app), params->sample_rate),
		};

		if (!profile.sender_id.data)
			return arena_error(document->arena, err);
		if (text_profiles_add(&profile, document->input, out, err) < 0)
			return -1;
	}
	return 0;
}

int speedscope_decode(const struct format_input *input, struct format_output *out,
                      struct error *err)
{
	struct document document = {
		.input = input,
		.arena = input->arena,
		.schema = STR(""),
		.frame_list = NO_LIST,
		.profile_list = NO_LIST,
	};
	const struct uuid random = uuid_random();
	uint64_t key;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	memcpy(&key, random.bytes, sizeof(key));
	document.frames.key = key;
	if (read_document(input->body, &document, err) < 0)
		return -1;
	if (!str_equals(document.schema, SPEEDSCOPE_SCHEMA))
		return error_set(err, ERROR_INVALID, "Unknown schema: %.*s",
		                 STR_ARGS(str_first(document.schema, 200)));
	if (speedscope_frames_read(document.frame_list, input->arena, &document.frames, err) < 0 ||
	    read_heads(&document, key, err) < 0 || make_merged(&document, err) < 0 ||
	    read_stacks(&document, err) < 0)
		return -1;
	return store(&document, out, err);
}
