/*
 * The profiles that are published: their names and types, once.
 *
 * Source   collector specification 1.1, 3.2, 3.6
 */
#pragma once

#include "collector/live/stack_profile.h"

enum profile_kind {
	PROFILE_KIND_MEMORY,     /* allocated since the last tick, and live at this one */
	PROFILE_KIND_NOTHING,    /* likewise, without samples: what was watched held nothing */
	PROFILE_KIND_MALLOC,     /* allocated, as other collectors name it */
	PROFILE_KIND_FAILED,     /* calls that failed */
	PROFILE_KIND_PEAK,       /* live at the highest point, or when memory was short */
	PROFILE_KIND_OOM,        /* a call that found no memory */
	PROFILE_KIND_OOM_DEVICE, /* the same, where its device says what it has */
	PROFILE_KIND_DEVICE,     /* what a device has, and what is used of it */
	PROFILE_KIND_SUSPENDED,  /* live, of a process that another one has suspended */
	PROFILE_KIND_COUNT,
};

const struct stack_profile_kind *profile_kind(enum profile_kind kind);
