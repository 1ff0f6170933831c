/*
 * One profile on its way through the pipeline: what its steps hand to each other.
 *
 * Shape    ingest.c calls the steps in their order; each stands in the file that the
 *          comment above it names.
 * Errors   0 or -1 with *err; a step that refuses the profile sets run->reason before.
 * Threads  none.
 * Source   ingest specification, section 2
 */
#pragma once

#include "profile/ingest.h"
#include "profile/number_map.h"

/* A series before it is split by sample type: rows with one label set. */
struct ingest_group {
	struct label_set labels; /* valid; __delta__ and __order__ are still there */
	uint32_t row_count;
};

/* The labels of some samples; samples with equal labels share one. */
struct ingest_set {
	uint32_t first_label; /* into profile->labels, without span and trace; sorted */
	uint32_t label_count;
	uint32_t span_text; /* string; 0: none */
	uint32_t trace_text;
	uint32_t group;
	uint64_t span_id;
	uint8_t trace_id[TRACE_ID_SIZE];
};

/* Samples with one stack, one group, one span and one trace. */
struct ingest_row {
	uint32_t first_frame;
	uint32_t depth;
	uint32_t set;
	uint32_t sample; /* whose values are the sums */
};

struct ingest_run {
	struct ingest_profile *request;
	const struct ingest_limits *limits;
	struct profile *profile;
	struct arena *arena;
	int64_t now_unix_ns;
	int64_t sent_unix_ns; /* the profile's own time; 0: it had none */
	const char *reason;

	struct label_set labels; /* of the request: sorted, without empty values */

	uint8_t *bad_locations; /* by index, or NULL: none is */

	uint8_t *key_kinds; /* of sample labels, by string: what ingest_split.c makes of it */
	struct ingest_set *sets;
	size_t set_count;
	size_t set_capacity;
	struct number_map sets_by_hash;
	struct number_map groups_by_texts;  /* of the sample labels alone */
	struct number_map groups_by_labels; /* of the whole set */
	struct ingest_group *groups;
	size_t group_count;
	size_t group_capacity;

	struct ingest_row *rows;
	size_t row_count;
};

/* ingest_labels.c */

/* Steps A and G: the service name's default, order, the session. */
int ingest_take_labels(struct ingest_run *run, struct error *err);

/*
 * Steps H3 to H6 for one label set: the request's labels and `extra` (sorted by name, of
 * equal names the first counts) become *out, relabelled and valid.
 */
int ingest_join_labels(struct ingest_run *run, const struct label_set *extra, struct label_set *out,
                       struct error *err);

/* A set for messages: {a="1"}, cut when it is long. */
struct str ingest_labels_text(struct ingest_run *run, const struct label_set *set);

/* ingest_validate.c: step C. */
int ingest_validate(struct ingest_run *run, struct error *err);

/* ingest_normalise.c */

/* What belongs to locations and mappings in steps E and F. */
int ingest_repair(struct ingest_run *run, struct error *err);

/* What belongs to samples in step E, and step H: run->rows. */
int ingest_collect_rows(struct ingest_run *run, struct error *err);

/* ingest_split.c: the set of sample `index`; its group is made when it is new. */
int ingest_find_set(struct ingest_run *run, size_t index, uint32_t *out_set, struct error *err);

/* ingest_series.c: step I. */
int ingest_make_series(struct ingest_run *run, struct ingest_result *out, struct error *err);
