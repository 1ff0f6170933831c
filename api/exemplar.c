#include "api/exemplar.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/wire.h"

void exemplar_of_profile(const struct time_series_exemplar *from, struct exemplar *out)
{
	*out = (struct exemplar){
		.time_ms = from->time_ms,
		.value = from->value,
		.labels = &from->labels,
	};
	uuid_format(&from->profile_id, out->profile_id);
}

void exemplar_of_cell(const struct heatmap_exemplar *from, struct exemplar *out)
{
	static const struct trace_id none = { { 0 } };

	*out = (struct exemplar){
		.time_ms = from->time_ms,
		.value = from->value,
		.labels = &from->labels,
	};
	if (from->span_id == 0) {
		uuid_format(&from->profile_id, out->profile_id);
		return;
	}
	(void)snprintf(out->span_id, sizeof(out->span_id), "%016" PRIx64, from->span_id);
	if (memcmp(&from->trace_id, &none, sizeof(none)) != 0)
		hex_encode(from->trace_id.bytes, TRACE_ID_SIZE, out->trace_id);
}

static void put_text_proto(struct strbuf *out, uint32_t field, const char *text)
{
	if (text[0] != '\0')
		wire_put_bytes(out, field, str_of(text));
}

void exemplar_put_proto(const struct exemplar *exemplar, struct strbuf *out)
{
	const size_t message = wire_begin(out, 4);

	if (exemplar->time_ms != 0)
		wire_put_uint(out, 1, (uint64_t)exemplar->time_ms);
	put_text_proto(out, 2, exemplar->profile_id);
	put_text_proto(out, 3, exemplar->span_id);
	if (exemplar->value != 0)
		wire_put_uint(out, 4, (uint64_t)exemplar->value);
	labels_put_proto(exemplar->labels, 5, out);
	put_text_proto(out, 6, exemplar->trace_id);
	wire_end(out, message);
}

static void put_text_json(struct json_writer *writer, const char *name, struct str text)
{
	if (text.length == 0)
		return;
	json_key(writer, name);
	json_put_text(writer, text);
}

void exemplar_put_json(const struct exemplar *exemplar, struct json_writer *writer)
{
	json_begin_map(writer);
	if (exemplar->time_ms != 0) {
		json_key(writer, "timestamp");
		json_put_int_text(writer, exemplar->time_ms);
	}
	put_text_json(writer, "profileId", str_of(exemplar->profile_id));
	put_text_json(writer, "spanId", str_of(exemplar->span_id));
	if (exemplar->value != 0) {
		json_key(writer, "value");
		json_put_int_text(writer, exemplar->value);
	}
	labels_put_json(exemplar->labels, writer);
	put_text_json(writer, "traceId", str_of(exemplar->trace_id));
	json_end_map(writer);
}

void labels_put_proto(const struct label_set *labels, uint32_t field, struct strbuf *out)
{
	for (size_t i = 0; i < labels->count; i++) {
		const size_t message = wire_begin(out, field);

		if (labels->labels[i].name.length > 0)
			wire_put_bytes(out, 1, labels->labels[i].name);
		if (labels->labels[i].value.length > 0)
			wire_put_bytes(out, 2, labels->labels[i].value);
		wire_end(out, message);
	}
}

void labels_put_json(const struct label_set *labels, struct json_writer *writer)
{
	if (labels->count == 0)
		return;
	json_key(writer, "labels");
	json_begin_list(writer);
	for (size_t i = 0; i < labels->count; i++) {
		json_begin_map(writer);
		put_text_json(writer, "name", labels->labels[i].name);
		put_text_json(writer, "value", labels->labels[i].value);
		json_end_map(writer);
	}
	json_end_list(writer);
}
