/*
 * The chunks of a recording: each stands alone, with its own types and constants.
 *
 * Shape    a header of JFR_CHUNK_HEADER bytes, then records, one behind the other: a
 *          size, a type, and what belongs to the type. Chunks follow one another without
 *          gap.
 * Units    at most JFR_CHUNKS_MAX chunks of less than 4 GiB.
 * Errors   ERROR_INVALID for another magic or version, offsets that lead nowhere and
 *          sizes that do not fit, ERROR_TOO_LARGE past the limit.
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "base/error.h"
#include "formats/jfr_reader.h"

#define JFR_CHUNK_HEADER 68
#define JFR_CHUNKS_MAX   4096 /* a guess: the JDK begins a new one after 12 MB or a minute */

/* Types of records that every chunk has. */
enum jfr_record_type {
	JFR_RECORD_METADATA = 0,
	JFR_RECORD_CHECKPOINT = 1, /* constant pools */
};

struct jfr_chunk {
	const uint8_t *bytes;
	uint32_t size;
	uint32_t pools_at;
	uint32_t metadata_at;
	bool fixed; /* numbers are not compressed */
};

/* Whether the bytes begin as a recording does. */
bool jfr_is(struct str bytes);

/* Takes the next chunk off *rest: 1, 0 when nothing is left, -1 at an error. */
int jfr_chunk_next(struct str *rest, struct jfr_chunk *out, struct error *err);

/* The records behind the header. */
struct jfr_reader jfr_chunk_records(const struct jfr_chunk *chunk);

/*
 * Takes the record at the reader off it: *out_body is what stands behind its type. 1, 0
 * when nothing is left, -1 at a size that does not fit.
 */
int jfr_record_next(struct jfr_reader *reader, uint64_t *out_type, struct jfr_reader *out_body);

/* The record at a place that the header names, which must have this type. */
int jfr_chunk_record(const struct jfr_chunk *chunk, uint64_t at, enum jfr_record_type type,
                     struct jfr_reader *out_body, struct error *err);
