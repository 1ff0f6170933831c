/* What a request of several profiles is answered, and what of it is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/options.h"
#include "server/routes/ingestion.h"
#include "write_harness.h"

static void answer_nothing(struct ingestion *ingestion, const struct error *err)
{
	if (err || ingestion_error(ingestion))
		ingestion->exchange->response.status = 503;
}

static void begin(struct harness *harness)
{
	harness_init(harness);
	harness->exchange.app = &harness->app;
	harness->exchange.arena = harness->arena;
	harness->exchange.tenant = STR("anonymous");
	harness->exchange.finish = harness_finish;
}

static void refuse(struct ingestion *ingestion, size_t series, enum error_code code,
                   const char *message)
{
	struct ingestion_failure failure = { .series = series, .id = STR("") };

	(void)error_set(&failure.err, code, "%s", message);
	ingestion_refuse(ingestion, &failure, 0);
}

static void a_shortage_decides_and_nothing_is_lost(void **state)
{
	static const struct {
		enum error_code codes[3];
		const char *text;
	} cases[] = {
		{ { ERROR_UNAVAILABLE },
		  "push series with index 0 and id  failed: unavailable: m0" },
		{ { ERROR_INVALID, ERROR_UNAVAILABLE },
		  "2 errors: push series with index 1 and id  failed: unavailable: m1; "
		  "push series with index 0 and id  failed: invalid_argument: m0" },
		{ { ERROR_UNAVAILABLE, ERROR_TOO_LARGE, ERROR_UNAVAILABLE },
		  "3 errors: push series with index 2 and id  failed: unavailable: m2; "
		  "push series with index 1 and id  failed: invalid_argument: m1; "
		  "push series with index 0 and id  failed: unavailable: m0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf text;
		struct harness harness;
		struct ingestion *ingestion;

		strbuf_init(&text, 1000);
		begin(&harness);
		ingestion = ingestion_begin(&harness.exchange, "push", answer_nothing);
		assert_non_null(ingestion);
		for (size_t at = 0; at < 3 && cases[i].codes[at] != ERROR_NONE; at++) {
			const char message[] = { 'm', (char)('0' + at), '\0' };

			refuse(ingestion, at, cases[i].codes[at], message);
		}
		ingestion_describe(ingestion, &text);
		assert_string_equal(text.data, cases[i].text);
		assert_int_equal(ingestion_error(ingestion)->code, ERROR_UNAVAILABLE);
		harness_fini(&harness);
	}
}

/* A profile of one sample of that stack; the arena holds it. */
static void add_profile(struct ingestion *ingestion, const char *service)
{
	static const struct str strings[] = {
		{ "", 0 }, { "cpu", 3 }, { "nanoseconds", 11 }, { "main", 4 }
	};
	struct arena *arena = ingestion->exchange->arena;
	struct pprof_input *input = arena_alloc(arena, sizeof(*input));
	struct label *labels = arena_array(arena, 2, sizeof(*labels));
	struct ingest_profile pair = { .input = input, .payload = str_of(service) };

	assert_non_null(input);
	assert_non_null(labels);
	input->samples_sent = 1;
	input->encoded_bytes = 50;
	input->profile = (struct profile){
		.arena = arena,
		.strings = arena_array(arena, ARRAY_LENGTH(strings), sizeof(*strings)),
		.string_count = ARRAY_LENGTH(strings),
		.sample_types = arena_array(arena, 1, sizeof(*input->profile.sample_types)),
		.sample_type_count = 1,
		.mappings = arena_array(arena, 1, sizeof(*input->profile.mappings)),
		.mapping_count = 1,
		.functions = arena_array(arena, 1, sizeof(*input->profile.functions)),
		.function_count = 1,
		.lines = arena_array(arena, 1, sizeof(*input->profile.lines)),
		.line_count = 1,
		.locations = arena_array(arena, 1, sizeof(*input->profile.locations)),
		.location_count = 1,
		.stacks = arena_array(arena, 1, sizeof(*input->profile.stacks)),
		.stack_length = 1,
		.samples = arena_array(arena, 1, sizeof(*input->profile.samples)),
		.sample_count = 1,
		.values = arena_array(arena, 1, sizeof(*input->profile.values)),
	};
	assert_false(arena_overflowed(arena));
	memcpy(input->profile.strings, strings, sizeof(strings));
	input->profile.sample_types[0] = (struct profile_value_type){ 1, 2 };
	input->profile.functions[0].name = 3;
	input->profile.locations[0] = (struct profile_location){ .line_count = 1 };
	input->profile.samples[0] = (struct profile_sample){ .depth = 1 };
	input->profile.values[0] = 7;
	labels[0] = (struct label){ STR("__name__"), STR("process_cpu") };
	labels[1] = (struct label){ STR("service_name"), str_of(service) };
	pair.labels = (struct label_set){ labels, 2 };
	ingestion_add(ingestion, &(struct ingestion_item){ .profile = &pair, .sent_bytes = 50 });
}

/* What was committed counts whatever the request is answered; nothing else does. */
static void what_was_committed_is_counted(void **state)
{
	static const struct {
		enum harness_store store;
		bool has_shortage;
		double profiles;
	} cases[] = {
		{ HARNESS_COMMITS, false, 2 },
		{ HARNESS_COMMITS, true, 2 }, /* 503: its sender will send it again */
		{ HARNESS_FAILS, false, 0 },
		{ HARNESS_REFUSES, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct harness harness;
		struct ingestion *ingestion;

		begin(&harness);
		harness.mode = cases[i].store;
		harness.code = ERROR_UNAVAILABLE;
		ingestion = ingestion_begin(&harness.exchange, "push", answer_nothing);
		assert_non_null(ingestion);
		add_profile(ingestion, "a");
		add_profile(ingestion, "b");
		if (cases[i].has_shortage)
			refuse(ingestion, 2, ERROR_UNAVAILABLE, "m");
		(void)ingestion_end(ingestion);
		assert_true(harness_metric(harness.app.metrics->ingest_profiles, "push", NULL) ==
		            cases[i].profiles);
		assert_true(harness_metric(harness.app.metrics->ingest_samples, "push", NULL) ==
		            cases[i].profiles);
		harness_fini(&harness);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shortage_decides_and_nothing_is_lost),
		cmocka_unit_test(what_was_committed_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
