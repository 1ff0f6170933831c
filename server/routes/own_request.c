#include "server/routes/own_request.h"

#include "base/clock.h"
#include "profile/time_syntax.h"
#include "server/option_value.h"
#include "server/routes/read_query_request.h"

#define VALUE_SHOWN   64 /* bytes of a refused value in its message */
#define RANGE_DEFAULT INT64_C(3600000)
#define STEP_MS_MIN   INT64_C(1000)
#define STEP_S_MAX    INT64_C(1000000000) /* thirty years: so that milliseconds fit */
#define WORDS_MAX     256

int own_request_open(struct exchange *exchange, struct own_request *out, struct error *err)
{
	if (url_query_parse(exchange->request.query, exchange->arena, &out->parameters, err) < 0)
		return -1;
	return read_query_context_of(exchange, &out->context, err);
}

struct str own_request_text(const struct own_request *request, const char *name)
{
	const struct str *value = url_query_find(&request->parameters, name);

	return value ? str_trim(*value) : STR("");
}

/* time_syntax_parse() takes what it does not understand for now; here that is refused. */
static bool is_time(struct str text)
{
	static const struct str date = { "0123456789-:.TtZz+", 18 };

	if (str_starts_with(text, STR("now"))) {
		text = str_skip(text, 3);
		if (text.length == 0)
			return true;
		if (text.length < 3 || (text.data[0] != '-' && text.data[0] != '+'))
			return false;
		for (size_t i = 1; i + 1 < text.length; i++)
			if (text.data[i] < '0' || text.data[i] > '9')
				return false;
		return str_index(STR("smhdwMy"), text.data[text.length - 1]) >= 0;
	}
	for (size_t i = 0; i < text.length; i++)
		if (str_index(date, text.data[i]) < 0)
			return false;
	return text.length > 0 && text.data[0] >= '0' && text.data[0] <= '9';
}

int own_request_time(const struct own_request *request, const char *name, int64_t fallback_ms,
                     int64_t *out_ms, struct error *err)
{
	const struct str text = own_request_text(request, name);
	const int64_t now_ns = request->context.now_unix_ns;
	int64_t ns;

	if (text.length == 0) {
		*out_ms = fallback_ms;
		return 0;
	}
	if (!is_time(text))
		return error_set(err, ERROR_INVALID,
		                 "%s: '%.*s' is no time: now, now-1h, 2026-01-31T12:00:00Z or a "
		                 "Unix time",
		                 name, STR_ARGS(str_first(text, VALUE_SHOWN)));
	ns = time_syntax_parse(text, now_ns, TIME_SYNTAX_RFC3339);
	if (ns < NS_PER_MS)
		return error_set(err, ERROR_INVALID, "%s: '%.*s' is before 1970", name,
		                 STR_ARGS(str_first(text, VALUE_SHOWN)));
	*out_ms = ns / NS_PER_MS;
	return 0;
}

int own_request_range(const struct own_request *request, const char *from, const char *until,
                      int64_t *out_start_ms, int64_t *out_end_ms, struct error *err)
{
	const int64_t now_ms = request->context.now_unix_ns / NS_PER_MS;
	int64_t end_ms = 0;

	if (own_request_time(request, until, now_ms, &end_ms, err) < 0)
		return -1;
	*out_end_ms = end_ms;
	return own_request_time(request, from, end_ms > RANGE_DEFAULT ? end_ms - RANGE_DEFAULT : 1,
	                        out_start_ms, err);
}

int own_request_count(const struct own_request *request, const char *name, size_t fallback,
                      size_t most, size_t *out, struct error *err)
{
	const struct str text = own_request_text(request, name);
	uint64_t number = fallback;

	if (text.length > 0 && (!str_to_u64(text, most, &number) || number == 0))
		return error_set(err, ERROR_INVALID, "%s: '%.*s' is no number from 1 to %zu", name,
		                 STR_ARGS(str_first(text, VALUE_SHOWN)), most);
	*out = (size_t)number;
	return 0;
}

int own_request_step(const struct own_request *request, int64_t *out_ms, struct error *err)
{
	const struct str text = own_request_text(request, "step");
	uint64_t seconds;
	int64_t ns = 0;
	struct error ignored;

	*out_ms = 0;
	if (text.length == 0)
		return 0;
	if (str_to_u64(text, STEP_S_MAX, &seconds))
		*out_ms = (int64_t)seconds * 1000;
	else if (option_parse_duration(text, &ns, &ignored) == 0)
		*out_ms = ns / NS_PER_MS;
	if (*out_ms < STEP_MS_MIN)
		return error_set(err, ERROR_INVALID,
		                 "step: '%.*s' is no duration of a second or more: 15s, 1m, 60",
		                 STR_ARGS(str_first(text, VALUE_SHOWN)));
	return 0;
}

int own_request_word(const struct own_request *request, const char *name, const char *const *words,
                     size_t count, size_t *out, struct error *err)
{
	const struct str text = own_request_text(request, name);
	struct strbuf all;

	if (text.length == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (str_equals(text, words[i])) {
			*out = i;
			return 0;
		}
	}
	strbuf_init(&all, WORDS_MAX);
	for (size_t i = 0; i < count; i++)
		strbuf_printf(&all, "%s%s", i == 0 ? "" : ", ", words[i]);
	(void)error_set(err, ERROR_INVALID, "%s: '%.*s' is none of %s", name,
	                STR_ARGS(str_first(text, VALUE_SHOWN)), all.data);
	strbuf_fini(&all);
	return -1;
}
