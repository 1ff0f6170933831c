/*
 * The way from "pprof and labels" to stored series: every format goes through here.
 *
 * Shape    one call a profile; it defaults the service name, validates, normalises,
 *          splits by sample labels and makes one struct series_profile for each label
 *          set.
 * Errors   ERROR_INVALID with the words of ingest specification 2.4 and 2.9 for what a
 *          sender did wrong, limits included; arena_error(). out->reason names the reason
 *          for discarding as the metrics have it ("malformed_profile", ...), or is NULL
 *          when the profile was not at fault. All of a profile is refused or nothing.
 * Threads  none: limits are read, everything else belongs to the request.
 * Source   ingest specification, section 2
 */
#pragma once

#include "profile/label_set.h"
#include "profile/pprof.h"
#include "profile/series_profile.h"

struct ingest_limits {
	int64_t reject_older_than_ns; /* 0: off */
	int64_t reject_newer_than_ns; /* 0: off */
	size_t max_label_name_length;
	size_t max_label_value_length;
	size_t max_label_names_per_series;
	size_t max_sessions_per_series;
	size_t max_profile_size_bytes; /* the following: 0 is off */
	size_t max_recording_bytes;    /* of many profiles in one, decompressed */
	size_t max_samples;
	size_t max_sample_labels;
	size_t max_depth;
	size_t max_string_length;
};

/* The reference's defaults (ingest specification, 1.5). */
extern const struct ingest_limits ingest_limits_default;

/* One pprof with its labels, as a format decoded it. */
struct ingest_profile {
	/* its arena is used for everything that is made; the pipeline changes it */
	struct pprof_input *input;
	struct label_set labels; /* unsorted, as sent */
	struct str sender_id;    /* RawSample.ID, or empty */
	struct str payload;      /* the bytes as sent, for telling a retry from another profile */
};

struct ingest_result {
	struct series_profile *profiles; /* one for each label set; none is a success too */
	size_t count;
	const char *reason; /* when it failed */
};

int ingest_profile(struct ingest_profile *profile, const struct ingest_limits *limits,
                   int64_t now_unix_ns, struct ingest_result *out, struct error *err);
