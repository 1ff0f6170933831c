/*
 * driver_entries LIBRARY: whether probes on a CUDA driver's exported functions see every call.
 *
 * Runtimes ask cuGetProcAddress for their pointers. A pointer that is none of the exported
 * functions would lead around the probes: for each function of the table, in each version of
 * CUDA that changed a signature and for both kinds of default stream, the answer is compared
 * with dlsym(). Says also which names share one place and with which bytes a function begins,
 * which decides what a probe on it costs. Needs no GPU and no right.
 *
 * Exit status: 0, 1 when a pointer is not exported, 77 when there is no such library.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "collector/cuda_function.h"

#define API_NAME_BYTES 64
#define SHOWN_BYTES    8 /* of a function's beginning */
#define SKIPPED        77

typedef int (*get_proc_address)(const char *name, void **out, int version, uint64_t flags,
                                int *status);

static const int versions[] = { 2000,  2020,  3020,  4000,  4010,  5000,  6000,  6050,
	                        7000,  8000,  9000,  10000, 10020, 11000, 11010, 11020,
	                        11030, 11040, 11060, 11080, 12000, 12010, 12020, 12030,
	                        12040, 12050, 12060, 12080, 12090, 13000 };

static const uint64_t stream_flags[] = { 0, 2 }; /* legacy; one of each thread */

/* As runtimes ask for it: cuMemAlloc of cuMemAlloc_v2. */
static void api_name_of(const char *symbol, char out[API_NAME_BYTES])
{
	static const char *const suffixes[] = { "_ptsz", "_ptds", "_v2", "_v3", "_v4" };
	struct str name = str_of(symbol);

	for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++)
		if (str_ends_with(name, str_of(suffixes[i])))
			name.length -= strlen(suffixes[i]);
	(void)snprintf(out, API_NAME_BYTES, "%.*s", STR_ARGS(name));
}

/* The exported function at a place, or NULL. */
static const char *exported_at(void *library, const void *place)
{
	for (size_t i = 0; i < CUDA_FUNCTION_COUNT; i++)
		if (dlsym(library, cuda_function((enum cuda_function_id)i)->name) == place)
			return cuda_function((enum cuda_function_id)i)->name;
	return NULL;
}

static void show_exported(void *library, const char *name)
{
	const uint8_t *code = dlsym(library, name);
	const char *first;

	if (!code) {
		printf("%-34s not exported\n", name);
		return;
	}
	first = exported_at(library, code);
	printf("%-34s", name);
	for (size_t i = 0; i < SHOWN_BYTES; i++)
		printf(" %02x", code[i]);
	printf("%s%s\n", strcmp(first, name) == 0 ? "" : "  same place as ",
	       strcmp(first, name) == 0 ? "" : first);
}

/* Whether all pointers for one API name are exported ones; says which are not. */
static bool is_exported(void *library, get_proc_address ask, const char *api_name)
{
	bool is_fine = true;

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(stream_flags); j++) {
			void *place = NULL;

			if (ask(api_name, &place, versions[i], stream_flags[j], NULL) != 0 ||
			    !place || exported_at(library, place))
				continue;
			printf("%s of %d, flags %d: not an exported function of the table\n",
			       api_name, versions[i], (int)stream_flags[j]);
			is_fine = false;
		}
	}
	return is_fine;
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	get_proc_address ask;
	size_t wrong = 0;

	if (!library) {
		printf("skipped: driver_entries: no CUDA driver: %s\n", argc == 2 ? dlerror() : "");
		return SKIPPED;
	}
	*(void **)&ask = dlsym(library, "cuGetProcAddress_v2");
	for (size_t i = 0; i < CUDA_FUNCTION_COUNT; i++) {
		const char *name = cuda_function((enum cuda_function_id)i)->name;
		char api_name[API_NAME_BYTES];

		show_exported(library, name);
		api_name_of(name, api_name);
		if (ask)
			wrong += !is_exported(library, ask, api_name);
	}
	if (!ask)
		printf("no cuGetProcAddress_v2: runtimes of this driver take exported functions\n");
	return wrong > 0;
}
