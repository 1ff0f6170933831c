/*
 * What query, top and diff have in common: the flags of a question and what they mean.
 *
 * Shape    -q 'TYPE{label="value"}': the type ends at the first '{'; either part may be
 *          missing.
 * Errors   ERROR_INVALID for what a person should mend, with what is there to choose
 *          from.
 * Threads  none.
 */
#pragma once

#include "server/command/arguments.h"
#include "server/command/function_table.h"
#include "server/command/profile_source.h"

#define QUESTION_ARENA_MAX (size_t)(2UL * 1024 * 1024 * 1024)

/* The common flags as a person typed them. */
struct question_flags {
	const char *query; /* or NULL */
	const char *from;
	const char *to;
	const char *limit;
	const char *sort;
	struct profile_source_options source;
};

/* As they are until somebody says otherwise. */
#define QUESTION_FLAGS_USUAL                                                 \
	(struct question_flags)                                              \
	{                                                                    \
		.from = "now-1h", .to = "now", .limit = "30", .sort = "self" \
	}

/* What they mean. */
struct question {
	struct profile_question asked; /* its type may be empty */
	enum function_table_order order;
	size_t limit; /* 0: all */
};

/* The flags that say where to ask, for a command's table. */
/* clang-format off */
#define QUESTION_SOURCE_ARGUMENTS(options)                                                 \
	{ "url", NULL, ARGUMENT_TEXT, &(options).url, "URL",                               \
	  "server to ask (VRAMSCOPE_URL, else http://127.0.0.1:4040)" },                   \
	{ "store", NULL, ARGUMENT_TEXT, &(options).store, "DIR",                           \
	  "read this store's folder instead, also beside a running server" },              \
	{ "tenant", NULL, ARGUMENT_TEXT, &(options).tenant, "NAME",                        \
	  "tenant to ask for (VRAMSCOPE_TENANT)" },                                        \
	{ "instant", NULL, ARGUMENT_TEXT, &(options).instant, "RULE",                      \
	  "how gauges merge over time: mean, sum, last or max (the server's; mean)" }

/* Those of what is asked, of a struct question_flags. */
#define QUESTION_RANGE_ARGUMENTS(flags)                                                    \
	{ "query", "q", ARGUMENT_TEXT, &(flags).query, "TYPE{...}",                        \
	  "profile type and label selector" },                                             \
	{ "from", NULL, ARGUMENT_TEXT, &(flags).from, "TIME", "begin of the range (now-1h)" },\
	{ "to", NULL, ARGUMENT_TEXT, &(flags).to, "TIME", "end of the range (now)" }
/* clang-format on */

/* All of them; everything that can be wrong before anybody is asked. */
int question_understand(const struct question_flags *flags, int64_t now_unix_ns,
                        struct question *out, struct error *err);

/*
 * A time as a query has it (now-1h, 1767225600, 2026-01-01T00:00:00Z); what is none is
 * refused.
 */
int question_time(const char *text, int64_t now_unix_ns, int64_t *out_unix_ns, struct error *err);

/* "15s", "5m", "1h": more than nothing. */
int question_duration(const char *text, int64_t *out_ns, struct error *err);

/* A count: digits. */
int question_count(const char *text, size_t *out, struct error *err);

/* Views into `query`, which may be NULL. The type may come out empty. */
int question_parse(const char *query, struct profile_question *out, struct error *err);

/* A type that a person wants to see before others, known by how it begins. */
struct preferred_type {
	const char *type; /* NULL: behind the last */
	/*
	 * where others have that type too: a matcher that tells these series apart, which
	 * becomes part of the question; or NULL
	 */
	const char *matcher;
};

/*
 * Fills an empty type: the only one there is; of several the first that `preferred` (or
 * NULL) names, else an error that lists them. It stays empty when there is none at all.
 * Types are those of the question's selector and range.
 */
int question_choose_type(struct profile_source *source, struct profile_question *question,
                         const struct preferred_type *preferred, struct arena *arena,
                         struct error *err);

/*
 * Why a question has no answer, and what to try: one line. Empty where nobody answers any
 * more.
 */
struct str question_explain_nothing(struct profile_source *source,
                                    const struct profile_question *question, struct arena *arena);
