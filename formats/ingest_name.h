/*
 * The parameter `name` of /ingest: an application and its labels, app{key=value,...}.
 *
 * Shape    read by a state machine without quoting or escaping; bytes that are no UTF-8
 *          become U+FFFD first. Text behind the closing brace is ignored, a label that is
 *          never closed is lost, the last of two equal keys wins. Keys that begin with
 *          "__" are dropped, but for __session_id__ and for __name__, which replaces the
 *          application.
 * Errors   ERROR_INVALID with the reference's words; ERROR_TOO_LARGE past
 *          INGEST_NAME_LABELS_MAX; arena_error() when the arena is full.
 * Threads  none.
 * Source   ingest specification, 3.3
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "profile/label_set.h"

#define INGEST_NAME_LABELS_MAX 256 /* a guess: a series may have 30 */

struct ingest_name {
	struct str app;          /* trimmed, never empty */
	struct label_set labels; /* in the order of their first appearance; values may be empty */
};

int ingest_name_parse(struct str text, struct arena *arena, struct ingest_name *out,
                      struct error *err);
