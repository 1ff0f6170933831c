/*
 * What the query of /ingest says beside the body.
 *
 * Shape    the first value of a parameter counts, unknown ones are ignored. Only `name`
 *          is required: everything else falls back to its default when it is absent or
 *          makes no sense.
 * Units    times are Unix nanoseconds, the sample rate is in Hz.
 * Errors   those of url_query_parse(), and of ingest_name_parse() behind "name: ".
 * Threads  none.
 * Source   ingest specification, 3.2
 */
#pragma once

#include <stdint.h>

#include "formats/ingest_name.h"

struct ingest_params {
	struct ingest_name name;
	int64_t from_unix_ns;
	int64_t until_unix_ns;
	uint32_t sample_rate; /* 0: values are not scaled */
	struct str spy_name;  /* never empty */
	struct str format;    /* empty: not said */
};

/* `query` is raw: what stands behind '?'. */
int ingest_params_parse(struct str query, int64_t now_unix_ns, struct arena *arena,
                        struct ingest_params *out, struct error *err);

#define INGEST_PARAMS_SPARE_LABELS 2

/*
 * The labels that every format gives a profile: metric, spy, those of the name, and
 * `service` as service_name unless the name has one. There is room for
 * INGEST_PARAMS_SPARE_LABELS more.
 */
int ingest_params_labels(const struct ingest_params *params, struct str metric, struct str service,
                         struct arena *arena, struct label_set *out, struct error *err);

/*
 * Gives the set of ingest_params_labels() one label more, in one of its spare places, or in
 * the place of the sender's: two of a name are refused.
 */
void ingest_params_set_label(struct label_set *set, struct str name, struct str value);

/*
 * The application's name as app_name, when the sender gave the service one of its own and
 * the application none.
 */
void ingest_params_name_app(const struct ingest_params *params, struct str app,
                            struct label_set *set);

/* The value of a label of the name, or NULL. */
const struct str *ingest_params_label(const struct ingest_params *params, const char *name);
