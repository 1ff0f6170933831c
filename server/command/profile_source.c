#include "server/command/profile_source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/wire.h"
#include "profile/pprof.h"
#include "server/command/server_client.h"
#include "server/options.h"
#include "server/query/read_query.h"
#include "storage/sqlite_store.h"

#define QUERIER    "/querier.v1.QuerierService/"
#define PROTO_TYPE "application/proto"

/* One of the two is there. */
struct profile_source {
	struct server_client *client;
	struct store *store;
	char *name;
	char *path;                 /* of a merge, with the rule for gauges when one is asked for */
	char *tenant;               /* of a store */
	enum profile_merge instant; /* of a store */
};

/* Read before any thread starts, as all of the command line. */
static const char *default_tenant(void)
{
	const char *tenant = getenv("VRAMSCOPE_TENANT"); /* NOLINT(concurrency-mt-unsafe) */

	return tenant && *tenant ? tenant : "anonymous";
}

/* What an option of the server is when nobody says anything. */
static struct str server_default(enum option_id id)
{
	return str_of(option_at(id)->fallback);
}

static int open_store(struct profile_source *source, const struct profile_source_options *options,
                      struct error *err)
{
	const struct sqlite_store_options store = {
		.path = options->store,
		.read_only = true,
		.allow_network_fs = true,
	};
	const struct str instant = options->instant ? str_of(options->instant)
	                                            : server_default(OPTION_ID_query_instant);
	const bool known = profile_merge_parse(instant, &source->instant);

	assert(known);
	if (sqlite_store_open(&store, &source->store, err) < 0)
		return -1;
	source->name = mem_strdup(options->store);
	source->tenant = mem_strdup(options->tenant ? options->tenant : default_tenant());
	return 0;
}

static int open_server(struct profile_source *source, const struct profile_source_options *options,
                       struct error *err)
{
	struct strbuf path;

	if (server_client_open(options->url, options->tenant, &source->client, err) < 0)
		return -1;
	source->name = mem_strdup(server_client_url(source->client));
	strbuf_init(&path, 256);
	strbuf_add_text(&path, QUERIER "SelectMergeProfile");
	if (options->instant)
		strbuf_printf(&path, "?instant=%s", options->instant);
	source->path = strbuf_detach(&path, NULL);
	return 0;
}

int profile_source_open(const struct profile_source_options *options, struct profile_source **out,
                        struct error *err)
{
	CLEANUP(profile_source_closep)
	struct profile_source *source = mem_zalloc(1, sizeof(*source));

	if ((options->store ? open_store : open_server)(source, options, err) < 0)
		return -1;
	*out = TAKE(source);
	return 0;
}

void profile_source_close(struct profile_source *source)
{
	if (!source)
		return;
	server_client_free(source->client);
	store_close(source->store);
	free(source->name);
	free(source->path);
	free(source->tenant);
	free(source);
}

const char *profile_source_name(const struct profile_source *source)
{
	return source->name;
}

/* ---- a server ---- */

/* POSTs a querier.v1 message; *out is the answer, copied into the arena. */
static int call(struct profile_source *source, const char *path, const struct strbuf *request,
                struct arena *arena, struct str *out, struct error *err)
{
	struct strbuf answer;
	int result;

	strbuf_init(&answer, SERVER_CLIENT_ANSWER_MAX);
	result = server_client_post(source->client, path, PROTO_TYPE, strbuf_view(request), &answer,
	                            err);
	if (result == 0) {
		*out = arena_copy(arena, strbuf_view(&answer));
		if (!out->data)
			result = arena_error(arena, err);
	}
	strbuf_fini(&answer);
	return result;
}

static int merge_remote(struct profile_source *source, const struct profile_question *question,
                        struct arena *arena, struct profile *out, struct error *err)
{
	const struct pprof_options options = { 0 };
	struct pprof_input input;
	struct strbuf request;
	struct str answer = { NULL, 0 };
	int result;

	strbuf_init(&request, 1024UL * 1024);
	wire_put_bytes(&request, 1, question->type);
	wire_put_bytes(&request, 2, question->selector);
	wire_put_uint(&request, 3, (uint64_t)(question->start_unix_ns / NS_PER_MS));
	wire_put_uint(&request, 4, (uint64_t)(question->end_unix_ns / NS_PER_MS));
	result = call(source, source->path, &request, arena, &answer, err);
	strbuf_fini(&request);
	if (result < 0)
		return -1;
	if (pprof_read(answer, &options, arena, &input, err) < 0)
		return error_context(err, "the answer of %s", source->name);
	if (input.faults & PPROF_VALUE_COUNT)
		return error_set(err, ERROR_INVALID, "the answer of %s has samples without values",
		                 source->name);
	*out = input.profile;
	return 0;
}

static int compare_texts(const void *left, const void *right)
{
	return str_compare(*(const struct str *)left, *(const struct str *)right);
}

/* The value of the one label of a Labels message: its field 1, a pair of name and value. */
static struct str label_value(struct str labels)
{
	struct wire_reader reader = wire_reader(labels);
	struct wire_field field;
	struct str value = { NULL, 0 };

	while (wire_next(&reader, &field) > 0) {
		struct wire_reader pair;

		if (field.number != 1 || field.type != WIRE_BYTES)
			continue;
		pair = wire_reader(field.bytes);
		while (wire_next(&pair, &field) > 0)
			if (field.number == 2 && field.type == WIRE_BYTES)
				value = field.bytes;
	}
	return value;
}

/* SeriesResponse: its field 2 are sets of labels, here of a type each. */
static int read_types(struct str answer, struct arena *arena, struct str **out, size_t *out_count,
                      struct error *err)
{
	/* No more types than every second byte: a key and a length each. */
	struct str *types = arena_array(arena, answer.length / 2 + 1, sizeof(*types));
	struct wire_reader reader = wire_reader(answer);
	struct wire_field field;
	size_t count = 0;
	int more;

	if (!types)
		return arena_error(arena, err);
	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number != 2 || field.type != WIRE_BYTES)
			continue;
		types[count] = label_value(field.bytes);
		count += types[count].length > 0;
	}
	if (more < 0)
		return error_set(err, ERROR_INVALID, "the answer is no list of series");
	*out = types;
	*out_count = count;
	return 0;
}

static int types_remote(struct profile_source *source, const struct profile_question *question,
                        struct arena *arena, struct str **out, size_t *out_count, struct error *err)
{
	struct strbuf request;
	struct str answer = { NULL, 0 };
	int result;

	strbuf_init(&request, 1024UL * 1024);
	wire_put_bytes(&request, 1, question->selector);
	wire_put_bytes(&request, 2, STR("__profile_type__"));
	wire_put_uint(&request, 3, (uint64_t)(question->start_unix_ns / NS_PER_MS));
	wire_put_uint(&request, 4, (uint64_t)(question->end_unix_ns / NS_PER_MS));
	result = call(source, QUERIER "Series", &request, arena, &answer, err);
	strbuf_fini(&request);
	return result < 0 ? -1 : read_types(answer, arena, out, out_count, err);
}

/* ---- a store ---- */

static int merge_local(struct profile_source *source, const struct profile_question *question,
                       struct arena *arena, struct profile *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query;

	read_query_init(&query, &(struct read_query_context){
					.store = source->store,
					.tenant = str_of(source->tenant),
					.arena = arena,
					.instant = source->instant,
					.aliases = server_default(OPTION_ID_profile_type_alias),
					.now_unix_ns = clock_unix_ns(),
				});
	if (read_query_set_range(&query, question->start_unix_ns / NS_PER_MS,
	                         question->end_unix_ns / NS_PER_MS, err) < 0 ||
	    read_query_set_type(&query, question->type, err) < 0 ||
	    read_query_set_selector(&query, question->selector, err) < 0)
		return -1;
	return read_query_run_profile(&query, 0, NULL, out, err);
}

struct type_list {
	struct arena *arena;
	struct str *types;
	size_t count;
	size_t capacity;
};

static int add_type(void *context, const struct label_set *labels, struct error *err)
{
	struct type_list *list = context;
	const struct str *type = label_set_find(labels, STR("__profile_type__"));

	if (!type)
		return 0;
	for (size_t i = 0; i < list->count; i++)
		if (str_equal(list->types[i], *type))
			return 0;
	if (!ARENA_GROW(list->arena, list->types, list->count, list->capacity))
		return arena_error(list->arena, err);
	list->types[list->count] = arena_copy(list->arena, *type);
	return list->types[list->count++].data ? 0 : arena_error(list->arena, err);
}

static int types_local(struct profile_source *source, const struct profile_question *question,
                       struct arena *arena, struct str **out, size_t *out_count, struct error *err)
{
	CLEANUP(selector_fini) struct selector selector;
	struct type_list list = { .arena = arena };
	const struct store_query query = {
		.tenant = str_of(source->tenant),
		.selector = &selector,
		.range = { question->start_unix_ns, question->end_unix_ns },
		.arena = arena,
	};

	selector_init(&selector, arena);
	if (selector_parse(&selector, question->selector, err) < 0)
		return error_context(err, "parsing label selector \"%.*s\"",
		                     STR_ARGS(str_first(question->selector, 200)));
	if (store_series(source->store, &query, add_type, &list, err) < 0)
		return -1;
	*out = list.types;
	*out_count = list.count;
	return 0;
}

/* ---- either ---- */

int profile_source_merge(struct profile_source *source, const struct profile_question *question,
                         struct arena *arena, struct profile *out, struct error *err)
{
	return source->client ? merge_remote(source, question, arena, out, err)
	                      : merge_local(source, question, arena, out, err);
}

int profile_source_types(struct profile_source *source, const struct profile_question *question,
                         struct arena *arena, struct str **out, size_t *out_count,
                         struct error *err)
{
	struct str *types = NULL;
	size_t count = 0;

	if ((source->client ? types_remote : types_local)(source, question, arena, &types, &count,
	                                                  err) < 0)
		return -1;
	if (count > 0)
		qsort(types, count, sizeof(*types), compare_texts);
	*out = types;
	*out_count = count;
	return 0;
}
