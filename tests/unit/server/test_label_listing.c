#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_store.h"
#include "server/query/label_listing.h"

#define LIMIT ((size_t)1 << 20)

static const struct fake_profile profiles[] = {
	{ "service_name=shop,region=us,zone=b", 1, 1, "f" },
	{ "service_name=shop,region=us,zone=a", 1, 1, "f" },
	{ "service_name=shop,region=eu", 1, 1, "f" },
	{ "service_name=shop,region=eu", 2, 1, "f" },
	{ "service_name=shop,k8s.pod=p", 1, 1, "f" },
	{ "service_name=other,region=mars", 1, 1, "f" },
};

/* A question about the shop. */
struct asking {
	struct arena *arena;
	struct fake_store fake;
	struct read_query query;
};

static void ask(struct asking *asking)
{
	const struct read_query_context context = {
		.store = &asking->fake.store,
		.arena = asking->arena = arena_new(LIMIT, NULL),
	};
	struct error err = { 0 };

	fake_store_init(&asking->fake, profiles, ARRAY_LENGTH(profiles));
	read_query_init(&asking->query, &context);
	asking->query.range = (struct store_range){ 0, 10 };
	if (selector_parse(&asking->query.selector, STR("{service_name=\"shop\"}"), &err) < 0)
		fail_msg("%s", err.message);
}

static void end(struct asking *asking)
{
	read_query_fini(&asking->query);
	arena_free(asking->arena);
}

static void texts_are(const struct text_listing *listing, const char *expected)
{
	struct strbuf text;

	strbuf_init(&text, LIMIT);
	for (size_t i = 0; i < listing->count; i++)
		strbuf_printf(&text, "%s%.*s", i ? " " : "", STR_ARGS(listing->texts[i]));
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
}

static void sets_are(const struct set_listing *listing, const char *expected)
{
	struct strbuf text;

	strbuf_init(&text, LIMIT);
	for (size_t i = 0; i < listing->count; i++)
		label_set_format(&listing->sets[i], &text);
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
}

static void names_are_sorted_and_odd_ones_hidden(void **state)
{
	struct asking asking;
	struct text_listing names;
	struct error err;

	(void)state;
	ask(&asking);
	assert_int_equal(label_listing_names(&asking.query, LABEL_NAMES_LEGACY, &names, &err), 0);
	texts_are(&names, "region service_name zone");
	assert_int_equal(label_listing_names(&asking.query, LABEL_NAMES_ALL, &names, &err), 0);
	texts_are(&names, "k8s.pod region service_name zone");
	end(&asking);
}

static void values_are_those_of_matching_series(void **state)
{
	struct asking asking;
	struct text_listing values;
	struct error err;

	(void)state;
	ask(&asking);
	assert_int_equal(label_listing_values(&asking.query, STR("region"), &values, &err), 0);
	texts_are(&values, "eu us");
	assert_int_equal(label_listing_values(&asking.query, STR("k8s.pod"), &values, &err), 0);
	texts_are(&values, "p");
	assert_int_equal(label_listing_values(&asking.query, STR("nope"), &values, &err), 0);
	texts_are(&values, "");
	end(&asking);
}

static void sets_are_cut_to_the_names_asked_for(void **state)
{
	struct str names[] = { { "zone", 4 }, { "region", 6 } };
	struct asking asking;
	struct set_listing sets;
	struct error err;

	(void)state;
	ask(&asking);
	assert_int_equal(
		label_listing_sets(&asking.query, names, 2, LABEL_NAMES_LEGACY, &sets, &err), 0);
	sets_are(&sets, "{}{region=\"eu\"}{region=\"us\", zone=\"a\"}{region=\"us\", zone=\"b\"}");
	end(&asking);
}

static void a_name_that_nobody_has_lists_nothing(void **state)
{
	struct str names[] = { { "nope", 4 } };
	struct asking asking;
	struct set_listing sets;
	struct error err;

	(void)state;
	ask(&asking);
	assert_int_equal(
		label_listing_sets(&asking.query, names, 1, LABEL_NAMES_LEGACY, &sets, &err), 0);
	assert_int_equal(sets.count, 0);
	end(&asking);
}

static void no_names_means_whole_sets(void **state)
{
	struct asking asking;
	struct set_listing sets;
	struct error err;

	(void)state;
	ask(&asking);
	assert_int_equal(
		label_listing_sets(&asking.query, NULL, 0, LABEL_NAMES_LEGACY, &sets, &err), 0);
	sets_are(&sets, "{region=\"eu\", service_name=\"shop\"}"
	                "{region=\"us\", service_name=\"shop\", zone=\"a\"}"
	                "{region=\"us\", service_name=\"shop\", zone=\"b\"}"
	                "{service_name=\"shop\"}");
	end(&asking);
}

static void a_range_before_the_lookback_lists_nothing(void **state)
{
	struct asking asking;
	struct text_listing names;
	struct error err;

	(void)state;
	ask(&asking);
	asking.query.nothing = true;
	assert_int_equal(label_listing_names(&asking.query, LABEL_NAMES_ALL, &names, &err), 0);
	assert_int_equal(names.count, 0);
	end(&asking);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_sorted_and_odd_ones_hidden),
		cmocka_unit_test(values_are_those_of_matching_series),
		cmocka_unit_test(sets_are_cut_to_the_names_asked_for),
		cmocka_unit_test(a_name_that_nobody_has_lists_nothing),
		cmocka_unit_test(no_names_means_whole_sets),
		cmocka_unit_test(a_range_before_the_lookback_lists_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
