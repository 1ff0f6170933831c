#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_stop(void *memory, size_t count, size_t size)
{
	if (memory)
		return memory;
	(void)fprintf(stderr, "vramscope: out of memory asking for %zu times %zu bytes\n", count,
	              size);
	abort();
}

void *mem_zalloc(size_t count, size_t size)
{
	return or_stop(calloc(count ? count : 1, size ? size : 1), count, size);
}

void *mem_resize(void *old, size_t count, size_t size)
{
	/* reallocarray of zero bytes may free and return NULL */
	return or_stop(reallocarray(old, count ? count : 1, size ? size : 1), count, size);
}

char *mem_strdup(const char *text)
{
	return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t length)
{
	char *copy = mem_zalloc(length + 1, 1);

	if (length > 0)
		memcpy(copy, text, length);
	return copy;
}

void mem_freep(void *pointer_to_pointer)
{
	void **p = pointer_to_pointer;

	free(*p);
	*p = NULL;
}
