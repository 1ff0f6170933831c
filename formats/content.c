#include "formats/content.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/gzip.h"
#include "base/utf8.h"
#include "formats/multipart.h"
#include "formats/speedscope.h"
#include "formats/tree_node.h"
#include "profile/pprof.h"

#define PLAIN_MAX ((size_t)256 << 20) /* of a body that came compressed */
#define HEAD_MAX  4096                /* bytes in which a form shows what it is */

/* ---- binary ---- */

static bool looks_jfr(struct str plain, struct arena *arena)
{
	(void)arena;
	return str_starts_with(plain, STR("FLR\0"));
}

static bool looks_pprof(struct str plain, struct arena *arena)
{
	struct pprof_input input;
	struct error ignored = { 0 };

	/* Any short text may pass for a message of unknown fields. */
	return pprof_read(plain, &(struct pprof_options){ .max_samples = 1 }, arena, &input,
	                  &ignored) == 0 &&
	       input.profile.sample_type_count > 0 && input.profile.string_count > 0 &&
	       !(input.faults & (PPROF_STRING_ZERO | PPROF_SAMPLE_TYPE_STRING));
}

static bool is_text_byte(char c)
{
	return (unsigned char)c >= 0x20 || c == '\t';
}

/*
 * Whether the body is nodes from its first byte to its last one, under a root without a
 * name and a value, with names of printable bytes. Of a key in parts some has a ';'.
 */
static bool looks_nodes(struct str plain, bool *out_has_separator)
{
	struct tree_node_reader nodes;
	struct tree_node node;
	struct error ignored = { 0 };
	size_t missing = 1;
	int more;

	*out_has_separator = false;
	if (!str_starts_with(plain, STR("\0\0")))
		return false;
	tree_node_reader_init(&nodes, plain, 0);
	while ((more = tree_node_next(&nodes, &node, &ignored)) > 0 && missing > 0) {
		if (node.child_count > plain.length)
			return false;
		missing += (size_t)node.child_count - 1;
		for (size_t i = 0; i < node.name.length; i++)
			if (!is_text_byte(node.name.data[i]))
				return false;
		*out_has_separator |= str_index(node.name, ';') >= 0;
	}
	return more == 0 && missing == 0;
}

static bool looks_trie(struct str plain, struct arena *arena)
{
	bool has_separator;

	(void)arena;
	return looks_nodes(plain, &has_separator) && has_separator;
}

static bool looks_tree(struct str plain, struct arena *arena)
{
	bool has_separator;

	(void)arena;
	return looks_nodes(plain, &has_separator) && !has_separator;
}

/* ---- text ---- */

static bool looks_form(struct str plain, struct arena *arena)
{
	const struct str head = str_first(plain, HEAD_MAX);

	(void)arena;
	return str_starts_with(head, STR("--")) && str_find(head, STR("form-data;")) >= 0;
}

/* What a runtime's FormData becomes when nobody encodes it. */
static bool looks_form_object(struct str plain, struct arena *arena)
{
	(void)arena;
	return str_equals(str_trim(plain), "[object FormData]");
}

static bool looks_speedscope(struct str plain, struct arena *arena)
{
	(void)arena;
	return str_starts_with(str_trim(str_first(plain, HEAD_MAX)), STR("{")) &&
	       str_find(plain, STR("\"" SPEEDSCOPE_SCHEMA "\"")) >= 0;
}

/* What OpenTelemetry's collector writes of profiles: fields as protobuf names them. */
static bool looks_otlp_json(struct str plain, struct arena *arena)
{
	(void)arena;
	return str_starts_with(str_trim(str_first(plain, HEAD_MAX)), STR("{")) &&
	       str_find(plain, STR("\"resourceProfiles\"")) >= 0;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* "    ffffffff81c0 do_syscall_64+0x3b ([kernel.kallsyms])" */
static bool is_perf_frame(struct str line)
{
	const struct str text = str_trim(line);
	size_t digits = 0;

	while (digits < text.length && is_hex(text.data[digits]))
		digits++;
	return (str_starts_with(line, STR(" ")) || str_starts_with(line, STR("\t"))) &&
	       digits > 0 && digits < text.length && text.data[digits] == ' ' &&
	       str_ends_with(text, STR(")"));
}

/* "python3  4242 [000] 1234.567890:     250000 cpu-clock:pppH: " and frames below it */
static bool looks_perf_script(struct str plain, struct arena *arena)
{
	bool had_event = false;
	struct str line;

	(void)arena;
	for (int i = 0; i < CONTENT_LINES_MAX && plain.length > 0; i++) {
		(void)str_split(&plain, '\n', &line);
		if (line.length == 0 || line.data[0] == '#')
			continue;
		if (had_event && is_perf_frame(line))
			return true;
		had_event = is_text_byte(line.data[0]) && line.data[0] != ' ' &&
		            line.data[0] != '\t' && str_ends_with(str_trim(line), STR(":"));
	}
	return false;
}

static size_t count_digits(struct str text)
{
	size_t digits = 0;

	while (digits < text.length && text.data[digits] >= '0' && text.data[digits] <= '9')
		digits++;
	return digits;
}

bool content_is_folded_line(struct str line)
{
	const ptrdiff_t blank = str_last_index(line, ' ');
	struct str count;

	if (blank <= 0)
		return false;
	count = str_skip(line, (size_t)blank + 1);
	return count.length > 0 && count_digits(count) == count.length;
}

static bool looks_folded(struct str plain, struct arena *arena)
{
	size_t folded = 0;
	struct str line;

	(void)arena;
	for (int i = 0; i < CONTENT_LINES_MAX && plain.length > 0; i++) {
		(void)str_split(&plain, '\n', &line);
		line = str_trim(line);
		for (size_t at = 0; at < line.length; at++)
			if (!is_text_byte(line.data[at]))
				return false;
		if (line.length > 0 && !content_is_folded_line(line))
			return false;
		folded += line.length > 0;
	}
	return folded > 0;
}

/* Behind a count that something else than a frame could have come behind: no. */
static bool may_begin_stack(struct str text)
{
	return text.length > 0 && text.data[0] != ' ' && text.data[0] != ';' &&
	       text.data[0] != '.' && text.data[0] != ',' && text.data[0] != ')';
}

bool content_is_joined(struct str text)
{
	const ptrdiff_t last_separator = str_last_index(text, ';');

	if (str_index(text, '\n') >= 0 || !content_is_folded_line(str_trim(text)))
		return false;
	/* what runs into a count is a stack of its own when it has several frames */
	for (ptrdiff_t at = 0; at < last_separator; at++) {
		const struct str behind = str_skip(text, (size_t)at + 1);
		const size_t digits = text.data[at] == ' ' ? count_digits(behind) : 0;
		const struct str next = str_skip(behind, digits);

		if (digits > 0 && may_begin_stack(next) && at + (ptrdiff_t)digits < last_separator)
			return true;
	}
	return false;
}

static bool looks_joined(struct str plain, struct arena *arena)
{
	(void)arena;
	return utf8_is_valid(plain) && content_is_joined(plain);
}

/* ---- the table ---- */

static const struct content contents[] = {
	{ CONTENT_JFR, "a JFR recording", "jfr", "send it with format=jfr", looks_jfr },
	{ CONTENT_FORM, "a form", NULL,
	  "send it with Content-Type: " MULTIPART_MEDIA_TYPE " and its boundary", looks_form },
	{ CONTENT_FORM_OBJECT, "a FormData object that was made a text", NULL,
	  "its sender mixes two implementations of FormData", looks_form_object },
	{ CONTENT_SPEEDSCOPE, "a speedscope file", "speedscope", "send it with format=speedscope",
	  looks_speedscope },
	{ CONTENT_OTLP_JSON, "an OTLP export as JSON", NULL,
	  "send it to /v1development/profiles with Content-Type: application/json",
	  looks_otlp_json },
	{ CONTENT_PERF_SCRIPT, "output of perf script", NULL,
	  "fold it first, or let `vramscope push` do so", looks_perf_script },
	{ CONTENT_JOINED, "folded stacks without line breaks", NULL,
	  "curl -d takes them out: send it with --data-binary", looks_joined },
	{ CONTENT_FOLDED, "folded stacks", "folded", "send it with format=folded", looks_folded },
	{ CONTENT_TRIE, "a trie", "trie", "send it with format=trie", looks_trie },
	{ CONTENT_TREE, "a tree", "tree", "send it with format=tree", looks_tree },
	{ CONTENT_PPROF, "a pprof", "pprof", "send it with format=pprof", looks_pprof },
};

const struct content *content_of(struct str body, struct arena *arena)
{
	struct error ignored = { 0 };

	if (gzip_is(body) && gzip_inflate(body, PLAIN_MAX, arena, &body, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(contents); i++)
		if (contents[i].looks(body, arena))
			return &contents[i];
	return NULL;
}

/* Whether it is something, and not what was named. */
static const struct content *mistaken(struct str body, const char *format, struct arena *arena)
{
	const struct content *content = content_of(body, arena);

	return content && content->format && strcmp(content->format, format) == 0 ? NULL : content;
}

static void add_to_message(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_to_message(struct error *err, const char *format, ...)
{
	const size_t length = strlen(err->message);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(err->message + length, sizeof(err->message) - length, format, list);
	va_end(list);
}

/* Of a form that is said to be one, the first part that is something else than it should be. */
static bool explain_part(const struct content_sent *sent, struct arena *arena, struct error *err)
{
	struct error ignored = { 0 };
	struct multipart_part part;
	struct multipart reader;

	if (multipart_init(&reader, sent->content_type, sent->body, &ignored) < 0)
		return false;
	while (multipart_next(&reader, &part, &ignored) > 0) {
		const struct content *content = mistaken(part.content, sent->format, arena);

		if (!content)
			continue;
		add_to_message(err, "%sthe form's part '%.*s' looks like %s: %s",
		               err->message[0] ? "; " : "", STR_ARGS(str_first(part.name, 64)),
		               content->name, content->advice);
		return true;
	}
	return false;
}

bool content_explain(const struct content_sent *sent, struct arena *arena, struct error *err)
{
	const struct content *content;

	if (multipart_is(sent->content_type))
		return explain_part(sent, arena, err);
	content = mistaken(sent->body, sent->format, arena);
	if (!content)
		return false;
	add_to_message(err, "%sthis looks like %s: %s", err->message[0] ? "; " : "", content->name,
	               content->advice);
	return true;
}
