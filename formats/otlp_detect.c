#include "formats/otlp_detect.h"

#include "formats/otlp_wire.h"

/* Field numbers that the layouts from 1.8 on share, and those that tell older ones. */
enum {
	REQUEST_RESOURCES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE_SCOPES = 2,
	SCOPE_PROFILES = 2,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_LOCATION_INDICES_1_7 = 3,
	PROFILE_PERIOD = 6,
	PROFILE_STRINGS_1_5 = 10,
};

#define NO_STRING UINT64_MAX

/* What the request shows of itself. */
struct evidence {
	bool has_dictionary;
	bool has_stacks;           /* the dictionary's */
	bool has_named_attributes; /* entries with a key of their own, not a string's index */
	bool has_tables_in_profiles;
	bool has_location_indices;
	bool has_old_samples; /* fields as in 1.8 and 1.9 */
	bool has_new_samples; /* fields as in 1.10 */

	/* Samples with nothing but field 2, which was values and became attributes. */
	bool has_field_2_alone;    /* without timestamps: values */
	bool has_uneven_field_2;   /* not as many as timestamps: no values */
	bool counts_samples;       /* a profile of type "samples" with a period: eBPF's */
	uint64_t greatest_field_2; /* of all numbers there */

	uint64_t strings;
	uint64_t attributes;
	uint64_t links;
	uint64_t samples_string; /* index of "samples" */
};

/* ---- the dictionary ---- */

/* Whether a message has a field of that number and type. */
static int has_field(struct str message, uint32_t number, enum wire_type type)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0)
		if (field.number == number && field.type == type)
			return 1;
	return more;
}

static int look_at_entry(struct evidence *evidence, const struct wire_field *field)
{
	int has = 0;

	switch (field->number) {
	case DICTIONARY_LINKS:
		evidence->links++;
		return 0;
	case DICTIONARY_STRINGS:
		if (evidence->samples_string == NO_STRING && str_equals(field->bytes, "samples"))
			evidence->samples_string = evidence->strings;
		evidence->strings++;
		return 0;
	case DICTIONARY_ATTRIBUTES:
		evidence->attributes++;
		if (!evidence->has_named_attributes)
			has = has_field(field->bytes, 1, WIRE_BYTES);
		evidence->has_named_attributes |= has > 0;
		return has;
	case DICTIONARY_STACKS:
		if (!evidence->has_stacks)
			has = has_field(field->bytes, 1, WIRE_BYTES);
		evidence->has_stacks |= has > 0;
		return has;
	default:
		return 0;
	}
}

static int look_at_dictionary(void *context, struct str bytes, struct error *err)
{
	struct evidence *evidence = context;
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	evidence->has_dictionary = true;
	while ((more = wire_next(&reader, &field)) > 0)
		if (field.type == WIRE_BYTES && look_at_entry(evidence, &field) < 0)
			return otlp_malformed(err, "ProfilesDictionary");
	return more < 0 ? otlp_malformed(err, "ProfilesDictionary") : 0;
}

/* ---- profiles ---- */

/* The fields of one sample that matter. */
struct sample_fields {
	size_t in_field_2;
	size_t times;
	bool has_number_3;
	bool has_list_3;
	bool has_number_4;
	bool has_list_4;
	uint64_t number_4;
};

static bool look_at_field_2(struct evidence *evidence, const struct wire_field *field,
                            struct sample_fields *sample)
{
	uint8_t room[VARINT_MAX];
	struct otlp_numbers numbers = otlp_numbers(field, room);
	uint64_t number;

	evidence->has_location_indices |= field->type == WIRE_VARINT && !evidence->has_stacks;
	while (numbers.at < numbers.end) {
		if (!varint_read(&numbers.at, numbers.end, &number))
			return false;
		if (number > evidence->greatest_field_2)
			evidence->greatest_field_2 = number;
		sample->in_field_2++;
	}
	return true;
}

static bool look_at_sample_field(struct evidence *evidence, const struct wire_field *field,
                                 struct sample_fields *sample)
{
	const bool is_list = field->type == WIRE_BYTES;

	switch (field->number) {
	case 2:
		return look_at_field_2(evidence, field, sample);
	case 3:
		*(is_list ? &sample->has_list_3 : &sample->has_number_3) = true;
		return true;
	case 4:
		*(is_list ? &sample->has_list_4 : &sample->has_number_4) = true;
		if (!is_list)
			sample->number_4 = field->value;
		return true;
	case 5:
		sample->times += otlp_fixed_count(field);
		return true;
	default:
		return true;
	}
}

/*
 * A single number in field 4 was a link, and is a value of a sender that does not pack: it
 * is no link when the table has no such one, nor when the sample had no value then.
 */
static bool has_link_in_4(const struct evidence *evidence, const struct sample_fields *sample)
{
	return sample->has_number_4 && sample->number_4 < evidence->links &&
	       sample->in_field_2 + sample->times > 0;
}

static void judge_sample(struct evidence *evidence, const struct sample_fields *sample)
{
	const bool has_link = has_link_in_4(evidence, sample);

	evidence->has_old_samples |= sample->has_list_3 || has_link;
	evidence->has_new_samples |= sample->has_number_3 || sample->has_list_4 ||
	                             (sample->has_number_4 && !has_link);
	if (sample->in_field_2 == 0 || sample->has_list_3 || sample->has_number_3 ||
	    sample->has_list_4 || sample->has_number_4)
		return;
	evidence->has_field_2_alone |= sample->times == 0;
	evidence->has_uneven_field_2 |= sample->in_field_2 != sample->times;
}

static bool look_at_sample(struct evidence *evidence, struct str bytes)
{
	struct sample_fields sample = { 0 };
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0)
		if (!look_at_sample_field(evidence, &field, &sample))
			return false;
	judge_sample(evidence, &sample);
	return more == 0;
}

/* The string that names a ValueType's type. */
static int type_string(struct str bytes, uint64_t *out)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	*out = 0;
	while ((more = wire_next(&reader, &field)) > 0)
		if (field.number == 1 && field.type == WIRE_VARINT)
			*out = field.value;
	return more;
}

static int look_at_profile(void *context, struct str bytes, struct error *err)
{
	struct evidence *evidence = context;
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	uint64_t type = NO_STRING;
	bool has_period = false;
	bool good = true;
	int more;

	while (good && (more = wire_next(&reader, &field)) > 0) {
		const bool is_message = field.type == WIRE_BYTES;

		if (field.number == PROFILE_SAMPLES && is_message)
			good = look_at_sample(evidence, field.bytes);
		else if (field.number == PROFILE_SAMPLE_TYPE && is_message)
			good = type_string(field.bytes, &type) == 0;
		else if (field.number == PROFILE_LOCATION_INDICES_1_7)
			evidence->has_location_indices |= is_message;
		else if (field.number == PROFILE_STRINGS_1_5)
			evidence->has_tables_in_profiles |= is_message;
		else if (field.number == PROFILE_PERIOD && field.type == WIRE_VARINT)
			has_period = field.value != 0;
	}
	if (!good || more < 0)
		return otlp_malformed(err, "Profile");
	evidence->counts_samples |= has_period && type != NO_STRING &&
	                            type == evidence->samples_string;
	return 0;
}

static int look_at_scope(void *context, struct str bytes, struct error *err)
{
	return otlp_each(bytes, SCOPE_PROFILES, "ScopeProfiles", look_at_profile, context, err);
}

static int look_at_resource(void *context, struct str bytes, struct error *err)
{
	return otlp_each(bytes, RESOURCE_SCOPES, "ResourceProfiles", look_at_scope, context, err);
}

/* ---- the decision ---- */

static bool has_tables_of_1_7(const struct evidence *evidence)
{
	return !evidence->has_stacks && evidence->has_named_attributes;
}

/* Samples of which every one has stack, field 2 and timestamps only. */
static bool reads_as_attributes(const struct evidence *evidence)
{
	return !evidence->has_field_2_alone && evidence->greatest_field_2 < evidence->attributes &&
	       (evidence->has_uneven_field_2 || evidence->counts_samples);
}

static bool is_new(const struct evidence *evidence)
{
	if (evidence->has_old_samples || evidence->has_new_samples)
		return evidence->has_new_samples;
	return reads_as_attributes(evidence);
}

static int decide(const struct evidence *evidence, enum otlp_revision *out, struct error *err)
{
	if (!evidence->has_dictionary) {
		if (!evidence->has_tables_in_profiles)
			return error_set(err, ERROR_INVALID, "missing profile metadata dictionary");
		*out = OTLP_1_5;
		return 0;
	}
	if (evidence->has_location_indices || has_tables_of_1_7(evidence)) {
		*out = OTLP_1_7;
		return 0;
	}
	if (evidence->has_old_samples && evidence->has_new_samples)
		return error_set(err, ERROR_INVALID,
		                 "mixed profile encodings: some samples are laid out as in OTLP "
		                 "1.9, others as in 1.10");
	*out = is_new(evidence) ? OTLP_1_10 : OTLP_1_9;
	return 0;
}

int otlp_detect(struct str request, const struct otlp_layout **out_layout, struct error *err)
{
	struct evidence evidence = { .samples_string = NO_STRING };
	enum otlp_revision revision = OTLP_1_10;

	if (otlp_each(request, REQUEST_DICTIONARY, "ExportProfilesServiceRequest",
	              look_at_dictionary, &evidence, err) < 0 ||
	    otlp_each(request, REQUEST_RESOURCES, "ExportProfilesServiceRequest", look_at_resource,
	              &evidence, err) < 0 ||
	    decide(&evidence, &revision, err) < 0)
		return -1;
	*out_layout = otlp_layout_of(revision);
	return 0;
}
