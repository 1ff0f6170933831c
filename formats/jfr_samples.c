#include "formats/jfr_samples.h"

#include "base/uuid.h"

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

/* The text that a number stands for; JFR_TEXT_NONE when there is none, or an empty one. */
static int find_text(struct jfr_samples *samples, uint64_t number, uint32_t *out, struct error *err)
{
	const struct jfr_label_map *strings = &samples->names->strings;
	const uint32_t string = jfr_labels_string(samples->names, number);

	*out = JFR_TEXT_NONE;
	if (string == NUMBER_MAP_NONE || strings->items[string].length == 0)
		return 0;
	*out = samples->string_texts[string];
	if (*out != JFR_TEXT_NONE)
		return 0;
	if (add_text(samples, strings->items[string], out, err) < 0)
		return -1;
	samples->string_texts[string] = *out;
	return 0;
}

/* A label without a name or a value is none. */
static int add_label(struct jfr_samples *samples, struct jfr_label_set *set, uint32_t name,
                     uint32_t value, struct error *err)
{
	if (name == JFR_TEXT_NONE || value == JFR_TEXT_NONE)
		return 0;
	if (set->label_count == JFR_SET_LABELS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "JFR: a sample has more than %d labels",
		                 JFR_SET_LABELS_MAX);
	if (!ARENA_GROW(samples->arena, samples->labels, samples->label_count,
	                samples->label_capacity))
		return arena_error(samples->arena, err);
	samples->labels[samples->label_count++] = (struct profile_label){ name, value };
	set->label_count++;
	return 0;
}

static int add_span(struct jfr_samples *samples, struct jfr_label_set *set, uint64_t span,
                    struct error *err)
{
	char *text = arena_alloc_raw(samples->arena, JFR_SPAN_DIGITS + 1);
	const uint64_t highest_first = __builtin_bswap64(span);
	uint32_t name;
	uint32_t value;

	if (!text)
		return arena_error(samples->arena, err);
	hex_encode((const uint8_t *)&highest_first, sizeof(highest_first), text);
	return add_text(samples, STR("profile_id"), &name, err) < 0 ||
	                       add_text(samples, str_make(text, JFR_SPAN_DIGITS), &value, err) < 0
	               ? -1
	               : add_label(samples, set, name, value, err);
}

static int add_span_name(struct jfr_samples *samples, struct jfr_label_set *set, uint64_t number,
                         struct error *err)
{
	uint32_t name;
	uint32_t value;

	return add_text(samples, STR("span_name"), &name, err) < 0 ||
	                       find_text(samples, number, &value, err) < 0
	               ? -1
	               : add_label(samples, set, name, value, err);
}

static int begin_set(const struct jfr_samples *samples, struct jfr_label_set *out,
                     struct error *err)
{
	*out = (struct jfr_label_set){ .first_label = (uint32_t)samples->label_count };
	if (samples->label_count > UINT32_MAX - 2 * JFR_SET_LABELS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "JFR: samples have too many labels");
	return 0;
}

static void end_set(struct jfr_samples *samples, uint32_t id, struct jfr_label_set set)
{
	if (set.label_count > samples->most_labels)
		samples->most_labels = set.label_count;
	samples->sets[id] = set;
}

/* The labels of a context, as set `id`. */
static int read_context(struct jfr_samples *samples, uint64_t context, uint32_t id,
                        struct error *err)
{
	struct wire_reader pairs = jfr_labels_context(samples->names, context);
	struct jfr_label_set set;
	uint64_t key;
	uint64_t number;

	if (begin_set(samples, &set, err) < 0)
		return -1;
	while (jfr_labels_next(&pairs, &key, &number)) {
		uint32_t name;
		uint32_t value;

		if (find_text(samples, key, &name, err) < 0 ||
		    find_text(samples, number, &value, err) < 0 ||
		    add_label(samples, &set, name, value, err) < 0)
			return -1;
	}
	end_set(samples, id, set);
	return 0;
}

/* The labels of set `base`, which has a span's context, and of the span, as set `id`. */
static int add_span_set(struct jfr_samples *samples, const struct jfr_context *context,
                        uint32_t base, uint32_t id, struct error *err)
{
	const struct jfr_label_set from = samples->sets[base];
	struct jfr_label_set set;

	if (begin_set(samples, &set, err) < 0)
		return -1;
	for (uint32_t i = 0; i < from.label_count; i++) {
		const struct profile_label label = samples->labels[from.first_label + i];

		if (add_label(samples, &set, label.key, label.value, err) < 0)
			return -1;
	}
	if (context->span != 0 && add_span(samples, &set, context->span, err) < 0)
		return -1;
	if (context->span_name != 0 && add_span_name(samples, &set, context->span_name, err) < 0)
		return -1;
	end_set(samples, id, set);
	return 0;
}

/* The number of a set; *out_new: its labels are still to be told. */
static int intern_set(struct jfr_samples *samples, const struct jfr_context *context, uint32_t *out,
                      bool *out_new, struct error *err)
{
	if (!ARENA_GROW(samples->arena, samples->sets, samples->set_ids.count,
	                samples->set_capacity))
		return arena_error(samples->arena, err);
	*out = intern_add(&samples->set_ids, samples->arena,
	                  hash128(samples->secret, context, sizeof(*context)), out_new);
	return *out == INTERN_NONE ? arena_error(samples->arena, err) : 0;
}

static int find_context_set(struct jfr_samples *samples, uint64_t context, uint32_t *out,
                            struct error *err)
{
	bool is_new;

	if (intern_set(samples, &(struct jfr_context){ .context = context }, out, &is_new, err) < 0)
		return -1;
	return is_new ? read_context(samples, context, *out, err) : 0;
}

static int find_span_set(struct jfr_samples *samples, const struct jfr_context *context,
                         uint32_t *out, struct error *err)
{
	uint32_t base;
	bool is_new;

	if (intern_set(samples, context, out, &is_new, err) < 0)
		return -1;
	if (!is_new)
		return 0;
	return find_context_set(samples, context->context, &base, err) < 0
	               ? -1
	               : add_span_set(samples, context, base, *out, err);
}

static int find_set(struct jfr_samples *samples, const struct jfr_context *context, uint32_t *out,
                    struct error *err)
{
	*out = 0; /* the set that there is from the beginning */
	if ((context->context | context->span | context->span_name) == 0)
		return 0;
	return (context->span | context->span_name) == 0
	               ? find_context_set(samples, context->context, out, err)
	               : find_span_set(samples, context, out, err);
}

int jfr_samples_init(struct jfr_samples *samples, const struct jfr_labels *names,
                     size_t max_samples, struct arena *arena, struct error *err)
{
	const struct uuid random = uuid_random();
	const size_t strings = names->strings.ids.count;
	uint32_t nowhere;

	*samples = (struct jfr_samples){
		.arena = arena,
		.names = names,
		.max_samples = max_samples,
		.string_texts = arena_array_raw(arena, strings, sizeof(*samples->string_texts)),
	};
	memcpy(&samples->secret, random.bytes, sizeof(samples->secret));
	if (!samples->string_texts)
		return arena_error(arena, err);
	for (size_t i = 0; i < strings; i++)
		samples->string_texts[i] = JFR_TEXT_NONE;
	return find_context_set(samples, 0, &nowhere, err);
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
