/*
 * Bytes as the JSON of a request: what reads is written and reads the same again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/proto_json.h"
#include "base/cleanup.h"
#include "proto/querier.pb-c.h"
#include "proto/settings.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const messages[] = {
	&querier__v1__select_merge_stacktraces_request__descriptor,
	&querier__v1__select_series_request__descriptor,
	&querier__v1__diff_request__descriptor,
	&types__v1__label_values_request__descriptor,
	&settings__v1__set_settings_request__descriptor,
	&querier__v1__select_merge_stacktraces_response__descriptor,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct strbuf first;
		struct strbuf second;
		ProtobufCMessage *message;
		struct error err;

		if (proto_json_read(str_make(data, size), messages[i], arena, &message, &err) < 0)
			continue;
		strbuf_init(&first, (size_t)16 << 20);
		strbuf_init(&second, (size_t)16 << 20);
		proto_json_write(message, &first);
		if (proto_json_read(strbuf_view(&first), messages[i], arena, &message, &err) < 0)
			abort();
		proto_json_write(message, &second);
		assert(str_equal(strbuf_view(&first), strbuf_view(&second)));
		strbuf_fini(&first);
		strbuf_fini(&second);
	}
	return 0;
}
