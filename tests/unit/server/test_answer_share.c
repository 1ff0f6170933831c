#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/routes/answer_share.h"
#include "server/routes/route.h"

#define ASKERS 4

static const char select_series[] = "/querier.v1.QuerierService/SelectSeries";
static const char diff[] = "/querier.v1.QuerierService/Diff";

/* A store of which only the version is asked. */
struct versioned_store {
	struct store store;
	bool is_known;
	uint64_t version;
};

static bool get_version(struct store *store, struct str tenant, uint64_t *out)
{
	const struct versioned_store *own = (const struct versioned_store *)(const void *)store;

	(void)tenant;
	*out = own->version;
	return own->is_known;
}

struct asker {
	struct exchange exchange; /* first */
	_Atomic bool gone;
	int finished;
};

struct scene {
	struct versioned_store store;
	struct app app;
	struct asker askers[ASKERS];
};

static void count_finish(struct exchange *exchange)
{
	((struct asker *)(void *)exchange)->finished++;
}

static int setup(void **state)
{
	static const struct store_operations operations = { .version = get_version };
	struct scene *scene = test_calloc(1, sizeof(*scene));

	scene->store = (struct versioned_store){ { &operations }, true, 7 };
	scene->app.store = &scene->store.store;
	scene->app.registry = metrics_new();
	scene->app.metrics = app_metrics_new(scene->app.registry);
	scene->app.shares = answer_shares_new();
	for (size_t i = 0; i < ASKERS; i++) {
		struct exchange *exchange = &scene->askers[i].exchange;

		exchange->app = &scene->app;
		exchange->route = route_find(str_of(select_series));
		exchange->arena = arena_new((size_t)1 << 20, NULL);
		exchange->tenant = STR("anonymous");
		exchange->cancel.gone = &scene->askers[i].gone;
		exchange->finish = count_finish;
		http_response_init(&exchange->response, 1000);
	}
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < ASKERS; i++) {
		http_response_fini(&scene->askers[i].exchange.response);
		arena_free(scene->askers[i].exchange.arena);
	}
	answer_shares_free(scene->app.shares);
	app_metrics_free(scene->app.metrics);
	metrics_free(scene->app.registry);
	test_free(scene);
	return 0;
}

static bool join(struct scene *scene, size_t asker, const char *question)
{
	const struct str parts[] = { str_of(question), STR("json") };

	return answer_share_join(scene->app.shares, &scene->askers[asker].exchange, parts, 2);
}

/* The handler of an asker has written its answer. */
static void answer(struct scene *scene, size_t asker, const char *text)
{
	struct exchange *exchange = &scene->askers[asker].exchange;

	http_response_text(&exchange->response, 200, "application/json", str_of(text));
	exchange_finish(exchange);
}

static void assert_answer(const struct scene *scene, size_t asker, const char *text)
{
	const struct http_response *response = &scene->askers[asker].exchange.response;

	assert_int_equal(scene->askers[asker].finished, 1);
	assert_int_equal(response->status, 200);
	assert_true(str_equals(strbuf_view(&response->body), text));
	assert_true(str_equals(*http_response_find_header(response, "content-type"),
	                       "application/json"));
}

static double shared_count(const struct scene *scene)
{
	return metric_value(METRIC_OF(scene->app.metrics->queries_shared,
	                              str_of(route_find(str_of(select_series))->label)));
}

static void equal_questions_get_one_answer(void **state)
{
	struct scene *scene = *state;

	assert_false(join(scene, 0, "q"));
	assert_true(join(scene, 1, "q"));
	assert_true(join(scene, 2, "q"));
	assert_int_equal(scene->askers[1].finished, 0);
	answer(scene, 0, "the answer");
	for (size_t i = 0; i < 3; i++)
		assert_answer(scene, i, "the answer");
	assert_true(shared_count(scene) == 2);
	/* what comes later asks again */
	assert_false(join(scene, 3, "q"));
	answer(scene, 3, "another");
	assert_answer(scene, 3, "another");
}

static void a_copy_outlives_the_first(void **state)
{
	struct scene *scene = *state;
	struct exchange *first = &scene->askers[0].exchange;

	assert_false(join(scene, 0, "q"));
	assert_true(join(scene, 1, "q"));
	http_response_text(&first->response, 200,
	                   arena_copy(first->arena, STR("application/json")).data, STR("x"));
	exchange_finish(first);
	arena_free(first->arena);
	first->arena = arena_new(1000, NULL);
	assert_answer(scene, 1, "x");
}

static void other_questions_are_others(void **state)
{
	struct scene *scene = *state;
	const struct str parts[] = { STR("q"), STR("proto") };

	assert_false(join(scene, 0, "q"));
	/* another text, tenant, route or form */
	assert_false(join(scene, 1, "qq"));
	scene->askers[2].exchange.tenant = STR("other");
	assert_false(join(scene, 2, "q"));
	scene->askers[3].exchange.route = route_find(str_of(diff));
	assert_false(join(scene, 3, "q"));
	exchange_finish(&scene->askers[3].exchange);
	scene->askers[3].exchange.route = scene->askers[0].exchange.route;
	assert_false(answer_share_join(scene->app.shares, &scene->askers[3].exchange, parts, 2));
	for (size_t i = 0; i < ASKERS; i++)
		exchange_finish(&scene->askers[i].exchange);
	assert_true(shared_count(scene) == 0);
}

static void where_one_part_ends_matters(void **state)
{
	struct scene *scene = *state;
	const struct str one[] = { STR("ab"), STR("c") };
	const struct str other[] = { STR("a"), STR("bc") };

	assert_false(answer_share_join(scene->app.shares, &scene->askers[0].exchange, one, 2));
	assert_false(answer_share_join(scene->app.shares, &scene->askers[1].exchange, other, 2));
	exchange_finish(&scene->askers[0].exchange);
	exchange_finish(&scene->askers[1].exchange);
}

static void nobody_gets_an_answer_that_is_older_than_a_write(void **state)
{
	struct scene *scene = *state;

	assert_false(join(scene, 0, "q"));
	scene->store.version = 8; /* a write was answered */
	assert_false(join(scene, 1, "q"));
	/* from now on the second one is joined, whose answer has the write */
	assert_true(join(scene, 2, "q"));
	answer(scene, 0, "without");
	assert_int_equal(scene->askers[2].finished, 0);
	answer(scene, 1, "with");
	assert_answer(scene, 0, "without");
	assert_answer(scene, 1, "with");
	assert_answer(scene, 2, "with");
}

static void without_a_version_all_execute(void **state)
{
	struct scene *scene = *state;

	scene->store.is_known = false;
	assert_false(join(scene, 0, "q"));
	assert_false(join(scene, 1, "q"));
	answer(scene, 0, "a");
	answer(scene, 1, "b");
	assert_answer(scene, 0, "a");
	assert_answer(scene, 1, "b");
}

static void errors_are_shared(void **state)
{
	struct scene *scene = *state;
	struct http_response *response = &scene->askers[0].exchange.response;

	assert_false(join(scene, 0, "q"));
	assert_true(join(scene, 1, "q"));
	http_response_reset(response, 500);
	(void)error_set(&response->failure, ERROR_CORRUPT, "a page is damaged");
	exchange_finish(&scene->askers[0].exchange);
	assert_int_equal(scene->askers[1].exchange.response.status, 500);
	assert_int_equal(scene->askers[1].exchange.response.failure.code, ERROR_CORRUPT);
	assert_string_equal(scene->askers[1].exchange.response.failure.message,
	                    "a page is damaged");
}

/* The query's own view of who waits: what its store is handed. */
static size_t waiting(const struct scene *scene)
{
	size_t count = 0;

	for (const struct store_cancel *at = &scene->askers[0].exchange.cancel; at; at = at->also)
		count += !*at->gone;
	return count;
}

static void who_joins_is_waited_for_too(void **state)
{
	struct scene *scene = *state;

	assert_false(join(scene, 0, "q"));
	assert_int_equal(waiting(scene), 1);
	assert_true(join(scene, 1, "q"));
	assert_true(join(scene, 2, "q"));
	assert_int_equal(waiting(scene), 3);
	scene->askers[0].gone = true;
	scene->askers[2].gone = true;
	assert_int_equal(waiting(scene), 1);
	answer(scene, 0, "x");
	assert_answer(scene, 1, "x");
}

static void who_waited_too_long_is_told_so(void **state)
{
	struct scene *scene = *state;

	assert_false(join(scene, 0, "q"));
	scene->askers[1].exchange.cancel.deadline_mono_ns = 1;
	scene->askers[2].exchange.cancel.deadline_mono_ns = clock_mono_ns() + 3600 * NS_PER_S;
	assert_true(join(scene, 1, "q"));
	assert_true(join(scene, 2, "q"));
	answer(scene, 0, "x");
	assert_answer(scene, 0, "x");
	assert_answer(scene, 2, "x");
	assert_int_equal(scene->askers[1].finished, 1);
	assert_int_equal(scene->askers[1].exchange.response.failure.code, ERROR_TIMED_OUT);
}

static void a_request_without_memory_is_told_so(void **state)
{
	struct scene *scene = *state;
	struct exchange *first = &scene->askers[0].exchange;
	struct exchange *small = &scene->askers[1].exchange;

	arena_free(small->arena);
	small->arena = arena_new(2000, NULL);
	assert_false(join(scene, 0, "q"));
	assert_true(join(scene, 1, "q"));
	http_response_reset(&first->response, 200);
	http_response_header(&first->response, "X", arena_printf(first->arena, "%5000d", 1));
	exchange_finish(first);
	assert_int_equal(scene->askers[1].finished, 1);
	assert_int_equal(small->response.failure.code, ERROR_TOO_LARGE);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		SCENE_TEST(equal_questions_get_one_answer),
		SCENE_TEST(a_copy_outlives_the_first),
		SCENE_TEST(other_questions_are_others),
		SCENE_TEST(where_one_part_ends_matters),
		SCENE_TEST(nobody_gets_an_answer_that_is_older_than_a_write),
		SCENE_TEST(without_a_version_all_execute),
		SCENE_TEST(errors_are_shared),
		SCENE_TEST(who_joins_is_waited_for_too),
		SCENE_TEST(who_waited_too_long_is_told_so),
		SCENE_TEST(a_request_without_memory_is_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
