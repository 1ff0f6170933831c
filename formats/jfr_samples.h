/*
 * What the events of a recording add up to: samples of stacks, by profile and labels.
 *
 * Shape    a sample for each distinct profile, stack and set of labels, with two sums in
 *          arithmetic modulo 2^64. A set of labels is that of a context, a span and a
 *          span's name; set 0 is that of events that name none. A context is read once,
 *          however many sets have its labels, and so is each string.
 * Units    at most max_samples a profile (0: no limit); those behind are counted, not
 *          kept. A set has at most JFR_SET_LABELS_MAX labels.
 * Errors   ERROR_TOO_LARGE past the labels' limit, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_labels.h"
#include "profile/intern.h"
#include "profile/profile.h"

#define JFR_SET_LABELS_MAX 1000 /* ten times what a sample may have by default */
#define JFR_SPAN_DIGITS    16
#define JFR_TEXT_NONE      UINT32_MAX

/* The profiles that a recording can make. */
enum jfr_profile {
	JFR_CPU,
	JFR_WALL,
	JFR_ALLOC_IN_TLAB,
	JFR_ALLOC_OUTSIDE_TLAB,
	JFR_ALLOC_SAMPLE,
	JFR_MUTEX,
	JFR_BLOCK,
	JFR_LIVE,
	JFR_MALLOC,
	JFR_PROFILES,
};

/* What an event says of where it happened, beside its stack. */
struct jfr_context {
	uint64_t context;
	uint64_t span;
	uint64_t span_name;
};

/* A run of `labels`, which refer to `texts`. */
struct jfr_label_set {
	uint32_t first_label;
	uint32_t label_count;
};

struct jfr_sample {
	uint32_t stack;
	uint32_t set;
	enum jfr_profile profile;
	uint64_t count;
	uint64_t amount;
};

struct jfr_samples {
	struct arena *arena;
	const struct jfr_labels *names;
	uint64_t secret;
	size_t max_samples;

	struct intern sample_ids;
	struct jfr_sample *samples;
	size_t sample_count;
	size_t sample_capacity;
	size_t sent[JFR_PROFILES]; /* kept or not */
	size_t kept[JFR_PROFILES];

	struct intern set_ids;
	struct jfr_label_set *sets;
	size_t set_capacity;
	struct profile_label *labels;
	size_t label_count;
	size_t label_capacity;
	size_t most_labels;

	struct intern text_ids;
	struct str *texts;
	size_t text_capacity;
	uint32_t *string_texts; /* by string of `names`; JFR_TEXT_NONE: not met yet */
};

int jfr_samples_init(struct jfr_samples *samples, const struct jfr_labels *names,
                     size_t max_samples, struct arena *arena, struct error *err);

/* Adds an event: how many samples it stands for, and its amount of what is measured. */
int jfr_samples_add(struct jfr_samples *samples, enum jfr_profile profile, uint32_t stack,
                    const struct jfr_context *context, const uint64_t values[static 2],
                    struct error *err);
