#include "server/query/read_query.h"

#include "base/clock.h"
#include "profile/call_site.h"
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

/* ---- trees ---- */

/* A tree for each divisor, so that rounding happens once a node and not once a window. */
struct tree_merge {
	struct read_query *query;
	const struct instant_plan *plan;
	struct function_tree **trees; /* by part, made when first needed */
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

static int add_to_tree(void *context, const struct stack_sums *sums, struct error *err)
{
	struct tree_merge *merge = context;
	/* parts that are not divided share a tree */
	const uint32_t at = instant_plan_divisor(merge->plan, sums->part) == 1 ? 0 : sums->part + 1;
	struct stack_sums passed;

	if (filter_sums(merge->query, sums, &passed, err) < 0)
		return -1;
	if (!merge->trees[at] &&
	    function_tree_new(merge->query->context.arena, &merge->trees[at], err) < 0)
		return -1;
	return function_tree_add_sums(merge->trees[at], &passed, err);
}

/* Runs the store's merge as the plan says. */
static int run_merge(struct read_query *query, store_sums_visitor visit,
                     const struct instant_plan *plan, void *context, struct error *err)
{
	const struct store_query question = read_query_store(query);

	if (instant_plan_is_empty(plan))
		return 0;
	return store_merge(query->context.store, &question, instant_plan_parts(plan), visit,
	                   context, err);
}

static int make_plan(struct read_query *query, struct instant_plan **out, struct error *err)
{
	struct store_query question;

	if (read_query_resolve_alias(query, err) < 0)
		return -1;
	question = read_query_store(query);
	return instant_plan_new(query->context.store, &question, read_query_merge(query), out, err);
}

static int merge_trees(struct read_query *query, struct function_tree **out, struct error *err)
{
	struct arena *arena = query->context.arena;
	struct tree_merge merge = { .query = query };
	struct instant_plan *plan;
	size_t count;

	if (make_plan(query, &plan, err) < 0)
		return -1;
	merge.plan = plan;
	count = (instant_plan_parts(plan) ? instant_plan_parts(plan)->count : 0) + 1;
	merge.trees = arena_array(arena, count, sizeof(struct function_tree *));
	if (!merge.trees)
		return arena_error(arena, err);
	if (function_tree_new(arena, &merge.trees[0], err) < 0 ||
	    run_merge(query, add_to_tree, plan, &merge, err) < 0)
		return -1;
	for (uint32_t i = 1; i < count; i++)
		if (merge.trees[i] &&
		    function_tree_add_tree(merge.trees[0], merge.trees[i], 1,
		                           instant_plan_divisor(plan, i - 1), err) < 0)
			return -1;
	*out = merge.trees[0];
	return 0;
}

int read_query_run_tree(struct read_query *query, struct function_tree **out, struct error *err)
{
	const int status = query->nothing ? function_tree_new(query->context.arena, out, err)
	                                  : merge_trees(query, out, err);

	return status < 0 ? -1 : function_tree_finish(*out, err);
}

/* ---- profiles ---- */

struct profile_merge_run {
	struct read_query *query;
	const struct instant_plan *plan;
	struct profile_merger *merger;
};

static int add_to_profile(void *context, const struct stack_sums *sums, struct error *err)
{
	struct profile_merge_run *run = context;
	struct stack_sums passed;

	if (filter_sums(run->query, sums, &passed, err) < 0)
		return -1;
	return profile_merger_add_sums(run->merger, &passed, 1,
	                               instant_plan_divisor(run->plan, sums->part), err);
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
	struct profile_merge_run run = { .query = query };
	struct instant_plan *plan;

	if (profile_merger_new(query->context.arena, &run.merger, err) < 0)
		return -1;
	if (!query->nothing) {
		if (make_plan(query, &plan, err) < 0)
			return -1;
		run.plan = plan;
		if (run_merge(query, add_to_profile, plan, &run, err) < 0)
			return -1;
	}
	return profile_merger_finish(run.merger, &options, out, err);
}
