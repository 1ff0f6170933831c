#include "storage/block_contents.h"

#include "storage/page.h"

static int read_columns(struct block_contents *contents, struct arena *arena, struct error *err)
{
	const struct block_heads *heads = &contents->heads;

	contents->totals = arena_array(arena, contents->series_count, sizeof(*contents->totals));
	if (!contents->totals)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < contents->series_count; i++)
		if (block_heads_totals(heads, i, arena, &contents->totals[i], err) < 0)
			return -1;
	if (block_heads_seqs(heads, arena, &contents->seqs, err) < 0 ||
	    block_heads_durations(heads, arena, &contents->durations, err) < 0)
		return -1;
	return block_heads_received(heads, arena, &contents->received, err);
}

static int read_rows(struct block_table *table, const struct block_row *row, struct arena *arena,
                     struct block_contents *contents, struct error *err)
{
	const struct block_span all = { 0, row->profile_count };
	struct block_detail detail;
	uint32_t *series;

	if (block_table_detail(table, row, arena, &detail, err) < 0)
		return -1;
	if (detail.series_count != contents->series_count)
		return block_row_damaged(row, "detail has other series than heads", err);
	series = arena_array_raw(arena, detail.series_count, sizeof(*series));
	if (!series)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < detail.series_count; i++)
		series[i] = i;
	return block_detail_rows(&detail, &all, 1, series, detail.series_count, arena,
	                         &contents->rows, err);
}

int block_contents_read(struct block_table *table, const struct block_row *row, struct arena *arena,
                        struct block_contents *out, struct error *err)
{
	struct block_contents contents = { 0 };

	if (block_table_heads(table, row, arena, &contents.heads, err) < 0)
		return -1;
	contents.series_count = contents.heads.series_count;
	if (read_columns(&contents, arena, err) < 0 ||
	    block_table_origins(table, row, arena, &contents.origins, err) < 0 ||
	    read_rows(table, row, arena, &contents, err) < 0)
		return -1;
	*out = contents;
	return 0;
}

uint32_t block_contents_group(const struct block_contents *contents, uint32_t profile)
{
	const struct block_heads *heads = &contents->heads;
	uint32_t low = 0;
	uint32_t high = heads->group_count;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (heads->firsts[middle] <= profile)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void block_contents_profile(const struct block_contents *contents, uint32_t profile,
                            int64_t *totals, struct block_profile *out)
{
	for (uint32_t i = 0; i < contents->series_count; i++)
		totals[i] = contents->totals[i][profile];
	*out = (struct block_profile){
		.group = contents->heads.groups[block_contents_group(contents, profile)],
		.time_unix_ns = contents->heads.times[profile],
		.seq = contents->seqs[profile],
		.id = block_heads_id(&contents->heads, profile),
		.duration_ns = contents->durations[profile],
		.received_s = contents->received[profile],
		.totals = totals,
	};
	if (contents->origins)
		out->origin = contents->origins[profile];
}

void block_contents_samples(const struct block_contents *contents, uint32_t profile,
                            const int64_t **values, struct sample_columns *out)
{
	const struct block_rows *rows = &contents->rows;
	const uint32_t first = rows->firsts[profile];

	for (uint32_t i = 0; i < contents->series_count; i++)
		values[i] = rows->values[i] + first;
	*out = (struct sample_columns){
		.row_count = rows->firsts[profile + 1] - first,
		.series_count = contents->series_count,
		.stacks = rows->stacks + first,
		.values = values,
		.span_ids = rows->span_ids ? rows->span_ids + first : NULL,
		.trace_ids = rows->trace_ids ? rows->trace_ids + first : NULL,
	};
}

int block_contents_take(const struct block_contents *contents, uint32_t profile,
                        struct arena *scratch, struct block_profile *out,
                        struct sample_page *out_page, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf raw = { 0 };
	int64_t *totals = arena_array_raw(scratch, contents->series_count, sizeof(*totals));
	const int64_t **values = arena_array_raw(scratch, contents->series_count, sizeof(*values));
	struct sample_columns columns;
	struct str page;

	if (!totals || !values)
		return arena_error(scratch, err);
	block_contents_profile(contents, profile, totals, out);
	block_contents_samples(contents, profile, values, &columns);
	strbuf_init(&raw, PAGE_RAW_MAX);
	sample_page_encode(&columns, &raw);
	page = arena_copy(scratch, strbuf_view(&raw));
	if (!page.data)
		return arena_error(scratch, err);
	return sample_page_decode(page, scratch, out_page, err);
}
