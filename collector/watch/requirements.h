/*
 * What the collector needs of this machine, and whether it is there.
 *
 * Shape    a line for each of requirements.def. Each is found out by itself where that is
 *          possible; the self-test tries all of it together.
 * Errors   none: what cannot be found out does not hold, and says why.
 * Threads  requirements_check() forks: before threads are started.
 * Source   collector specification 4.1, 4.6
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum requirement_id {
#define REQUIREMENT(id, name, level, why, remedy) REQUIREMENT_##id,
#include "collector/watch/requirements.def"
#undef REQUIREMENT
	REQUIREMENT_COUNT,
};

enum requirement_level {
	REQUIREMENT_LEVEL_REQUIRED,
	REQUIREMENT_LEVEL_OPTIONAL,
};

struct requirement {
	const char *name;
	enum requirement_level level;
	bool holds;
	bool is_unknown;    /* it did not show, for want of rights that are told beside it */
	const char *why;    /* what it is, and what for */
	char detail[256];   /* what was found; one line */
	const char *remedy; /* what to do where it does not hold */
};

/* Looks at this machine; some take a program into the kernel and out again. */
void requirements_check(struct requirement out[REQUIREMENT_COUNT]);

/* The first required one that is known not to hold, or NULL. */
const struct requirement *
requirements_missing(const struct requirement requirements[REQUIREMENT_COUNT]);

/*
 * The first required one that is known not to hold, as far as that shows without a self-test;
 * false when all do. Any thread.
 */
bool requirements_explain(struct requirement *out);
