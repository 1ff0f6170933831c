#include "formats/otlp_samples.h"

#include "base/clock.h"
#include "formats/otlp_wire.h"

#define SAMPLE_BYTES 6 /* of pprof beside frames, values and labels, about */

#define DEFAULT_DURATION_NS (10 * NS_PER_S)
#define DEFAULT_NAME        "process_cpu"

/* ---- types ---- */

/* A pair of strings. */
struct type_texts {
	struct str type;
	struct str unit;
};

static int type_texts(const struct otlp_samples *samples, const struct otlp_value_type *type,
                      struct type_texts *out, struct error *err)
{
	const struct otlp_dictionary *dictionary = samples->symbols->dictionary;

	return otlp_dictionary_string(dictionary, type->type, &out->type, err) < 0
	               ? -1
	               : otlp_dictionary_string(dictionary, type->unit, &out->unit, err);
}

static bool is_type(const struct type_texts *texts, const char *type, const char *unit)
{
	return str_equals(texts->type, type) && str_equals(texts->unit, unit);
}

static int put_type(struct otlp_samples *samples, const struct type_texts *texts,
                    struct profile_value_type *out, struct error *err)
{
	return otlp_symbols_text(samples->symbols, texts->type, &out->type, err) < 0
	               ? -1
	               : otlp_symbols_text(samples->symbols, texts->unit, &out->unit, err);
}

/*
 * What the reference makes of two kinds of profiles: counted samples of CPU time become
 * time, and waiting is named by what it is.
 */
static void apply_kind(struct otlp_samples *samples, const struct type_texts *period,
                       struct type_texts *type)
{
	const struct otlp_profile *sent = samples->sent;
	const bool has_period = sent->has_period_type && sent->period != 0;

	samples->rule = OTLP_VALUES_AS_SENT;
	samples->factor = 1;
	samples->name = period->type.length > 0 ? period->type : STR(DEFAULT_NAME);
	if (sent->sample_type_count != 1)
		return;
	if (has_period && is_type(type, "samples", "count") &&
	    is_type(period, "cpu", "nanoseconds")) {
		*type = *period;
		samples->name = STR(DEFAULT_NAME);
		samples->factor = (uint64_t)sent->period;
	} else if (!has_period && is_type(type, "off_cpu", "nanoseconds")) {
		samples->name = STR("off_cpu");
		samples->rule = OTLP_VALUES_SUMMED;
	}
}

static int put_types(struct otlp_samples *samples, struct error *err)
{
	const struct otlp_profile *sent = samples->sent;
	struct profile *profile = samples->profile;
	struct type_texts period = { STR(""), STR("") };

	if (sent->sample_type_count == 0)
		return error_set(err, ERROR_INVALID, "sample type is missing");
	if (sent->has_period_type && type_texts(samples, &sent->period_type, &period, err) < 0)
		return -1;
	for (size_t i = 0; i < sent->sample_type_count; i++) {
		struct type_texts type;

		if (type_texts(samples, &sent->sample_types[i], &type, err) < 0)
			return -1;
		if (i == 0)
			apply_kind(samples, &period, &type);
		if (put_type(samples, &type, &profile->sample_types[i], err) < 0)
			return -1;
	}
	profile->sample_type_count = sent->sample_type_count;
	profile->has_period_type = sent->has_period_type;
	profile->period = sent->period;
	return put_type(samples, &period, &profile->period_type, err);
}

/* ---- the profile ---- */

/* Frames of layouts without a table of stacks: samples name a part of them. */
static int put_frames(struct otlp_samples *samples, struct error *err)
{
	const uint8_t *meanings = samples->symbols->layout->profile;
	struct wire_reader reader = wire_reader(samples->sent->indices);
	struct wire_field field;
	int more;

	if (samples->symbols->layout->has_null_entries)
		return 0;
	/* once for each service of the profile */
	if (otlp_work_read(samples->symbols->dictionary->work, samples->sent->indices.length, err) <
	    0)
		return -1;
	while ((more = wire_next(&reader, &field)) > 0)
		if (otlp_meaning(meanings, field.number) == OTLP_PROFILE_LOCATION_INDICES &&
		    otlp_symbols_frames(samples->symbols, &field, err) < 0)
			return -1;
	return more < 0 ? otlp_malformed(err, "Profile") : 0;
}

static int make_room(struct otlp_samples *samples, size_t count, struct error *err)
{
	const size_t limit = samples->limits->max_samples;
	const size_t kept = limit > 0 && count > limit ? limit : count;
	const size_t types = samples->sent->sample_type_count;
	struct arena *arena = samples->symbols->arena;
	struct profile *profile = samples->profile;

	profile->sample_types = arena_array(arena, types, sizeof(*profile->sample_types));
	profile->samples = arena_array_raw(arena, kept, sizeof(*profile->samples));
	samples->sample_capacity = kept;
	/* a profile with many types has them in its samples too, or is refused */
	samples->value_capacity = 0;
	if (arena_overflowed(arena) ||
	    !ARENA_RESERVE(arena, profile->values, 0, types == 1 ? kept : 0,
	                   samples->value_capacity))
		return arena_error(arena, err);
	return 0;
}

/* About what `count` of a profile's samples were sent as. */
static size_t part_bytes(const struct otlp_profile *sent, size_t count)
{
	return (size_t)((double)sent->message.length * (double)count / (double)sent->sample_count);
}

int otlp_samples_begin(struct otlp_samples *samples, size_t count, struct pprof_input *input,
                       struct error *err)
{
	const struct otlp_profile *sent = samples->sent;
	struct profile *profile = &input->profile;

	samples->input = input;
	samples->profile = profile;
	if (otlp_symbols_begin(samples->symbols, profile, part_bytes(sent, count), err) < 0 ||
	    make_room(samples, count, err) < 0 || put_types(samples, err) < 0 ||
	    put_frames(samples, err) < 0)
		return -1;
	profile->time_unix_ns = (int64_t)sent->time;
	profile->duration_ns = sent->duration > 0 && sent->duration <= INT64_MAX
	                               ? (int64_t)sent->duration
	                               : DEFAULT_DURATION_NS;
	otlp_labels_begin(&samples->labels, samples->symbols, samples->limits->max_sample_labels);
	return 0;
}

/* ---- a sample ---- */

struct sample {
	uint64_t stack;
	uint64_t stack_start;
	uint64_t stack_length;
	size_t values; /* sent */
	size_t times;
	uint64_t sum; /* of values */
	size_t first_label;
};

/* Values stand in the profile as they come, as many as it has types; all are summed. */
static int take_values(struct otlp_samples *samples, const struct wire_field *field,
                       struct sample *sample, struct error *err)
{
	struct profile *profile = samples->profile;
	const size_t types = profile->sample_type_count;
	int64_t *to = profile->values + profile->sample_count * types;
	uint8_t room[VARINT_MAX];
	struct otlp_numbers numbers = otlp_numbers(field, room);

	while (numbers.at < numbers.end) {
		uint64_t value;

		if (!varint_read(&numbers.at, numbers.end, &value))
			return otlp_malformed(err, "Sample");
		if (sample->values < types)
			to[sample->values] = (int64_t)value;
		sample->values++;
		sample->sum += value;
	}
	return 0;
}

static int take_times(const struct wire_field *field, unsigned meaning, struct sample *sample,
                      struct error *err)
{
	uint8_t room[VARINT_MAX];

	if (meaning == OTLP_SAMPLE_VARINT_TIMES) {
		sample->times += otlp_numbers_count(otlp_numbers(field, room));
		return 0;
	}
	if (field->type == WIRE_BYTES && field->bytes.length % sizeof(uint64_t) != 0)
		return otlp_malformed(err, "Sample");
	sample->times += otlp_fixed_count(field);
	return 0;
}

static int take_link(struct otlp_samples *samples, const struct wire_field *field, unsigned meaning,
                     struct error *err)
{
	if (field->type == WIRE_BYTES)
		return otlp_malformed(err, "Sample");
	if (meaning == OTLP_SAMPLE_LINK && field->value == 0)
		return 0;
	return otlp_labels_add_link(&samples->labels, field->value, err);
}

static int take_index(const struct wire_field *field, uint64_t *out, struct error *err)
{
	if (field->type == WIRE_BYTES)
		return otlp_malformed(err, "Sample");
	*out = field->value;
	return 0;
}

static int take_field(struct otlp_samples *samples, const struct wire_field *field,
                      struct sample *sample, struct error *err)
{
	const unsigned meaning = otlp_meaning(samples->symbols->layout->sample, field->number);

	switch (meaning) {
	case OTLP_SAMPLE_STACK:
		return take_index(field, &sample->stack, err);
	case OTLP_SAMPLE_STACK_START:
		return take_index(field, &sample->stack_start, err);
	case OTLP_SAMPLE_STACK_LENGTH:
		return take_index(field, &sample->stack_length, err);
	case OTLP_SAMPLE_VALUES:
		return take_values(samples, field, sample, err);
	case OTLP_SAMPLE_ATTRIBUTES:
		return otlp_labels_add_attributes(&samples->labels, field, err);
	case OTLP_SAMPLE_LINK:
	case OTLP_SAMPLE_OPTIONAL_LINK:
		return take_link(samples, field, meaning, err);
	case OTLP_SAMPLE_TIMES:
	case OTLP_SAMPLE_VARINT_TIMES:
		return take_times(field, meaning, sample, err);
	default:
		return 0;
	}
}

/* The part of the profile's frames that a sample names. */
static int find_run(struct otlp_samples *samples, const struct sample *sample, struct otlp_run *out,
                    struct error *err)
{
	struct otlp_symbols *symbols = samples->symbols;
	const size_t frames = samples->profile->stack_length;
	const size_t most = symbols->max_depth;
	uint64_t start = sample->stack_start;
	uint64_t depth = sample->stack_length;

	if (symbols->layout->has_null_entries)
		return otlp_symbols_stack(symbols, sample->stack, out, err);
	if (start > frames || depth > frames - start)
		return error_set(err, ERROR_INVALID,
		                 "invalid locations: %llu from index %llu on, of %zu",
		                 (unsigned long long)depth, (unsigned long long)start, frames);
	if (most > 0 && depth > most) {
		start += depth - most;
		depth = most;
	}
	*out = (struct otlp_run){
		.first_frame = (uint32_t)start,
		.depth = (uint32_t)depth,
		.encoded_bytes = frames ? (uint32_t)(depth * symbols->frame_bytes / frames) : 0,
	};
	return 0;
}

static int wrong_count(const struct sample *sample, size_t types, struct error *err)
{
	return error_set(err, ERROR_INVALID, "sample values length mismatch %zu %zu",
	                 sample->values, types);
}

/* Makes one value for each sample type of what was sent. */
static int finish_values(struct otlp_samples *samples, struct sample *sample, struct error *err)
{
	struct profile *profile = samples->profile;
	const size_t types = profile->sample_type_count;
	int64_t *values = profile->values + profile->sample_count * types;

	if (sample->values == 0) {
		if (sample->times == 0)
			return error_set(err, ERROR_INVALID, "sample value is required");
		if (types != 1)
			return wrong_count(&(struct sample){ .values = 1 }, types, err);
		sample->sum = sample->times;
		values[0] = (int64_t)sample->sum;
	} else if (types == 1 && sample->values > 1) {
		if (samples->rule != OTLP_VALUES_SUMMED && sample->values != sample->times)
			return wrong_count(sample, types, err);
		values[0] = (int64_t)sample->sum;
	} else if (sample->values != types) {
		return wrong_count(sample, types, err);
	}
	for (size_t i = 0; i < types; i++) {
		values[i] = (int64_t)((uint64_t)values[i] * samples->factor);
		samples->symbols->encoded_bytes += varint_length((uint64_t)values[i]);
	}
	return 0;
}

static int read_sample(struct otlp_samples *samples, struct str message, struct sample *sample,
                       struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0)
		if (take_field(samples, &field, sample, err) < 0)
			return -1;
	return more < 0 ? otlp_malformed(err, "Sample") : 0;
}

static bool takes_more(const struct otlp_samples *samples)
{
	const size_t most_bytes = samples->limits->max_profile_size_bytes;

	return samples->profile->sample_count < samples->sample_capacity &&
	       (most_bytes == 0 || samples->symbols->encoded_bytes <= most_bytes);
}

int otlp_samples_add(struct otlp_samples *samples, struct str message, struct error *err)
{
	struct profile *profile = samples->profile;
	const size_t types = profile->sample_type_count;
	struct sample sample = { .first_label = profile->label_count };
	struct otlp_run run = { 0 };

	samples->input->samples_sent++;
	if (!takes_more(samples))
		return 0;
	if (!ARENA_RESERVE(profile->arena, profile->values, profile->sample_count * types, types,
	                   samples->value_capacity))
		return arena_error(profile->arena, err);
	samples->labels.count = 0;
	if (read_sample(samples, message, &sample, err) < 0 ||
	    finish_values(samples, &sample, err) < 0 || find_run(samples, &sample, &run, err) < 0)
		return -1;
	if (samples->labels.count > samples->input->most_labels)
		samples->input->most_labels = samples->labels.count;
	samples->symbols->encoded_bytes += SAMPLE_BYTES + run.encoded_bytes;
	profile->samples[profile->sample_count++] = (struct profile_sample){
		.first_frame = run.first_frame,
		.depth = run.depth,
		.first_label = (uint32_t)sample.first_label,
		.label_count = (uint32_t)(profile->label_count - sample.first_label),
	};
	return 0;
}

void otlp_samples_finish(struct otlp_samples *samples)
{
	samples->input->encoded_bytes = samples->symbols->encoded_bytes;
}
