/*
 * Asks a store and its model the same, and compares what they say.
 */
#pragma once

#include "tests/unit/storage/model_answers.h"

static inline void model_series_text(const struct label_set *labels, char *out, size_t size)
{
	(void)snprintf(out, size, "%.*s %.*s %.*s",
	               STR_ARGS(*label_set_find(labels, STR("service_name"))),
	               STR_ARGS(*label_set_find(labels, STR("pod"))),
	               STR_ARGS(*label_set_find(labels, STR("__profile_type__"))));
}

static inline int model_on_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		char stack[100];
		char key[128];

		assert_true(i == 0 || sums->stacks[i] > sums->stacks[i - 1]);
		stack_text(sums->symbols, sums->stacks[i], stack, sizeof(stack));
		(void)snprintf(key, sizeof(key), "%u %s", sums->part, stack);
		lines_add_sum(context, key, (uint64_t)sums->sums[i]);
	}
	return 0;
}

/* "main;work": names from the root down. */
static inline void path_text(const struct paths *paths, uint32_t id, char *out, size_t size)
{
	const struct path *path = SYMBOLS_AT(paths->paths, id);
	size_t length;

	out[0] = '\0';
	if (id == 0)
		return;
	assert_true(path->parent < id);
	path_text(paths, path->parent, out, size);
	length = strlen(out);
	(void)snprintf(out + length, size - length, "%s%.*s", path->parent ? ";" : "",
	               STR_ARGS(*SYMBOLS_AT(paths->names, path->name)));
}

static inline int model_on_paths(void *context, const struct path_sums *sums, struct error *err)
{
	const struct paths paths = path_table_view(sums->table);

	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		char text[100];
		char key[128];

		assert_true(sums->sums[i] > 0);
		path_text(&paths, sums->paths[i], text, sizeof(text));
		(void)snprintf(key, sizeof(key), "%u %s", sums->part, text);
		lines_add_sum(context, key, (uint64_t)sums->sums[i]);
	}
	return 0;
}

/* Of a window's stacks what is above 0: frames of the model are functions by name already. */
static inline int model_on_positive_sums(void *context, const struct stack_sums *sums,
                                         struct error *err)
{
	for (size_t i = 0; i < sums->count; i++) {
		struct stack_sums one = *sums;

		one.stacks += i;
		one.sums += i;
		one.count = sums->sums[i] > 0;
		(void)model_on_sums(context, &one, err);
	}
	return 0;
}

static inline int model_on_point(void *context, const struct store_point *point, struct error *err)
{
	char series[128];
	uint64_t id;

	(void)err;
	model_series_text(point->labels, series, sizeof(series));
	memcpy(&id, point->profile_id->bytes, sizeof(id));
	lines_add(context, "%s %lld %lld %llu", series, (long long)point->time_unix_ns,
	          (long long)point->total, (unsigned long long)id);
	return 0;
}

static inline int model_on_samples(void *context, const struct store_samples *samples,
                                   struct error *err)
{
	char series[128];

	(void)err;
	model_series_text(samples->labels, series, sizeof(series));
	lines_add(context, "%s %lld", series, (long long)samples->time_unix_ns);
	for (size_t i = 0; i < samples->count; i++) {
		char stack[100];

		assert_true(i == 0 || samples->stacks[i] >= samples->stacks[i - 1]);
		stack_text(samples->symbols, samples->stacks[i], stack, sizeof(stack));
		lines_add(context, "%s %lld %s %lld", series, (long long)samples->time_unix_ns,
		          stack, (long long)samples->values[i]);
	}
	return 0;
}

static inline int model_on_span(void *context, const struct store_span *span, struct error *err)
{
	char series[128];
	uint64_t trace;

	(void)err;
	model_series_text(span->labels, series, sizeof(series));
	memcpy(&trace, span->trace_id, sizeof(trace));
	lines_add(context, "%s %lld %llx %llx %lld", series, (long long)span->time_unix_ns,
	          (unsigned long long)span->span_id, (unsigned long long)trace,
	          (long long)span->value);
	return 0;
}

static inline int model_on_series(void *context, const struct label_set *labels, struct error *err)
{
	char series[128];

	(void)err;
	model_series_text(labels, series, sizeof(series));
	lines_add(context, "%s", series);
	return 0;
}

/* A query for a question; everything in the arena. */
struct model_query {
	struct store_query query;
	const struct store_parts *parts; /* of a merge, or NULL */
	struct selector selector;
	struct sample_filter filter;
	struct uuid id;
	uint64_t span;
};

static inline void model_query_init(struct model_query *query, struct arena *arena,
                                    const struct model_question *question)
{
	struct error err = { 0 };
	char text[256] = "{";
	size_t length;

	if (question->service)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		               "service_name=\"%s\",", question->service);
	if (question->pod)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "pod=\"%s\",",
		               question->pod);
	if (question->type)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		               "__profile_type__=\"%s\",", question->type);
	length = strlen(text);
	if (text[length - 1] == ',')
		length--;
	(void)snprintf(text + length, sizeof(text) - length, "}");
	*query = (struct model_query){ .span = question->span };
	memcpy(query->id.bytes, &question->id, sizeof(question->id));
	query->filter = (struct sample_filter){
		.profile_ids = &query->id,
		.profile_id_count = question->id != 0,
		.span_ids = &query->span,
		.span_id_count = question->span != 0,
	};
	selector_init(&query->selector, arena);
	assert_int_equal(selector_parse(&query->selector, arena_copy(arena, str_of(text)), &err),
	                 0);
	query->query = (struct store_query){
		.tenant = STR("t"),
		.selector = &query->selector,
		.range = { question->start, question->end },
		.filter = &query->filter,
		.arena = arena,
	};
}

static inline int model_ask_merge(struct store *store, const struct model_query *asked,
                                  struct lines *out, struct error *err)
{
	const int result = store_merge(store, &asked->query, asked->parts, model_on_sums, out, err);

	lines_drop_nothing(out);
	return result;
}

static inline int model_ask_scan(struct store *store, const struct model_query *asked,
                                 struct lines *out, struct error *err)
{
	return store_scan(store, &asked->query, model_on_point, out, err);
}

static inline int model_ask_samples(struct store *store, const struct model_query *asked,
                                    struct lines *out, struct error *err)
{
	return store_scan_samples(store, &asked->query, model_on_samples, out, err);
}

static inline int model_ask_spans(struct store *store, const struct model_query *asked,
                                  struct lines *out, struct error *err)
{
	return store_scan_spans(store, &asked->query, model_on_span, out, err);
}

static inline int model_ask_series(struct store *store, const struct model_query *asked,
                                   struct lines *out, struct error *err)
{
	return store_series(store, &asked->query, model_on_series, out, err);
}

static inline int model_on_text(void *context, struct str text, struct error *err)
{
	char line[128];

	(void)err;
	(void)snprintf(line, sizeof(line), "%.*s", STR_ARGS(text));
	lines_add_once(context, line);
	return 0;
}

static inline int model_ask_names(struct store *store, const struct model_query *asked,
                                  struct lines *out, struct error *err)
{
	return store_label_names(store, &asked->query, model_on_text, out, err);
}

static inline int model_ask_pods(struct store *store, const struct model_query *asked,
                                 struct lines *out, struct error *err)
{
	return store_label_values(store, &asked->query, STR("pod"), model_on_text, out, err);
}

static inline int model_ask_kinds(struct store *store, const struct model_query *asked,
                                  struct lines *out, struct error *err)
{
	return store_label_values(store, &asked->query, STR("__profile_type__"), model_on_text, out,
	                          err);
}

/* An operation of a store, and what it should answer. */
struct model_operation {
	const char *name;
	int (*ask)(struct store *store, const struct model_query *asked, struct lines *out,
	           struct error *err);
	void (*expect)(const struct model *model, const struct model_question *question,
	               const struct store_parts *parts, struct lines *out);
};

static const struct model_operation model_operations[] = {
	{ "merge", model_ask_merge, model_merge },       { "scan", model_ask_scan, model_scan },
	{ "samples", model_ask_samples, model_samples }, { "spans", model_ask_spans, model_spans },
	{ "series", model_ask_series, model_series },    { "names", model_ask_names, model_names },
	{ "pods", model_ask_pods, model_pods },          { "types", model_ask_kinds, model_kinds },
};

/* A merge by paths is what one by stacks says, which the model knows. */
static inline void model_check_paths(struct store *store, const struct model_query *asked,
                                     const char *text)
{
	struct lines expected = { 0 };
	struct lines found = { 0 };
	struct error err = { 0 };

	if (store_merge(store, &asked->query, asked->parts, model_on_positive_sums, &expected,
	                &err) < 0 ||
	    store_merge_paths(store, &asked->query, asked->parts, model_on_paths, &found, &err) < 0)
		fail_msg("%s, by paths: %s", text, err.message);
	lines_compare(text, &expected, &found);
}

/* The store and the model answer alike. `parts` matters to a merge alone, or is NULL. */
static inline void model_check(const struct model *model, struct store *store,
                               const struct model_operation *operation,
                               const struct model_question *question,
                               const struct store_parts *parts)
{
	struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct lines expected = { 0 };
	struct lines found = { 0 };
	struct model_query query;
	struct error err = { 0 };
	char text[256];

	(void)snprintf(text, sizeof(text),
	               "%s of service %s pod %s type %s from %lld to %lld id %llu span %llx",
	               operation->name, question->service, question->pod, question->type,
	               (long long)question->start, (long long)question->end,
	               (unsigned long long)question->id, (unsigned long long)question->span);
	model_query_init(&query, arena, question);
	query.parts = parts;
	if (operation->ask(store, &query, &found, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	operation->expect(model, question, parts, &expected);
	lines_compare(text, &expected, &found);
	if (operation->ask == model_ask_merge)
		model_check_paths(store, &query, text);
	selector_fini(&query.selector);
	arena_free(arena);
}

/* Every operation, for one question. */
static inline void model_check_all(const struct model *model, struct store *store,
                                   const struct model_question *question)
{
	for (size_t i = 0; i < ARRAY_LENGTH(model_operations); i++)
		model_check(model, store, &model_operations[i], question, NULL);
}
