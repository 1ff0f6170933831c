/*
 * Which label names, values and sets there are: listings over the series of a query.
 *
 * Shape    distinct and sorted by bytes, whatever the store's order. Names that are not
 *          [a-zA-Z_][a-zA-Z0-9_]* are shown to those who say that they can read them.
 *          A query whose range lies before the lookback lists nothing.
 * Errors   the store's; arena_error().
 * Source   read specification, 3.5, 3.6 and 3.4.5
 */
#pragma once

#include "server/query/read_query.h"

struct text_listing {
	struct str *texts;
	size_t count;
};

struct set_listing {
	struct label_set *sets;
	size_t count;
};

/* Which names a listing shows. */
enum label_names_shown {
	LABEL_NAMES_LEGACY, /* those that every client can write in a selector */
	LABEL_NAMES_ALL,
};

int label_listing_names(const struct read_query *query, enum label_names_shown shown,
                        struct text_listing *out, struct error *err);

int label_listing_values(const struct read_query *query, struct str name, struct text_listing *out,
                         struct error *err);

/*
 * Label sets cut down to `names` (none: whole). Series with none of them are one empty
 * set when others have some.
 */
int label_listing_sets(const struct read_query *query, const struct str *names, size_t name_count,
                       enum label_names_shown shown, struct set_listing *out, struct error *err);
