#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "formats/sample_type_config.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* A profile of these sample types, separated by blanks. */
static struct profile profile_of(struct arena *arena, const char *types)
{
	struct profile profile = { .arena = arena };
	struct str rest = str_of(types);
	struct str type;

	profile.strings = arena_array(arena, 10, sizeof(*profile.strings));
	profile.sample_types = arena_array(arena, 10, sizeof(*profile.sample_types));
	profile.strings[0] = STR("");
	profile.string_count = 1;
	while (rest.length > 0 && str_split(&rest, ' ', &type)) {
		profile.sample_types[profile.sample_type_count++].type =
			(uint32_t)profile.string_count;
		profile.strings[profile.string_count++] = type;
	}
	return profile;
}

static void the_metric_follows_from_types_and_display_names(void **state)
{
	static const struct {
		const char *types;
		const char *config; /* NULL: the default */
		const char *metric;
	} cases[] = {
		{ "samples cpu", NULL, "process_cpu" },
		{ "cpu", NULL, "process_cpu" },
		{ "samples", NULL, "process_cpu" },
		{ "samples", "{}", "samples" },
		{ "samples", "null", "samples" },
		{ "alloc_objects alloc_space inuse_objects inuse_space", NULL, "memory" },
		{ "inuse_space", NULL, "memory" },
		{ "objects space", NULL, "memory" },
		{ "goroutine", NULL, "goroutines" },
		{ "goroutine", "{\"goroutine\":{\"display-name\":\"goroutines\"}}", "goroutines" },
		{ "goroutine", "{\"goroutine\":{\"display-name\":\"goroutine\"}}", "goroutine" },
		{ "contentions delay", NULL, "mutex" },
		{ "contentions delay",
		  "{\"contentions\":{\"display-name\":\"block_count\"},\"delay\":{\"display-name\":"
		  "\"block_duration\"}}",
		  "block" },
		{ "goroutineleak", "{\"goroutineleak\":{\"display-name\":\"goroutine_leak\"}}",
		  "goroutine_leak" },
		{ "samples wall", NULL, "wall" },
		{ "samples wall cpu", NULL, "wall" },
		{ "widgets", NULL, "widgets" },
		{ "alpha beta", NULL, "beta" },
		{ "exception", NULL, "exception" },
		{ "exception", "{\"exception\":{\"display-name\":\"\"}}", "exception" },
		{ "exception", "{\"exception\":{\"display-name\":null,\"unknown\":1}}",
		  "exception" },
		{ "x", "{\"x\":null}", "x" },
		{ "", NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct profile profile = profile_of(arena, cases[i].types);
		struct sample_type_config config = sample_type_config_default;
		struct error err = { 0 };
		struct str metric;

		if (cases[i].config)
			assert_int_equal(sample_type_config_parse(str_of(cases[i].config), arena,
			                                          &config, &err),
			                 0);
		metric = sample_type_config_metric(&config, &profile);
		assert_int_equal(metric.length, strlen(cases[i].metric));
		assert_memory_equal(metric.data, cases[i].metric, metric.length);
	}
}

static void wrong_configurations_are_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"{nope",
		"[]",
		"5",
		"{\"a\":5}",
		"{\"a\":[]}",
		"{\"a\":{\"units\":1}}",
		"{\"a\":{\"display-name\":{}}}",
		"{\"a\":{\"sampled\":\"yes\"}}",
		"{\"a\":{\"cumulative\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct sample_type_config config;
		struct error err = { 0 };

		assert_int_equal(sample_type_config_parse(str_of(cases[i]), arena, &config, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void a_configuration_is_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct sample_type_config config;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 100000);
	for (int i = 0; i <= SAMPLE_TYPE_CONFIG_MAX; i++)
		strbuf_printf(&text, "%s\"t%d\":{}", i ? "," : "{", i);
	strbuf_add_byte(&text, '}');
	assert_int_equal(sample_type_config_parse(strbuf_view(&text), arena, &config, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_metric_follows_from_types_and_display_names),
		cmocka_unit_test(wrong_configurations_are_refused),
		cmocka_unit_test(a_configuration_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
