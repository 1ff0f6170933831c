/*
 * cuGetProcAddress: from an API name to the newest exported symbol of it, as runtimes ask.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/collector/stub/stub_driver.h"
#include "tests/collector/stub/stub_memory.h"

#define FLAG_PER_THREAD  2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
#define STATUS_FOUND     0
#define STATUS_NOT_FOUND 1
#define SYMBOL_BYTES     128

/* What no driver is known to have: a second way into a function, behind its symbol. */
static int hidden_entry(void)
{
	return STUB_NOT_FOUND;
}

static bool is_hidden(const char *name)
{
	const char *hidden =
		getenv("STUB_HIDDEN_ENTRY"); /* NOLINT(concurrency-mt-unsafe): nobody sets any */

	return hidden && strcmp(hidden, name) == 0;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                               int *status)
{
	const char *const suffixes[] = { flags & FLAG_PER_THREAD ? "_ptsz" : "_v3", "_v2", "" };

	(void)version;
	*out = is_hidden(name) ? (void *)hidden_entry : NULL;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && name[0] && !*out; i++) {
		char symbol[SYMBOL_BYTES];

		(void)snprintf(symbol, sizeof(symbol), "%s%s", name, suffixes[i]);
		*out = dlsym(RTLD_DEFAULT, symbol);
	}
	if (status)
		*status = *out ? STATUS_FOUND : STATUS_NOT_FOUND;
	return *out ? STUB_SUCCESS : STUB_NOT_FOUND;
}

EXPORT int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
