/*
 * The formats of /ingest: one row each, and which one a request means.
 *
 * Shape    a decoder turns a body into pairs of a pprof and its labels, for the pipeline
 *          of profile/ingest.h. A new format is a new row in format.c and a decoder.
 * Errors   a decoder fills *err and leaves in out->stage how far it came, for the route
 *          answers a body that does not parse otherwise than a profile that cannot be
 *          stored. Codes: ERROR_INVALID, ERROR_TOO_LARGE, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.1 and 3.5
 */
#pragma once

#include "formats/ingest_params.h"
#include "profile/ingest.h"

/* How failures are answered (ingest specification, 2 and 3.1). */
enum format_family {
	FORMAT_TEXT,  /* converted by us: what fails after parsing is a bad argument */
	FORMAT_PPROF, /* carries profiles itself: everything that fails is unprocessable */
};

enum format_stage {
	FORMAT_PARSING, /* the bytes are not what the format says */
	FORMAT_STORING, /* they are, and do not make a profile that we take */
};

struct format_input {
	struct str body; /* without its Content-Encoding */
	struct str content_type;
	const struct ingest_params *params;
	const struct ingest_limits *limits;
	struct arena *arena;
};

struct format_output {
	struct ingest_profile *profiles;
	size_t count; /* 0: nothing to store, a success */
	enum format_stage stage;
	size_t plain_bytes; /* of the profiles, when they came compressed; else 0 */
};

typedef int (*format_decoder)(const struct format_input *input, struct format_output *out,
                              struct error *err);

struct format {
	const char *name; /* for metrics and messages */
	enum format_family family;
	format_decoder decode; /* NULL: known, and not offered by this version */

	/* When it is meant: any of these that is not NULL. The last row has none. */
	const char *parameter;    /* of the query: format= */
	const char *content_type; /* the whole of it */
	const char *type_part;    /* a part of the content type */
};

/* The format that a request means; never NULL. */
const struct format *format_select(struct str parameter, struct str content_type);

size_t format_count(void);
const struct format *format_at(size_t index);
