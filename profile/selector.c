#include "profile/selector.h"

#include "profile/literal_pattern.h"
#include "profile/selector_lexer.h"

static const struct str name_label = { "__name__", 8 };
static const struct str type_label = { "__profile_type__", 16 };

void selector_init(struct selector *selector, struct arena *arena)
{
	*selector = (struct selector){ .arena = arena };
}

/* Drops the matchers behind the first `count`. */
static void cut_to(struct selector *selector, size_t count)
{
	while (selector->count > count)
		regex_free(selector->matchers[--selector->count].regex);
}

void selector_fini(struct selector *selector)
{
	cut_to(selector, 0);
	*selector = (struct selector){ 0 };
}

/* "a:b:c:d:e" of "a:b:c:d:e" and "a:b:c:d:e:delta"; nothing of other texts. */
static struct str first_five_parts(struct str text)
{
	size_t colons = 0;
	size_t fifth = text.length;

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == ':' && ++colons == 5)
			fifth = i;
	return colons == 4 || colons == 5 ? str_first(text, fifth) : (struct str){ NULL, 0 };
}

static struct matcher make_matcher(struct str name, enum matcher_op op, struct str value)
{
	struct matcher matcher = { .name = name, .op = op, .value = value };
	struct str type;

	if (op != MATCH_EQUAL || !str_equal(name, name_label))
		return matcher;
	type = first_five_parts(value);
	if (type.data) {
		matcher.name = type_label;
		matcher.value = type;
		matcher.type_id = value;
	}
	return matcher;
}

/* Compiles the pattern of a matcher that has one. */
static int prepare(struct matcher *matcher, struct arena *arena, struct error *err)
{
	struct str *texts;

	if (matcher->op != MATCH_REGEX && matcher->op != MATCH_NOT_REGEX)
		return 0;
	if (regex_compile(matcher->value, &matcher->regex, err) < 0) {
		err->code = ERROR_INVALID; /* too long is malformed too */
		return -1;
	}
	if (literal_pattern_read(matcher->value, arena, &texts, &matcher->text_count))
		matcher->texts = texts;
	return 0;
}

static int add(struct selector *selector, const struct matcher *matcher, struct error *err)
{
	if (selector->count >= SELECTOR_MATCHERS_MAX)
		return error_set(err, ERROR_INVALID, "the label selector has more than %d matchers",
		                 SELECTOR_MATCHERS_MAX);
	if (!ARENA_GROW(selector->arena, selector->matchers, selector->count, selector->capacity))
		return arena_error(selector->arena, err);
	selector->matchers[selector->count] = *matcher;
	if (prepare(&selector->matchers[selector->count], selector->arena, err) < 0)
		return -1;
	selector->count++;
	return 0;
}

int selector_add_equal(struct selector *selector, struct str name, struct str value,
                       struct error *err)
{
	const struct matcher matcher = make_matcher(name, MATCH_EQUAL, value);

	return add(selector, &matcher, err);
}

int selector_add_regex(struct selector *selector, struct str name, struct str pattern,
                       struct error *err)
{
	const struct matcher matcher = make_matcher(name, MATCH_REGEX, pattern);

	return add(selector, &matcher, err);
}

struct parser {
	struct selector *selector;
	struct selector_lexer lexer;
	struct selector_token token; /* the next one */
	bool has_name;               /* a metric name was given */
};

static int advance(struct parser *parser, struct error *err)
{
	return selector_lexer_next(&parser->lexer, &parser->token, err);
}

static int unexpected(const struct parser *parser, const char *where, const char *expected,
                      struct error *err)
{
	const struct selector_token *token = &parser->token;
	const struct str text = str_first(token->text, 40);

	if (token->kind == SELECTOR_END)
		return selector_lexer_error(&parser->lexer, token->at, err,
		                            "unexpected end of input%s, expected %s", where,
		                            expected);
	return selector_lexer_error(&parser->lexer, token->at, err,
	                            "unexpected \"%.*s\"%s, expected %s", STR_ARGS(text), where,
	                            expected);
}

static int add_at(struct parser *parser, size_t at, struct str name, enum matcher_op op,
                  struct str value, struct error *err)
{
	const struct matcher matcher = make_matcher(name, op, value);

	if (add(parser->selector, &matcher, err) == 0)
		return 0;
	return err->code == ERROR_INVALID ? selector_lexer_context(&parser->lexer, at, err) : -1;
}

static int add_metric_name(struct parser *parser, size_t at, struct str name, struct error *err)
{
	if (parser->has_name)
		return selector_lexer_error(&parser->lexer, at, err,
		                            "metric name must not be set twice");
	parser->has_name = true;
	return add_at(parser, at, name_label, MATCH_EQUAL, name, err);
}

/* Whether a name may stand unquoted before an operator: it has no colon. */
static bool is_label_name(const struct selector_token *token)
{
	return token->kind == SELECTOR_NAME && str_index(token->text, ':') < 0;
}

/* name op string, or a quoted metric name. */
static int parse_item(struct parser *parser, struct error *err)
{
	static const char where[] = " in label matching";
	const struct selector_token first = parser->token;
	const struct str name = first.kind == SELECTOR_STRING ? first.value : first.text;
	enum matcher_op op;

	if (first.kind != SELECTOR_STRING && !is_label_name(&first))
		return unexpected(parser, where, "identifier or \"}\"", err);
	if (advance(parser, err) < 0)
		return -1;
	switch (parser->token.kind) {
	case SELECTOR_EQUAL:
		op = MATCH_EQUAL;
		break;
	case SELECTOR_NOT_EQUAL:
		op = MATCH_NOT_EQUAL;
		break;
	case SELECTOR_MATCH:
		op = MATCH_REGEX;
		break;
	case SELECTOR_NOT_MATCH:
		op = MATCH_NOT_REGEX;
		break;
	default:
		if (first.kind == SELECTOR_STRING)
			return add_metric_name(parser, first.at, name, err);
		return unexpected(parser, where, "label matching operator", err);
	}
	if (advance(parser, err) < 0)
		return -1;
	if (parser->token.kind != SELECTOR_STRING)
		return unexpected(parser, where, "string", err);
	if (add_at(parser, first.at, name, op, parser->token.value, err) < 0)
		return -1;
	return advance(parser, err);
}

/* What follows the opening brace, the closing one included. */
static int parse_braces(struct parser *parser, struct error *err)
{
	while (parser->token.kind != SELECTOR_CLOSE) {
		if (parse_item(parser, err) < 0)
			return -1;
		if (parser->token.kind == SELECTOR_CLOSE)
			break;
		if (parser->token.kind != SELECTOR_COMMA)
			return unexpected(parser, " in label matching", "\",\" or \"}\"", err);
		if (advance(parser, err) < 0)
			return -1;
	}
	return advance(parser, err);
}

static int parse_selector(struct parser *parser, struct error *err)
{
	const struct selector_token first = parser->token;

	if (first.kind == SELECTOR_NAME) {
		if (add_metric_name(parser, first.at, first.text, err) < 0 ||
		    advance(parser, err) < 0)
			return -1;
	} else if (first.kind != SELECTOR_OPEN) {
		return unexpected(parser, "", "metric name or \"{\"", err);
	}
	if (parser->token.kind == SELECTOR_OPEN &&
	    (advance(parser, err) < 0 || parse_braces(parser, err) < 0))
		return -1;
	if (parser->token.kind != SELECTOR_END)
		return unexpected(parser, "", "end of input", err);
	return 0;
}

int selector_parse(struct selector *selector, struct str text, struct error *err)
{
	struct parser parser = { .selector = selector };
	const size_t before = selector->count;

	if (text.length > SELECTOR_TEXT_MAX)
		return error_set(err, ERROR_INVALID, "the label selector is longer than %d bytes",
		                 SELECTOR_TEXT_MAX);
	/* names and values are views into the copy, or live beside it */
	parser.lexer = (struct selector_lexer){ text, 0, selector->arena };
	if (text.length > 0)
		parser.lexer.text = arena_copy(selector->arena, text);
	if (text.length > 0 && !parser.lexer.text.data)
		return arena_error(selector->arena, err);
	if (advance(&parser, err) < 0 || parse_selector(&parser, err) < 0) {
		cut_to(selector, before);
		return -1;
	}
	return 0;
}

bool selector_take(struct selector *selector, struct str name, struct matcher *out)
{
	const bool wants_name = str_equal(name, name_label);

	for (size_t i = 0; i < selector->count; i++) {
		struct matcher *matcher = &selector->matchers[i];
		const bool is_type = matcher->type_id.data != NULL;

		if (is_type ? !wants_name : !str_equal(matcher->name, name))
			continue;
		regex_free(matcher->regex);
		*out = *matcher;
		out->regex = NULL;
		if (is_type) {
			out->name = name_label;
			out->value = matcher->type_id;
		}
		selector->count--;
		memmove(matcher, matcher + 1, (selector->count - i) * sizeof(*matcher));
		return true;
	}
	return false;
}

bool matcher_matches(const struct matcher *matcher, struct str value)
{
	switch (matcher->op) {
	case MATCH_EQUAL:
		return str_equal(value, matcher->value);
	case MATCH_NOT_EQUAL:
		return !str_equal(value, matcher->value);
	case MATCH_REGEX:
		return regex_matches(matcher->regex, value);
	case MATCH_NOT_REGEX:
		return !regex_matches(matcher->regex, value);
	}
	return false;
}

const struct str *matcher_texts(const struct matcher *matcher, size_t *out_count)
{
	if (matcher->op == MATCH_EQUAL || matcher->op == MATCH_NOT_EQUAL) {
		*out_count = 1;
		return &matcher->value;
	}
	*out_count = matcher->text_count;
	return matcher->texts;
}

bool selector_matches(const struct selector *selector, const struct label_set *labels)
{
	for (size_t i = 0; i < selector->count; i++)
		if (!matcher_matches(&selector->matchers[i],
		                     label_set_value(labels, selector->matchers[i].name)))
			return false;
	return true;
}
