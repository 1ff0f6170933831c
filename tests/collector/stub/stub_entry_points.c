/*
 * cuGetProcAddress: from an API name to the newest exported symbol of it, as runtimes ask.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/collector/stub/stub_driver.h"
#include "tests/collector/stub/stub_memory.h"

#define FLAG_PER_THREAD  2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
#define STATUS_FOUND     0
#define STATUS_NOT_FOUND 1
#define SYMBOL_BYTES     128

EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                               int *status)
{
	const char *const suffixes[] = { flags & FLAG_PER_THREAD ? "_ptsz" : "_v3", "_v2", "" };

	(void)version;
	*out = NULL;
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
