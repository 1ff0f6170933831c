/*
 * A plain model of what a store was given: profiles in an array, and questions answered by
 * going through all of them. What a store answers is compared with it as sorted lines.
 */
#pragma once

#include "tests/unit/storage/store_fixture.h"

#define MODEL_ROWS  8
#define MODEL_TYPES 3

struct model_row {
	char stack[48];
	int64_t values[MODEL_TYPES]; /* by type of the profile */
	uint64_t span;
	uint64_t trace;
};

struct model_profile {
	char service[16];
	char pod[16];
	const char *types[MODEL_TYPES]; /* those that are left, in order */
	size_t type_count;
	int64_t time;
	uint64_t id;
	uint64_t origin;
	struct model_row rows[MODEL_ROWS];
	size_t row_count;
};

struct model {
	struct model_profile *profiles;
	size_t count;
	size_t capacity;
};

/* What a question is about; empty texts match everything. */
struct model_question {
	const char *service;
	const char *pod;
	const char *type;
	int64_t start;
	int64_t end;
	uint64_t id;   /* 0: any */
	uint64_t span; /* 0: any */
};

/* ---- lines ---- */

struct lines {
	char **lines;
	size_t count;
	size_t capacity;
};

static inline void lines_add(struct lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void lines_add(struct lines *lines, const char *format, ...)
{
	char line[256];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(line, sizeof(line), format, values);
	va_end(values);
	if (lines->count == lines->capacity) {
		lines->capacity = lines->capacity ? 2 * lines->capacity : 64;
		lines->lines = realloc(lines->lines, lines->capacity * sizeof(*lines->lines));
		assert_non_null(lines->lines);
	}
	lines->lines[lines->count++] = strdup(line);
}

static inline int lines_order(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static inline void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->lines[i]);
	free(lines->lines);
	*lines = (struct lines){ 0 };
}

/* Both are the same but for their order; then they are gone. */
static inline void lines_compare(const char *what, struct lines *expected, struct lines *found)
{
	if (expected->count > 1)
		qsort(expected->lines, expected->count, sizeof(*expected->lines), lines_order);
	if (found->count > 1)
		qsort(found->lines, found->count, sizeof(*found->lines), lines_order);
	for (size_t i = 0; i < expected->count || i < found->count; i++) {
		const char *a = i < expected->count ? expected->lines[i] : "(nothing)";
		const char *b = i < found->count ? found->lines[i] : "(nothing)";

		if (strcmp(a, b) != 0)
			fail_msg("%s: expected '%s', found '%s' (%zu and %zu lines)", what, a, b,
			         expected->count, found->count);
	}
	lines_fini(expected);
	lines_fini(found);
}

/* ---- changing it ---- */

static inline void model_fini(struct model *model)
{
	free(model->profiles);
	*model = (struct model){ 0 };
}

static inline bool model_is_retry(const struct model_profile *a, const struct model_profile *b)
{
	if (a->origin == 0 || a->origin != b->origin || a->time != b->time ||
	    a->type_count != b->type_count || strcmp(a->service, b->service) != 0 ||
	    strcmp(a->pod, b->pod) != 0)
		return false;
	for (size_t i = 0; i < a->type_count; i++)
		if (strcmp(a->types[i], b->types[i]) != 0)
			return false;
	return true;
}

/* As a store takes it: the same profile once. */
static inline void model_append(struct model *model, const struct model_profile *profile)
{
	for (size_t i = 0; i < model->count; i++)
		if (model_is_retry(&model->profiles[i], profile))
			return;
	if (model->count == model->capacity) {
		model->capacity = model->capacity ? 2 * model->capacity : 256;
		model->profiles =
			realloc(model->profiles, model->capacity * sizeof(*model->profiles));
		assert_non_null(model->profiles);
	}
	model->profiles[model->count++] = *profile;
}

/* Whether a type of a profile is asked for, as far as series, times and ids say. */
static inline bool model_matches(const struct model_profile *profile, size_t type,
                                 const struct model_question *question)
{
	return (!question->service || strcmp(question->service, profile->service) == 0) &&
	       (!question->pod || strcmp(question->pod, profile->pod) == 0) &&
	       (!question->type || strcmp(question->type, profile->types[type]) == 0) &&
	       profile->time >= question->start && profile->time <= question->end &&
	       (question->id == 0 || question->id == profile->id);
}

static inline bool model_row_passes(const struct model_row *row,
                                    const struct model_question *question)
{
	return question->span == 0 || row->span == question->span;
}

/* Takes a type off a profile; rows that have nothing else go with it. */
static inline void model_drop_type(struct model_profile *profile, size_t type)
{
	size_t kept = 0;

	profile->type_count--;
	for (size_t i = type; i < profile->type_count; i++)
		profile->types[i] = profile->types[i + 1];
	for (size_t row = 0; row < profile->row_count; row++) {
		struct model_row changed = profile->rows[row];
		bool any = false;

		for (size_t i = type; i < profile->type_count; i++)
			changed.values[i] = changed.values[i + 1];
		for (size_t i = 0; i < profile->type_count; i++)
			any = any || changed.values[i] != 0;
		if (any)
			profile->rows[kept++] = changed;
	}
	profile->row_count = kept;
}

/* Gives how many profiles went, each once for every series. */
static inline uint64_t model_remove(struct model *model, const struct model_question *question)
{
	uint64_t removed = 0;
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		struct model_profile profile = model->profiles[i];

		for (size_t type = profile.type_count; type-- > 0;) {
			if (!model_matches(&profile, type, question))
				continue;
			model_drop_type(&profile, type);
			removed++;
		}
		if (profile.type_count > 0)
			model->profiles[kept++] = profile;
	}
	model->count = kept;
	return removed;
}

/* ---- sending it ---- */

static inline struct label_set model_labels(struct arena *arena,
                                            const struct model_profile *profile, size_t type)
{
	struct label *labels = arena_array(arena, 3, sizeof(*labels));

	labels[0] = (struct label){ STR("__profile_type__"),
		                    arena_copy(arena, str_of(profile->types[type])) };
	labels[1] = (struct label){ STR("pod"), arena_copy(arena, str_of(profile->pod)) };
	labels[2] =
		(struct label){ STR("service_name"), arena_copy(arena, str_of(profile->service)) };
	return (struct label_set){ labels, 3 };
}

static inline struct series_profile model_series_profile(struct arena *arena,
                                                         const struct model_profile *profile)
{
	struct made_row *rows = arena_array(arena, MODEL_ROWS, sizeof(*rows));
	uint8_t(*traces)[TRACE_ID_SIZE] = arena_array(arena, MODEL_ROWS, sizeof(*traces));
	struct made made = {
		.service = profile->service,
		.time = profile->time,
		.rows = rows,
		.row_count = profile->row_count,
		.origin = profile->origin,
		.id = profile->id,
	};
	struct series_profile out;
	bool any_trace = false;

	for (size_t i = 0; i < profile->type_count; i++)
		made.types[i] = profile->types[i];
	for (size_t i = 0; i < profile->row_count; i++) {
		rows[i].stack = profile->rows[i].stack;
		rows[i].span = profile->rows[i].span;
		memcpy(rows[i].values, profile->rows[i].values, sizeof(profile->rows[i].values));
		memcpy(traces[i], &profile->rows[i].trace, sizeof(profile->rows[i].trace));
		any_trace = any_trace || profile->rows[i].trace != 0;
	}
	out = made_profile(arena, &made);
	/* a function is the same one in every profile */
	for (size_t i = 0; i < out.profile->location_count; i++)
		out.profile->locations[i].address =
			hash64(0, out.profile->strings[out.profile->functions[i].name].data,
		               out.profile->strings[out.profile->functions[i].name].length);
	out.trace_ids = any_trace ? (const uint8_t(*)[TRACE_ID_SIZE])traces : NULL;
	for (size_t i = 0; i < profile->type_count; i++)
		out.series[i].labels = model_labels(arena, profile, i);
	return out;
}

/* Sends profiles in one write, and takes them into the model. */
static inline void model_send(struct model *model, struct store *store,
                              const struct model_profile *profiles, size_t count)
{
	struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct series_profile *sent = arena_array(arena, count, sizeof(*sent));

	for (size_t i = 0; i < count; i++) {
		sent[i] = model_series_profile(arena, &profiles[i]);
		model_append(model, &profiles[i]);
	}
	assert_int_equal(append_profiles(store, "t", sent, count), ERROR_NONE);
	arena_free(arena);
}

/* ---- asking ---- */

/* The parts of a merge: the last digit of the pod, 7 is left out. */
static inline uint32_t model_part_of_pod(const char *pod, size_t length)
{
	const uint32_t digit = (uint32_t)(pod[length - 1] - '0');

	return digit == 7 ? STORE_SKIP : digit;
}

static inline uint32_t model_part_of(void *context, const struct label_set *labels)
{
	const struct str *pod = label_set_find(labels, STR("pod"));

	(void)context;
	return model_part_of_pod(pod->data, pod->length);
}

struct model_sums {
	uint32_t part;
	const char *stack;
	uint64_t sum;
};

/* A store adds stacks up window by window: the model knows them by day. */
static inline void model_merge(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	struct model_sums *sums = calloc(model->count * MODEL_ROWS + 1, sizeof(*sums));
	int64_t *days = calloc(model->count * MODEL_ROWS + 1, sizeof(*days));
	size_t count = 0;

	assert_non_null(sums);
	assert_non_null(days);
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];
		const uint32_t part = parts ? model_part_of_pod(profile->pod, strlen(profile->pod))
		                            : 0;

		if (part == STORE_SKIP || (parts && parts->ranges &&
		                           (profile->time < parts->ranges[part].start_unix_ns ||
		                            profile->time > parts->ranges[part].end_unix_ns)))
			continue;
		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++) {
				const int64_t day = profile->time / DAY_NS;
				size_t at = 0;

				if (!model_row_passes(&profile->rows[row], question))
					continue;
				while (at < count &&
				       (sums[at].part != part || days[at] != day ||
				        strcmp(sums[at].stack, profile->rows[row].stack) != 0))
					at++;
				if (at == count)
					count++;
				sums[at].part = part;
				sums[at].stack = profile->rows[row].stack;
				days[at] = day;
				sums[at].sum += (uint64_t)profile->rows[row].values[type];
			}
		}
	}
	for (size_t i = 0; i < count; i++)
		if (sums[i].sum != 0 && sums[i].stack[0])
			lines_add(out, "%u %s %lld", sums[i].part, sums[i].stack,
			          (long long)sums[i].sum);
	free(sums);
	free(days);
}

static inline void model_scan(const struct model *model, const struct model_question *question,
                              const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			uint64_t total = 0;
			bool any = question->span == 0;

			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++) {
				if (!model_row_passes(&profile->rows[row], question))
					continue;
				total += (uint64_t)profile->rows[row].values[type];
				any = true;
			}
			if (any)
				lines_add(out, "%s %s %s %lld %lld %llu", profile->service,
				          profile->pod, profile->types[type],
				          (long long)profile->time, (long long)total,
				          (unsigned long long)profile->id);
		}
	}
}

static inline void model_samples(const struct model *model, const struct model_question *question,
                                 const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			lines_add(out, "%s %s %s %lld", profile->service, profile->pod,
			          profile->types[type], (long long)profile->time);
			for (size_t row = 0; row < profile->row_count; row++)
				if (model_row_passes(&profile->rows[row], question))
					lines_add(out, "%s %s %s %lld %s %lld", profile->service,
					          profile->pod, profile->types[type],
					          (long long)profile->time,
					          profile->rows[row].stack,
					          (long long)profile->rows[row].values[type]);
		}
	}
}

static inline void model_spans(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++)
				if (profile->rows[row].span != 0 &&
				    model_row_passes(&profile->rows[row], question))
					lines_add(out, "%s %s %s %lld %llx %llx %lld",
					          profile->service, profile->pod,
					          profile->types[type], (long long)profile->time,
					          (unsigned long long)profile->rows[row].span,
					          (unsigned long long)profile->rows[row].trace,
					          (long long)profile->rows[row].values[type]);
		}
	}
}

/* Series that have a profile which passes, each once. */
static inline void model_series(const struct model *model, const struct model_question *question,
                                const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			bool passes = question->span == 0;
			char line[128];
			size_t at = 0;

			for (size_t row = 0; row < profile->row_count; row++)
				passes = passes || model_row_passes(&profile->rows[row], question);
			if (!passes || !model_matches(profile, type, question))
				continue;
			(void)snprintf(line, sizeof(line), "%s %s %s", profile->service,
			               profile->pod, profile->types[type]);
			while (at < out->count && strcmp(out->lines[at], line) != 0)
				at++;
			if (at == out->count)
				lines_add(out, "%s", line);
		}
	}
}

static inline void lines_add_once(struct lines *lines, const char *text)
{
	for (size_t i = 0; i < lines->count; i++)
		if (strcmp(lines->lines[i], text) == 0)
			return;
	lines_add(lines, "%s", text);
}

/* The values of a label that series with a profile have, or what labels they have. */
enum model_label {
	MODEL_NAMES,
	MODEL_PODS,
	MODEL_KINDS,
};

static inline void model_labels_of(const struct model *model, const struct model_question *question,
                                   enum model_label label, struct lines *out)
{
	struct model_question range = *question;

	range.id = range.span = 0; /* a listing has no filters */
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, &range))
				continue;
			if (label == MODEL_NAMES) {
				lines_add_once(out, "__profile_type__");
				lines_add_once(out, "pod");
				lines_add_once(out, "service_name");
			} else {
				lines_add_once(out, label == MODEL_PODS ? profile->pod
				                                        : profile->types[type]);
			}
		}
	}
}

static inline void model_names(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_NAMES, out);
}

static inline void model_pods(const struct model *model, const struct model_question *question,
                              const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_PODS, out);
}

static inline void model_kinds(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_KINDS, out);
}

/* ---- what a store answers, in the same words ---- */

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

		assert_true(i == 0 || sums->stacks[i] > sums->stacks[i - 1]);
		stack_text(sums->symbols, sums->stacks[i], stack, sizeof(stack));
		lines_add(context, "%u %s %lld", sums->part, stack, (long long)sums->sums[i]);
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

static inline int model_ask_merge(struct store *store, const struct store_query *query,
                                  const struct store_parts *parts, struct lines *out,
                                  struct error *err)
{
	return store_merge(store, query, parts, model_on_sums, out, err);
}

static inline int model_ask_scan(struct store *store, const struct store_query *query,
                                 const struct store_parts *parts, struct lines *out,
                                 struct error *err)
{
	(void)parts;
	return store_scan(store, query, model_on_point, out, err);
}

static inline int model_ask_samples(struct store *store, const struct store_query *query,
                                    const struct store_parts *parts, struct lines *out,
                                    struct error *err)
{
	(void)parts;
	return store_scan_samples(store, query, model_on_samples, out, err);
}

static inline int model_ask_spans(struct store *store, const struct store_query *query,
                                  const struct store_parts *parts, struct lines *out,
                                  struct error *err)
{
	(void)parts;
	return store_scan_spans(store, query, model_on_span, out, err);
}

static inline int model_ask_series(struct store *store, const struct store_query *query,
                                   const struct store_parts *parts, struct lines *out,
                                   struct error *err)
{
	(void)parts;
	return store_series(store, query, model_on_series, out, err);
}

static inline int model_on_text(void *context, struct str text, struct error *err)
{
	char line[128];

	(void)err;
	(void)snprintf(line, sizeof(line), "%.*s", STR_ARGS(text));
	lines_add_once(context, line);
	return 0;
}

static inline int model_ask_names(struct store *store, const struct store_query *query,
                                  const struct store_parts *parts, struct lines *out,
                                  struct error *err)
{
	(void)parts;
	return store_label_names(store, query, model_on_text, out, err);
}

static inline int model_ask_pods(struct store *store, const struct store_query *query,
                                 const struct store_parts *parts, struct lines *out,
                                 struct error *err)
{
	(void)parts;
	return store_label_values(store, query, STR("pod"), model_on_text, out, err);
}

static inline int model_ask_kinds(struct store *store, const struct store_query *query,
                                  const struct store_parts *parts, struct lines *out,
                                  struct error *err)
{
	(void)parts;
	return store_label_values(store, query, STR("__profile_type__"), model_on_text, out, err);
}

/* An operation of a store, and what it should answer. */
struct model_operation {
	const char *name;
	int (*ask)(struct store *store, const struct store_query *query,
	           const struct store_parts *parts, struct lines *out, struct error *err);
	void (*expect)(const struct model *model, const struct model_question *question,
	               const struct store_parts *parts, struct lines *out);
};

static const struct model_operation model_operations[] = {
	{ "merge", model_ask_merge, model_merge },       { "scan", model_ask_scan, model_scan },
	{ "samples", model_ask_samples, model_samples }, { "spans", model_ask_spans, model_spans },
	{ "series", model_ask_series, model_series },    { "names", model_ask_names, model_names },
	{ "pods", model_ask_pods, model_pods },          { "types", model_ask_kinds, model_kinds },
};

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
	if (operation->ask(store, &query.query, parts, &found, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	operation->expect(model, question, parts, &expected);
	lines_compare(text, &expected, &found);
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
