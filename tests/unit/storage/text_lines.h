/*
 * Answers as lines of text: gathered in any order, compared when they are sorted.
 */
#pragma once

#include "tests/unit/storage/store_fixture.h"

struct lines {
	char **lines;
	size_t count;
	size_t capacity;
};

static inline void lines_add(struct lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void lines_add(struct lines *lines, const char *format, ...)
{
	char line[256];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(line, sizeof(line), format, values);
	va_end(values);
	if (lines->count == lines->capacity) {
		lines->capacity = lines->capacity ? 2 * lines->capacity : 64;
		lines->lines = realloc(lines->lines, lines->capacity * sizeof(*lines->lines));
		assert_non_null(lines->lines);
	}
	lines->lines[lines->count++] = strdup(line);
}

static inline int lines_order(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static inline void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->lines[i]);
	free(lines->lines);
	*lines = (struct lines){ 0 };
}

/* Both are the same but for their order; then they are gone. */
static inline void lines_compare(const char *what, struct lines *expected, struct lines *found)
{
	if (expected->count > 1)
		qsort(expected->lines, expected->count, sizeof(*expected->lines), lines_order);
	if (found->count > 1)
		qsort(found->lines, found->count, sizeof(*found->lines), lines_order);
	for (size_t i = 0; i < expected->count || i < found->count; i++) {
		const char *a = i < expected->count ? expected->lines[i] : "(nothing)";
		const char *b = i < found->count ? found->lines[i] : "(nothing)";

		if (strcmp(a, b) != 0)
			fail_msg("%s: expected '%s', found '%s' (%zu and %zu lines)", what, a, b,
			         expected->count, found->count);
	}
	lines_fini(expected);
	lines_fini(found);
}

static inline void lines_add_once(struct lines *lines, const char *text)
{
	for (size_t i = 0; i < lines->count; i++)
		if (strcmp(lines->lines[i], text) == 0)
			return;
	lines_add(lines, "%s", text);
}

/* Adds to the sum of a key, "key sum"; sums wrap. */
static inline void lines_add_sum(struct lines *lines, const char *key, uint64_t value)
{
	const size_t length = strlen(key);

	for (size_t i = 0; i < lines->count; i++) {
		char *line = lines->lines[i];

		if (strncmp(line, key, length) != 0 || line[length] != ' ' ||
		    strchr(line + length + 1, ' '))
			continue;
		value += (uint64_t)strtoll(line + length + 1, NULL, 10);
		free(line);
		lines->lines[i] = lines->lines[--lines->count];
		break;
	}
	lines_add(lines, "%s %lld", key, (long long)value);
}

/* What comes to nothing is not told. */
static inline void lines_drop_nothing(struct lines *lines)
{
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (strcmp(strrchr(lines->lines[i], ' '), " 0") == 0)
			free(lines->lines[i]);
		else
			lines->lines[kept++] = lines->lines[i];
	}
	lines->count = kept;
}
