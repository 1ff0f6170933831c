#include "server/command/gpu_oom_note.h"

#include "base/json.h"
#include "base/strbuf.h"

#define STACK_TEXT_MAX (size_t)(1UL * 1024 * 1024)

static int join_stack(const struct json *stack, struct arena *arena, struct str *out,
                      struct error *err)
{
	struct strbuf text;

	strbuf_init(&text, STACK_TEXT_MAX);
	for (size_t i = 0; i < json_length(stack); i++) {
		if (i > 0)
			strbuf_add_text(&text, " > ");
		strbuf_add_str(&text, json_text(json_at(stack, i)));
	}
	*out = arena_copy(arena, strbuf_view(&text));
	strbuf_fini(&text);
	return out->data ? 0 : arena_error(arena, err);
}

int gpu_oom_note_parse(struct str json, struct arena *arena, struct gpu_oom_note *out,
                       struct error *err)
{
	const struct json *answer = NULL;
	const struct json *events;
	const struct json *event;
	const struct json *labels;

	*out = (struct gpu_oom_note){ .any = false };
	if (json_parse(json, arena, &answer, err) < 0)
		return -1;
	events = json_get(answer, "events");
	if (json_kind(events) != JSON_LIST)
		return error_set(err, ERROR_INVALID, "the answer is no list of events");
	if (json_length(events) == 0)
		return 0;
	event = json_at(events, 0);
	labels = json_get(event, "labels");
	*out = (struct gpu_oom_note){
		.any = true,
		.time_ms = gpu_table_number(event, "time_ms"),
		.service = json_text(json_get(labels, "service_name")),
		.pid = json_text(json_get(labels, "pid")),
		.requested_bytes = gpu_table_number(event, "requested_bytes"),
		.live_bytes = gpu_table_number(event, "live_bytes"),
		.has_recovered = json_kind(json_get(event, "recovered")) == JSON_BOOL &&
		                 json_bool(json_get(event, "recovered")),
	};
	return join_stack(json_get(event, "stack"), arena, &out->stack, err);
}
