/*
 * push.v1.PushRequest from any bytes: everything is a view into them.
 */
#include <assert.h>

#include "formats/push_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(struct str view, const uint8_t *data, size_t size)
{
	const uint8_t *at = (const uint8_t *)view.data;

	if (view.length > 0)
		assert(at >= data && at + view.length <= data + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct push_request request;
	struct error err = { 0 };
	size_t samples = 0;

	if (push_request_decode(str_make(data, size), arena, &request, &err) < 0)
		return 0;
	for (size_t i = 0; i < request.series_count; i++) {
		const struct push_series *series = &request.series[i];

		for (size_t label = 0; label < series->labels.count; label++) {
			check_view(series->labels.labels[label].name, data, size);
			check_view(series->labels.labels[label].value, data, size);
		}
		for (size_t sample = 0; sample < series->sample_count; sample++) {
			check_view(series->samples[sample].raw_profile, data, size);
			check_view(series->samples[sample].id, data, size);
		}
		samples += series->sample_count;
	}
	assert(samples == request.sample_count);
	return 0;
}
