/*
 * The pods of this node, as far as the API server has told of them.
 *
 * Shape    one thread writes, another asks. A list replaces all of them, then single ones
 *          come and go.
 * Errors   none: past POD_TABLE_MAX a new pod finds no place; counted.
 * Threads  any: a lock guards it, held for a search at most.
 * Source   collector specification 6.2
 */
#pragma once

#include "base/cleanup.h"
#include "collector/identity/pod_record.h"

#define POD_TABLE_MAX 4096 /* a node has some hundreds, at most */

/* What is asked for: a uid, or a name where no uid is known. */
struct pod_question {
	const char *uid; /* "": not known */
	struct str pod_namespace;
	struct str name;
	const char *container_id; /* in it; or "" */
};

struct pod_facts {
	struct label_text name;
	struct label_text pod_namespace;
	struct label_text app;
	struct label_text owner_kind;
	struct label_text owner_name;
	struct label_text container; /* its name; empty while the server does not know it */
};

struct pod_table_counts {
	size_t pods;
	uint64_t refused; /* found no place */
};

struct pod_table;

struct pod_table *pod_table_new(void) __attribute__((returns_nonnull));
void pod_table_free(struct pod_table *table);
DEFINE_FREEP(pod_table)

/* Takes the record: a new one, or the newer state of one that is there. */
void pod_table_put(struct pod_table *table, struct pod_record *record);

void pod_table_remove(struct pod_table *table, struct str uid);

/* Whatever `from` holds is now all there is; `from` is empty then. */
void pod_table_replace(struct pod_table *table, struct pod_table *from);

/* False when there is no such pod, yet. */
bool pod_table_find(struct pod_table *table, const struct pod_question *question,
                    struct pod_facts *out);

struct pod_table_counts pod_table_counts(struct pod_table *table);
