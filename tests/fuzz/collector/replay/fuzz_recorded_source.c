/*
 * Replays a recording at once into handlers that look into each process.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/elf/module.h"
#include "collector/identity/process_identity.h"
#include "collector/replay/recorded_source.h"
#include "collector/unwind/process_view.h"

#define DRAIN_EVENTS 100
#define MEMORY_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct looking {
	struct event_source source;
	struct module_cache *modules;
};

static void look(const struct looking *looking, uint32_t tgid, const struct mapped_file *file)
{
	struct process_identity identity;
	struct process_view view;
	struct module *module;
	struct error err = { 0 };
	uint8_t memory[MEMORY_BYTES];
	struct strbuf maps;

	looking->source.identify(looking->source.context, tgid, "", &identity);
	assert(memchr(identity.service_name.text, '\0', sizeof(identity.service_name.text)));
	if (identity.is_late)
		(void)looking->source.settle(looking->source.context, tgid, &identity);
	if (looking->source.open_process(looking->source.context, tgid, &view, &err) < 0)
		return;
	strbuf_init(&maps, PROCESS_MAPS_MAX);
	(void)view.read_maps(view.context, &maps, &err);
	assert(view.read_memory(view.context, 8, memory, sizeof(memory)) <= sizeof(memory));
	if (file && view.open_module(view.context, looking->modules, file, &module, &err) == 0)
		module_unref(module);
	process_view_close(&view);
	strbuf_fini(&maps);
}

static void take_event(void *context, const struct cuda_event *event, size_t size)
{
	assert(size >= sizeof(*event));
	look(context, event->tgid, NULL);
}

static void take_definition(void *context, const struct code_definition *definition)
{
	look(context, definition->tgid, NULL);
}

static void take_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	look(context, tgid, file);
}

static void take_other(void *context, uint32_t tgid)
{
	look(context, tgid, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct looking looking = { .modules = NULL };
	const struct event_handlers handlers = { take_event, take_definition, take_mapped,
		                                 take_other, take_other,      &looking };
	enum event_source_state state = EVENT_SOURCE_MORE;
	struct error err = { 0 };

	if (recorded_source_open_bytes(str_make(data, size), RECORDED_AT_ONCE, &looking.source,
	                               &err) < 0)
		return 0;
	looking.modules = module_cache_new((size_t)1 << 20);
	while (state == EVENT_SOURCE_MORE)
		if (looking.source.drain(looking.source.context, &handlers, DRAIN_EVENTS, &state,
		                         &err) < 0)
			break;
	looking.source.close(looking.source.context);
	module_cache_free(looking.modules);
	return 0;
}
