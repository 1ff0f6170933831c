#include "profile/column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

#define FIRST_DIRECTORY 16

struct column_directory {
	struct column_directory *older;
	uint32_t capacity;
	void *chunks[];
};

void column_init(struct column *column, size_t entry_size)
{
	*column = (struct column){ .entry_size = entry_size };
}

void column_fini(struct column *column)
{
	void **chunks = column_chunks(column);

	for (uint32_t i = 0; i < column->chunk_count; i++)
		(void)munmap(chunks[i], column->entry_size * SYMBOLS_CHUNK);
	while (column->directories) {
		struct column_directory *older = column->directories->older;

		free(column->directories);
		column->directories = older;
	}
	column_init(column, column->entry_size);
}

/* Mapped, so that it is zero and only pages that are written take memory. */
static void *chunk_new(size_t size)
{
	void *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED) {
		(void)fputs("vramscope: out of memory\n", stderr);
		abort();
	}
	return chunk;
}

static void grow_directory(struct column *column)
{
	struct column_directory *old = column->directories;
	const uint32_t capacity = old ? old->capacity * 2 : FIRST_DIRECTORY;
	struct column_directory *grown =
		mem_zalloc(1, sizeof(*grown) + capacity * sizeof(grown->chunks[0]));

	grown->capacity = capacity;
	grown->older = old;
	if (old)
		memcpy((void *)grown->chunks, (const void *)old->chunks,
		       column->chunk_count * sizeof(grown->chunks[0]));
	column->directories = grown;
	atomic_store_explicit(&column->chunks, grown->chunks, memory_order_release);
}

void *column_add(struct column *column, uint32_t id)
{
	const uint32_t chunk = id >> SYMBOLS_CHUNK_BITS;
	void **chunks;

	if (chunk == column->chunk_count) {
		if (!column->directories || column->chunk_count == column->directories->capacity)
			grow_directory(column);
		column->directories->chunks[column->chunk_count++] =
			chunk_new(column->entry_size * SYMBOLS_CHUNK);
	}
	chunks = column->directories->chunks;
	return (char *)chunks[chunk] + column->entry_size * (id & (SYMBOLS_CHUNK - 1));
}
