#include "formats/folded.h"

#include "formats/content.h"
#include "formats/text_profile.h"

typedef int (*line_reader)(struct profile_builder *builder, struct str line, struct error *err);

static bool is_digits(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.length > 0;
}

/* Digits that are no int64 are too many of them. */
static int bad_count(struct str text, struct error *err)
{
	const bool has_sign = text.length > 0 && (text.data[0] == '+' || text.data[0] == '-');

	return error_set(err, ERROR_INVALID, "strconv.Atoi: parsing \"%.*s\": %s",
	                 STR_ARGS(str_first(text, 200)),
	                 is_digits(str_skip(text, has_sign ? 1 : 0)) ? "value out of range"
	                                                             : "invalid syntax");
}

static int read_group(struct profile_builder *builder, struct str line, struct error *err)
{
	const ptrdiff_t blank = str_last_index(line, ' ');
	struct str count;
	int64_t value;

	if (blank < 0)
		return 0;
	count = str_skip(line, (size_t)blank + 1);
	if (!str_to_i64(count, &value))
		return bad_count(count, err);
	if (value == 0)
		return 0;
	if (profile_builder_push_path(builder, str_first(line, (size_t)blank), err) < 0)
		return -1;
	return profile_builder_add(builder, (uint64_t)value, err);
}

static int read_line(struct profile_builder *builder, struct str line, struct error *err)
{
	if (line.length == 0)
		return 0;
	if (profile_builder_push_path(builder, line, err) < 0)
		return -1;
	return profile_builder_add(builder, 1, err);
}

/* Says where, behind what other servers say too. Returns -1. */
static int at_line(size_t number, struct error *err)
{
	const struct error cause = *err;

	if (cause.code != ERROR_INVALID)
		return -1;
	return error_set(err, cause.code, "%s (line %zu)", cause.message, number);
}

static int decode(const struct format_input *input, line_reader read, struct format_output *out,
                  struct error *err)
{
	struct profile_builder builder;
	struct str rest = input->body;
	size_t number = 0;
	struct str line;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	profile_builder_init(&builder, input->arena,
	                     &(struct profile_builder_limits){
				     .max_stacks = input->limits->max_samples,
				     .max_depth = input->limits->max_depth,
			     });
	while (rest.length > 0 && str_split(&rest, '\n', &line)) {
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		number++;
		if (read(&builder, line, err) < 0)
			return at_line(number, err);
	}
	return text_profile_make(&builder, input, out, err);
}

/* What curl -d sends by itself; the body is no form for that. */
#define CURL_DATA_TYPE "application/x-www-form-urlencoded"

int folded_decode_groups(const struct format_input *input, struct format_output *out,
                         struct error *err)
{
	*out = (struct format_output){ .stage = FORMAT_PARSING };
	if (str_find(input->content_type, STR(CURL_DATA_TYPE)) >= 0 &&
	    content_is_joined(input->body))
		return error_set(err, ERROR_INVALID, "%zu bytes without a line break",
		                 input->body.length);
	return decode(input, read_group, out, err);
}

int folded_decode_lines(const struct format_input *input, struct format_output *out,
                        struct error *err)
{
	return decode(input, read_line, out, err);
}
