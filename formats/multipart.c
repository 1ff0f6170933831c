#include "formats/multipart.h"

#include <string.h>

/* The bytes up to `c` outside of quotes are taken off *rest, and so is `c`. */
static struct str take_until(struct str *rest, char c)
{
	bool quoted = false;
	size_t i = 0;
	struct str taken;

	for (; i < rest->length; i++) {
		if (rest->data[i] == '"')
			quoted = !quoted;
		else if (quoted && rest->data[i] == '\\')
			i++;
		else if (!quoted && rest->data[i] == c)
			break;
	}
	taken = str_first(*rest, i);
	*rest = str_skip(*rest, i + 1);
	return taken;
}

static struct str unquote(struct str value)
{
	if (value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"')
		return str_first(str_skip(value, 1), value.length - 2);
	return value;
}

/*
 * The value of a parameter in a header such as `form-data; name="a"`: what stands between
 * the quotes, escapes as they are. {NULL, 0} when there is none.
 */
static struct str parameter_of(struct str header, const char *name)
{
	(void)take_until(&header, ';'); /* the value before its parameters */
	while (header.length > 0) {
		struct str parameter = take_until(&header, ';');
		const ptrdiff_t equals = str_index(parameter, '=');

		if (equals < 0)
			continue;
		if (str_equal_ignoring_case(str_trim(str_first(parameter, (size_t)equals)),
		                            str_of(name)))
			return unquote(str_trim(str_skip(parameter, (size_t)equals + 1)));
	}
	return (struct str){ 0 };
}

bool multipart_is(struct str content_type)
{
	return str_find(content_type, STR(MULTIPART_MEDIA_TYPE)) >= 0;
}

int multipart_init(struct multipart *reader, struct str content_type, struct str body,
                   struct error *err)
{
	const struct str boundary = parameter_of(content_type, "boundary");

	if (boundary.length == 0)
		return error_set(err, ERROR_INVALID, "malformed multipart content type header");
	if (boundary.length > MULTIPART_BOUNDARY_MAX)
		return error_set(err, ERROR_INVALID,
		                 "malformed multipart content type header: boundary is longer than "
		                 "%d bytes",
		                 MULTIPART_BOUNDARY_MAX);
	*reader = (struct multipart){ .rest = body, .delimiter_length = 2 + boundary.length };
	memcpy(reader->delimiter, "--", 2);
	memcpy(reader->delimiter + 2, boundary.data, boundary.length);
	return 0;
}

/*
 * Bytes of what may follow a delimiter at `at`: "--" behind the last part (*out_last),
 * else blanks and a line end. 0 when the delimiter is just text that looks like one.
 */
static size_t line_rest(struct str at, bool *out_last)
{
	size_t i = 0;

	*out_last = str_starts_with(at, STR("--"));
	if (*out_last)
		return 2;
	while (i < at.length && (at.data[i] == ' ' || at.data[i] == '\t'))
		i++;
	if (i < at.length && at.data[i] == '\r')
		i++;
	return i < at.length && at.data[i] == '\n' ? i + 1 : 0;
}

/*
 * Takes everything up to the next boundary line and that line off the body. The content
 * ends before the line end that belongs to the boundary. False when there is no boundary
 * any more.
 */
static bool take_to_boundary(struct multipart *reader, struct str *out_content)
{
	const struct str delimiter = { reader->delimiter, reader->delimiter_length };
	const struct str body = reader->rest;

	for (size_t from = 0; from <= body.length;) {
		const ptrdiff_t found = str_find(str_skip(body, from), delimiter);
		size_t at;
		size_t behind;
		size_t content;
		size_t more;

		if (found < 0)
			return false;
		at = from + (size_t)found;
		behind = at + delimiter.length;
		content = at;
		more = line_rest(str_skip(body, behind), &reader->ended);
		from = at + 1;
		if (more == 0 || (at > 0 && body.data[at - 1] != '\n'))
			continue;
		if (content > 0)
			content--;
		if (content > 0 && body.data[content - 1] == '\r')
			content--;
		*out_content = str_first(body, content);
		reader->rest = str_skip(body, behind + more);
		return true;
	}
	return false;
}

static int take_line(struct multipart *reader, struct str *out)
{
	const ptrdiff_t end = str_index(str_first(reader->rest, MULTIPART_HEAD_MAX + 1), '\n');

	if (end < 0)
		return -1;
	*out = str_first(reader->rest, (size_t)end);
	if (out->length > 0 && out->data[out->length - 1] == '\r')
		out->length--;
	reader->rest = str_skip(reader->rest, (size_t)end + 1);
	return 0;
}

static void read_header(struct str line, struct multipart_part *part)
{
	const ptrdiff_t colon = str_index(line, ':');
	struct str value;

	if (colon < 0 || !str_equal_ignoring_case(str_trim(str_first(line, (size_t)colon)),
	                                          STR("Content-Disposition")))
		return;
	value = str_skip(line, (size_t)colon + 1);
	part->name = parameter_of(value, "name");
	part->filename = parameter_of(value, "filename");
}

static int read_head(struct multipart *reader, struct multipart_part *part, struct error *err)
{
	size_t head = 0;
	struct str line;

	do {
		if (take_line(reader, &line) < 0)
			return error_set(err, ERROR_INVALID, "multipart: NextPart: %s",
			                 reader->rest.length > MULTIPART_HEAD_MAX
			                         ? "header line is too long"
			                         : "EOF");
		head += line.length + 2;
		if (head > MULTIPART_HEAD_MAX)
			return error_set(err, ERROR_TOO_LARGE,
			                 "multipart: headers of a part are longer than %d bytes",
			                 MULTIPART_HEAD_MAX);
		read_header(line, part);
	} while (line.length > 0);
	return 0;
}

int multipart_next(struct multipart *reader, struct multipart_part *out, struct error *err)
{
	struct multipart_part part = { 0 };

	if (!reader->started) {
		if (!take_to_boundary(reader, &part.content))
			return error_set(err, ERROR_INVALID, "multipart: NextPart: EOF");
		reader->started = true;
	}
	if (reader->ended)
		return 0;
	if (reader->rest.length == 0)
		return error_set(err, ERROR_INVALID, "multipart: NextPart: EOF");
	if (reader->part_count == MULTIPART_PARTS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "multipart: more than %d parts",
		                 MULTIPART_PARTS_MAX);
	if (read_head(reader, &part, err) < 0)
		return -1;
	if (!take_to_boundary(reader, &part.content))
		return error_set(err, ERROR_INVALID, "unexpected EOF");
	reader->part_count++;
	*out = part;
	return 1;
}
