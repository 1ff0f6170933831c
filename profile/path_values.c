#include "profile/path_values.h"

#include <string.h>

#define WORDS (PATH_VALUES_CHUNK / 64)

bool path_values_reserve(struct path_values *values, uint32_t count)
{
	const size_t wanted = ((size_t)count + PATH_VALUES_CHUNK - 1) >> PATH_VALUES_BITS;
	struct path_values_chunk **chunks;

	if (wanted <= values->capacity)
		return true;
	chunks = arena_array(values->arena, wanted, sizeof(*chunks));
	if (!chunks)
		return false;
	if (values->capacity > 0)
		memcpy(chunks, values->chunks, values->capacity * sizeof(*chunks));
	values->chunks = chunks;
	values->capacity = wanted;
	return true;
}

struct path_values_chunk *path_values_make_chunk(struct path_values *values, uint32_t path)
{
	struct path_values_chunk **chunk = &values->chunks[path >> PATH_VALUES_BITS];

	*chunk = arena_alloc(values->arena, sizeof(**chunk));
	return *chunk;
}

bool path_values_copy(struct path_values *values, const struct path_values *from)
{
	if (!path_values_reserve(values, (uint32_t)(from->capacity << PATH_VALUES_BITS)))
		return false;
	for (size_t i = 0; i < from->capacity; i++) {
		if (!from->chunks[i])
			continue;
		values->chunks[i] = arena_alloc_raw(values->arena, sizeof(**values->chunks));
		if (!values->chunks[i])
			return false;
		*values->chunks[i] = *from->chunks[i];
	}
	return true;
}

void path_values_clear(struct path_values *values)
{
	for (size_t i = 0; i < values->capacity; i++)
		if (values->chunks[i])
			memset(values->chunks[i], 0, sizeof(**values->chunks));
}

/* Whether a chunk may have a mark; the words of another one are passed over together. */
static uint64_t word_at(const struct path_values *values, size_t word)
{
	const struct path_values_chunk *chunk = values->chunks[word / WORDS];

	return chunk ? chunk->marks[word % WORDS] : 0;
}

uint32_t path_values_next(const struct path_values *values, uint32_t path)
{
	const size_t end = values->capacity * WORDS;
	size_t word = ((size_t)path + 1) >> 6;
	uint64_t bits;

	if (word >= end)
		return PATH_NONE;
	bits = word_at(values, word) & ~UINT64_C(0) << ((path + 1) & 63);
	while (bits == 0) {
		word = values->chunks[word / WORDS] ? word + 1 : (word / WORDS + 1) * WORDS;
		if (word >= end)
			return PATH_NONE;
		bits = word_at(values, word);
	}
	return (uint32_t)(word << 6) + (uint32_t)__builtin_ctzll(bits);
}

uint32_t path_values_previous(const struct path_values *values, uint32_t path)
{
	size_t word = path >> 6;
	uint64_t bits;

	if (word >= values->capacity * WORDS) {
		if (values->capacity == 0)
			return PATH_NONE;
		word = values->capacity * WORDS - 1;
		bits = word_at(values, word);
	} else {
		bits = word_at(values, word) & ((UINT64_C(1) << (path & 63)) - 1);
	}
	while (bits == 0) {
		if (!values->chunks[word / WORDS])
			word = word / WORDS * WORDS;
		if (word-- == 0)
			return PATH_NONE;
		bits = word_at(values, word);
	}
	return (uint32_t)(word << 6) + 63 - (uint32_t)__builtin_clzll(bits);
}

size_t path_values_count(const struct path_values *values)
{
	size_t count = 0;

	for (size_t i = 0; i < values->capacity; i++)
		for (size_t j = 0; values->chunks[i] && j < WORDS; j++)
			count += (size_t)__builtin_popcountll(values->chunks[i]->marks[j]);
	return count;
}
