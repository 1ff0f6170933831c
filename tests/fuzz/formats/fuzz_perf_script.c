/*
 * Output of perf script of any bytes: as many lines as samples, each folded.
 */
#include <assert.h>
#include <stdint.h>

#include "formats/perf_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf folded;
	struct perf_script_counts counts;
	struct error err = { 0 };
	size_t lines = 0;
	struct str rest;
	struct str line;

	strbuf_init(&folded, (size_t)16 << 20);
	if (perf_script_fold(str_make(data, size), arena, &folded, &counts, &err) < 0)
		return 0;
	rest = strbuf_view(&folded);
	while (rest.length > 0 && str_split(&rest, '\n', &line)) {
		assert(str_ends_with(line, STR(" 1")));
		lines++;
	}
	assert(lines == counts.samples);
	return 0;
}
