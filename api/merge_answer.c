#include "api/merge_answer.h"

#include "api/profile_json.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "profile/pprof.h"

/*
 * Fields of querier.v1.SelectMergeStacktracesResponse; the others have them in the same
 * place.
 */
enum answer_field {
	ANSWER_FLAMEGRAPH = 1,
	ANSWER_TREE = 2,
	ANSWER_DOT = 3,
	ANSWER_PPROF = 5,
};

static void put_nonzero(struct strbuf *out, uint32_t field, int64_t value)
{
	if (value != 0)
		wire_put_uint(out, field, (uint64_t)value);
}

static void put_graph_proto(const struct flame_graph *graph, struct arena *arena,
                            struct strbuf *out)
{
	const size_t message = wire_begin(out, ANSWER_FLAMEGRAPH);

	for (size_t i = 0; i < graph->name_count; i++)
		wire_put_bytes(out, 1, utf8_repair(arena, graph->names[i]));
	for (size_t i = 0; i < graph->level_count; i++) {
		const struct flame_level *level = &graph->levels[i];
		const size_t inner = wire_begin(out, 2);
		const size_t values = wire_begin(out, 1);

		for (size_t j = 0; j < level->count; j++)
			wire_put_varint(out, (uint64_t)level->values[j]);
		wire_end(out, values);
		wire_end(out, inner);
	}
	put_nonzero(out, 3, graph->total);
	put_nonzero(out, 4, graph->max_self);
	if (graph->is_diff) {
		put_nonzero(out, 5, graph->left_ticks);
		put_nonzero(out, 6, graph->right_ticks);
	}
	wire_end(out, message);
}

static void put_int_text(struct json_writer *writer, const char *name, int64_t value)
{
	if (value == 0)
		return;
	json_key(writer, name);
	json_put_int_text(writer, value);
}

static void put_graph_json(const struct flame_graph *graph, struct json_writer *writer)
{
	json_key(writer, "flamegraph");
	json_begin_map(writer);
	json_key(writer, "names");
	json_begin_list(writer);
	for (size_t i = 0; i < graph->name_count; i++)
		json_put_text(writer, graph->names[i]);
	json_end_list(writer);
	json_key(writer, "levels");
	json_begin_list(writer);
	for (size_t i = 0; i < graph->level_count; i++) {
		json_begin_map(writer);
		json_key(writer, "values");
		json_begin_list(writer);
		for (size_t j = 0; j < graph->levels[i].count; j++)
			json_put_int_text(writer, graph->levels[i].values[j]);
		json_end_list(writer);
		json_end_map(writer);
	}
	json_end_list(writer);
	put_int_text(writer, "total", graph->total);
	put_int_text(writer, "maxSelf", graph->max_self);
	if (graph->is_diff) {
		put_int_text(writer, "leftTicks", graph->left_ticks);
		put_int_text(writer, "rightTicks", graph->right_ticks);
	}
	json_end_map(writer);
}

void merge_answer_graph(const struct connect_call *call, const struct flame_graph *graph,
                        struct arena *arena, struct http_response *response)
{
	struct json_writer writer;

	if (call->codec == CONNECT_PROTO) {
		put_graph_proto(graph, arena, &response->body);
	} else {
		json_writer_init(&writer, &response->body);
		json_begin_map(&writer);
		put_graph_json(graph, &writer);
		json_end_map(&writer);
	}
	connect_reply(call, response);
}

void merge_answer_tree(const struct connect_call *call, struct str tree,
                       struct http_response *response)
{
	struct strbuf *body = &response->body;

	if (call->codec == CONNECT_PROTO) {
		if (tree.length > 0)
			wire_put_bytes(body, ANSWER_TREE, tree);
	} else if (tree.length > 0) {
		/* base64 needs no escapes */
		strbuf_add_str(body, STR("{\"tree\":\""));
		base64_encode(tree, body);
		strbuf_add_str(body, STR("\"}"));
	} else {
		strbuf_add_str(body, STR("{}"));
	}
	connect_reply(call, response);
}

void merge_answer_dot(const struct connect_call *call, struct str dot,
                      struct http_response *response)
{
	struct json_writer writer;

	if (call->codec == CONNECT_PROTO) {
		if (dot.length > 0)
			wire_put_bytes(&response->body, ANSWER_DOT, dot);
	} else {
		json_writer_init(&writer, &response->body);
		json_begin_map(&writer);
		if (dot.length > 0) {
			json_key(&writer, "dot");
			json_put_text(&writer, dot);
		}
		json_end_map(&writer);
	}
	connect_reply(call, response);
}

/*
 * Strings as protobuf's readers accept them. Those that do not fit any more stay as they
 * are.
 */
static void repair_strings(struct profile *profile)
{
	for (size_t i = 0; i < profile->string_count; i++) {
		const struct str repaired = utf8_repair(profile->arena, profile->strings[i]);

		if (repaired.data)
			profile->strings[i] = repaired;
	}
}

static void put_profile(const struct connect_call *call, struct profile *profile,
                        struct http_response *response)
{
	struct json_writer writer;

	if (call->codec == CONNECT_PROTO) {
		if (profile->sample_count == 0)
			return;
		repair_strings(profile);
		pprof_write(profile, &response->body);
	} else if (profile->sample_count == 0) {
		strbuf_add_str(&response->body, STR("{}"));
	} else {
		json_writer_init(&writer, &response->body);
		profile_json_write(profile, &writer);
	}
}

void merge_answer_pprof(const struct connect_call *call, struct profile *profile,
                        struct http_response *response)
{
	struct strbuf *body = &response->body;

	if (call->codec == CONNECT_PROTO) {
		const size_t outer = wire_begin(body, ANSWER_PPROF);
		const size_t inner = wire_begin(body, 1);

		put_profile(call, profile, response);
		wire_end(body, inner);
		wire_end(body, outer);
	} else {
		strbuf_add_str(body, STR("{\"pprof\":{\"profile\":"));
		put_profile(call, profile, response);
		strbuf_add_str(body, STR("}}"));
	}
	connect_reply(call, response);
}

void merge_answer_profile(const struct connect_call *call, struct profile *profile,
                          struct http_response *response)
{
	put_profile(call, profile, response);
	connect_reply(call, response);
}
