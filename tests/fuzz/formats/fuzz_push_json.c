/*
 * A push request from any text; what is one reads back equal from protobuf.
 */
#include <assert.h>

#include "base/wire.h"
#include "formats/push_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct push_request *request, struct strbuf *out)
{
	for (size_t i = 0; i < request->series_count; i++) {
		const struct push_series *series = &request->series[i];
		const size_t begun = wire_begin(out, 1);

		for (size_t label = 0; label < series->labels.count; label++) {
			const size_t pair = wire_begin(out, 1);

			wire_put_bytes(out, 1, series->labels.labels[label].name);
			wire_put_bytes(out, 2, series->labels.labels[label].value);
			wire_end(out, pair);
		}
		for (size_t sample = 0; sample < series->sample_count; sample++) {
			const size_t pair = wire_begin(out, 2);

			wire_put_bytes(out, 1, series->samples[sample].raw_profile);
			wire_put_bytes(out, 2, series->samples[sample].id);
			wire_end(out, pair);
		}
		wire_end(out, begun);
	}
}

static void check_equal(const struct push_request *a, const struct push_request *b)
{
	assert(a->series_count == b->series_count && a->sample_count == b->sample_count);
	for (size_t i = 0; i < a->series_count; i++) {
		assert(label_set_compare(&a->series[i].labels, &b->series[i].labels) == 0);
		assert(a->series[i].sample_count == b->series[i].sample_count);
		for (size_t sample = 0; sample < a->series[i].sample_count; sample++)
			assert(str_equal(a->series[i].samples[sample].raw_profile,
			                 b->series[i].samples[sample].raw_profile));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct push_request request;
	struct push_request again;
	struct error err = { 0 };

	strbuf_init(&message, (size_t)16 << 20);
	if (push_request_parse(str_make(data, size), arena, &request, &err) < 0)
		return 0;
	encode(&request, &message);
	assert(push_request_decode(strbuf_view(&message), arena, &again, &err) == 0);
	check_equal(&request, &again);
	return 0;
}
