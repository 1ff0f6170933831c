/*
 * The configuration file: sections of scalars, nothing else of YAML.
 *
 *	server:
 *	  http_listen_port: 4040      is -server.http-listen-port
 *	server.http_listen_port: 4040 is the same
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "server/nearest.h"
#include "server/options.h"

#define FILE_MAX    ((size_t)1 << 20) /* bytes of a configuration file; a guess */
#define SECTION_MAX 8                 /* sections inside each other */
#define KEY_MAX     256               /* bytes of a whole name */

/*
 * Where the reader stands: the name so far, and where each open section's part of it
 * ends.
 */
struct yaml_place {
	struct options *options;
	const char *file;
	char key[KEY_MAX];
	size_t key_length;
	size_t ends[SECTION_MAX];
	size_t depth;     /* of open sections; the document's own is the first */
	bool wants_value; /* a key was read */
	bool seen[OPTION_COUNT_ALL];
};

static int fail(const struct yaml_place *place, const yaml_event_t *event, struct error *err)
{
	return error_context(err, "%s:%zu", place->file, event->start_mark.line + 1);
}

/* Whether options begin with this name and a dot. */
static bool is_section(struct str name)
{
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++) {
		const struct str option = str_of(option_at((enum option_id)i)->name);

		if (option.length > name.length && str_starts_with(option, name) &&
		    option.data[name.length] == '.')
			return true;
	}
	return false;
}

static int unknown_key(const struct yaml_place *place, struct error *err)
{
	const struct str key = { place->key, place->key_length };
	struct nearest nearest;

	if (is_section(key))
		return error_set(err, ERROR_INVALID,
		                 "%.*s is a section, not an option: what is of it stands "
		                 "indented under it",
		                 STR_ARGS(key));
	nearest_init(&nearest, key);
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++)
		nearest_add(&nearest, option_at((enum option_id)i)->name);
	return error_set(err, ERROR_INVALID, "unknown option %.*s%s%s%s", STR_ARGS(key),
	                 nearest.name ? "; did you mean " : "", nearest.name ? nearest.name : "",
	                 nearest.name ? "?" : "");
}

static int add_key(struct yaml_place *place, struct str part, struct error *err)
{
	const size_t before = place->ends[place->depth - 1];
	const size_t needed = before + (before > 0) + part.length;

	if (part.length == 0 || needed > KEY_MAX)
		return error_set(err, ERROR_INVALID, "a name is empty or longer than %d bytes",
		                 KEY_MAX);
	place->key_length = before;
	if (before > 0)
		place->key[place->key_length++] = '.';
	memcpy(place->key + place->key_length, part.data, part.length);
	for (size_t i = 0; i < part.length; i++, place->key_length++)
		if (place->key[place->key_length] == '_')
			place->key[place->key_length] = '-';
	place->wants_value = true;
	return 0;
}

/* The reference has some at other places in files than on command lines. */
static const struct option *find_option(struct str key)
{
	static const struct {
		const char *key;
		enum option_id id;
	} elsewhere[] = {
		{ "multitenancy-enabled", OPTION_ID_multitenancy },
		{ "server.http-tls-config.cert-file", OPTION_ID_http_tls_cert_path },
		{ "server.http-tls-config.key-file", OPTION_ID_http_tls_key_path },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++)
		if (str_equals(key, elsewhere[i].key))
			return option_at(elsewhere[i].id);
	return option_find(key);
}

static int set_value(struct yaml_place *place, struct str value, struct error *err)
{
	const struct str key = { place->key, place->key_length };
	const struct option *option = find_option(key);
	bool is_bool;
	size_t id;

	place->wants_value = false;
	if (!option && options_ignores(key, &is_bool)) {
		strbuf_printf(&place->options->ignored, " %.*s", STR_ARGS(key));
		return 0;
	}
	if (!option)
		return unknown_key(place, err);
	id = (size_t)(option - option_at((enum option_id)0));
	if (place->seen[id])
		return error_set(err, ERROR_INVALID, "%s is given twice", option->name);
	place->seen[id] = true;
	return options_set(place->options, option, value, err);
}

static int read_scalar(struct yaml_place *place, const yaml_event_t *event, struct error *err)
{
	struct str text = str_make(event->data.scalar.value, event->data.scalar.length);

	if (place->depth == 0) {
		if (text.length > 0)
			return error_set(err, ERROR_INVALID, "sections and options are expected");
		return 0; /* a file of comments only */
	}
	if (!place->wants_value)
		return add_key(place, text, err);
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    (str_equals(text, "~") || str_equals(text, "null")))
		text = STR("");
	return set_value(place, text, err);
}

static int open_section(struct yaml_place *place, struct error *err)
{
	if (place->depth == SECTION_MAX)
		return error_set(err, ERROR_INVALID, "more than %d sections inside each other",
		                 SECTION_MAX);
	if (place->depth > 0 && !place->wants_value)
		return error_set(err, ERROR_INVALID, "a section has no name");
	place->ends[place->depth] = place->depth > 0 ? place->key_length : 0;
	place->depth++;
	place->wants_value = false;
	return 0;
}

static int read_event(struct yaml_place *place, const yaml_event_t *event, struct error *err)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(place, event, err);
	case YAML_MAPPING_START_EVENT:
		return open_section(place, err);
	case YAML_MAPPING_END_EVENT:
		place->depth--;
		return 0;
	case YAML_SEQUENCE_START_EVENT:
		return error_set(err, ERROR_INVALID, "a list where a value is expected");
	case YAML_ALIAS_EVENT:
		return error_set(err, ERROR_INVALID, "an alias where a value is expected");
	default:
		return 0;
	}
}

static int read_events(struct yaml_place *place, yaml_parser_t *parser, struct error *err)
{
	yaml_event_t event;
	bool is_end;

	do {
		int status;

		if (!yaml_parser_parse(parser, &event))
			return error_set(err, ERROR_INVALID, "%s:%zu: %s", place->file,
			                 parser->problem_mark.line + 1,
			                 parser->problem ? parser->problem : "no YAML");
		is_end = event.type == YAML_STREAM_END_EVENT;
		status = read_event(place, &event, err);
		if (status < 0)
			(void)fail(place, &event, err);
		yaml_event_delete(&event);
		if (status < 0)
			return -1;
	} while (!is_end);
	return 0;
}

int options_set_yaml(struct options *options, struct str text, const char *name, struct error *err)
{
	struct yaml_place place = { .options = options, .file = name };
	yaml_parser_t parser;
	int status;

	if (!yaml_parser_initialize(&parser))
		return error_set(err, ERROR_IO, "%s: no memory for the YAML reader", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)(text.length ? text.data : ""),
	                             text.length);
	status = read_events(&place, &parser, err);
	yaml_parser_delete(&parser);
	return status;
}

/* ---- environment ---- */

static bool is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static void add_variable(struct str inside, struct strbuf *out)
{
	CLEANUP(mem_freep) char *name = NULL;
	size_t length = 0;
	const char *value;

	while (length < inside.length && is_name_char(inside.data[length]))
		length++;
	name = mem_strndup(inside.data, length);
	/*
	 * read at start and on SIGHUP by the main thread; nothing here sets the
	 * environment
	 */
	value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
	if (value && value[0])
		strbuf_add_text(out, value);
	else if (str_starts_with(str_skip(inside, length), STR(":-")))
		strbuf_add_str(out, str_skip(inside, length + 2));
}

int options_expand_env(struct str text, struct strbuf *out, struct error *err)
{
	for (;;) {
		const ptrdiff_t start = str_find(text, STR("${"));
		ptrdiff_t end;

		if (start < 0)
			break;
		strbuf_add_str(out, str_first(text, (size_t)start));
		text = str_skip(text, (size_t)start + 2);
		end = str_index(text, '}');
		if (end < 0)
			return error_set(err, ERROR_INVALID, "a '${' without its '}'");
		add_variable(str_first(text, (size_t)end), out);
		text = str_skip(text, (size_t)end + 1);
	}
	strbuf_add_str(out, text);
	if (strbuf_overflowed(out))
		return error_set(err, ERROR_TOO_LARGE, "longer than %zu bytes", out->limit);
	return 0;
}

/* ---- files ---- */

static int read_file(const char *path, struct strbuf *out, struct error *err)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	int result = descriptor < 0 ? -1 : strbuf_read(out, descriptor);

	if (result < 0)
		(void)error_set_errno(err, errno, "%s", path);
	else if (strbuf_overflowed(out))
		result = error_set(err, ERROR_TOO_LARGE, "%s: longer than %zu bytes", path,
		                   out->limit);
	if (descriptor >= 0)
		(void)close(descriptor);
	return result;
}

/* A variable that nobody has replaced may be what is wrong. Returns -1. */
static int explain_variables(struct str text, bool are_replaced, struct error *err)
{
	const struct error cause = *err;

	if (are_replaced || str_find(text, STR("${")) < 0)
		return -1;
	return error_set(err, cause.code, "%s; ${VAR} is replaced with -config.expand-env only",
	                 cause.message);
}

int options_set_file(struct options *options, const char *path, bool expand_env, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	CLEANUP(strbuf_fini) struct strbuf expanded;
	CLEANUP(mem_freep) char *name = mem_strdup(path); /* the file may name another */

	strbuf_init(&text, FILE_MAX);
	strbuf_init(&expanded, FILE_MAX);
	if (read_file(name, &text, err) < 0)
		return -1;
	if (expand_env && options_expand_env(strbuf_view(&text), &expanded, err) < 0)
		return error_context(err, "%s", name);
	if (options_set_yaml(options, strbuf_view(expand_env ? &expanded : &text), name, err) == 0)
		return 0;
	return explain_variables(strbuf_view(&text), expand_env, err);
}
