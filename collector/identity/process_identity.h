/*
 * Who a process is: its names and labels, made of what is known of it.
 *
 * Shape    made at its first sight and kept: labels must not flap. Where a pod is not known
 *          yet, the identity is late: whoever publishes holds that process until it is
 *          settled, once, for good (README.md).
 * Errors   none: what is not known is empty.
 * Threads  none.
 * Source   collector specification 6.4
 */
#pragma once

#include <stdint.h>

#include "collector/identity/container_facts.h"
#include "collector/identity/pod_table.h"
#include "collector/identity/process_sight.h"

enum identity_label {
#define IDENTITY_LABEL(id, profile_label, metric_label) IDENTITY_##id,
#include "collector/identity/identity_labels.def"
#undef IDENTITY_LABEL
	IDENTITY_LABEL_COUNT,
};

#define IDENTITY_ID_SHOWN 12 /* digits of a container's id, as engines show it */
#define IDENTITY_WAIT_NS  (INT64_C(10) * 1000000000) /* for a pod; then it is as it is; a guess */

struct process_identity {
	struct label_text service_name; /* without a suffix; never empty */
	struct label_text comm;         /* of the main thread; never empty */
	struct label_text labels[IDENTITY_LABEL_COUNT];
	struct device_sight devices; /* that it may use; no label yet */

	bool is_late;                /* more may be known soon: process_namer's settle() */
	struct process_sight *sight; /* while it is late, for whoever needs it; or NULL */
};

/* Twice is once. */
void process_identity_fini(struct process_identity *identity);

/* The name of a label on profiles, and on metrics ("": not there). */
const char *identity_label_on_profiles(enum identity_label label);
const char *identity_label_on_metrics(enum identity_label label);

/* All that is known. */
struct identity_clues {
	const struct process_sight *sight;
	const struct container_facts *container;     /* the innermost one */
	const struct container_facts *pod_container; /* of the outermost pod; the same, mostly */
	const struct pod_facts *pod;                 /* as the API server has it; NULL: not known */
	const char *node;                            /* that this is; "": in no cluster */
	struct str user; /* on this machine; empty: not known, or in a pod */
};

/*
 * Names it by the nine rules, in their order, and sets its labels; the rest of *out is as
 * it was.
 */
void process_identity_make(const struct identity_clues *clues, struct process_identity *out);

/* ---- whoever knows who a process is ---- */

struct process_namer {
	/*
	 * At first sight. `comm` is a task's name for a process that has gone already, or
	 * "". *out is to be released, and says whether it is late.
	 */
	void (*identify)(void *context, uint32_t tgid, const char *comm,
	                 struct process_identity *out);
	/* Of one that is late: whether all is known by now. NULL: none ever is. */
	bool (*settle)(void *context, uint32_t tgid, struct process_identity *identity);
	void *context;
};

/* One that reads `proc` ("/proc"), which outlives it, and knows of no containers' names. */
struct process_namer process_namer_of_proc(const char *proc);
