#include "storage/series_match.h"

#include <stdlib.h>

/* What steps cost beside each other: measured with bench_series, rounded. */
#define COST_LISTED  1  /* an id of a list becomes a bit */
#define COST_SERIES  8  /* the value of a series is found */
#define COST_PATTERN 64 /* a pattern is held against a text */

enum verdict {
	VERDICT_NONE, /* not asked yet */
	VERDICT_TAKES,
	VERDICT_REFUSES,
};

/* A matcher on the way: what it says of a window's values. */
struct sieve {
	const struct matcher *matcher;
	uint32_t name;
	bool is_negated;
	bool takes_absent;      /* series that do not have the label */
	bool is_listed;         /* `values` decide alone: the others are what is_negated says */
	const uint32_t *values; /* that it names and the window has */
	size_t value_count;
	uint64_t listed;   /* series of its values */
	uint64_t distinct; /* values of the name */
};

struct match {
	const struct series_view *view;
	const struct label_index *labels;
	struct arena *arena;
	uint64_t *bits; /* by series: what is left */
	size_t word_count;
	uint64_t left;
	uint32_t value_limit; /* ids of values of the view's series are below it */
	uint8_t *verdicts;    /* of the sieve at work, by value: enum verdict */
	struct sieve *sieves;
	size_t sieve_count;
	bool is_empty; /* a matcher takes none of the window's series */
};

/* ---- verdicts ---- */

/* Forgets what the sieve before has said, and notes what is said of named values. */
static int begin_verdicts(struct match *match, const struct sieve *sieve, struct error *err)
{
	const size_t size = match->value_limit * sizeof(*match->verdicts);

	if (!match->verdicts)
		match->verdicts = arena_alloc_raw(match->arena, size);
	if (!match->verdicts)
		return arena_error(match->arena, err);
	memset(match->verdicts, VERDICT_NONE, size);
	for (size_t i = 0; i < sieve->value_count; i++)
		match->verdicts[sieve->values[i]] = sieve->is_negated ? VERDICT_REFUSES
		                                                      : VERDICT_TAKES;
	return 0;
}

/* Whether the sieve at work takes what has the value. */
static bool takes(const struct match *match, const struct sieve *sieve, uint32_t value)
{
	const enum verdict known = match->verdicts[value];
	bool is_taken;

	if (known != VERDICT_NONE)
		return known == VERDICT_TAKES;
	is_taken = sieve->is_listed
	                   ? sieve->is_negated
	                   : matcher_matches(sieve->matcher,
	                                     label_index_value(match->labels, value)->text);
	match->verdicts[value] = is_taken ? VERDICT_TAKES : VERDICT_REFUSES;
	return is_taken;
}

/* Looks the texts of a matcher up; what the window does not have is left out. */
static int look_up(const struct match *match, struct sieve *sieve, const struct str *texts,
                   size_t count, struct error *err)
{
	uint32_t *values = arena_array_raw(match->arena, count, sizeof(*values));

	if (!values)
		return arena_error(match->arena, err);
	for (size_t i = 0; i < count; i++) {
		const uint32_t value = label_index_find(match->labels, sieve->name, texts[i]);

		/* LABEL_NONE is above, and so is what is newer than the view */
		if (value >= match->value_limit)
			continue;
		values[sieve->value_count++] = value;
		sieve->listed += postings_count(&label_index_value(match->labels, value)->series);
	}
	sieve->values = values;
	return 0;
}

/* Adds the sieve of a matcher, unless all pass it or none. */
static int add_sieve(struct match *match, const struct matcher *matcher, struct error *err)
{
	struct sieve *sieve = &match->sieves[match->sieve_count];
	const struct str *texts;
	size_t count = 0;

	*sieve = (struct sieve){
		.matcher = matcher,
		.name = label_index_find_name(match->labels, matcher->name),
		.is_negated = matcher_is_negated(matcher),
		.takes_absent = matcher_matches(matcher, STR("")),
	};
	if (sieve->name == LABEL_NONE) {
		match->is_empty = match->is_empty || !sieve->takes_absent;
		return 0;
	}
	sieve->distinct = label_name_value_count(label_index_name(match->labels, sieve->name));
	texts = matcher_texts(matcher, &count);
	sieve->is_listed = texts != NULL;
	if (texts && look_up(match, sieve, texts, count, err) < 0)
		return -1;
	match->sieve_count++;
	return 0;
}

/* ---- by lists ---- */

/* Whether the lists of the named values are all that it needs. */
static bool needs_named_only(const struct sieve *sieve)
{
	return sieve->is_listed && sieve->is_negated == sieve->takes_absent;
}

/* Sets or clears the bits of the series that have a value. */
static void mark(const struct match *match, uint32_t value, uint64_t *bits, bool is_set)
{
	struct postings_cursor cursor =
		postings_read(&label_index_value(match->labels, value)->series);
	const uint32_t *ids;
	uint32_t count;

	while (postings_next(&cursor, &ids, &count)) {
		/* what is newer than the view stands at the end */
		for (uint32_t i = 0; i < count && ids[i] < match->view->series_count; i++) {
			const uint64_t bit = UINT64_C(1) << (ids[i] & 63);

			if (is_set)
				bits[ids[i] / 64] |= bit;
			else
				bits[ids[i] / 64] &= ~bit;
		}
	}
}

/* Sets the bits of what is taken, or clears those of what is refused. */
static void mark_values(const struct match *match, const struct sieve *sieve, uint64_t *bits)
{
	const bool sets = !sieve->takes_absent;

	if (needs_named_only(sieve)) {
		for (size_t i = 0; i < sieve->value_count; i++)
			mark(match, sieve->values[i], bits, sets);
		return;
	}
	for (uint32_t id = label_name_newest(label_index_name(match->labels, sieve->name));
	     id != LABEL_NONE; id = label_value_previous(label_index_value(match->labels, id)))
		if (id < match->value_limit && takes(match, sieve, id) == sets)
			mark(match, id, bits, sets);
}

static int sift_by_lists(struct match *match, const struct sieve *sieve, struct error *err)
{
	uint64_t *taken;

	if (!needs_named_only(sieve) && begin_verdicts(match, sieve, err) < 0)
		return -1;
	if (sieve->takes_absent) {
		mark_values(match, sieve, match->bits);
		return 0;
	}
	taken = arena_array(match->arena, match->word_count, sizeof(*taken));
	if (!taken)
		return arena_error(match->arena, err);
	mark_values(match, sieve, taken);
	for (size_t i = 0; i < match->word_count; i++)
		match->bits[i] &= taken[i];
	arena_undo(match->arena, taken, match->word_count * sizeof(*taken));
	return 0;
}

/* ---- by series ---- */

static bool takes_series(const struct match *match, const struct sieve *sieve, uint32_t series)
{
	const uint32_t value = series_view_value_id(match->view, series, sieve->name);

	return value == LABEL_NONE ? sieve->takes_absent : takes(match, sieve, value);
}

static int sift_by_series(struct match *match, const struct sieve *sieve, struct error *err)
{
	if (begin_verdicts(match, sieve, err) < 0)
		return -1;
	for (size_t i = 0; i < match->word_count; i++) {
		for (uint64_t word = match->bits[i]; word != 0; word &= word - 1) {
			const uint32_t bit = (uint32_t)__builtin_ctzll(word);

			if (!takes_series(match, sieve, (uint32_t)(i * 64) + bit))
				match->bits[i] &= ~(UINT64_C(1) << bit);
		}
	}
	return 0;
}

/* ---- the order ---- */

static uint64_t cost_by_lists(const struct match *match, const struct sieve *sieve)
{
	if (needs_named_only(sieve))
		return sieve->listed * COST_LISTED;
	return sieve->distinct * (sieve->is_listed ? COST_LISTED : COST_PATTERN) +
	       match->view->series_count * COST_LISTED;
}

static uint64_t cost_by_series(const struct match *match, const struct sieve *sieve)
{
	const uint64_t asked = match->left < sieve->distinct ? match->left : sieve->distinct;

	return match->left * COST_SERIES + (sieve->is_listed ? 0 : asked * COST_PATTERN);
}

/* Those that name what they take, the fewest series first; then those that cost least. */
static int by_worth(const void *left, const void *right)
{
	const struct sieve *a = left;
	const struct sieve *b = right;
	const bool a_named = needs_named_only(a) && !a->takes_absent;
	const bool b_named = needs_named_only(b) && !b->takes_absent;

	if (a_named != b_named)
		return a_named ? -1 : 1;
	if (a_named)
		return (a->listed > b->listed) - (a->listed < b->listed);
	return (a->distinct > b->distinct) - (a->distinct < b->distinct);
}

static void count_left(struct match *match)
{
	match->left = 0;
	for (size_t i = 0; i < match->word_count; i++)
		match->left += (uint64_t)__builtin_popcountll(match->bits[i]);
}

static int sift(struct match *match, struct error *err)
{
	if (match->sieve_count > 1)
		qsort(match->sieves, match->sieve_count, sizeof(*match->sieves), by_worth);
	for (size_t i = 0; i < match->sieve_count && match->left > 0; i++) {
		const struct sieve *sieve = &match->sieves[i];
		const bool by_series = cost_by_series(match, sieve) < cost_by_lists(match, sieve);

		if ((by_series ? sift_by_series : sift_by_lists)(match, sieve, err) < 0)
			return -1;
		count_left(match);
	}
	return 0;
}

/* ---- the whole ---- */

static int begin(struct match *match, const struct selector *selector, struct error *err)
{
	const uint32_t count = match->view->series_count;
	const size_t matchers = selector ? selector->count : 0;

	match->value_limit = label_index_value_count(match->labels);
	match->word_count = (count + 63) / 64;
	match->left = count;
	match->bits = arena_array_raw(match->arena, match->word_count, sizeof(*match->bits));
	match->sieves = arena_array(match->arena, matchers, sizeof(*match->sieves));
	if (!match->bits || !match->sieves)
		return arena_error(match->arena, err);
	memset(match->bits, 0xff, match->word_count * sizeof(*match->bits));
	if (count % 64 != 0)
		match->bits[match->word_count - 1] = (UINT64_C(1) << count % 64) - 1;
	for (size_t i = 0; i < matchers; i++)
		if (add_sieve(match, &selector->matchers[i], err) < 0)
			return -1;
	return 0;
}

static int take_ids(const struct match *match, struct series_ids *out, struct error *err)
{
	uint32_t *ids = arena_array_raw(match->arena, match->left, sizeof(*ids));
	uint32_t count = 0;

	if (!ids)
		return arena_error(match->arena, err);
	for (size_t i = 0; i < match->word_count; i++)
		for (uint64_t word = match->bits[i]; word != 0; word &= word - 1)
			ids[count++] = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(word);
	*out = (struct series_ids){ ids, count };
	return 0;
}

int series_match(const struct series_view *view, const struct selector *selector,
                 struct arena *arena, struct series_ids *out, struct error *err)
{
	struct match match = { .view = view, .labels = &view->index->labels, .arena = arena };

	if (begin(&match, selector, err) < 0)
		return -1;
	if (match.is_empty) {
		*out = (struct series_ids){ 0 };
		return 0;
	}
	if (sift(&match, err) < 0)
		return -1;
	return take_ids(&match, out, err);
}
