#include "server/query/label_listing.h"

#include <stdlib.h>

#include "profile/intern.h"

/* What a visitor fills. Hashes have a key of their own: the texts are strangers'. */
struct listing {
	const struct read_query *query;
	struct arena *arena;
	uint64_t key;
	struct intern seen;
	size_t capacity;

	struct text_listing texts;

	struct set_listing sets;
	const struct str *names; /* to which sets are cut */
	size_t name_count;
	struct label *scratch; /* one set while it is cut */
	size_t scratch_capacity;

	enum label_names_shown shown;
};

static void listing_init(struct listing *listing, const struct read_query *query)
{
	const struct uuid random = uuid_random();

	*listing = (struct listing){ .query = query, .arena = query->context.arena };
	memcpy(&listing->key, random.bytes, sizeof(listing->key));
}

static bool is_legacy_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		const char c = name.data[i];
		const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!is_letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return name.length > 0;
}

static bool is_shown(const struct listing *listing, struct str name)
{
	return listing->shown == LABEL_NAMES_ALL || is_legacy_name(name);
}

/* Keeps a copy of a text that was not seen before. */
static int keep_text(struct listing *listing, struct str text, struct error *err)
{
	bool is_new;
	struct str copy;

	if (intern_add(&listing->seen, listing->arena, hash128_str(listing->key, text), &is_new) ==
	    INTERN_NONE)
		return arena_error(listing->arena, err);
	if (!is_new)
		return 0;
	copy = arena_copy(listing->arena, text);
	if (!copy.data || !ARENA_GROW(listing->arena, listing->texts.texts, listing->texts.count,
	                              listing->capacity))
		return arena_error(listing->arena, err);
	listing->texts.texts[listing->texts.count++] = copy;
	return 0;
}

static int visit_name(void *context, struct str name, struct error *err)
{
	struct listing *listing = context;

	return is_shown(listing, name) ? keep_text(listing, name, err) : 0;
}

static int visit_value(void *context, struct str value, struct error *err)
{
	return value.length > 0 ? keep_text(context, value, err) : 0;
}

static bool is_wanted(const struct listing *listing, struct str name)
{
	if (!is_shown(listing, name))
		return false;
	for (size_t i = 0; i < listing->name_count; i++)
		if (str_equal(listing->names[i], name))
			return true;
	return listing->name_count == 0;
}

static int visit_sets(void *context, const struct label_set *labels, struct error *err)
{
	struct listing *listing = context;
	struct label_set cut = { 0 };
	struct label_set copy;
	bool is_new;

	for (size_t i = 0; i < labels->count; i++) {
		if (!is_wanted(listing, labels->labels[i].name))
			continue;
		if (!ARENA_GROW(listing->arena, listing->scratch, cut.count,
		                listing->scratch_capacity))
			return arena_error(listing->arena, err);
		listing->scratch[cut.count++] = labels->labels[i];
	}
	cut.labels = listing->scratch;
	if (intern_add(&listing->seen, listing->arena, label_set_fingerprint(&cut, listing->key),
	               &is_new) == INTERN_NONE)
		return arena_error(listing->arena, err);
	if (!is_new)
		return 0;
	if (!label_set_copy(&cut, listing->arena, &copy) ||
	    !ARENA_GROW(listing->arena, listing->sets.sets, listing->sets.count, listing->capacity))
		return arena_error(listing->arena, err);
	listing->sets.sets[listing->sets.count++] = copy;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	const struct str *first = a;
	const struct str *second = b;

	return str_compare(*first, *second);
}

static int compare_sets(const void *a, const void *b)
{
	return label_set_compare(a, b);
}

/* The listing's texts in order. */
static void sort_texts(const struct listing *listing, struct text_listing *out)
{
	*out = listing->texts;
	if (out->count > 1)
		qsort(out->texts, out->count, sizeof(*out->texts), compare_texts);
}

int label_listing_names(const struct read_query *query, enum label_names_shown shown,
                        struct text_listing *out, struct error *err)
{
	const struct store_query question = read_query_store(query);
	struct listing listing;

	listing_init(&listing, query);
	listing.shown = shown;
	if (!query->nothing &&
	    store_label_names(query->context.store, &question, visit_name, &listing, err) < 0)
		return -1;
	sort_texts(&listing, out);
	return 0;
}

int label_listing_values(const struct read_query *query, struct str name, struct text_listing *out,
                         struct error *err)
{
	const struct store_query question = read_query_store(query);
	struct listing listing;

	listing_init(&listing, query);
	if (!query->nothing && store_label_values(query->context.store, &question, name,
	                                          visit_value, &listing, err) < 0)
		return -1;
	sort_texts(&listing, out);
	return 0;
}

int label_listing_sets(const struct read_query *query, const struct str *names, size_t name_count,
                       enum label_names_shown shown, struct set_listing *out, struct error *err)
{
	const struct store_query question = read_query_store(query);
	struct listing listing;
	struct str *wanted = arena_array(query->context.arena, name_count + 1, sizeof(*wanted));

	listing_init(&listing, query);
	listing.shown = shown;
	if (!wanted)
		return arena_error(listing.arena, err);
	/* a name that is not shown counts as not asked for */
	for (size_t i = 0; i < name_count; i++)
		if (is_shown(&listing, names[i]))
			wanted[listing.name_count++] = names[i];
	listing.names = wanted;
	if (!query->nothing &&
	    store_series(query->context.store, &question, visit_sets, &listing, err) < 0)
		return -1;
	*out = listing.sets;
	if (out->count > 1)
		qsort(out->sets, out->count, sizeof(*out->sets), compare_sets);
	if (out->count == 1 && out->sets[0].count == 0)
		out->count = 0;
	return 0;
}
