/*
 * A Profile of an OTLP request as a pprof: types, times, samples and their labels.
 *
 * Shape    otlp_samples_begin(), each sample, otlp_samples_finish(). Samples past max_samples
 *          are counted and not kept, and none is kept any more once the profile has more
 *          than max_profile_size_bytes: the pipeline refuses both in its own words.
 * Errors   ERROR_INVALID with the words of the specification for samples that cannot be
 *          converted, and as otlp_symbols.h.
 * Threads  none.
 * Source   ingest specification, 5.4 (2 to 6)
 */
#pragma once

#include "formats/otlp_labels.h"
#include "formats/otlp_profile.h"
#include "profile/ingest.h"

/* How the values of a sample become those of the profile. */
enum otlp_value_rule {
	OTLP_VALUES_AS_SENT, /* one a sample type; several of one type are one a timestamp */
	OTLP_VALUES_SUMMED,  /* off-CPU time: all of them are one */
};

struct otlp_samples {
	struct otlp_symbols *symbols;
	const struct ingest_limits *limits;
	const struct otlp_profile *sent;
	struct otlp_labels labels;
	struct profile *profile;
	struct pprof_input *input;
	enum otlp_value_rule rule;
	uint64_t factor; /* of every value */
	struct str name; /* __name__ of the series */
	size_t sample_capacity;
	size_t value_capacity;
};

/* `samples` has symbols, limits and sent set; `input` is zero. `count` samples will come. */
int otlp_samples_begin(struct otlp_samples *samples, size_t count, struct pprof_input *input,
                       struct error *err);

int otlp_samples_add(struct otlp_samples *samples, struct str message, struct error *err);

void otlp_samples_finish(struct otlp_samples *samples);
