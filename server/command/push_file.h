/*
 * A file of profiles, recognised by its content and made ready for a server.
 *
 * Shape    pprof (gzip or not) goes to Push as it is, with labels of its own; everything
 *          else goes to /ingest, whose name parameter carries them. Output of perf script
 *          is folded first. Text that looks like nothing known is taken for folded stacks
 *          if a line of it is one; lines that have no count are told.
 * Errors   ERROR_INVALID for labels that /ingest's name cannot carry, for what can be
 *          recognised but not sent, and for what is nothing that is known;
 *          ERROR_TOO_LARGE past PUSH_FILE_MAX.
 * Threads  none.
 * Source   ingest specification, 3 and 4
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/label_set.h"

#define PUSH_FILE_MAX (size_t)(256UL * 1024 * 1024)

struct push_options {
	struct str service;
	const struct label_set *labels; /* besides service_name */
	struct str suffix;        /* what is counted: cpu, inuse_space, ...; empty: not said */
	struct str sample_rate;   /* Hz; empty: 100 */
	int64_t override_unix_ns; /* 0: the times that the file has */
};

struct push_request {
	const char *taken_for; /* "a pprof", "folded stacks", ...; NULL: nothing known */
	struct str note;       /* what a person should know of what is sent; may be empty */
	struct strbuf path;    /* with its query */
	const char *content_type;
	struct strbuf body;
};

/* `path` is only for words and hints in its name. */
int push_request_init(struct push_request *request, struct str path, struct str bytes,
                      const struct push_options *options, struct arena *arena, struct error *err);
void push_request_fini(struct push_request *request);

/* What __name__ a pprof with these sample types gets. */
struct str push_metric_name(const struct str *types, size_t count, struct str path);
