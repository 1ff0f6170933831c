/*
 * From stacks of names and the query of /ingest to profiles with labels: what all formats
 * without a profile type of their own share (folded text, trie, tree, speedscope).
 *
 * Shape    the last dotted part of the application's name decides metric, sample type and
 *          unit, and is taken off; time-like metrics are scaled to nanoseconds by the
 *          sample rate.
 * Errors   ERROR_INVALID with the reference's words: an unknown suffix, a frame that is
 *          not UTF-8; those of profile_builder_finish().
 * Threads  none.
 * Source   ingest specification, 3.6
 */
#pragma once

#include "formats/format.h"
#include "formats/profile_builder.h"

/* What an application's name says about its profile. */
struct text_type {
	struct str app; /* without the suffix */
	const char *metric;
	struct profile_builder_type type;
	bool is_timed; /* a metric that the sample rate makes nanoseconds of */
};

/* What a suffix may be, one after the other; NULL behind the last. */
const char *text_type_suffix(size_t index);

/* `app` is with its suffix; without one it is about CPU. */
int text_type_of(struct str app, uint32_t sample_rate, struct text_type *out, struct error *err);

/* One profile of a body that may have several. */
struct text_profile {
	const struct profile_builder *builder;
	const struct text_type *type;
	struct str name;      /* the label profile_name, in the place of the sender's; NULL: none */
	struct str sender_id; /* what else the bytes mean, so that they are no retry of others */
};

/* The most profiles that may be added to *out. */
int text_profiles_reserve(size_t count, const struct format_input *input, struct format_output *out,
                          struct error *err);

/*
 * Adds the profile: not when it is empty, nor when a label profile_id says that it is an
 * old client's exemplar.
 */
int text_profiles_add(const struct text_profile *profile, const struct format_input *input,
                      struct format_output *out, struct error *err);

/* The profile of `builder` and of nothing else, of the type that the query says. */
int text_profile_make(const struct profile_builder *builder, const struct format_input *input,
                      struct format_output *out, struct error *err);
