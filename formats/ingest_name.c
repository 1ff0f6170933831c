#include "formats/ingest_name.h"

#include "base/utf8.h"

/*
 *	          '{'            '='              '}'
 *	IN_APP ---------> IN_KEY ------> IN_VALUE ------> DONE
 *	                  |  ^             | ','
 *	                  |  +-------------+
 *	                  +--- '}' ---> DONE, the key is dropped
 */
enum state {
	IN_APP,
	IN_KEY,
	IN_VALUE,
	DONE,
};

enum character_class {
	APP_CHARACTERS,
	KEY_CHARACTERS,
};

struct parser {
	struct arena *arena;
	enum state state;
	struct str key; /* of the value that is being read */
	struct ingest_name name;
	size_t capacity; /* of name.labels.labels */
};

/* White space as Unicode has it. */
static bool is_space(uint32_t rune)
{
	return rune == ' ' || (rune >= '\t' && rune <= '\r') || rune == 0x85 || rune == 0xa0 ||
	       rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200a) || rune == 0x2028 ||
	       rune == 0x2029 || rune == 0x202f || rune == 0x205f || rune == 0x3000;
}

/* `text`, which is UTF-8, without white space at either end. */
static struct str trim(struct str text)
{
	size_t begin = text.length;
	size_t end = 0;
	uint32_t rune;

	for (size_t at = 0; at < text.length;) {
		const int length = utf8_next(str_skip(text, at), &rune);
		const size_t behind = at + (length > 0 ? (size_t)length : 1);

		if (!is_space(rune)) {
			begin = at < begin ? at : begin;
			end = behind;
		}
		at = behind;
	}
	return end == 0 ? STR("") : str_first(str_skip(text, begin), end - begin);
}

static bool is_allowed(uint32_t rune, enum character_class class)
{
	if ((rune >= 'a' && rune <= 'z') || (rune >= 'A' && rune <= 'Z') ||
	    (rune >= '0' && rune <= '9') || rune == '_' || rune == '.')
		return true;
	return class == APP_CHARACTERS && (rune == '-' || rune == '/');
}

/* Refuses the first character that does not belong into `text`, and names it. */
static int check_characters(struct str text, enum character_class class, struct error *err)
{
	struct str rest = text;
	uint32_t rune;

	while (rest.length > 0) {
		const int length = utf8_next(rest, &rune);
		const size_t step = length > 0 ? (size_t)length : 1;

		if (!is_allowed(rune, class))
			return error_set(err, ERROR_INVALID,
			                 "invalid %s name: %.*s: character is not allowed: '%.*s'",
			                 class == APP_CHARACTERS ? "service" : "label",
			                 STR_ARGS(str_first(text, 200)),
			                 STR_ARGS(str_first(rest, step)));
		rest = str_skip(rest, step);
	}
	return 0;
}

static int set_app(struct parser *parser, struct str app, struct error *err)
{
	if (app.length == 0)
		return error_set(err, ERROR_INVALID, "service name is required");
	parser->name.app = app;
	return 0;
}

static struct label *find_label(struct parser *parser, struct str key)
{
	for (size_t i = 0; i < parser->name.labels.count; i++)
		if (str_equal(parser->name.labels.labels[i].name, key))
			return &parser->name.labels.labels[i];
	return NULL;
}

static int put_label(struct parser *parser, struct str key, struct str value, struct error *err)
{
	struct label_set *set = &parser->name.labels;
	struct label *label;

	if (key.length == 0)
		return error_set(err, ERROR_INVALID, "label name is required");
	if (check_characters(key, KEY_CHARACTERS, err) < 0)
		return -1;
	if (str_equals(key, "__name__"))
		return set_app(parser, value, err);
	if (str_starts_with(key, STR("__")) && !str_equals(key, "__session_id__"))
		return 0;

	label = find_label(parser, key);
	if (!label) {
		if (set->count == INGEST_NAME_LABELS_MAX)
			return error_set(err, ERROR_TOO_LARGE, "more than %d labels",
			                 INGEST_NAME_LABELS_MAX);
		if (!ARENA_GROW(parser->arena, set->labels, set->count, parser->capacity))
			return arena_error(parser->arena, err);
		label = &set->labels[set->count++];
	}
	*label = (struct label){ key, value };
	return 0;
}

/* Whether `c` ends what the state collects. */
static bool ends_token(enum state state, int c)
{
	switch (state) {
	case IN_APP:
		return c == '{';
	case IN_KEY:
		return c == '=' || c == '}';
	case IN_VALUE:
		return c == ',' || c == '}';
	case DONE:
		break;
	}
	return false;
}

/* Takes the token that `c` has ended and goes on to the next state. */
static int take_token(struct parser *parser, struct str token, int c, struct error *err)
{
	switch (parser->state) {
	case IN_APP:
		parser->state = IN_KEY;
		if (set_app(parser, token, err) < 0)
			return -1;
		return check_characters(token, APP_CHARACTERS, err);
	case IN_KEY:
		parser->state = c == '=' ? IN_VALUE : DONE;
		parser->key = token;
		return 0;
	case IN_VALUE:
		parser->state = c == ',' ? IN_KEY : DONE;
		return put_label(parser, parser->key, token, err);
	case DONE:
		break;
	}
	return 0;
}

int ingest_name_parse(struct str text, struct arena *arena, struct ingest_name *out,
                      struct error *err)
{
	struct parser parser = { .arena = arena, .state = IN_APP };
	size_t begin = 0;

	text = utf8_repair(arena, text);
	if (arena_overflowed(arena))
		return arena_error(arena, err);

	/* Delimiters are ASCII, so bytes will do; the text's end ends the application. */
	for (size_t i = 0; i <= text.length; i++) {
		const int c = i < text.length ? text.data[i] : '{';

		if (!ends_token(parser.state, c))
			continue;
		if (take_token(&parser, trim(str_first(str_skip(text, begin), i - begin)), c, err) <
		    0)
			return -1;
		begin = i + 1;
	}

	*out = parser.name;
	return 0;
}
