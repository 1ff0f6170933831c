/*
 * What a store should answer: the model's profiles, gone through one by one for each
 * question.
 */
#pragma once

#include "tests/unit/storage/store_model.h"
#include "tests/unit/storage/text_lines.h"

/* The parts of a merge: the last digit of the pod, 7 is left out. */
static inline uint32_t model_part_of_pod(const char *pod, size_t length)
{
	const uint32_t digit = (uint32_t)(pod[length - 1] - '0');

	return digit == 7 ? STORE_SKIP : digit;
}

static inline uint32_t model_part_of(void *context, const struct label_set *labels)
{
	const struct str *pod = label_set_find(labels, STR("pod"));

	(void)context;
	return model_part_of_pod(pod->data, pod->length);
}

struct model_sums {
	uint32_t part;
	const char *stack;
	uint64_t sum;
};

/* A store tells sums file by file, of which a day may have several: they are added up. */
static inline void model_merge(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	struct model_sums *sums = calloc(model->count * MODEL_ROWS + 1, sizeof(*sums));
	size_t count = 0;

	assert_non_null(sums);
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];
		const uint32_t part = parts ? model_part_of_pod(profile->pod, strlen(profile->pod))
		                            : 0;

		if (part == STORE_SKIP || (parts && parts->ranges &&
		                           (profile->time < parts->ranges[part].start_unix_ns ||
		                            profile->time > parts->ranges[part].end_unix_ns)))
			continue;
		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++) {
				size_t at = 0;

				if (!model_row_passes(&profile->rows[row], question))
					continue;
				while (at < count &&
				       (sums[at].part != part ||
				        strcmp(sums[at].stack, profile->rows[row].stack) != 0))
					at++;
				if (at == count)
					count++;
				sums[at].part = part;
				sums[at].stack = profile->rows[row].stack;
				sums[at].sum += (uint64_t)profile->rows[row].values[type];
			}
		}
	}
	for (size_t i = 0; i < count; i++)
		if (sums[i].sum != 0 && sums[i].stack[0])
			lines_add(out, "%u %s %lld", sums[i].part, sums[i].stack,
			          (long long)sums[i].sum);
	free(sums);
}

static inline void model_scan(const struct model *model, const struct model_question *question,
                              const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			uint64_t total = 0;
			bool any = question->span == 0;

			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++) {
				if (!model_row_passes(&profile->rows[row], question))
					continue;
				total += (uint64_t)profile->rows[row].values[type];
				any = true;
			}
			if (any)
				lines_add(out, "%s %s %s %lld %lld %llu", profile->service,
				          profile->pod, profile->types[type],
				          (long long)profile->time, (long long)total,
				          (unsigned long long)profile->id);
		}
	}
}

static inline void model_samples(const struct model *model, const struct model_question *question,
                                 const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			lines_add(out, "%s %s %s %lld", profile->service, profile->pod,
			          profile->types[type], (long long)profile->time);
			for (size_t row = 0; row < profile->row_count; row++)
				if (model_row_passes(&profile->rows[row], question))
					lines_add(out, "%s %s %s %lld %s %lld", profile->service,
					          profile->pod, profile->types[type],
					          (long long)profile->time,
					          profile->rows[row].stack,
					          (long long)profile->rows[row].values[type]);
		}
	}
}

static inline void model_spans(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, question))
				continue;
			for (size_t row = 0; row < profile->row_count; row++)
				if (profile->rows[row].span != 0 &&
				    model_row_passes(&profile->rows[row], question))
					lines_add(out, "%s %s %s %lld %llx %llx %lld",
					          profile->service, profile->pod,
					          profile->types[type], (long long)profile->time,
					          (unsigned long long)profile->rows[row].span,
					          (unsigned long long)profile->rows[row].trace,
					          (long long)profile->rows[row].values[type]);
		}
	}
}

/* Series that have a profile which passes, each once. */
static inline void model_series(const struct model *model, const struct model_question *question,
                                const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			bool passes = question->span == 0;
			char line[128];
			size_t at = 0;

			for (size_t row = 0; row < profile->row_count; row++)
				passes = passes || model_row_passes(&profile->rows[row], question);
			if (!passes || !model_matches(profile, type, question))
				continue;
			(void)snprintf(line, sizeof(line), "%s %s %s", profile->service,
			               profile->pod, profile->types[type]);
			while (at < out->count && strcmp(out->lines[at], line) != 0)
				at++;
			if (at == out->count)
				lines_add(out, "%s", line);
		}
	}
}

/* The values of a label that series with a profile have, or what labels they have. */
enum model_label {
	MODEL_NAMES,
	MODEL_PODS,
	MODEL_KINDS,
};

static inline void model_labels_of(const struct model *model, const struct model_question *question,
                                   enum model_label label, struct lines *out)
{
	struct model_question range = *question;

	range.id = range.span = 0; /* a listing has no filters */
	for (size_t i = 0; i < model->count; i++) {
		const struct model_profile *profile = &model->profiles[i];

		for (size_t type = 0; type < profile->type_count; type++) {
			if (!model_matches(profile, type, &range))
				continue;
			if (label == MODEL_NAMES) {
				lines_add_once(out, "__profile_type__");
				lines_add_once(out, "pod");
				lines_add_once(out, "service_name");
			} else {
				lines_add_once(out, label == MODEL_PODS ? profile->pod
				                                        : profile->types[type]);
			}
		}
	}
}

static inline void model_names(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_NAMES, out);
}

static inline void model_pods(const struct model *model, const struct model_question *question,
                              const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_PODS, out);
}

static inline void model_kinds(const struct model *model, const struct model_question *question,
                               const struct store_parts *parts, struct lines *out)
{
	(void)parts;
	model_labels_of(model, question, MODEL_KINDS, out);
}
