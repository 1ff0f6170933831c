/*
 * A list of pods in pieces of any size: what comes out does not depend on them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "collector/identity/object_list.h"
#include "collector/identity/pod_record.h"

struct seen {
	uint64_t objects; /* all of their bytes */
	size_t count;
};

static void check_text(const struct label_text *label)
{
	if (!memchr(label->text, '\0', sizeof(label->text)) || !utf8_is_valid(str_of(label->text)))
		abort();
}

static void note(void *context, struct str object)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)8 << 20, NULL);
	struct seen *seen = context;
	const struct json *pod;
	struct pod_record record;
	struct error err;

	seen->objects = hash64(seen->objects, object.data, object.length);
	seen->count++;
	if (json_parse(object, arena, &pod, &err) < 0 || pod_record_decode(pod, &record, &err) < 0)
		return;
	check_text(&record.name);
	check_text(&record.pod_namespace);
	check_text(&record.app);
	check_text(&record.owner_kind);
	check_text(&record.owner_name);
	if (record.container_count > POD_CONTAINERS_MAX)
		abort();
	pod_record_fini(&record);
}

/* Whether it was a list; what was in it goes to *out. */
static int take(const uint8_t *data, size_t size, size_t step, struct seen *out,
                uint64_t *out_around)
{
	struct object_list list;
	struct str around;
	struct error err;
	int result = 0;

	*out = (struct seen){ 0 };
	object_list_init(&list, note, out);
	for (size_t at = 0; at < size && result == 0; at += step)
		result = object_list_take(
			&list, str_make(data + at, size - at < step ? size - at : step), &err);
	if (result == 0)
		result = object_list_end(&list, &around, &err);
	if (result == 0)
		*out_around = hash64(0, around.data, around.length);
	object_list_fini(&list);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t around[2] = { 0, 0 };
	struct seen seen[2];
	const int whole = take(data, size, size + 1, &seen[0], &around[0]);
	const int pieces = take(data, size, 3, &seen[1], &around[1]);

	if (whole != pieces || around[0] != around[1] || seen[0].objects != seen[1].objects ||
	    seen[0].count != seen[1].count)
		abort();
	return 0;
}
