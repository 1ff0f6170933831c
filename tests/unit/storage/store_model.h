/*
 * A plain model of what a store was given: profiles in an array, changed as the store is.
 */
#pragma once

#include "tests/unit/storage/store_fixture.h"

#define MODEL_ROWS  8
#define MODEL_TYPES 3

struct model_row {
	char stack[48];
	int64_t values[MODEL_TYPES]; /* by type of the profile */
	uint64_t span;
	uint64_t trace;
};

struct model_profile {
	char service[16];
	char pod[16];
	const char *types[MODEL_TYPES]; /* those that are left, in order */
	size_t type_count;
	int64_t time;
	uint64_t id;
	uint64_t origin;
	struct model_row rows[MODEL_ROWS];
	size_t row_count;
};

struct model {
	struct model_profile *profiles;
	size_t count;
	size_t capacity;
};

/* What a question is about; empty texts match everything. */
struct model_question {
	const char *service;
	const char *pod;
	const char *type;
	int64_t start;
	int64_t end;
	uint64_t id;   /* 0: any */
	uint64_t span; /* 0: any */
};

/* ---- changing it ---- */

static inline void model_fini(struct model *model)
{
	free(model->profiles);
	*model = (struct model){ 0 };
}

static inline bool model_is_retry(const struct model_profile *a, const struct model_profile *b)
{
	if (a->origin == 0 || a->origin != b->origin || a->time != b->time ||
	    a->type_count != b->type_count || strcmp(a->service, b->service) != 0 ||
	    strcmp(a->pod, b->pod) != 0)
		return false;
	for (size_t i = 0; i < a->type_count; i++)
		if (strcmp(a->types[i], b->types[i]) != 0)
			return false;
	return true;
}

/* As a store takes it: the same profile once. */
static inline void model_append(struct model *model, const struct model_profile *profile)
{
	for (size_t i = 0; i < model->count; i++)
		if (model_is_retry(&model->profiles[i], profile))
			return;
	if (model->count == model->capacity) {
		model->capacity = model->capacity ? 2 * model->capacity : 256;
		model->profiles =
			realloc(model->profiles, model->capacity * sizeof(*model->profiles));
		assert_non_null(model->profiles);
	}
	model->profiles[model->count++] = *profile;
}

/* Whether a type of a profile is asked for, as far as series, times and ids say. */
static inline bool model_matches(const struct model_profile *profile, size_t type,
                                 const struct model_question *question)
{
	return (!question->service || strcmp(question->service, profile->service) == 0) &&
	       (!question->pod || strcmp(question->pod, profile->pod) == 0) &&
	       (!question->type || strcmp(question->type, profile->types[type]) == 0) &&
	       profile->time >= question->start && profile->time <= question->end &&
	       (question->id == 0 || question->id == profile->id);
}

static inline bool model_row_passes(const struct model_row *row,
                                    const struct model_question *question)
{
	return question->span == 0 || row->span == question->span;
}

/* Takes a type off a profile; rows that have nothing else go with it. */
static inline void model_drop_type(struct model_profile *profile, size_t type)
{
	size_t kept = 0;

	profile->type_count--;
	for (size_t i = type; i < profile->type_count; i++)
		profile->types[i] = profile->types[i + 1];
	for (size_t row = 0; row < profile->row_count; row++) {
		struct model_row changed = profile->rows[row];
		bool any = false;

		for (size_t i = type; i < profile->type_count; i++)
			changed.values[i] = changed.values[i + 1];
		for (size_t i = 0; i < profile->type_count; i++)
			any = any || changed.values[i] != 0;
		if (any)
			profile->rows[kept++] = changed;
	}
	profile->row_count = kept;
}

/* Gives how many profiles went, each once for every series. */
static inline uint64_t model_remove(struct model *model, const struct model_question *question)
{
	uint64_t removed = 0;
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		struct model_profile profile = model->profiles[i];

		for (size_t type = profile.type_count; type-- > 0;) {
			if (!model_matches(&profile, type, question))
				continue;
			model_drop_type(&profile, type);
			removed++;
		}
		if (profile.type_count > 0)
			model->profiles[kept++] = profile;
	}
	model->count = kept;
	return removed;
}

/* ---- sending it ---- */

static inline struct label_set model_labels(struct arena *arena,
                                            const struct model_profile *profile, size_t type)
{
	struct label *labels = arena_array(arena, 3, sizeof(*labels));

	labels[0] = (struct label){ STR("__profile_type__"),
		                    arena_copy(arena, str_of(profile->types[type])) };
	labels[1] = (struct label){ STR("pod"), arena_copy(arena, str_of(profile->pod)) };
	labels[2] =
		(struct label){ STR("service_name"), arena_copy(arena, str_of(profile->service)) };
	return (struct label_set){ labels, 3 };
}

static inline struct series_profile model_series_profile(struct arena *arena,
                                                         const struct model_profile *profile)
{
	struct made_row *rows = arena_array(arena, MODEL_ROWS, sizeof(*rows));
	uint8_t(*traces)[TRACE_ID_SIZE] = arena_array(arena, MODEL_ROWS, sizeof(*traces));
	struct made made = {
		.service = profile->service,
		.time = profile->time,
		.rows = rows,
		.row_count = profile->row_count,
		.origin = profile->origin,
		.id = profile->id,
	};
	struct series_profile out;
	bool any_trace = false;

	for (size_t i = 0; i < profile->type_count; i++)
		made.types[i] = profile->types[i];
	for (size_t i = 0; i < profile->row_count; i++) {
		rows[i].stack = profile->rows[i].stack;
		rows[i].span = profile->rows[i].span;
		memcpy(rows[i].values, profile->rows[i].values, sizeof(profile->rows[i].values));
		memcpy(traces[i], &profile->rows[i].trace, sizeof(profile->rows[i].trace));
		any_trace = any_trace || profile->rows[i].trace != 0;
	}
	out = made_profile(arena, &made);
	/* a function is the same one in every profile */
	for (size_t i = 0; i < out.profile->location_count; i++)
		out.profile->locations[i].address =
			hash64(0, out.profile->strings[out.profile->functions[i].name].data,
		               out.profile->strings[out.profile->functions[i].name].length);
	out.trace_ids = any_trace ? (const uint8_t(*)[TRACE_ID_SIZE])traces : NULL;
	for (size_t i = 0; i < profile->type_count; i++)
		out.series[i].labels = model_labels(arena, profile, i);
	return out;
}

/* Sends profiles in one write, and takes them into the model. */
static inline void model_send(struct model *model, struct store *store,
                              const struct model_profile *profiles, size_t count)
{
	struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct series_profile *sent = arena_array(arena, count, sizeof(*sent));

	for (size_t i = 0; i < count; i++) {
		sent[i] = model_series_profile(arena, &profiles[i]);
		model_append(model, &profiles[i]);
	}
	assert_int_equal(append_profiles(store, "t", sent, count), ERROR_NONE);
	arena_free(arena);
}
