/*
 * For tests of the store: a folder of its own, profiles by hand, and answers as text.
 *
 * A profile is written as rows of "outermost;...;leaf" and a value for each series. Every
 * frame is a function of that name in "app.c", line 1.
 */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "storage/sqlite_store.h"

#define DAY_NS  (INT64_C(86400) * 1000000000)
#define HOUR_NS (INT64_C(3600) * 1000000000)
#define NOON    (INT64_C(20000) * DAY_NS + 12 * HOUR_NS) /* of 2024-10-04 */

#define SERIES_MAX 4

/* ---- folders ---- */

static inline char *folder_make(void)
{
	char *path = strdup("/tmp/vramscope-store-XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

static inline void folder_drop(char *path)
{
	char command[4200];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
	free(path);
}

static inline bool file_is_there(const char *folder, const char *name)
{
	char path[4200];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return stat(path, &status) == 0;
}

static inline struct store *store_open_at(const struct sqlite_store_options *options)
{
	struct store *store = NULL;
	struct error err = { 0 };

	if (sqlite_store_open(options, &store, &err) < 0)
		fail_msg("%s", err.message);
	return store;
}

static inline struct store *store_open_plain(const char *path)
{
	return store_open_at(&(struct sqlite_store_options){ .path = path });
}

/* ---- profiles ---- */

struct made_row {
	const char *stack; /* "main;work" */
	int64_t values[SERIES_MAX];
	uint64_t span;
};

struct made {
	const char *service;
	const char
		*types[SERIES_MAX]; /* values of the label __profile_type__; NULL behind the last */
	int64_t time;
	const struct made_row *rows;
	size_t row_count;
	uint64_t origin; /* 0: never the same as another */
	uint64_t id;
};

static inline uint32_t made_string(struct profile *profile, struct str string)
{
	for (size_t i = 0; i < profile->string_count; i++)
		if (str_equal(profile->strings[i], string))
			return (uint32_t)i;
	profile->strings[profile->string_count] = arena_copy(profile->arena, string);
	return (uint32_t)profile->string_count++;
}

/* The location of a function, one line each; made when it is not there. */
static inline uint32_t made_location(struct profile *profile, struct str name)
{
	const uint32_t string = made_string(profile, name);

	for (size_t i = 0; i < profile->function_count; i++)
		if (profile->functions[i].name == string)
			return (uint32_t)i;
	profile->functions[profile->function_count] = (struct profile_function){
		.name = string,
		.system_name = string,
		.file = made_string(profile, STR("app.c")),
		.start_line = 1,
	};
	profile->lines[profile->line_count] =
		(struct profile_line){ (uint32_t)profile->function_count, 7 };
	profile->locations[profile->location_count] = (struct profile_location){
		.address = 0x1000 + profile->location_count * 16,
		.mapping = PROFILE_NONE,
		.first_line = (uint32_t)profile->line_count,
		.line_count = 1,
	};
	profile->function_count++;
	profile->line_count++;
	return (uint32_t)profile->location_count++;
}

static inline void made_stack(struct profile *profile, const char *text, struct stored_row *row)
{
	uint32_t frames[64];
	uint32_t depth = 0;
	struct str rest = str_of(text);
	struct str part;

	if (rest.length > 0)
		while (str_split(&rest, ';', &part))
			frames[depth++] = made_location(profile, part);
	row->first_frame = (uint32_t)profile->stack_length;
	row->depth = depth;
	for (uint32_t i = 0; i < depth; i++)
		profile->stacks[profile->stack_length++] = frames[depth - 1 - i];
}

static inline struct label_set made_labels(struct arena *arena, const char *service,
                                           const char *type)
{
	struct label *labels = arena_array(arena, 2, sizeof(*labels));

	labels[0] = (struct label){ STR("__profile_type__"), arena_copy(arena, str_of(type)) };
	labels[1] = (struct label){ STR("service_name"), arena_copy(arena, str_of(service)) };
	return (struct label_set){ labels, 2 };
}

static inline struct series_profile made_profile(struct arena *arena, const struct made *made)
{
	const size_t room = 64 * made->row_count + 8;
	struct profile *profile = arena_alloc(arena, sizeof(*profile));
	struct series_profile out = { .profile = profile, .time_unix_ns = made->time };
	uint64_t *spans = arena_array(arena, made->row_count, sizeof(*spans));
	bool any_span = false;

	profile->arena = arena;
	profile->strings = arena_array(arena, room, sizeof(*profile->strings));
	profile->functions = arena_array(arena, room, sizeof(*profile->functions));
	profile->lines = arena_array(arena, room, sizeof(*profile->lines));
	profile->locations = arena_array(arena, room, sizeof(*profile->locations));
	profile->stacks = arena_array(arena, room, sizeof(*profile->stacks));
	(void)made_string(profile, STR(""));
	out.rows = arena_array(arena, made->row_count, sizeof(*out.rows));
	out.row_count = made->row_count;
	for (size_t i = 0; i < made->row_count; i++) {
		made_stack(profile, made->rows[i].stack, &out.rows[i]);
		spans[i] = made->rows[i].span;
		any_span = any_span || spans[i];
	}
	out.span_ids = any_span ? spans : NULL;
	out.series = arena_array(arena, SERIES_MAX, sizeof(*out.series));
	for (size_t i = 0; i < SERIES_MAX && made->types[i]; i++) {
		int64_t *values = arena_array(arena, made->row_count, sizeof(*values));
		struct stored_series *series = &out.series[out.series_count++];

		for (size_t row = 0; row < made->row_count; row++) {
			values[row] = made->rows[row].values[i];
			series->total = (int64_t)((uint64_t)series->total + (uint64_t)values[row]);
		}
		series->values = values;
		series->labels = made_labels(arena, made->service, made->types[i]);
	}
	out.duration_ns = 15 * INT64_C(1000000000);
	out.origin = (struct hash128){ made->origin, made->origin };
	memcpy(out.id.bytes, &made->id, sizeof(made->id));
	return out;
}

/* ---- writing ---- */

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t done;
	size_t left;
	struct error err; /* of the last one */
};

static inline void waiting_init(struct waiting *waiting, size_t count)
{
	*waiting = (struct waiting){ .left = count };
	(void)pthread_mutex_init(&waiting->lock, NULL);
	(void)pthread_cond_init(&waiting->done, NULL);
}

static inline void waiting_done(struct store_write *write, const struct error *err)
{
	struct waiting *waiting = write->context;

	(void)pthread_mutex_lock(&waiting->lock);
	waiting->err = *err;
	waiting->left--;
	(void)pthread_cond_signal(&waiting->done);
	(void)pthread_mutex_unlock(&waiting->lock);
}

static inline void waiting_wait(struct waiting *waiting)
{
	(void)pthread_mutex_lock(&waiting->lock);
	while (waiting->left > 0)
		(void)pthread_cond_wait(&waiting->done, &waiting->lock);
	(void)pthread_mutex_unlock(&waiting->lock);
	(void)pthread_cond_destroy(&waiting->done);
	(void)pthread_mutex_destroy(&waiting->lock);
}

/* Appends and waits for the answer. */
static inline enum error_code append_profiles(struct store *store, const char *tenant,
                                              const struct series_profile *profiles, size_t count)
{
	struct waiting waiting;
	struct error err = { 0 };
	struct store_write write = {
		.tenant = str_of(tenant),
		.profiles = profiles,
		.count = count,
		.bytes = 1000,
		.done = waiting_done,
		.context = &waiting,
	};

	waiting_init(&waiting, 1);
	if (store_append(store, &write, &err) < 0)
		return err.code;
	waiting_wait(&waiting);
	return waiting.err.code;
}

static inline enum error_code append_made(struct store *store, const char *tenant,
                                          const struct made *made)
{
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	const struct series_profile profile = made_profile(arena, made);
	const enum error_code code = append_profiles(store, tenant, &profile, 1);

	arena_free(arena);
	return code;
}

/* ---- reading ---- */

/* What a query gave, as lines that are sorted and joined. */
struct answer {
	char lines[64][160];
	size_t count;
	char text[8192];
};

static inline void answer_add(struct answer *answer, const char *line)
{
	assert_true(answer->count < 64);
	(void)snprintf(answer->lines[answer->count++], sizeof(answer->lines[0]), "%s", line);
}

static inline int answer_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

static inline const char *answer_text(struct answer *answer)
{
	size_t length = 0;

	qsort(answer->lines, answer->count, sizeof(answer->lines[0]), answer_order);
	answer->text[0] = '\0';
	for (size_t i = 0; i < answer->count; i++)
		length += (size_t)snprintf(answer->text + length, sizeof(answer->text) - length,
		                           "%s%s", i > 0 ? " | " : "", answer->lines[i]);
	return answer->text;
}

/* "main;work": names from the root down. */
static inline void stack_text(const struct symbols *symbols, uint32_t id, char *out, size_t size)
{
	const struct symbol_stack *stack = SYMBOLS_AT(symbols->stacks, id);
	const struct symbol_location *location;
	size_t length;

	if (id == 0) {
		out[0] = '\0';
		return;
	}
	assert_true(id < symbols->stack_count && stack->parent < id);
	stack_text(symbols, stack->parent, out, size);
	location = SYMBOLS_AT(symbols->locations, stack->location);
	for (uint32_t i = location->line_count; i-- > 0;) {
		const struct symbol_line *line =
			SYMBOLS_AT(symbols->lines, location->first_line + i);
		const struct str name = symbols_string(
			symbols, SYMBOLS_AT(symbols->functions, line->function)->name);

		length = strlen(out);
		(void)snprintf(out + length, size - length, "%s%.*s", length ? ";" : "",
		               STR_ARGS(name));
	}
	if (location->line_count == 0) {
		length = strlen(out);
		(void)snprintf(out + length, size - length, "%s0x%llx", length ? ";" : "",
		               (unsigned long long)location->address);
	}
}

static inline int add_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		char stack[100];
		char line[160];

		assert_true(i == 0 || sums->stacks[i] > sums->stacks[i - 1]);
		assert_true(sums->stacks[i] != 0 && sums->sums[i] != 0);
		stack_text(sums->symbols, sums->stacks[i], stack, sizeof(stack));
		(void)snprintf(line, sizeof(line), "%u %s %lld", sums->part, stack,
		               (long long)sums->sums[i]);
		answer_add(context, line);
	}
	return 0;
}

static inline int add_point(void *context, const struct store_point *point, struct error *err)
{
	const struct str *service = label_set_find(point->labels, STR("service_name"));
	const struct str *type = label_set_find(point->labels, STR("__profile_type__"));
	char line[160];

	(void)err;
	(void)snprintf(line, sizeof(line), "%.*s/%.*s %+lldh %lld", STR_ARGS(*service),
	               STR_ARGS(*type), (long long)((point->time_unix_ns - NOON) / HOUR_NS),
	               (long long)point->total);
	answer_add(context, line);
	return 0;
}

static inline int add_series(void *context, const struct label_set *labels, struct error *err)
{
	const struct str *service = label_set_find(labels, STR("service_name"));
	const struct str *type = label_set_find(labels, STR("__profile_type__"));
	char line[160];

	(void)err;
	(void)snprintf(line, sizeof(line), "%.*s/%.*s", STR_ARGS(*service), STR_ARGS(*type));
	answer_add(context, line);
	return 0;
}

enum ask {
	ASK_MERGE,
	ASK_SCAN,
	ASK_SERIES,
};

struct asked {
	const char *tenant; /* NULL: "t" */
	const char *selector;
	int64_t start;
	int64_t end; /* 0: for ever */
	const struct sample_filter *filter;
	const struct store_parts *parts;
};

/* The answer as text, or "error CODE"; valid until the next one. */
static inline const char *ask(struct store *store, enum ask what, const struct asked *asked)
{
	static struct answer answer;
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	struct selector selector;
	struct error err = { 0 };
	int result;
	const struct store_query query = {
		.tenant = str_of(asked->tenant ? asked->tenant : "t"),
		.selector = &selector,
		.range = { asked->start, asked->end ? asked->end : INT64_MAX },
		.filter = asked->filter,
		.arena = arena,
	};

	answer.count = 0;
	selector_init(&selector, arena);
	assert_int_equal(selector_parse(&selector, str_of(asked->selector ? asked->selector : "{}"),
	                                &err),
	                 0);
	if (what == ASK_MERGE)
		result = store_merge(store, &query, asked->parts, add_sums, &answer, &err);
	else if (what == ASK_SCAN)
		result = store_scan(store, &query, add_point, &answer, &err);
	else
		result = store_series(store, &query, add_series, &answer, &err);
	if (result < 0)
		(void)snprintf(answer.text, sizeof(answer.text), "error %d", err.code);
	else
		(void)answer_text(&answer);
	selector_fini(&selector);
	arena_free(arena);
	return answer.text;
}

static inline const char *merge_all(struct store *store, const char *selector)
{
	return ask(store, ASK_MERGE, &(struct asked){ .selector = selector, .start = INT64_MIN });
}

static inline const char *scan_all(struct store *store, const char *selector)
{
	return ask(store, ASK_SCAN, &(struct asked){ .selector = selector, .start = INT64_MIN });
}
