#include "storage/fresh_rows.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/page.h"

#define SAMPLE_LEVEL 1 /* of zstd; the block that comes later packs well */

struct fresh_rows {
	struct statement *put_sample;
	struct statement *put_profile;
	int64_t *next_sample;
	struct strbuf raw;
	struct strbuf body;
	struct strbuf totals;
};

static void fresh_rows_closep(struct fresh_rows **rows)
{
	fresh_rows_close(*rows);
}

int fresh_rows_open(struct database *database, int64_t *next_sample, struct fresh_rows **out,
                    struct error *err)
{
	CLEANUP(fresh_rows_closep) struct fresh_rows *rows = mem_zalloc(1, sizeof(*rows));

	rows->next_sample = next_sample;
	strbuf_init(&rows->raw, PAGE_RAW_MAX);
	strbuf_init(&rows->body, PAGE_RAW_MAX);
	strbuf_init(&rows->totals, (size_t)SAMPLE_SERIES_MAX * VARINT_MAX);
	if (database_prepare(database, "INSERT INTO sample VALUES(?, ?)", &rows->put_sample, err) <
	            0 ||
	    database_prepare(database, "INSERT INTO profile VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
	                     &rows->put_profile, err) < 0)
		return -1;
	*out = TAKE(rows);
	return 0;
}

void fresh_rows_close(struct fresh_rows *rows)
{
	if (!rows)
		return;
	statement_free(rows->put_sample);
	statement_free(rows->put_profile);
	strbuf_fini(&rows->raw);
	strbuf_fini(&rows->body);
	strbuf_fini(&rows->totals);
	free(rows);
}

static int encode(struct fresh_rows *rows, const struct block_profile *profile,
                  const struct sample_columns *samples, struct error *err)
{
	strbuf_reset(&rows->raw);
	strbuf_reset(&rows->body);
	strbuf_reset(&rows->totals);
	sample_page_encode(samples, &rows->raw);
	page_seal(strbuf_view(&rows->raw), SAMPLE_LEVEL, &rows->body);
	for (size_t i = 0; i < samples->series_count; i++)
		wire_put_varint(&rows->totals, (uint64_t)profile->totals[i]);
	if (strbuf_overflowed(&rows->raw) || strbuf_overflowed(&rows->body) ||
	    strbuf_overflowed(&rows->totals))
		return error_set(err, ERROR_TOO_LARGE, "a profile of %zu samples is over %zu bytes",
		                 samples->row_count, PAGE_RAW_MAX);
	return 0;
}

static int insert(struct fresh_rows *rows, const struct block_profile *profile, struct error *err)
{
	struct statement *put = rows->put_profile;
	const int64_t sample = (*rows->next_sample)++;

	statement_bind_int(rows->put_sample, 1, sample);
	statement_bind_bytes(rows->put_sample, 2, strbuf_view(&rows->body));
	if (statement_run(rows->put_sample, err) < 0)
		return -1;
	statement_bind_int(put, 1, profile->group);
	statement_bind_int(put, 2, profile->time_unix_ns);
	statement_bind_int(put, 3, profile->seq);
	statement_bind_bytes(put, 4, str_make(profile->id.bytes, sizeof(profile->id.bytes)));
	if (hash128_is_zero(profile->origin))
		statement_bind_null(put, 5);
	else
		statement_bind_bytes(put, 5, str_make(&profile->origin, sizeof(profile->origin)));
	statement_bind_int(put, 6, profile->duration_ns);
	statement_bind_int(put, 7, profile->received_s);
	statement_bind_bytes(put, 8, strbuf_view(&rows->totals));
	statement_bind_int(put, 9, sample);
	return statement_run(put, err);
}

int fresh_rows_put(struct fresh_rows *rows, const struct block_profile *profile,
                   const struct sample_columns *samples, struct error *err)
{
	return encode(rows, profile, samples, err) < 0 ? -1 : insert(rows, profile, err);
}
