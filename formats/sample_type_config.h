/*
 * What an older client says about the sample types of its profile: the form part
 * sample_type_config.
 *
 * Shape    a JSON object by sample type. Only display names matter to us, and only for
 *          the choice of the metric's name.
 * Errors   ERROR_INVALID for what is no such object, ERROR_TOO_LARGE past
 *          SAMPLE_TYPE_CONFIG_MAX types.
 * Threads  none.
 * Source   ingest specification, 3.7
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/profile.h"

#define SAMPLE_TYPE_CONFIG_MAX 100 /* a guess: .NET names eleven */

struct sample_type_display {
	struct str type;
	struct str name; /* may be empty */
};

struct sample_type_config {
	const struct sample_type_display *types;
	size_t count;
};

/* What holds when a client sends none. */
extern const struct sample_type_config sample_type_config_default;

int sample_type_config_parse(struct str text, struct arena *arena, struct sample_type_config *out,
                             struct error *err);

bool sample_type_config_has(const struct sample_type_config *config, struct str type);

/* The metric's name: the label __name__. Empty when the profile has no sample type. */
struct str sample_type_config_metric(const struct sample_type_config *config,
                                     const struct profile *profile);
