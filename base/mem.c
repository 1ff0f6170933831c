#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL_PAGE ((size_t)4 << 10) /* of x86-64, as the next one */
#define HUGE_PAGE  ((size_t)2 << 20)

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

void *mem_table(size_t count, size_t size)
{
	size_t bytes;
	char *table;

	if (__builtin_mul_overflow(count, size, &bytes))
		(void)or_stop(NULL, count, size);
	if (bytes < HUGE_PAGE)
		return mem_zalloc(count, size);
	table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)or_stop(table == MAP_FAILED ? NULL : table, count, size);
	/* advice only: where it is not taken the pages are small */
	(void)madvise(table, bytes, MADV_HUGEPAGE);
	for (size_t at = 0; at < bytes; at += SMALL_PAGE)
		((volatile char *)table)[at] = 0;
	return table;
}

void mem_table_free(void *table, size_t count, size_t size)
{
	if (count * size < HUGE_PAGE)
		free(table);
	else if (table)
		(void)munmap(table, count * size);
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
