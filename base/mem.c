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

/* Writes to all pages of a mapping from an offset on. */
static void touch(char *bytes, size_t from, size_t end)
{
	/* advice only: where it is not taken the pages are small */
	(void)madvise(bytes, end, MADV_HUGEPAGE);
	for (size_t at = from; at < end; at += SMALL_PAGE)
		((volatile char *)bytes)[at] = 0;
}

void *mem_table(size_t count, size_t size)
{
	size_t bytes;
	void *table;

	if (__builtin_mul_overflow(count, size, &bytes))
		(void)or_stop(NULL, count, size);
	if (bytes < HUGE_PAGE)
		return mem_zalloc(count, size);
	table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)or_stop(table == MAP_FAILED ? NULL : table, count, size);
	touch(table, 0, bytes);
	return table;
}

void mem_table_free(void *table, size_t count, size_t size)
{
	if (count * size < HUGE_PAGE)
		free(table);
	else if (table)
		(void)munmap(table, count * size);
}

void *mem_table_grow(void *table, size_t old_count, size_t count, size_t size)
{
	const size_t old_bytes = old_count * size;
	void *grown;

	if (old_bytes < HUGE_PAGE) {
		grown = mem_table(count, size);
		if (old_bytes > 0)
			memcpy(grown, table, old_bytes);
		mem_table_free(table, old_count, size);
		return grown;
	}
	if (count > SIZE_MAX / size)
		(void)or_stop(NULL, count, size);
	grown = mremap(table, old_bytes, count * size, MREMAP_MAYMOVE);
	(void)or_stop(grown == MAP_FAILED ? NULL : grown, count, size);
	/* what is behind the old end in its last page is zero already */
	touch(grown, (old_bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE, count * size);
	return grown;
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
