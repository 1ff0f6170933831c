#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "storage/series_match.h"

#define NAMES       4
#define SERIES_MOST 700
#define ARENA_BYTES ((size_t)16 << 20)

/* ---- a plain model ---- */

/* A series: the value of each name, NULL where it has none. */
struct model_series {
	const char *values[NAMES];
};

struct model_matcher {
	int name; /* NAMES: one that no series has */
	const char *op;
	const char *value;
	regex_t pattern; /* of =~ and !~ */
};

static const char *const names[NAMES + 1] = { "alpha", "beta", "gamma", "delta", "omega" };

/* gamma has many values, so that patterns are held against series instead of values */
static const char *const few[] = { "a", "b", "ab", "b.a", "a|b", "abab", "(a)", "x" };

/* Means the same to RE2 and to POSIX. */
static const char *const patterns[] = {
	"a",     "a|b",     "(a|b|zz)", "a.*", ".*",   ".+",       "",   "a|",
	"[ab]+", "b\\\\.a", "(ab)+",    "x?",  ".*1$", "1.|2.|3.", "zz", "zz|yy",
};

/* POSIX's regular expressions say what a pattern matches. */
static void compile(struct model_matcher *matcher)
{
	char anchored[80];
	char plain[64];
	size_t length = 0;

	/* as a string of the selector: a backslash stands there twice */
	for (const char *c = matcher->value; *c; c++) {
		if (*c == '\\')
			c++;
		plain[length++] = *c;
	}
	plain[length] = '\0';
	(void)snprintf(anchored, sizeof(anchored), "^(%s)$", plain);
	assert_int_equal(regcomp(&matcher->pattern, anchored, REG_EXTENDED | REG_NOSUB), 0);
}

static bool is_pattern(const struct model_matcher *matcher)
{
	return matcher->op[1] == '~';
}

static bool model_matches(const struct model_series *series, const struct model_matcher *matcher)
{
	const char *value = matcher->name < NAMES && series->values[matcher->name]
	                            ? series->values[matcher->name]
	                            : "";
	const bool is_equal = is_pattern(matcher)
	                              ? regexec(&matcher->pattern, value, 0, NULL, 0) == 0
	                              : strcmp(value, matcher->value) == 0;

	return is_equal == (matcher->op[0] == '=');
}

/* ---- random worlds ---- */

struct world {
	unsigned seed;
	struct series_index *index;
	struct arena *arena;
	struct model_series series[SERIES_MOST];
	uint32_t count;
};

static size_t draw(struct world *world, size_t below)
{
	return (size_t)rand_r(&world->seed) % below;
}

static const char *draw_value(struct world *world, int name)
{
	if (name == 2)
		return arena_printf(world->arena, "%zu", draw(world, 400)).data;
	return few[draw(world, sizeof(few) / sizeof(few[0]))];
}

static void add_series(struct world *world)
{
	struct model_series *series = &world->series[world->count++];
	struct label labels[NAMES];
	struct label_set set = { labels, 0 };

	for (int name = 0; name < NAMES; name++) {
		series->values[name] = draw(world, 4) ? draw_value(world, name) : NULL;
		if (series->values[name])
			labels[set.count++] =
				(struct label){ str_of(names[name]), str_of(series->values[name]) };
	}
	label_set_sort(&set);
	(void)series_index_add(world->index, &set, label_set_fingerprint(&set, 1));
}

static void world_init(struct world *world, unsigned seed, uint32_t count)
{
	*world = (struct world){ .seed = seed };
	world->index = series_index_new(seed);
	world->arena = arena_new(ARENA_BYTES, NULL);
	while (world->count < count)
		add_series(world);
	series_index_publish(world->index);
}

static void world_fini(struct world *world)
{
	label_index_check(&world->index->labels);
	series_index_free(world->index);
	arena_free(world->arena);
}

static struct model_matcher draw_matcher(struct world *world)
{
	static const char *const ops[] = { "=", "!=", "=~", "!~" };
	struct model_matcher matcher = { .name = (int)draw(world, NAMES + 1),
		                         .op = ops[draw(world, 4)] };

	if (is_pattern(&matcher)) {
		matcher.value = patterns[draw(world, sizeof(patterns) / sizeof(patterns[0]))];
		compile(&matcher);
	} else if (draw(world, 8) == 0) {
		matcher.value = "";
	} else {
		matcher.value = draw_value(world, matcher.name);
	}
	return matcher;
}

static void parse(const struct model_matcher *matchers, size_t count, struct arena *arena,
                  struct selector *selector)
{
	struct strbuf text;
	struct error err = { 0 };

	strbuf_init(&text, 10000);
	strbuf_add_byte(&text, '{');
	for (size_t i = 0; i < count; i++)
		strbuf_printf(&text, "%s%s%s\"%s\"", i ? "," : "", names[matchers[i].name],
		              matchers[i].op, matchers[i].value);
	strbuf_add_byte(&text, '}');
	selector_init(selector, arena);
	if (selector_parse(selector, strbuf_view(&text), &err) < 0)
		fail_msg("%s", err.message);
	strbuf_fini(&text);
}

/* The answer has exactly the series of the view that the model takes, in order. */
static void compare(const struct world *world, const struct series_view *view,
                    const struct model_matcher *matchers, size_t matcher_count,
                    const struct series_ids *found)
{
	uint32_t next = 0;

	for (uint32_t id = 0; id < view->series_count; id++) {
		bool matches = true;

		for (size_t i = 0; matches && i < matcher_count; i++)
			matches = model_matches(&world->series[id], &matchers[i]);
		if (!matches)
			continue;
		assert_true(next < found->count);
		assert_int_equal(found->ids[next++], id);
	}
	assert_int_equal(next, found->count);
}

static void ask(struct world *world, const struct series_view *view)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct model_matcher matchers[4];
	const size_t count = 1 + draw(world, 4);
	struct selector selector;
	struct series_ids found;
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++)
		matchers[i] = draw_matcher(world);
	parse(matchers, count, arena, &selector);
	assert_int_equal(series_match(view, &selector, arena, &found, &err), 0);
	compare(world, view, matchers, count, &found);
	for (size_t i = 0; i < count; i++)
		if (is_pattern(&matchers[i]))
			regfree(&matchers[i].pattern);
	selector_fini(&selector);
	arena_free(arena);
}

static void answers_are_those_of_a_walk(void **state)
{
	/* words of 64 are full, or not */
	static const uint32_t counts[] = { 0, 1, 63, 64, 65, 200, SERIES_MOST };

	(void)state;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct world world;
		struct series_view view;

		world_init(&world, i + 1, counts[i]);
		series_index_view(world.index, &view);
		for (int round = 0; round < 300; round++)
			ask(&world, &view);
		world_fini(&world);
	}
}

static void what_is_newer_than_the_view_is_not_found(void **state)
{
	struct world world;
	struct series_view view;

	(void)state;
	world_init(&world, 99, 150);
	series_index_view(world.index, &view);
	while (world.count < SERIES_MOST)
		add_series(&world);
	series_index_publish(world.index);
	for (int round = 0; round < 300; round++)
		ask(&world, &view);
	world_fini(&world);
}

static void no_selector_means_all(void **state)
{
	struct world world;
	struct series_view view;
	struct series_ids found;
	struct error err = { 0 };

	(void)state;
	world_init(&world, 5, 130);
	series_index_view(world.index, &view);
	assert_int_equal(series_match(&view, NULL, world.arena, &found, &err), 0);
	assert_int_equal(found.count, 130);
	assert_int_equal(found.ids[129], 129);
	world_fini(&world);
}

static void a_full_arena_is_an_error(void **state)
{
	struct world world;
	struct series_view view;
	struct series_ids found;
	struct arena *small = arena_new(1, NULL);
	struct error err = { 0 };

	(void)state;
	world_init(&world, 5, 130);
	series_index_view(world.index, &view);
	assert_int_equal(series_match(&view, NULL, small, &found, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	arena_free(small);
	world_fini(&world);
}

/* ---- from a series to its groups ---- */

static void a_series_knows_its_places(void **state)
{
	static const uint32_t pair[] = { 0, 1 };
	static const uint32_t other[] = { 2, 0 };
	struct world world;
	struct series_view before;
	struct series_view view;
	const struct series_place *place;

	(void)state;
	world_init(&world, 3, 4);
	(void)series_index_add_group(world.index, pair, 2);
	series_index_publish(world.index);
	series_index_view(world.index, &before);
	(void)series_index_add_group(world.index, other, 2);
	series_index_publish(world.index);
	series_index_view(world.index, &view);
	place = series_view_newest(&view, 0);
	assert_int_equal(place->group, 1);
	assert_int_equal(place->column, 1);
	place = series_view_previous(&view, place);
	assert_int_equal(place->group, 0);
	assert_int_equal(place->column, 0);
	assert_null(series_view_previous(&view, place));
	assert_null(series_view_newest(&view, 3));
	/* the second group is newer than the first view */
	assert_int_equal(series_view_newest(&before, 0)->group, 0);
	assert_null(series_view_newest(&before, 2));
	world_fini(&world);
}

/* ---- while another thread adds ---- */

#define GROWN 20000

struct growth {
	struct series_index *index;
	_Atomic bool is_over;
};

/* Series n has mod7 = n % 7 and number = n, and a group of its own. */
static void *grow(void *argument)
{
	struct growth *growth = argument;

	for (uint32_t n = 0; n < GROWN; n++) {
		char mod[8];
		char number[16];
		struct label labels[2];
		struct label_set set = { labels, 2 };
		uint32_t id;

		labels[0] = (struct label){
			STR("mod7"), str_make(mod, (size_t)snprintf(mod, sizeof(mod), "%u", n % 7))
		};
		labels[1] = (struct label){
			STR("number"),
			str_make(number, (size_t)snprintf(number, sizeof(number), "%u", n))
		};
		id = series_index_add(growth->index, &set, label_set_fingerprint(&set, 1));
		(void)series_index_add_group(growth->index, &id, 1);
		if (n % 5 == 0)
			series_index_publish(growth->index);
	}
	series_index_publish(growth->index);
	atomic_store(&growth->is_over, true);
	return NULL;
}

static void look_while_it_grows(const struct series_index *index, struct selector *selector,
                                struct selector *one)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct series_view view;
	struct series_ids found;
	struct error err = { 0 };

	series_index_view(index, &view);
	assert_int_equal(series_match(&view, selector, arena, &found, &err), 0);
	/* 3, 10, 17, ... below the count */
	assert_int_equal(found.count, (view.series_count + 3) / 7);
	for (uint32_t i = 0; i < found.count; i++)
		assert_int_equal(found.ids[i], 7 * i + 3);
	for (uint32_t i = 0; i < found.count; i++) {
		const struct series_place *place = series_view_newest(&view, found.ids[i]);

		if (found.ids[i] < view.group_count)
			assert_int_equal(place->group, found.ids[i]);
	}
	assert_int_equal(series_match(&view, one, arena, &found, &err), 0);
	assert_int_equal(found.count, view.series_count > 1234);
	arena_free(arena);
}

static void readers_see_whole_views_while_it_grows(void **state)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct growth growth = { .index = series_index_new(9) };
	struct selector selector;
	struct selector one;
	struct error err = { 0 };
	pthread_t thread;

	(void)state;
	selector_init(&selector, arena);
	selector_init(&one, arena);
	assert_int_equal(selector_parse(&selector, STR("{mod7=\"3\",number=~\".+\"}"), &err), 0);
	assert_int_equal(selector_parse(&one, STR("{number=\"1234\",mod7!~\"3|5\"}"), &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, grow, &growth), 0);
	while (!atomic_load(&growth.is_over))
		look_while_it_grows(growth.index, &selector, &one);
	assert_int_equal(pthread_join(thread, NULL), 0);
	look_while_it_grows(growth.index, &selector, &one);
	label_index_check(&growth.index->labels);
	selector_fini(&selector);
	selector_fini(&one);
	series_index_free(growth.index);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_a_walk),
		cmocka_unit_test(what_is_newer_than_the_view_is_not_found),
		cmocka_unit_test(no_selector_means_all),
		cmocka_unit_test(a_full_arena_is_an_error),
		cmocka_unit_test(a_series_knows_its_places),
		cmocka_unit_test(readers_see_whole_views_while_it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
