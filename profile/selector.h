/*
 * Which series: Prometheus matchers over labels.
 *
 * Shape    a list of matchers, all of which must hold; an absent label counts as "".
 *          Parsed once into an arena; regular expressions are compiled then (and released
 *          with selector_fini()). An equality matcher on __name__ whose value has four or
 *          five colons means __profile_type__ (its first five parts).
 * Errors   ERROR_INVALID: "LINE:COLUMN: parse error: ...". Columns count bytes from 1.
 * Threads  read-only after parsing; share freely.
 * Source   read specification, 3.4.3 and 1.2
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/regex.h"
#include "profile/label_set.h"

#define SELECTOR_TEXT_MAX     65536 /* bytes */
#define SELECTOR_MATCHERS_MAX 256

enum matcher_op {
	MATCH_EQUAL,
	MATCH_NOT_EQUAL,
	MATCH_REGEX,
	MATCH_NOT_REGEX,
};

struct matcher {
	struct str name;
	enum matcher_op op;
	struct str value; /* the pattern of a regex */
	struct regex *regex;
	const struct str *texts; /* of a pattern that is a choice of texts; else NULL */
	size_t text_count;
	struct str type_id; /* of a __name__ that means __profile_type__: the value as given */
};

struct selector {
	struct matcher *matchers;
	size_t count;
	size_t capacity;
	struct arena *arena;
};

void selector_init(struct selector *selector, struct arena *arena);

/* Frees compiled expressions; fine on a zeroed one. */
void selector_fini(struct selector *selector);

/*
 * Adds the matchers of `text` ("TYPE{a="b"}", "{}", never empty); several calls AND
 * together. A text that fails adds nothing.
 */
int selector_parse(struct selector *selector, struct str text, struct error *err);

/* Adds name="value"; the bytes are borrowed. */
int selector_add_equal(struct selector *selector, struct str name, struct str value,
                       struct error *err);

/* Adds name=~"pattern"; the bytes are borrowed. */
int selector_add_regex(struct selector *selector, struct str name, struct str pattern,
                       struct error *err);

/*
 * Takes the first matcher on `name` out and gives it as it was written (a __name__ that
 * means a profile type is found as __name__), without its regex; false when there is
 * none.
 */
bool selector_take(struct selector *selector, struct str name, struct matcher *out);

bool selector_matches(const struct selector *selector, const struct label_set *labels);

/* Whether one of the matchers holds for a label's value; "" is an absent one. */
bool matcher_matches(const struct matcher *matcher, struct str value);

/*
 * The texts that a matcher names when those decide alone: what they are is taken (or, with
 * != and !~, refused), and nothing else is. NULL for other patterns.
 */
const struct str *matcher_texts(const struct matcher *matcher, size_t *out_count);

static inline bool matcher_is_negated(const struct matcher *matcher)
{
	return matcher->op == MATCH_NOT_EQUAL || matcher->op == MATCH_NOT_REGEX;
}
