#include "formats/otlp_profile.h"

#include "formats/otlp_wire.h"

/* A message that comes twice is merged: later fields win. */
static int read_value_type(struct str bytes, struct otlp_value_type *type, struct error *err)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number > 2)
			continue;
		if (field.type != WIRE_VARINT)
			return otlp_malformed(err, "ValueType");
		*(field.number == 1 ? &type->type : &type->unit) = field.value;
	}
	return more < 0 ? otlp_malformed(err, "ValueType") : 0;
}

static int add_sample_type(struct otlp_profile *profile, struct str bytes, struct error *err)
{
	if (profile->sample_type_count == OTLP_SAMPLE_TYPES_MAX)
		return error_set(err, ERROR_INVALID, "a profile has more than %d sample types",
		                 OTLP_SAMPLE_TYPES_MAX);
	return read_value_type(bytes, &profile->sample_types[profile->sample_type_count++], err);
}

/* What fields are written as; of others both are right. */
enum field_form {
	ANY_FORM,
	A_MESSAGE,
	A_NUMBER,
};

static const uint8_t forms[] = {
	[OTLP_PROFILE_OTHER] = ANY_FORM,        [OTLP_PROFILE_LOCATION_INDICES] = ANY_FORM,
	[OTLP_PROFILE_SAMPLE_TYPE] = A_MESSAGE, [OTLP_PROFILE_SAMPLE_TYPES] = A_MESSAGE,
	[OTLP_PROFILE_PERIOD_TYPE] = A_MESSAGE, [OTLP_PROFILE_SAMPLE] = A_MESSAGE,
	[OTLP_PROFILE_TIME] = A_NUMBER,         [OTLP_PROFILE_DURATION] = A_NUMBER,
	[OTLP_PROFILE_PERIOD] = A_NUMBER,
};

static int take_field(struct otlp_profile *profile, unsigned meaning,
                      const struct wire_field *field, struct error *err)
{
	const enum field_form form = field->type == WIRE_BYTES ? A_MESSAGE : A_NUMBER;

	if (forms[meaning] != ANY_FORM && forms[meaning] != form)
		return otlp_malformed(err, "Profile");
	switch (meaning) {
	case OTLP_PROFILE_SAMPLE_TYPE:
		profile->sample_type_count = 1;
		return read_value_type(field->bytes, &profile->sample_types[0], err);
	case OTLP_PROFILE_SAMPLE_TYPES:
		return add_sample_type(profile, field->bytes, err);
	case OTLP_PROFILE_PERIOD_TYPE:
		profile->has_period_type = true;
		return read_value_type(field->bytes, &profile->period_type, err);
	case OTLP_PROFILE_SAMPLE:
		profile->sample_count++;
		return 0;
	case OTLP_PROFILE_TIME:
		profile->time = field->value;
		return 0;
	case OTLP_PROFILE_DURATION:
		profile->duration = field->value;
		return 0;
	case OTLP_PROFILE_PERIOD:
		profile->period = (int64_t)field->value;
		return 0;
	default:
		return 0;
	}
}

/* They stand together: services that a profile is split into read no more than these. */
static void note_indices(struct otlp_profile *profile, const uint8_t *start, const uint8_t *end)
{
	if (!profile->indices.data)
		profile->indices.data = (const char *)start;
	profile->indices.length = (size_t)((const char *)end - profile->indices.data);
}

int otlp_profile_read(const struct otlp_layout *layout, struct str message,
                      struct otlp_profile *out, struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field = { 0 };
	const uint8_t *start = reader.at;
	int more;

	*out = (struct otlp_profile){ .message = message };
	for (; (more = wire_next(&reader, &field)) > 0; start = reader.at) {
		const unsigned meaning = otlp_meaning(layout->profile, field.number);

		if (meaning == OTLP_PROFILE_LOCATION_INDICES)
			note_indices(out, start, reader.at);
		if (take_field(out, meaning, &field, err) < 0)
			return -1;
	}
	return more < 0 ? otlp_malformed(err, "Profile") : 0;
}
