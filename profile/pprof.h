/*
 * pprof, in and out: our own bounded, single-pass reader and writer.
 *
 * Shape    reading makes a struct profile whose strings are views into `bytes`. Ids
 *          become indices; a reference that leads nowhere becomes PROFILE_NONE. A
 *          location whose mapping leads nowhere has nothing: no line, no address.
 *          Sample labels without text (numbers) are left out. What the pipeline must
 *          refuse later, in its own order, is noted as faults; what is at fault has an
 *          index that can be used all the same.
 * Errors   pprof_read(): ERROR_INVALID for malformed protobuf and for fields of another
 *          wire type than theirs, ERROR_TOO_LARGE past PPROF_BYTES_MAX, arena_error().
 * Threads  none.
 * Source   ingest specification, 2.1, 2.4, 9; read specification, 3.3
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"

#define PPROF_BYTES_MAX ((size_t)1 << 30) /* so that every count of things fits an index */

/*
 * What the reader saw and did not refuse; each has its message in the pipeline's table.
 */
enum pprof_fault {
	PPROF_LOCATION_ID_ZERO = 1 << 0,
	PPROF_FUNCTION_ID_ZERO = 1 << 1,
	PPROF_VALUE_COUNT = 1 << 2, /* not a value a sample type: then no sample is kept */
	PPROF_STRING_ZERO = 1 << 3, /* no string table, or entry 0 is not "" */
	/* the following: a string index out of range (or negative) */
	PPROF_SAMPLE_TYPE_STRING = 1 << 4,
	PPROF_LABEL_STRING = 1 << 5,
	PPROF_FUNCTION_NAME_STRING = 1 << 6,
	PPROF_SYSTEM_NAME_STRING = 1 << 7,
	PPROF_FUNCTION_FILE_STRING = 1 << 8,
	PPROF_MAPPING_FILE_STRING = 1 << 9,
	PPROF_BUILD_ID_STRING = 1 << 10,
};

struct pprof_options {
	size_t max_samples; /* those behind are counted and not kept; 0: all are kept */
	/*
	 * old .NET clients: when all function ids are 0, function i has the id of
	 * location i
	 */
	bool repair_zero_function_ids;
};

struct pprof_input {
	struct profile profile;
	unsigned faults;      /* of pprof_fault */
	size_t encoded_bytes; /* of the message, for limits */
	size_t samples_sent;  /* kept or not; 0 where a format makes the profile by itself */
	size_t most_labels;   /* of one sample, numeric ones included */
};

/* `bytes` is the plain message (gzip is taken off by the caller). */
int pprof_read(struct str bytes, const struct pprof_options *options, struct arena *arena,
               struct pprof_input *out, struct error *err);

/* Appends the message; every table is written as it stands, ids are index + 1. */
void pprof_write(const struct profile *profile, struct strbuf *out);
