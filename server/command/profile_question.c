#include "server/command/profile_question.h"

#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "profile/profile_type.h"
#include "profile/time_syntax.h"
#include "server/nearest.h"
#include "server/option_value.h"

#define TYPES_SHOWN_MAX 400 /* bytes of an error message that the list of types may take */

int question_time(const char *text, int64_t now_unix_ns, int64_t *out_unix_ns, struct error *err)
{
	/*
	 * The syntax of queries takes anything for "now"; a person who mistyped wants to
	 * know.
	 */
	if (!time_syntax_read(str_of(text), now_unix_ns, out_unix_ns))
		return error_set(
			err, ERROR_INVALID,
			"'%s' is no time: now, now-1h, 2026-01-31, 2026-01-31T12:00:00Z or "
			"Unix seconds",
			text);
	return 0;
}

int question_duration(const char *text, int64_t *out_ns, struct error *err)
{
	if (option_parse_duration(str_of(text), out_ns, err) < 0)
		return -1;
	if (*out_ns <= 0)
		return error_set(err, ERROR_INVALID, "'%s' must be more than nothing", text);
	return 0;
}

int question_count(const char *text, size_t *out, struct error *err)
{
	uint64_t number = 0;

	if (!str_to_u64(str_of(text), UINT32_MAX, &number))
		return error_set(err, ERROR_INVALID, "'%s' is no count", text);
	*out = (size_t)number;
	return 0;
}

int question_parse(const char *query, struct profile_question *out, struct error *err)
{
	const struct str text = str_trim(query ? str_of(query) : STR(""));
	const ptrdiff_t brace = str_index(text, '{');

	out->type = str_trim(brace < 0 ? text : str_first(text, (size_t)brace));
	out->selector = brace < 0 ? STR("{}") : str_skip(text, (size_t)brace);
	if (!str_ends_with(out->selector, STR("}")))
		return error_set(err, ERROR_INVALID, "the query has no '}': '%.*s'",
		                 STR_ARGS(text));
	return 0;
}

static int parse_order(const char *text, enum function_table_order *out, struct error *err)
{
	if (strcmp(text, "self") == 0)
		*out = FUNCTION_TABLE_BY_SELF;
	else if (strcmp(text, "total") == 0)
		*out = FUNCTION_TABLE_BY_TOTAL;
	else
		return error_set(err, ERROR_INVALID, "--sort is self or total");
	return 0;
}

int question_understand(const struct question_flags *flags, int64_t now_unix_ns,
                        struct question *out, struct error *err)
{
	enum profile_merge merge;

	if (flags->source.instant && !profile_merge_parse(str_of(flags->source.instant), &merge))
		return error_set(err, ERROR_INVALID, "--instant is mean, sum, last or max");
	if (parse_order(flags->sort, &out->order, err) < 0 ||
	    question_parse(flags->query, &out->asked, err) < 0 ||
	    question_time(flags->from, now_unix_ns, &out->asked.start_unix_ns, err) < 0 ||
	    question_time(flags->to, now_unix_ns, &out->asked.end_unix_ns, err) < 0 ||
	    question_count(flags->limit, &out->limit, err) < 0)
		return -1;
	if (out->asked.start_unix_ns > out->asked.end_unix_ns)
		return error_set(err, ERROR_INVALID, "--from is later than --to");
	return 0;
}

/* "A, B", as far as there is room. */
static void add_types(const struct str *types, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		strbuf_add_text(out, i > 0 ? ", " : "");
		strbuf_add_str(out, types[i]);
	}
}

static int list_types(const struct str *types, size_t count, struct error *err)
{
	struct strbuf list;

	strbuf_init(&list, TYPES_SHOWN_MAX);
	add_types(types, count, &list);
	(void)error_set(err, ERROR_INVALID, "say which profile type with -q TYPE: %s", list.data);
	strbuf_fini(&list);
	return -1;
}

/* Puts a matcher in front of those that the selector has. */
static int narrow(struct profile_question *question, const char *matcher, struct arena *arena,
                  struct error *err)
{
	const struct str rest = str_skip(question->selector, 1);

	question->selector = arena_printf(arena, "{%s%s%.*s", matcher,
	                                  str_equals(str_trim(rest), "}") ? "" : ",",
	                                  STR_ARGS(rest));
	return question->selector.data ? 0 : arena_error(arena, err);
}

static const struct str *find_preferred(const struct str *types, size_t count,
                                        const struct preferred_type *preferred)
{
	for (size_t i = 0; i < count; i++)
		if (str_starts_with(types[i], str_of(preferred->type)))
			return &types[i];
	return NULL;
}

/* 1: it is there, and the question is about it; 0; -1. */
static int choose_preferred(struct profile_source *source, struct profile_question *question,
                            const struct preferred_type *preferred, struct arena *arena,
                            struct error *err)
{
	struct profile_question narrowed = *question;
	struct str *types = NULL;
	const struct str *found;
	size_t count = 0;

	if (preferred->matcher && narrow(&narrowed, preferred->matcher, arena, err) < 0)
		return -1;
	if (profile_source_types(source, &narrowed, arena, &types, &count, err) < 0)
		return -1;
	found = find_preferred(types, count, preferred);
	if (!found)
		return 0;
	narrowed.type = *found;
	*question = narrowed;
	return 1;
}

int question_choose_type(struct profile_source *source, struct profile_question *question,
                         const struct preferred_type *preferred, struct arena *arena,
                         struct error *err)
{
	struct str *types = NULL;
	size_t count = 0;

	if (question->type.length > 0)
		return 0;
	if (profile_source_types(source, question, arena, &types, &count, err) < 0)
		return -1;
	if (count == 0)
		return 0;
	for (; preferred && preferred->type; preferred++) {
		int chosen;

		if (!find_preferred(types, count, preferred))
			continue;
		chosen = choose_preferred(source, question, preferred, arena, err);
		if (chosen != 0)
			return chosen < 0 ? -1 : 0;
	}
	if (count > 1 && !preferred)
		return list_types(types, count, err);
	question->type = types[0];
	return 0;
}

/* Which type was meant, or which ones there are. */
static struct str suggest_type(struct str wanted, const struct str *types, size_t count,
                               struct arena *arena)
{
	CLEANUP(strbuf_fini) struct strbuf list;
	struct nearest nearest;

	strbuf_init(&list, TYPES_SHOWN_MAX);
	nearest_init(&nearest, wanted);
	for (size_t i = 0; i < count; i++) {
		const struct str name = arena_copy(arena, types[i]);

		if (name.data)
			nearest_add(&nearest, name.data);
	}
	wanted = str_first(wanted, 200);
	if (nearest.name)
		return arena_printf(arena, "There is no type %.*s then; did you mean %s?\n",
		                    STR_ARGS(wanted), nearest.name);
	add_types(types, count, &list);
	return arena_printf(arena, "There is no type %.*s then; there are: %s\n", STR_ARGS(wanted),
	                    list.data);
}

struct str question_explain_nothing(struct profile_source *source,
                                    const struct profile_question *question, struct arena *arena)
{
	struct profile_question any = *question;
	struct error ignored = { 0 };
	struct str *types = NULL;
	size_t count = 0;

	any.selector = STR("{}");
	if (profile_source_types(source, &any, arena, &types, &count, &ignored) < 0)
		return STR("");
	if (count == 0)
		return STR("Nothing is stored of that time: look further back, or send profiles "
		           "(vramscope push FILE --service NAME).\n"
		           "What a server refused it lists at /api/v1/rejects.\n");
	for (size_t i = 0; i < count; i++)
		if (question->type.length == 0 || str_equal(types[i], question->type))
			return arena_printf(arena, "No series matches %.*s then.\n",
			                    STR_ARGS(str_first(question->selector, 200)));
	return suggest_type(question->type, types, count, arena);
}
