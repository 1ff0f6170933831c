#include "api/series_answer.h"

#include "api/exemplar.h"
#include "base/json.h"
#include "base/wire.h"

/* ---- protobuf ---- */

static void put_point_proto(const struct time_series_point *point, struct strbuf *out)
{
	const size_t message = wire_begin(out, 2);

	if (point->value != 0)
		wire_put_double(out, 1, point->value);
	if (point->time_ms != 0)
		wire_put_uint(out, 2, (uint64_t)point->time_ms);
	if (point->exemplar) {
		struct exemplar exemplar;

		exemplar_of_profile(point->exemplar, &exemplar);
		exemplar_put_proto(&exemplar, out);
	}
	wire_end(out, message);
}

static void put_series_proto(const struct time_series_result *result, struct strbuf *out)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct time_series_group *group = &result->groups[i];
		const size_t message = wire_begin(out, 1);

		labels_put_proto(&group->labels, 1, out);
		for (size_t j = 0; j < group->point_count; j++)
			put_point_proto(&group->points[j], out);
		wire_end(out, message);
	}
}

static void put_slot_proto(const struct heatmap_slot *slot, struct strbuf *out)
{
	const size_t message = wire_begin(out, 2);
	size_t packed;

	if (slot->time_ms != 0)
		wire_put_uint(out, 1, (uint64_t)slot->time_ms);
	wire_put_bytes(out, 2, str_make(slot->y_min, HEATMAP_BUCKETS * sizeof(*slot->y_min)));
	packed = wire_begin(out, 3);
	for (size_t i = 0; i < HEATMAP_BUCKETS; i++)
		wire_put_varint(out, (uint64_t)slot->counts[i]);
	wire_end(out, packed);
	for (size_t i = 0; i < slot->exemplar_count; i++) {
		struct exemplar exemplar;

		exemplar_of_cell(&slot->exemplars[i], &exemplar);
		exemplar_put_proto(&exemplar, out);
	}
	wire_end(out, message);
}

static void put_heatmap_proto(const struct heatmap_result *result, struct strbuf *out)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct heatmap_group *group = &result->groups[i];
		const size_t message = wire_begin(out, 1);

		labels_put_proto(&group->labels, 1, out);
		for (size_t j = 0; j < group->slot_count; j++)
			put_slot_proto(&group->slots[j], out);
		wire_end(out, message);
	}
}

/* ---- JSON ---- */

static void put_timestamp(int64_t time_ms, struct json_writer *writer)
{
	if (time_ms == 0)
		return;
	json_key(writer, "timestamp");
	json_put_int_text(writer, time_ms);
}

static void put_point_json(const struct time_series_point *point, struct json_writer *writer)
{
	json_begin_map(writer);
	if (point->value != 0) {
		json_key(writer, "value");
		json_put_double(writer, point->value);
	}
	put_timestamp(point->time_ms, writer);
	if (point->exemplar) {
		struct exemplar exemplar;

		exemplar_of_profile(point->exemplar, &exemplar);
		json_key(writer, "exemplars");
		json_begin_list(writer);
		exemplar_put_json(&exemplar, writer);
		json_end_list(writer);
	}
	json_end_map(writer);
}

static void put_series_json(const struct time_series_result *result, struct json_writer *writer)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct time_series_group *group = &result->groups[i];

		json_begin_map(writer);
		labels_put_json(&group->labels, writer);
		json_key(writer, "points");
		json_begin_list(writer);
		for (size_t j = 0; j < group->point_count; j++)
			put_point_json(&group->points[j], writer);
		json_end_list(writer);
		json_end_map(writer);
	}
}

static void put_slot_json(const struct heatmap_slot *slot, struct json_writer *writer)
{
	json_begin_map(writer);
	put_timestamp(slot->time_ms, writer);
	json_key(writer, "yMin");
	json_begin_list(writer);
	for (size_t i = 0; i < HEATMAP_BUCKETS; i++)
		json_put_double(writer, slot->y_min[i]);
	json_end_list(writer);
	json_key(writer, "counts");
	json_begin_list(writer);
	for (size_t i = 0; i < HEATMAP_BUCKETS; i++)
		json_put_int(writer, slot->counts[i]);
	json_end_list(writer);
	if (slot->exemplar_count > 0) {
		json_key(writer, "exemplars");
		json_begin_list(writer);
		for (size_t i = 0; i < slot->exemplar_count; i++) {
			struct exemplar exemplar;

			exemplar_of_cell(&slot->exemplars[i], &exemplar);
			exemplar_put_json(&exemplar, writer);
		}
		json_end_list(writer);
	}
	json_end_map(writer);
}

static void put_heatmap_json(const struct heatmap_result *result, struct json_writer *writer)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct heatmap_group *group = &result->groups[i];

		json_begin_map(writer);
		labels_put_json(&group->labels, writer);
		json_key(writer, "slots");
		json_begin_list(writer);
		for (size_t j = 0; j < group->slot_count; j++)
			put_slot_json(&group->slots[j], writer);
		json_end_list(writer);
		json_end_map(writer);
	}
}

/* {"series":[ ... ]}, or {} when there is none. */
static void begin_answer(struct json_writer *writer, size_t count, struct strbuf *out)
{
	json_writer_init(writer, out);
	json_begin_map(writer);
	if (count > 0) {
		json_key(writer, "series");
		json_begin_list(writer);
	}
}

static void end_answer(struct json_writer *writer, size_t count)
{
	if (count > 0)
		json_end_list(writer);
	json_end_map(writer);
}

void series_answer(const struct connect_call *call, const struct time_series_result *result,
                   struct http_response *response)
{
	struct json_writer writer;

	if (call->codec == CONNECT_PROTO) {
		put_series_proto(result, &response->body);
	} else {
		begin_answer(&writer, result->count, &response->body);
		put_series_json(result, &writer);
		end_answer(&writer, result->count);
	}
	connect_reply(call, response);
}

void heatmap_answer(const struct connect_call *call, const struct heatmap_result *result,
                    struct http_response *response)
{
	struct json_writer writer;

	if (call->codec == CONNECT_PROTO) {
		put_heatmap_proto(result, &response->body);
	} else {
		begin_answer(&writer, result->count, &response->body);
		put_heatmap_json(result, &writer);
		end_answer(&writer, result->count);
	}
	connect_reply(call, response);
}
