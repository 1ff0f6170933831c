/*
 * push.v1.PushRequest: some series, each with its labels and raw profiles.
 *
 * Shape    decoded from protobuf, everything a view into the message; or from JSON,
 *          everything a copy in the arena. Annotations and unknown fields are skipped.
 * Errors   ERROR_INVALID for what is no such message, arena_error() when the arena is
 *          full.
 * Threads  none.
 * Source   ingest specification, 4.1 and 4.3; read specification, 2.8
 */
#pragma once

#include "profile/label_set.h"

struct push_sample {
	struct str raw_profile; /* pprof, gzip or plain */
	struct str id;          /* may be empty */
};

struct push_series {
	struct label_set labels; /* as sent, in their order */
	struct push_sample *samples;
	size_t sample_count;
};

struct push_request {
	struct push_series *series;
	size_t series_count;
	size_t sample_count; /* of all series */
};

int push_request_decode(struct str message, struct arena *arena, struct push_request *out,
                        struct error *err);

/* From protobuf's JSON: both styles of names and of base64, null as absent. */
int push_request_parse(struct str text, struct arena *arena, struct push_request *out,
                       struct error *err);
