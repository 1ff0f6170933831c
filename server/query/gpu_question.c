#include "server/query/gpu_question.h"

#include <assert.h>

#define TYPES_TEXT_MAX 1024 /* bytes of a matcher on the types of all measures */

void gpu_question_init(struct gpu_question *question, const struct read_query_context *context)
{
	read_query_init(&question->query, context);
	selector_init(&question->asked, context->arena);
}

void gpu_question_fini(struct gpu_question *question)
{
	selector_fini(&question->asked);
	read_query_fini(&question->query);
}

int gpu_question_set_range(struct gpu_question *question, int64_t start_ms, int64_t end_ms,
                           struct error *err)
{
	return read_query_set_range(&question->query, start_ms, end_ms, err);
}

int gpu_question_set_selector(struct gpu_question *question, struct str text, struct error *err)
{
	if (text.length == 0)
		return 0;
	if (selector_parse(&question->asked, text, err) < 0)
		return error_context(err, "parsing label selector \"%.*s\"",
		                     STR_ARGS(str_first(text, 200)));
	return 0;
}

bool gpu_question_asks(const struct gpu_question *question, const struct label_set *labels)
{
	return selector_matches(&question->asked, labels);
}

bool gpu_question_asks_device(const struct gpu_question *question, const struct label_set *labels)
{
	static const char *const of_devices[] = { "hostname", "gpu", "cluster", "k8s_node" };

	for (size_t i = 0; i < question->asked.count; i++) {
		struct matcher *matcher = &question->asked.matchers[i];
		const struct selector one = { .matchers = matcher, .count = 1 };

		for (size_t j = 0; j < ARRAY_LENGTH(of_devices); j++)
			if (str_equals(matcher->name, of_devices[j]) &&
			    !selector_matches(&one, labels))
				return false;
	}
	return true;
}

bool gpu_question_asks_nodes(const struct gpu_question *question)
{
	for (size_t i = 0; i < question->asked.count; i++)
		if (!str_equals(question->asked.matchers[i].name, "hostname"))
			return false;
	return true;
}

bool gpu_question_names_class(const struct gpu_question *question)
{
	for (size_t i = 0; i < question->asked.count; i++)
		if (str_equals(question->asked.matchers[i].name, "cuda_class"))
			return true;
	return false;
}

/* The store's question while it is asked. */
struct gpu_read {
	struct selector types;    /* owns its expression */
	struct selector selector; /* types, and what the question says of nodes (borrowed) */
	struct store_query query;
};

static void gpu_read_fini(struct gpu_read *read)
{
	selector_fini(&read->types);
}

/* {__profile_type__=~"A|B"}: types have nothing that an expression takes apart. */
static int add_types(struct selector *types, unsigned measures, struct error *err)
{
	const char *separator = "{__profile_type__=~\"";
	struct strbuf text;
	int result;

	strbuf_init(&text, TYPES_TEXT_MAX);
	for (enum gpu_measure i = 0; i < GPU_MEASURE_COUNT; i++) {
		if (!(measures & GPU_MEASURE_BIT(i)))
			continue;
		strbuf_add_text(&text, separator);
		strbuf_add_str(&text, gpu_measure_type(i));
		separator = "|";
	}
	strbuf_add_text(&text, "\"}");
	assert(!strbuf_overflowed(&text));
	result = selector_parse(types, strbuf_view(&text), err);
	strbuf_fini(&text);
	return result;
}

/* 1: it can be asked; 0: there is nothing to ask; -1. */
static int gpu_read_init(struct gpu_read *read, const struct gpu_question *question,
                         unsigned measures, struct store_range range, struct error *err)
{
	const struct selector *asked = &question->asked;
	const struct read_query_context *context = &question->query.context;
	struct selector *selector = &read->selector;

	if (question->query.nothing)
		return 0;
	selector_init(&read->types, context->arena);
	if (add_types(&read->types, measures, err) < 0)
		return -1;
	*selector = (struct selector){ .arena = context->arena };
	selector->matchers = arena_array(context->arena, read->types.count + asked->count,
	                                 sizeof(*selector->matchers));
	if (!selector->matchers)
		return arena_error(context->arena, err);
	for (size_t i = 0; i < read->types.count; i++)
		selector->matchers[selector->count++] = read->types.matchers[i];
	for (size_t i = 0; i < asked->count; i++)
		if (str_equals(asked->matchers[i].name, "hostname"))
			selector->matchers[selector->count++] = asked->matchers[i];
	read->query = (struct store_query){
		.tenant = context->tenant,
		.selector = selector,
		.range = range,
		.cancel = context->cancel,
		.arena = context->arena,
	};
	return 1;
}

int gpu_question_scan(const struct gpu_question *question, unsigned measures,
                      struct store_range range, store_point_visitor visit, void *context,
                      struct error *err)
{
	CLEANUP(gpu_read_fini) struct gpu_read read = { 0 };
	const int status = gpu_read_init(&read, question, measures, range, err);

	if (status <= 0)
		return status;
	return store_scan(question->query.context.store, &read.query, visit, context, err);
}

int gpu_question_series(const struct gpu_question *question, unsigned measures,
                        struct store_range range, store_series_visitor visit, void *context,
                        struct error *err)
{
	CLEANUP(gpu_read_fini) struct gpu_read read = { 0 };
	const int status = gpu_read_init(&read, question, measures, range, err);

	if (status <= 0)
		return status;
	return store_series(question->query.context.store, &read.query, visit, context, err);
}
