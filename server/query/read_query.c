#include "server/query/read_query.h"

#include "base/clock.h"
#include "profile/call_site.h"
#include "profile/path_tree.h"
#include "server/app.h"
#include "server/query/instant.h"
#include "server/query/read_query_text.h"

void read_query_init(struct read_query *query, const struct read_query_context *context)
{
	*query = (struct read_query){ .context = *context };
	selector_init(&query->selector, context->arena);
}

void read_query_fini(struct read_query *query)
{
	selector_fini(&query->selector);
}

/* Milliseconds as nanoseconds; past the end of the scale is its end. */
static int64_t ms_to_ns(int64_t ms)
{
	int64_t ns;

	if (__builtin_mul_overflow(ms, NS_PER_MS, &ns))
		return ms < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static int64_t saturating_sub(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

static int check_length(const struct read_query *query, struct error *err)
{
	const struct limits *limits = query->context.limits;
	const int64_t length_ns = ms_to_ns(saturating_sub(query->end_ms, query->start_ms));
	char actual[READ_QUERY_DURATION_SIZE];
	char limit[READ_QUERY_DURATION_SIZE];

	if (limits->max_query_length_ns <= 0 || length_ns <= limits->max_query_length_ns)
		return 0;
	read_query_duration_format(length_ns, actual);
	read_query_limit_format(limits->max_query_length_ns, limit);
	return error_set(err, ERROR_INVALID,
	                 "the query time range exceeds the limit (max_query_length, actual: %s, "
	                 "limit: %s)",
	                 actual, limit);
}

int read_query_set_range(struct read_query *query, int64_t start_ms, int64_t end_ms,
                         struct error *err)
{
	const struct limits *limits = query->context.limits;

	if (start_ms == 0 || end_ms == 0)
		return error_set(err, ERROR_INVALID, "missing time range in the query");
	if (start_ms > end_ms)
		return error_set(err, ERROR_INVALID, "query start time is after end time");
	if (limits && limits->max_query_lookback_ns > 0) {
		const int64_t oldest_ms =
			(query->context.now_unix_ns - limits->max_query_lookback_ns) / NS_PER_MS;

		if (start_ms < oldest_ms)
			start_ms = oldest_ms;
		query->nothing = end_ms < oldest_ms;
	}
	query->start_ms = start_ms;
	query->end_ms = end_ms;
	query->range = (struct store_range){ ms_to_ns(start_ms), ms_to_ns(end_ms) };
	return limits && !query->nothing ? check_length(query, err) : 0;
}

void read_query_extend_range(struct read_query *query, int64_t before_ms)
{
	query->range.start_unix_ns = ms_to_ns(saturating_sub(query->start_ms, before_ms));
}

int read_query_set_type(struct read_query *query, struct str id, struct error *err)
{
	if (profile_type_parse(id, &query->type, err) < 0)
		return -1;
	query->type_id = profile_type_id(&query->type, query->context.arena);
	return query->type_id.data ? 0 : arena_error(query->context.arena, err);
}

int read_query_set_selector(struct read_query *query, struct str text, struct error *err)
{
	if (selector_parse(&query->selector, text, err) < 0)
		return error_context(err, "parsing label selector \"%.*s\"",
		                     STR_ARGS(str_first(text, 200)));
	return selector_add_equal(&query->selector, STR("__profile_type__"), query->type_id, err);
}

int read_query_take_selector(struct read_query *query, struct selector *selector, struct error *err)
{
	query->selector = *selector;
	selector_init(selector, query->context.arena);
	return selector_add_equal(&query->selector, STR("__profile_type__"), query->type_id, err);
}

int read_query_max_nodes(const struct limits *limits, int64_t requested, int64_t *out,
                         struct error *err)
{
	if (requested == 0) {
		*out = limits->flamegraph_nodes_default;
		return 0;
	}
	if (limits->flamegraph_nodes_max > 0 && requested > limits->flamegraph_nodes_max)
		return error_set(err, ERROR_INVALID,
		                 "max flamegraph nodes limit %lld is greater than allowed %lld",
		                 (long long)requested, (long long)limits->flamegraph_nodes_max);
	if (limits->flamegraph_nodes_max > 0 && requested < 0)
		return error_set(err, ERROR_INVALID,
		                 "max flamegraph nodes limit must be set (max allowed %lld)",
		                 (long long)limits->flamegraph_nodes_max);
	*out = requested;
	return 0;
}

enum profile_merge read_query_merge(const struct read_query *query)
{
	return profile_type_merge(&query->type, query->context.instant);
}

struct store_query read_query_store(const struct read_query *query)
{
	return (struct store_query){
		.tenant = query->context.tenant,
		.selector = &query->selector,
		.range = query->range,
		.filter = &query->filter,
		.cancel = query->context.cancel,
		.arena = query->context.arena,
	};
}

/* Stops at the first series: that there is one is all that is asked. */
static int find_any(void *context, const struct label_set *labels, struct error *err)
{
	bool *found = context;

	(void)labels;
	*found = true;
	return error_set(err, ERROR_CANCELLED, "one is enough");
}

static int has_data(const struct read_query *query, bool *out, struct error *err)
{
	const struct store_query question = read_query_store(query);

	*out = false;
	if (store_series(query->context.store, &question, find_any, out, err) < 0 && !*out)
		return -1;
	return 0;
}

int read_query_resolve_alias(struct read_query *query, struct error *err)
{
	struct str alias;
	struct matcher *type = &query->selector.matchers[query->selector.count - 1];
	const struct matcher before = *type;
	struct error ignored = { 0 };
	bool found;

	if (query->nothing || !read_query_alias_of(query->context.aliases, query->type_id, &alias))
		return 0;
	if (has_data(query, &found, &ignored) < 0) {
		*err = ignored;
		return -1;
	}
	if (found)
		return 0;
	type->value = alias;
	if (has_data(query, &found, &ignored) < 0) {
		*err = ignored;
		return -1;
	}
	if (!found)
		*type = before;
	return 0;
}

static int make_plan(struct read_query *query, struct instant_plan **out, struct error *err)
{
	struct store_query question;

	if (read_query_resolve_alias(query, err) < 0)
		return -1;
	question = read_query_store(query);
	return instant_plan_new(query->context.store, &question, read_query_merge(query), out, err);
}

/* *out: NULL when there is nothing to merge. */
static int plan_merge(struct read_query *query, const struct instant_plan **out, struct error *err)
{
	struct instant_plan *plan;

	*out = NULL;
	if (query->nothing)
		return 0;
	if (make_plan(query, &plan, err) < 0)
		return -1;
	if (!instant_plan_is_empty(plan))
		*out = plan;
	return 0;
}

/* ---- trees ---- */

struct tree_merge {
	const struct instant_plan *plan;
	struct path_tree *tree;
};

static int add_to_tree(void *context, const struct path_sums *sums, struct error *err)
{
	struct tree_merge *merge = context;

	return path_tree_add(merge->tree, sums, instant_plan_divisor(merge->plan, sums->part), err);
}

static int merge_tree(struct read_query *query, struct path_tree *tree, struct error *err)
{
	struct tree_merge merge = { .tree = tree };
	struct store_query question;

	if (plan_merge(query, &merge.plan, err) < 0)
		return -1;
	if (!merge.plan)
		return 0;
	question = read_query_store(query);
	return store_merge_paths(query->context.store, &question, instant_plan_parts(merge.plan),
	                         add_to_tree, &merge, err);
}

int read_query_run_tree(struct read_query *query, int64_t max_nodes, struct function_tree **out,
                        struct error *err)
{
	const struct path_cut cut = {
		.call_site = query->filter.call_site,
		.call_site_count = query->filter.call_site_count,
		.max_nodes = max_nodes,
	};
	CLEANUP(path_tree_freep) struct path_tree *tree = NULL;

	if (path_tree_new(query->context.arena, &tree, err) < 0 || merge_tree(query, tree, err) < 0)
		return -1;
	return path_tree_finish(tree, &cut, out, err);
}

/* ---- profiles ---- */

struct profile_merge_run {
	const struct read_query *query;
	const struct instant_plan *plan;
	struct profile_merger *merger;
};

/* The sums that the call site lets pass: `in` itself without one. */
static int filter_sums(const struct read_query *query, const struct stack_sums *in,
                       struct stack_sums *out, struct error *err)
{
	const struct sample_filter *filter = &query->filter;

	if (filter->call_site_count == 0) {
		*out = *in;
		return 0;
	}
	return call_site_filter(in, filter->call_site, filter->call_site_count,
	                        query->context.arena, out, err);
}

static int add_to_profile(void *context, const struct stack_sums *sums, struct error *err)
{
	struct profile_merge_run *run = context;
	struct stack_sums passed;

	if (filter_sums(run->query, sums, &passed, err) < 0)
		return -1;
	return profile_merger_add_sums(run->merger, &passed, 1,
	                               instant_plan_divisor(run->plan, sums->part), err);
}

static int merge_profile(struct read_query *query, struct profile_merger *merger, struct error *err)
{
	struct profile_merge_run run = { .query = query, .merger = merger };
	struct store_query question;

	if (plan_merge(query, &run.plan, err) < 0)
		return -1;
	if (!run.plan)
		return 0;
	question = read_query_store(query);
	return store_merge(query->context.store, &question, instant_plan_parts(run.plan),
	                   add_to_profile, &run, err);
}

int read_query_run_profile(struct read_query *query, int64_t max_nodes,
                           const struct go_pgo_options *go_pgo, struct profile *out,
                           struct error *err)
{
	const struct profile_merge_options options = {
		.type = &query->type,
		.end_unix_ns = query->range.end_unix_ns,
		.max_nodes = max_nodes,
		.go_pgo = go_pgo,
	};
	struct profile_merger *merger;

	if (profile_merger_new(query->context.arena, &merger, err) < 0 ||
	    merge_profile(query, merger, err) < 0)
		return -1;
	return profile_merger_finish(merger, &options, out, err);
}
