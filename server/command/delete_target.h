/*
 * Where a person's deletion goes: a running server, or the folder of a store that nobody
 * holds.
 *
 * Shape    a server is asked a day at a time, so that each answer comes soon and says how
 *          far it is.
 * Errors   ERROR_UNAVAILABLE when nobody answers, or somebody holds the folder; what a
 *          server refused, with its words.
 * Threads  none.
 */
#pragma once

#include "base/cleanup.h"
#include "server/query/deletion.h"

struct delete_target;

enum delete_use {
	DELETE_USE_COUNT, /* a folder in use will do */
	DELETE_USE_DELETE,
};

struct delete_target_options {
	const char *store;  /* a folder; else */
	const char *url;    /* a server; NULL: VRAMSCOPE_URL, else the default address */
	const char *tenant; /* NULL: VRAMSCOPE_TENANT, else anonymous */
	enum delete_use use;
	struct str query; /* TYPE{label="value"} */
	struct store_range range;
	struct arena *arena; /* for all that it gives */
};

int delete_target_open(const struct delete_target_options *options, struct delete_target **out,
                       struct error *err);
void delete_target_close(struct delete_target *target);

static inline void delete_target_closep(struct delete_target **target)
{
	delete_target_close(*target);
}

int delete_target_plan(struct delete_target *target, struct deletion_plan *out, struct error *err);

int delete_target_run(struct delete_target *target, const struct deletion_plan *plan,
                      const struct deletion_progress *progress, uint64_t *out_removed,
                      struct error *err);

/* The URL or the folder, for messages. */
const char *delete_target_name(const struct delete_target *target);
