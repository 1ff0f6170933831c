/*
 * One question to the store: (type, selector, range, filters, merge) to a tree or a
 * profile.
 *
 * Shape    filled step by step in the order in which a request is checked (each method
 *          has its own: read specification, 3.4), then run. Knows nothing of HTTP, so
 *          that the command line asks a store the same way.
 *
 *	CLEANUP(read_query_fini) struct read_query query;
 *
 *	read_query_init(&query, &context);
 *	if (read_query_set_range(&query, start_ms, end_ms, err) < 0 ||
 *	    read_query_set_type(&query, id, err) < 0 ||
 *	    read_query_set_selector(&query, text, err) < 0 ||
 *	    read_query_run_tree(&query, max_nodes, &tree, err) < 0)
 *
 * Units    milliseconds as the wire has them; nanoseconds towards the store.
 * Errors   ERROR_INVALID with the reference's words; the store's.
 * Threads  none: it belongs to its request.
 * Source   read specification, 3.4, 3.7 and 3.10; collector specification, 3.4
 */
#pragma once

#include "profile/function_tree.h"
#include "profile/profile_merger.h"
#include "profile/profile_type.h"
#include "profile/selector.h"
#include "storage/store.h"

struct limits; /* server/app.h */

/* Who asks, and with what means. */
struct read_query_context {
	struct store *store;
	struct str tenant;
	struct arena *arena;
	const struct store_cancel *cancel; /* or NULL */
	const struct limits *limits;       /* or NULL: none */
	enum profile_merge instant;        /* how gauges merge */
	struct str aliases;                /* -compat.profile-type-alias */
	int64_t now_unix_ns;
};

struct read_query {
	struct read_query_context context;
	int64_t start_ms;
	int64_t end_ms;
	bool nothing; /* the range lies before the lookback: every answer is empty */
	struct store_range range;
	struct profile_type type;
	struct str type_id; /* its first five parts */
	struct selector selector;
	struct sample_filter filter;
};

void read_query_init(struct read_query *query, const struct read_query_context *context);
void read_query_fini(struct read_query *query);

/* Checks the range and applies lookback and longest length. */
int read_query_set_range(struct read_query *query, int64_t start_ms, int64_t end_ms,
                         struct error *err);

/* Reads further back by so many milliseconds: the first step of a series. */
void read_query_extend_range(struct read_query *query, int64_t before_ms);

int read_query_set_type(struct read_query *query, struct str id, struct error *err);

/* Parses the selector and adds the type to it. */
int read_query_set_selector(struct read_query *query, struct str text, struct error *err);

/* Takes a parsed selector over (and leaves an empty one), and adds the type to it. */
int read_query_take_selector(struct read_query *query, struct selector *selector,
                             struct error *err);

/* The nodes that a request means: its own, or the default. */
int read_query_max_nodes(const struct limits *limits, int64_t requested, int64_t *out,
                         struct error *err);

/* How the query's type merges over time. */
enum profile_merge read_query_merge(const struct read_query *query);

/*
 * Once, before anything is run: a type that has no data gives way to its alias that has.
 */
int read_query_resolve_alias(struct read_query *query, struct error *err);

/* The store's form of the question. */
struct store_query read_query_store(const struct read_query *query);

/*
 * The finished tree of all that matches, cut to the largest nodes (< 1: whole); empty when
 * nothing does.
 */
int read_query_run_tree(struct read_query *query, int64_t max_nodes, struct function_tree **out,
                        struct error *err);

/* The pprof of all that matches; options->type and end are the query's own. */
int read_query_run_profile(struct read_query *query, int64_t max_nodes,
                           const struct go_pgo_options *go_pgo, struct profile *out,
                           struct error *err);
