#include "formats/jfr_samples.h"

#include "base/uuid.h"

static const char hex_digits[] = "0123456789abcdef";

/* ---- sets of labels ---- */

static int add_text(struct jfr_samples *samples, struct str text, uint32_t *out, struct error *err)
{
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(samples->arena, samples->texts, samples->text_ids.count,
	                samples->text_capacity))
		return arena_error(samples->arena, err);
	id = intern_add(&samples->text_ids, samples->arena, hash128_str(samples->secret, text),
	                &is_new);
	if (id == INTERN_NONE)
		return arena_error(samples->arena, err);
	if (is_new)
		samples->texts[id] = text;
	*out = id;
	return 0;
}

/* A label without a name or a value is none. */
static int add_label(struct jfr_samples *samples, struct jfr_label_set *set, struct str name,
                     struct str value, struct error *err)
{
	struct profile_label label;

	if (name.length == 0 || value.length == 0)
		return 0;
	if (set->label_count == JFR_SET_LABELS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "JFR: a sample has more than %d labels",
		                 JFR_SET_LABELS_MAX);
	if (add_text(samples, name, &label.key, err) < 0 ||
	    add_text(samples, value, &label.value, err) < 0)
		return -1;
	if (!ARENA_GROW(samples->arena, samples->labels, samples->label_count,
	                samples->label_capacity))
		return arena_error(samples->arena, err);
	samples->labels[samples->label_count++] = label;
	set->label_count++;
	return 0;
}

static int add_span(struct jfr_samples *samples, struct jfr_label_set *set, uint64_t span,
                    struct error *err)
{
	char *text = arena_alloc_raw(samples->arena, JFR_SPAN_DIGITS);

	if (!text)
		return arena_error(samples->arena, err);
	for (size_t i = JFR_SPAN_DIGITS; i > 0; i--) {
		text[i - 1] = hex_digits[span & 0xf];
		span >>= 4;
	}
	return add_label(samples, set, STR("profile_id"), str_make(text, JFR_SPAN_DIGITS), err);
}

static int make_set(struct jfr_samples *samples, const struct jfr_context *context,
                    struct jfr_label_set *out, struct error *err)
{
	struct wire_reader pairs = jfr_labels_context(samples->names, context->context);
	struct jfr_label_set set = { .first_label = (uint32_t)samples->label_count };
	uint64_t key;
	uint64_t value;

	if (samples->label_count > UINT32_MAX - 2 * JFR_SET_LABELS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "JFR: samples have too many labels");
	while (jfr_labels_next(&pairs, &key, &value))
		if (add_label(samples, &set, jfr_labels_string(samples->names, key),
		              jfr_labels_string(samples->names, value), err) < 0)
			return -1;
	if (context->span != 0 && add_span(samples, &set, context->span, err) < 0)
		return -1;
	if (context->span_name != 0 &&
	    add_label(samples, &set, STR("span_name"),
	              jfr_labels_string(samples->names, context->span_name), err) < 0)
		return -1;
	if (set.label_count > samples->most_labels)
		samples->most_labels = set.label_count;
	*out = set;
	return 0;
}

static bool is_nowhere(const struct jfr_context *context)
{
	return (context->context | context->span | context->span_name) == 0;
}

static int find_set(struct jfr_samples *samples, const struct jfr_context *context, uint32_t *out,
                    struct error *err)
{
	bool is_new;

	*out = 0;
	if (is_nowhere(context))
		return 0;
	if (!ARENA_GROW(samples->arena, samples->sets, samples->set_ids.count,
	                samples->set_capacity))
		return arena_error(samples->arena, err);
	*out = intern_add(&samples->set_ids, samples->arena,
	                  hash128(samples->secret, context, sizeof(*context)), &is_new);
	if (*out == INTERN_NONE)
		return arena_error(samples->arena, err);
	return is_new ? make_set(samples, context, &samples->sets[*out], err) : 0;
}

int jfr_samples_init(struct jfr_samples *samples, const struct jfr_labels *names,
                     size_t max_samples, struct arena *arena, struct error *err)
{
	const struct uuid random = uuid_random();
	const struct jfr_context nowhere = { 0 };
	bool is_new;

	*samples = (struct jfr_samples){
		.arena = arena,
		.names = names,
		.max_samples = max_samples,
	};
	memcpy(&samples->secret, random.bytes, sizeof(samples->secret));
	if (!ARENA_GROW(arena, samples->sets, 0, samples->set_capacity) ||
	    intern_add(&samples->set_ids, arena,
	               hash128(samples->secret, &nowhere, sizeof(nowhere)), &is_new) != 0)
		return arena_error(arena, err);
	return make_set(samples, &nowhere, &samples->sets[0], err);
}

/* ---- samples ---- */

/* The sample of a profile, a stack and a set, or NULL in *out when it is not kept. */
static int find_sample(struct jfr_samples *samples, enum jfr_profile profile, uint32_t stack,
                       uint32_t set, struct jfr_sample **out, struct error *err)
{
	const size_t limit = samples->max_samples;
	const struct hash128 key = {
		hash64(samples->secret, &(uint32_t[]){ profile, stack, set }, 3 * sizeof(stack)),
		(uint64_t)stack << 32 | set,
	};
	uint32_t id;
	bool is_new;

	*out = NULL;
	if (limit > 0 && samples->kept[profile] == limit) {
		id = intern_find(&samples->sample_ids, key);
		if (id == INTERN_NONE)
			samples->sent[profile]++;
		else
			*out = &samples->samples[id];
		return 0;
	}
	if (!ARENA_GROW(samples->arena, samples->samples, samples->sample_count,
	                samples->sample_capacity))
		return arena_error(samples->arena, err);
	id = intern_add(&samples->sample_ids, samples->arena, key, &is_new);
	if (id == INTERN_NONE)
		return arena_error(samples->arena, err);
	if (is_new) {
		samples->samples[samples->sample_count++] = (struct jfr_sample){
			.stack = stack,
			.set = set,
			.profile = profile,
		};
		samples->kept[profile]++;
		samples->sent[profile]++;
	}
	*out = &samples->samples[id];
	return 0;
}

int jfr_samples_add(struct jfr_samples *samples, enum jfr_profile profile, uint32_t stack,
                    const struct jfr_context *context, const uint64_t values[static 2],
                    struct error *err)
{
	const bool is_full = samples->max_samples > 0 &&
	                     samples->sent[profile] > samples->max_samples;
	struct jfr_sample *sample;
	uint32_t set;

	if (is_full) /* the profile is refused whatever follows */
		return 0;
	if (find_set(samples, context, &set, err) < 0 ||
	    find_sample(samples, profile, stack, set, &sample, err) < 0)
		return -1;
	if (!sample)
		return 0;
	sample->count += values[0];
	sample->amount += values[1];
	return 0;
}
