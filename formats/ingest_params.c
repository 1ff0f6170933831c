#include "formats/ingest_params.h"

#include "base/url.h"
#include "profile/time_syntax.h"

#define DEFAULT_SAMPLE_RATE 100

static struct str find_or(const struct url_query *query, const char *name, struct str otherwise)
{
	const struct str *value = url_query_find(query, name);

	return value && value->length > 0 ? *value : otherwise;
}

static uint32_t sample_rate(const struct url_query *query)
{
	const struct str text = find_or(query, "sampleRate", STR(""));
	uint64_t rate;

	return str_to_u64(text, UINT32_MAX, &rate) ? (uint32_t)rate : DEFAULT_SAMPLE_RATE;
}

static int64_t time_or_now(const struct url_query *query, const char *name, int64_t now_unix_ns)
{
	const struct str *text = url_query_find(query, name);

	return text ? time_syntax_parse(*text, now_unix_ns, 0) : now_unix_ns;
}

int ingest_params_parse(struct str query, int64_t now_unix_ns, struct arena *arena,
                        struct ingest_params *out, struct error *err)
{
	struct url_query pairs;
	struct ingest_params params = { 0 };

	if (url_query_parse(query, arena, &pairs, err) < 0)
		return -1;
	if (ingest_name_parse(find_or(&pairs, "name", STR("")), arena, &params.name, err) < 0)
		return error_context(err, "name");

	params.from_unix_ns = time_or_now(&pairs, "from", now_unix_ns);
	params.until_unix_ns = time_or_now(&pairs, "until", now_unix_ns);
	params.sample_rate = sample_rate(&pairs);
	params.spy_name = find_or(&pairs, "spyName", STR("unknown"));
	params.format = find_or(&pairs, "format", STR(""));
	*out = params;
	return 0;
}

const struct str *ingest_params_label(const struct ingest_params *params, const char *name)
{
	const struct label_set *labels = &params->name.labels;

	for (size_t i = 0; i < labels->count; i++)
		if (str_equals(labels->labels[i].name, name))
			return &labels->labels[i].value;
	return NULL;
}

int ingest_params_labels(const struct ingest_params *params, struct str metric, struct str service,
                         struct arena *arena, struct label_set *out, struct error *err)
{
	const struct label_set *named = &params->name.labels;
	struct label *labels = arena_array_raw(arena, named->count + 4 + INGEST_PARAMS_SPARE_LABELS,
	                                       sizeof(*labels));
	size_t count = 0;

	if (!labels)
		return arena_error(arena, err);
	labels[count++] = (struct label){ STR("__name__"), metric };
	labels[count++] = (struct label){ STR("__delta__"), STR("false") };
	labels[count++] = (struct label){ STR("pyroscope_spy"), params->spy_name };
	for (size_t i = 0; i < named->count; i++)
		labels[count++] = named->labels[i];
	if (!ingest_params_label(params, "service_name"))
		labels[count++] = (struct label){ STR("service_name"), service };
	*out = (struct label_set){ labels, count };
	return 0;
}

void ingest_params_set_label(struct label_set *set, struct str name, struct str value)
{
	for (size_t i = 0; i < set->count; i++) {
		if (!str_equal(set->labels[i].name, name))
			continue;
		set->labels[i].value = value;
		return;
	}
	set->labels[set->count++] = (struct label){ name, value };
}

void ingest_params_name_app(const struct ingest_params *params, struct str app,
                            struct label_set *set)
{
	if (ingest_params_label(params, "service_name") && !ingest_params_label(params, "app_name"))
		ingest_params_set_label(set, STR("app_name"), app);
}
