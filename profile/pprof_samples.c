/*
 * The samples of a pprof message: most of its numbers.
 */
#include "profile/pprof_fields.h"

static bool read_label(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	uint64_t key = 0;
	uint64_t text = 0;
	uint64_t field;
	uint64_t ignored;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_VARINT):
			if (!read_number(&in, &key))
				return false;
			break;
		case KEY(2, WIRE_VARINT):
			if (!read_number(&in, &text))
				return false;
			break;
		case KEY(3, WIRE_VARINT):
		case KEY(4, WIRE_VARINT):
			if (!read_number(&in, &ignored))
				return false;
			break;
		default:
			if (!skip_field(&in, field, 4))
				return false;
		}
	}
	if (text == 0) {
		if (key > fields->greatest_label_key)
			fields->greatest_label_key = key;
		return true;
	}
	if (!PPROF_ROOM(fields, profile->labels, profile->label_count, 1, fields->label_capacity))
		return false;
	profile->labels[profile->label_count++] =
		(struct profile_label){ string_index(key), string_index(text) };
	return true;
}

static bool read_packed_frames(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	const size_t most = (size_t)(in.end - in.at); /* a byte each */
	uint32_t *to;
	uint64_t id;

	if (!PPROF_ROOM(fields, profile->stacks, profile->stack_length, most,
	                fields->stack_capacity))
		return false;
	to = profile->stacks + profile->stack_length;
	while (in.at < in.end) {
		const uint32_t first = in.at[0];
		const uint32_t second = in.end - in.at >= 2 ? in.at[1] : 0x80;
		const uint32_t more = first >> 7;

		/*
		 * ids of one and of two bytes come in no order: no branch tells them
		 * apart
		 */
		if ((more & second >> 7) == 0) {
			*to++ = (first & 0x7f) | (second & 0x7f & -more) << 7;
			in.at += 1 + more;
			continue;
		}
		if (!read_number(&in, &id))
			return false;
		*to++ = short_id(fields, id);
	}
	profile->stack_length = (size_t)(to - profile->stacks);
	return true;
}

static bool read_packed_values(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	const size_t most = (size_t)(in.end - in.at);
	uint64_t value;

	if (!PPROF_ROOM(fields, profile->values, fields->value_count, most, fields->value_capacity))
		return false;
	while (in.at < in.end) {
		if (!read_number(&in, &value))
			return false;
		profile->values[fields->value_count++] = (int64_t)value;
	}
	return true;
}

static bool read_frame(struct pprof_fields *fields, struct span *in)
{
	struct profile *profile = fields->profile;
	uint64_t id;

	if (!read_number(in, &id) ||
	    !PPROF_ROOM(fields, profile->stacks, profile->stack_length, 1, fields->stack_capacity))
		return false;
	profile->stacks[profile->stack_length++] = short_id(fields, id);
	return true;
}

static bool read_value(struct pprof_fields *fields, struct span *in)
{
	struct profile *profile = fields->profile;
	uint64_t value;

	if (!read_number(in, &value) ||
	    !PPROF_ROOM(fields, profile->values, fields->value_count, 1, fields->value_capacity))
		return false;
	profile->values[fields->value_count++] = (int64_t)value;
	return true;
}

static bool read_sample_fields(struct pprof_fields *fields, struct span in, size_t *labels)
{
	struct span bytes;
	uint64_t field;
	bool good = true;

	while (good && in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_BYTES):
			good = read_bytes(&in, &bytes) && read_packed_frames(fields, bytes);
			break;
		case KEY(2, WIRE_BYTES):
			good = read_bytes(&in, &bytes) && read_packed_values(fields, bytes);
			break;
		case KEY(1, WIRE_VARINT):
			good = read_frame(fields, &in);
			break;
		case KEY(2, WIRE_VARINT):
			good = read_value(fields, &in);
			break;
		case KEY(3, WIRE_BYTES):
			(*labels)++;
			good = read_bytes(&in, &bytes) && read_label(fields, bytes);
			break;
		default:
			good = skip_field(&in, field, 3);
		}
	}
	return good;
}

bool pprof_read_sample(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	const size_t first_frame = profile->stack_length;
	const size_t first_label = profile->label_count;
	const size_t first_value = fields->value_count;
	size_t labels = 0;
	size_t values;

	if (!read_sample_fields(fields, in, &labels))
		return false;
	if (labels > fields->input->most_labels)
		fields->input->most_labels = labels;
	fields->input->samples_sent++;
	if (fields->options->max_samples > 0 &&
	    fields->input->samples_sent > fields->options->max_samples) {
		profile->stack_length = first_frame;
		profile->label_count = first_label;
		fields->value_count = first_value;
		return true;
	}
	values = fields->value_count - first_value;
	if (profile->sample_count == 0)
		fields->values_of_first = values;
	fields->value_counts_differ |= values != fields->values_of_first;
	profile->samples[profile->sample_count++] = (struct profile_sample){
		.first_frame = (uint32_t)first_frame,
		.depth = (uint32_t)(profile->stack_length - first_frame),
		.first_label = (uint32_t)first_label,
		.label_count = (uint32_t)(profile->label_count - first_label),
	};
	return true;
}
