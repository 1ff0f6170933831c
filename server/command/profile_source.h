/*
 * Where a person's question goes: a running server, or the folder of a store.
 *
 * Shape    a server is asked over the read API (querier.v1); a folder is opened
 *          read-only, also beside a server that writes to it, and asked by the same code
 *          that the server answers with. Both give one pprof.
 * Errors   ERROR_UNAVAILABLE when nobody answers; what a server refused, with its words.
 * Threads  none.
 * Source   read specification, 3.5 and 3.10
 */
#pragma once

#include "base/arena.h"
#include "base/cleanup.h"
#include "profile/profile.h"

struct profile_source;

struct profile_source_options {
	const char *store;  /* a folder; else */
	const char *url;    /* a server; NULL: VRAMSCOPE_URL, else the default address */
	const char *tenant; /* NULL: VRAMSCOPE_TENANT, else anonymous */
	/*
	 * How gauges merge over time, a word that profile_merge_parse() knows; NULL: as
	 * the server's options say, of a folder as they say by default.
	 */
	const char *instant;
};

struct profile_question {
	struct str type;
	struct str selector;
	int64_t start_unix_ns;
	int64_t end_unix_ns;
};

int profile_source_open(const struct profile_source_options *options, struct profile_source **out,
                        struct error *err);
void profile_source_close(struct profile_source *source);

static inline void profile_source_closep(struct profile_source **source)
{
	profile_source_close(*source);
}

/* The sum of all profiles that match; no samples when none does. */
int profile_source_merge(struct profile_source *source, const struct profile_question *question,
                         struct arena *arena, struct profile *out, struct error *err);

/* The ids of all profile types that the question's selector and range have, sorted. */
int profile_source_types(struct profile_source *source, const struct profile_question *question,
                         struct arena *arena, struct str **out, size_t *out_count,
                         struct error *err);

/* The URL without a slash at its end, or the folder: for messages. */
const char *profile_source_name(const struct profile_source *source);
