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

bool gpu_question_asks_process(const struct gpu_question *question, const struct label_set *labels)
{
	for (size_t i = 0; i < question->asked.count; i++) {
		struct matcher *matcher = &question->asked.matchers[i];
		const struct selector one = { .matchers = matcher, .count = 1 };

		if (!gpu_label_is_of_series(matcher->name) && !selector_matches(&one, labels))
			return false;
	}
	return true;
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
struct gpu_asking {
	struct selector chosen; /* by the read: types, pids; owns its expressions */
	struct selector all;    /* these, and what the question says (borrowed) */
	struct store_query query;
};

static void gpu_asking_fini(struct gpu_asking *asking)
{
	selector_fini(&asking->chosen);
	arena_free(asking->query.arena);
}

/* {__profile_type__=~"A|B"}: types have nothing that an expression takes apart. */
static int add_types(struct selector *chosen, unsigned measures, struct error *err)
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
	result = selector_parse(chosen, strbuf_view(&text), err);
	strbuf_fini(&text);
	return result;
}

static bool narrows(const struct matcher *matcher, enum gpu_scope scope)
{
	if (str_equals(matcher->name, "hostname"))
		return true;
	return scope == GPU_PROCESSES && !gpu_label_is_of_series(matcher->name);
}

static int choose_series(struct gpu_asking *asking, const struct gpu_question *question,
                         const struct gpu_read *read, struct error *err)
{
	const struct selector *asked = &question->asked;
	struct selector *all = &asking->all;

	selector_init(&asking->chosen, asking->query.arena);
	if (add_types(&asking->chosen, read->measures, err) < 0 ||
	    (read->pids.length > 0 &&
	     selector_add_regex(&asking->chosen, STR("pid"), read->pids, err) < 0))
		return -1;
	all->matchers = arena_array(asking->query.arena, asking->chosen.count + asked->count,
	                            sizeof(*all->matchers));
	if (!all->matchers)
		return arena_error(asking->query.arena, err);
	for (size_t i = 0; i < asking->chosen.count; i++)
		all->matchers[all->count++] = asking->chosen.matchers[i];
	for (size_t i = 0; i < asked->count; i++)
		if (narrows(&asked->matchers[i], read->scope))
			all->matchers[all->count++] = asked->matchers[i];
	return 0;
}

/* 1: it can be asked; 0: there is nothing to ask; -1. */
static int gpu_asking_init(struct gpu_asking *asking, const struct gpu_question *question,
                           const struct gpu_read *read, struct error *err)
{
	const struct read_query_context *context = &question->query.context;

	if (question->query.nothing)
		return 0;
	/* a question has many reads: each may need as much as there are series */
	asking->query = (struct store_query){
		.tenant = context->tenant,
		.selector = &asking->all,
		.range = read->range,
		.cancel = context->cancel,
		.arena = arena_branch(context->arena),
	};
	return choose_series(asking, question, read, err) < 0 ? -1 : 1;
}

int gpu_question_scan(const struct gpu_question *question, const struct gpu_read *read,
                      store_point_visitor visit, void *context, struct error *err)
{
	CLEANUP(gpu_asking_fini) struct gpu_asking asking = { 0 };
	const int status = gpu_asking_init(&asking, question, read, err);

	if (status <= 0)
		return status;
	return store_scan(question->query.context.store, &asking.query, visit, context, err);
}

int gpu_question_series(const struct gpu_question *question, const struct gpu_read *read,
                        store_series_visitor visit, void *context, struct error *err)
{
	CLEANUP(gpu_asking_fini) struct gpu_asking asking = { 0 };
	const int status = gpu_asking_init(&asking, question, read, err);

	if (status <= 0)
		return status;
	return store_series(question->query.context.store, &asking.query, visit, context, err);
}
