/*
 * Splitting by sample labels. Labels are compared as string indices, once for each
 * sample; their texts are looked at once for each distinct set.
 */
#include "profile/ingest_run.h"

enum key_kind {
	KEY_UNSEEN = 0,
	KEY_PLAIN,
	KEY_SPAN,
	KEY_TRACE,
};

/* The labels of one sample: the plain ones, sorted, and the texts of span and trace. */
struct sample_labels {
	const struct profile_label *plain;
	uint32_t count;
	uint32_t span_text;
	uint32_t trace_text;
};

static enum key_kind kind_of(struct ingest_run *run, uint32_t key)
{
	struct str name;

	if (run->key_kinds[key] != KEY_UNSEEN)
		return (enum key_kind)run->key_kinds[key];
	name = profile_string(run->profile, key);
	if (str_equals(name, "span_id") || str_equals(name, "profile_id"))
		run->key_kinds[key] = KEY_SPAN;
	else if (str_equals(name, "trace_id"))
		run->key_kinds[key] = KEY_TRACE;
	else
		run->key_kinds[key] = KEY_PLAIN;
	return (enum key_kind)run->key_kinds[key];
}

/* Plain labels come first, then spans and traces, then those without text. */
static int rank_of(struct ingest_run *run, struct profile_label label)
{
	if (label.value == 0)
		return 2;
	return kind_of(run, label.key) == KEY_PLAIN ? 0 : 1;
}

static bool label_before(struct ingest_run *run, struct profile_label a, struct profile_label b)
{
	const int rank_a = rank_of(run, a);
	const int rank_b = rank_of(run, b);

	if (rank_a != rank_b)
		return rank_a < rank_b;
	return a.key < b.key || (a.key == b.key && a.value < b.value);
}

/* labels[count] joins the sorted labels before it. */
static void sort_in(struct ingest_run *run, struct profile_label *labels, uint32_t count)
{
	const struct profile_label label = labels[count];

	while (count > 0 && label_before(run, label, labels[count - 1])) {
		labels[count] = labels[count - 1];
		count--;
	}
	labels[count] = label;
}

static uint32_t lower_text(uint32_t a, uint32_t b)
{
	return a == 0 || b < a ? b : a;
}

/* Sorts the sample's labels where they lie: samples may share them. */
static struct sample_labels take_labels(struct ingest_run *run, const struct profile_sample *sample)
{
	struct sample_labels taken = { 0 };
	struct profile_label *labels;

	if (sample->label_count == 0)
		return taken;
	labels = run->profile->labels + sample->first_label;
	for (uint32_t i = 1; i < sample->label_count; i++)
		sort_in(run, labels, i);
	taken.plain = labels;
	while (taken.count < sample->label_count && rank_of(run, labels[taken.count]) == 0)
		taken.count++;
	for (uint32_t i = taken.count; i < sample->label_count && labels[i].value != 0; i++) {
		uint32_t *text = kind_of(run, labels[i].key) == KEY_SPAN ? &taken.span_text
		                                                         : &taken.trace_text;

		*text = lower_text(*text, labels[i].value);
	}
	return taken;
}

/* ---- groups ---- */

/* The group with these labels; *labels are valid. */
static int find_group(struct ingest_run *run, const struct label_set *labels, uint32_t *out_group,
                      struct error *err)
{
	uint64_t hash = label_set_fingerprint(labels, run->groups_by_labels.key).low;

	for (;; hash++) {
		uint32_t *group = number_map_at(&run->groups_by_labels, hash);

		if (!group ||
		    !ARENA_GROW(run->arena, run->groups, run->group_count, run->group_capacity))
			return arena_error(run->arena, err);
		if (*group == NUMBER_MAP_NONE) {
			*group = (uint32_t)run->group_count;
			run->groups[run->group_count++] =
				(struct ingest_group){ .labels = *labels };
		} else if (label_set_compare(&run->groups[*group].labels, labels) != 0) {
			continue;
		}
		*out_group = *group;
		return 0;
	}
}

/* The texts of a sample's plain labels as a set, joined with the request's. */
static int make_group(struct ingest_run *run, const struct sample_labels *labels,
                      uint32_t *out_group, struct error *err)
{
	struct label_set extra = { .count = labels->count };
	struct label_set joined;

	extra.labels = arena_array_raw(run->arena, labels->count, sizeof(*extra.labels));
	if (!extra.labels)
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < labels->count; i++)
		extra.labels[i] = (struct label){
			profile_string(run->profile, labels->plain[i].key),
			profile_string(run->profile, labels->plain[i].value),
		};
	label_set_sort(&extra);
	if (ingest_join_labels(run, &extra, &joined, err) < 0)
		return -1;
	return find_group(run, &joined, out_group, err);
}

static bool same_plain(const struct ingest_run *run, const struct ingest_set *set,
                       const struct sample_labels *labels)
{
	return set->label_count == labels->count &&
	       (labels->count == 0 || memcmp(run->profile->labels + set->first_label, labels->plain,
	                                     labels->count * sizeof(*labels->plain)) == 0);
}

/* The group of a new set: that of an older set with the same plain labels, or its own. */
static int group_of(struct ingest_run *run, const struct sample_labels *labels, uint64_t hash,
                    uint32_t *out_group, struct error *err)
{
	for (;; hash++) {
		uint32_t *set = number_map_at(&run->groups_by_texts, hash);

		if (!set)
			return arena_error(run->arena, err);
		if (*set == NUMBER_MAP_NONE) {
			*set = (uint32_t)run->set_count; /* the one that is about to be made */
			return make_group(run, labels, out_group, err);
		}
		if (same_plain(run, &run->sets[*set], labels)) {
			*out_group = run->sets[*set].group;
			return 0;
		}
	}
}

/* ---- sets ---- */

static uint64_t read_span(struct str text)
{
	uint8_t bytes[8];
	uint64_t id = 0;

	if (!hex_decode(text, bytes, sizeof(bytes)))
		return 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		id = id << 8 | bytes[i];
	return id;
}

static int add_set(struct ingest_run *run, const struct sample_labels *labels, uint64_t plain_hash,
                   struct error *err)
{
	struct ingest_set set = {
		.first_label = labels->count > 0 ? (uint32_t)(labels->plain - run->profile->labels)
		                                 : 0,
		.label_count = labels->count,
		.span_text = labels->span_text,
		.trace_text = labels->trace_text,
	};

	if (!ARENA_GROW(run->arena, run->sets, run->set_count, run->set_capacity))
		return arena_error(run->arena, err);
	if (group_of(run, labels, plain_hash, &set.group, err) < 0)
		return -1;
	if (set.span_text != 0)
		set.span_id = read_span(profile_string(run->profile, set.span_text));
	if (set.trace_text != 0 &&
	    !hex_decode(profile_string(run->profile, set.trace_text), set.trace_id, TRACE_ID_SIZE))
		memset(set.trace_id, 0, TRACE_ID_SIZE);
	run->sets[run->set_count++] = set;
	return 0;
}

static bool set_is(const struct ingest_run *run, const struct ingest_set *set,
                   const struct sample_labels *labels)
{
	return set->span_text == labels->span_text && set->trace_text == labels->trace_text &&
	       same_plain(run, set, labels);
}

static int prepare(struct ingest_run *run, struct error *err)
{
	if (run->key_kinds)
		return 0;
	run->key_kinds = arena_alloc(run->arena, run->profile->string_count);
	if (!run->key_kinds || !number_map_init(&run->sets_by_hash, run->arena, 0) ||
	    !number_map_init(&run->groups_by_texts, run->arena, 0) ||
	    !number_map_init(&run->groups_by_labels, run->arena, 0))
		return arena_error(run->arena, err);
	return 0;
}

int ingest_find_set(struct ingest_run *run, size_t index, uint32_t *out_set, struct error *err)
{
	struct sample_labels labels;
	uint64_t plain_hash;
	uint64_t hash;

	if (prepare(run, err) < 0)
		return -1;
	labels = take_labels(run, &run->profile->samples[index]);
	plain_hash =
		hash64(run->sets_by_hash.key, labels.plain, labels.count * sizeof(*labels.plain));
	hash = plain_hash + labels.span_text * UINT64_C(0x9e3779b97f4a7c15) +
	       labels.trace_text * UINT64_C(0xbf58476d1ce4e5b9);
	for (;; hash++) {
		uint32_t *set = number_map_at(&run->sets_by_hash, hash);

		if (!set)
			return arena_error(run->arena, err);
		if (*set == NUMBER_MAP_NONE) {
			*set = (uint32_t)run->set_count;
			*out_set = *set;
			return add_set(run, &labels, plain_hash, err);
		}
		if (set_is(run, &run->sets[*set], &labels)) {
			*out_set = *set;
			return 0;
		}
	}
}
