#include "storage/kept_samples.h"

/* Indexes of the rows that stay. */
static size_t find_rows(const struct sample_columns *columns, uint32_t *rows)
{
	size_t count = 0;

	for (size_t row = 0; row < columns->row_count; row++) {
		bool any = false;

		for (size_t i = 0; i < columns->series_count; i++)
			any = any || columns->values[i][row] != 0;
		if (any)
			rows[count++] = (uint32_t)row;
	}
	return count;
}

/* The elements of a column in those rows; NULL when there is none, or no memory for it. */
static void *copy_rows(const void *column, size_t size, const uint32_t *rows, size_t count,
                       struct arena *arena)
{
	char *copy = column ? arena_array_raw(arena, count, size) : NULL;

	for (size_t i = 0; copy && i < count; i++)
		memcpy(copy + i * size, (const char *)column + rows[i] * size, size);
	return copy;
}

static int drop_empty_rows(struct sample_columns *columns, const int64_t **values,
                           struct arena *arena, struct error *err)
{
	uint32_t *rows = arena_array_raw(arena, columns->row_count, sizeof(*rows));
	size_t count;

	if (!rows)
		return arena_error(arena, err);
	count = find_rows(columns, rows);
	if (count == columns->row_count)
		return 0;
	for (size_t i = 0; i < columns->series_count; i++)
		values[i] = copy_rows(values[i], sizeof(int64_t), rows, count, arena);
	columns->stacks = copy_rows(columns->stacks, sizeof(*columns->stacks), rows, count, arena);
	columns->span_ids =
		copy_rows(columns->span_ids, sizeof(*columns->span_ids), rows, count, arena);
	columns->trace_ids =
		copy_rows(columns->trace_ids, sizeof(*columns->trace_ids), rows, count, arena);
	columns->row_count = count;
	return arena_overflowed(arena) ? arena_error(arena, err) : 0;
}

int kept_samples_make(const struct sample_columns *whole, const bool *keep, struct arena *arena,
                      struct sample_columns *out, struct error *err)
{
	const int64_t **values = arena_array_raw(arena, whole->series_count + 1, sizeof(*values));

	if (!values)
		return arena_error(arena, err);
	*out = *whole;
	out->values = values;
	out->series_count = 0;
	for (size_t i = 0; i < whole->series_count; i++)
		if (keep[i])
			values[out->series_count++] = whole->values[i];
	return drop_empty_rows(out, values, arena, err);
}
