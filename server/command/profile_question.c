#include "server/command/profile_question.h"

#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "profile/profile_type.h"
#include "profile/time_syntax.h"
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

static int list_types(const struct str *types, size_t count, struct error *err)
{
	struct strbuf list;

	strbuf_init(&list, TYPES_SHOWN_MAX);
	for (size_t i = 0; i < count; i++) {
		strbuf_add_text(&list, i > 0 ? ", " : "");
		strbuf_add_str(&list, types[i]);
	}
	(void)error_set(err, ERROR_INVALID, "say which profile type with -q TYPE: %s", list.data);
	strbuf_fini(&list);
	return -1;
}

int question_choose_type(struct profile_source *source, struct profile_question *question,
                         const char *const *preferred, struct arena *arena, struct error *err)
{
	struct str *types = NULL;
	size_t count = 0;

	if (question->type.length > 0)
		return 0;
	if (profile_source_types(source, question->start_unix_ns, question->end_unix_ns, arena,
	                         &types, &count, err) < 0)
		return -1;
	if (count == 0)
		return 0;
	question->type = types[0];
	if (count == 1)
		return 0;
	if (!preferred)
		return list_types(types, count, err);
	for (size_t p = 0; preferred[p]; p++)
		for (size_t i = 0; i < count; i++)
			if (str_starts_with(types[i], str_of(preferred[p]))) {
				question->type = types[i];
				return 0;
			}
	return 0;
}
