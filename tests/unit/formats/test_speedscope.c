#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/speedscope.h"
#include "tests/unit/formats/decoded.h"
#include "tests/unit/growth.h"

#define ARENA_BYTES ((size_t)4 << 20)

#define HEAD                                                                                          \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":" \
	"[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.py\",\"line\":1}]},\"profiles\":["
#define TAIL "]}"
#define SAMPLED(name, unit, samples, weights)                          \
	"{\"type\":\"sampled\",\"name\":\"" name "\",\"unit\":\"" unit \
	"\",\"startValue\":0,\"endValue\":3,\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(unit, events)                                   \
	"{\"type\":\"evented\",\"name\":\"p\",\"unit\":\"" unit \
	"\",\"startValue\":0,\"endValue\":3,\"events\":" events "}"
#define OPEN(frame, at)  "{\"type\":\"O\",\"frame\":" frame ",\"at\":" at "}"
#define CLOSE(frame, at) "{\"type\":\"C\",\"frame\":" frame ",\"at\":" at "}"

/* Of each profile "type{name} samples", a line each. */
static void describe(const struct format_output *out, struct strbuf *text)
{
	for (size_t i = 0; i < out->count; i++) {
		const struct format_output one = { .profiles = &out->profiles[i], .count = 1 };
		const struct str name = decoded_label(&one, "profile_name");

		decoded_type(&one, 0, text);
		strbuf_printf(text, "{%.*s} ", STR_ARGS(name));
		decoded_samples(&one, text);
		strbuf_add_byte(text, '\n');
	}
}

static void weights_become_values_by_unit_rate_and_name(void **state)
{
	static const struct {
		const char *query;
		const char *body;
		const char *profiles;
	} cases[] = {
		/* the vector of the specification, 8.10 */
		{ "name=svc", HEAD SAMPLED("p", "milliseconds", "[[0],[0,1]]", "[1,2]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 1000000|a;b 2000000|\n" },
		{ "name=svc",
		  HEAD SAMPLED("p", "milliseconds", "[[0],[0,1]]",
		               "[1,2]") "," SAMPLED("q", "milliseconds", "[[0]]", "[3]") TAIL,
		  "wall:wall:nanoseconds:cpu:nanoseconds{p} a 1000000|a;b 2000000|\n"
		  "wall:wall:nanoseconds:cpu:nanoseconds{q} a 3000000|\n" },
		/* every unit, with fractions: 3.9, step 4 */
		{ "name=svc", HEAD SAMPLED("p", "seconds", "[[0],[0],[1]]", "[0.02,0.5,1e-9]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 520000000|b 1|\n" },
		{ "name=svc", HEAD SAMPLED("p", "microseconds", "[[0]]", "[0.25]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 250|\n" },
		{ "name=svc", HEAD SAMPLED("p", "nanoseconds", "[[0]]", "[17.4]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 17|\n" },
		{ "name=svc", HEAD SAMPLED("p", "none", "[[0]]", "[3]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 30000000|\n" },
		{ "name=svc", HEAD SAMPLED("p", "bytes", "[[0]]", "[4096]") TAIL,
		  "memory:samples:bytes::{p} a 4096|\n" },
		/* what the application's name says holds for one profile alone */
		{ "name=svc.alloc_space", HEAD SAMPLED("p", "bytes", "[[0]]", "[4096]") TAIL,
		  "memory:alloc_space:bytes::{p} a 4096|\n" },
		{ "name=svc.wall", HEAD SAMPLED("p", "seconds", "[[0]]", "[2]") TAIL,
		  "wall:wall:nanoseconds:cpu:nanoseconds{p} a 2000000000|\n" },
		/* another rate than the usual one: weight * 100 * 1e9 / rate */
		{ "name=svc&sampleRate=50", HEAD SAMPLED("p", "seconds", "[[0]]", "[1]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 2000000000|\n" },
		{ "name=svc&sampleRate=0", HEAD SAMPLED("p", "none", "[[0]]", "[1]") TAIL,
		  "process_cpu:samples:count::{p} a 100|\n" },
		/* several: units say it, none is CPU, and dots of the name stay */
		{ "name=my.app",
		  HEAD SAMPLED("p", "none", "[[0]]", "[1]") "," SAMPLED("q", "bytes", "[[1]]",
		                                                        "[5]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 10000000|\n"
		  "memory:samples:bytes::{q} b 5|\n" },
		/* equal name, type, unit and start: one profile */
		{ "name=svc",
		  HEAD SAMPLED("p", "bytes", "[[0]]", "[1]") "," SAMPLED("p", "bytes", "[[0],[1]]",
		                                                         "[2,4]") TAIL,
		  "memory:samples:bytes::{p} a 3|b 4|\n" },
		/* a sample without frames is one, as in folded text */
		{ "name=svc", HEAD SAMPLED("p", "bytes", "[[],[0]]", "[1,2]") TAIL,
		  "memory:samples:bytes::{p}  1|a 2|\n" },
		/* events: time belongs to what is open since the last one */
		{ "name=svc",
		  HEAD EVENTED("seconds",
		               "[" OPEN("0", "1") "," OPEN("1", "1.5") "," CLOSE(
				       "1", "3") "," CLOSE("0", "4") "," OPEN("1", "9") "]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 1500000000|a;b 1500000000|\n" },
		/* and goes on in the next list of the same profile */
		{ "name=svc",
		  HEAD EVENTED("none", "[" OPEN("0", "0") "]") "," EVENTED(
			  "none", "[" CLOSE("0", "2") "]") TAIL,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds{p} a 20000000|\n" },
		/* nothing to store */
		{ "name=svc", HEAD TAIL, "" },
		{ "name=svc", HEAD SAMPLED("p", "bytes", "[]", "[]") TAIL, "" },
		{ "name=svc{profile_id=1}", HEAD SAMPLED("p", "bytes", "[[0]]", "[1]") TAIL, "" },
		{ "name=svc", "{\"$schema\":\"" SPEEDSCOPE_SCHEMA "\"}", "" },
		/* names: escapes, any order of the members, the sender's label gives way */
		{ "name=svc{profile_name=mine}",
		  "{\"profiles\":[" SAMPLED(
			  "\\u00fc\\\"", "bytes", "[[0]]",
			  "[1]") "],\"shared\":"
		                 "{\"frames\":[{\"line\":1,\"name\":\"x;y\"}]},\"$schema\":\"" SPEEDSCOPE_SCHEMA
		                 "\",\"exporter\":\"py-spy@0.4.0\"}",
		  "memory:samples:bytes::{\xc3\xbc\"} x;y 1|\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf text;
		CLEANUP(strbuf_fini) struct strbuf query;
		struct format_output out;
		struct error err = { 0 };

		strbuf_init(&text, 10000);
		strbuf_init(&query, 1000);
		strbuf_printf(&query, "%s&format=speedscope", cases[i].query);
		assert_int_equal(decoded_run(arena, query.data, STR(""), str_of(cases[i].body),
		                             &out, &err),
		                 0);
		describe(&out, &text);
		assert_string_equal(text.data, cases[i].profiles);
	}
}

static void what_is_not_the_format_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *body;
		const char *message;
	} cases[] = {
		{ "", "JSON ends where a map is expected" },
		{ "{", "JSON ends where a text is expected" },
		{ "[]", "JSON, byte 0: expected a map" },
		{ "{}", "Unknown schema: " },
		{ "{\"$schema\":\"x\"}", "Unknown schema: x" },
		{ HEAD "{\"type\":\"other\"}" TAIL, "Profile type other not supported" },
		{ HEAD "{}" TAIL, "Profile type  not supported" },
		{ HEAD SAMPLED("p", "parsec", "[]", "[]") TAIL,
		  "invalid profile unit: unknown unit: parsec" },
		{ HEAD SAMPLED("p", "bytes", "[[2]]", "[1]") TAIL,
		  "profile 0: frame 2 does not exist: there are 2 frames" },
		{ HEAD SAMPLED("p", "bytes", "[[-1]]", "[1]") TAIL,
		  "profile 0: frame -1 does not exist: there are 2 frames" },
		{ HEAD SAMPLED("p", "bytes", "[[0.5]]", "[1]") TAIL,
		  "profile 0: frame 0.5 does not exist: there are 2 frames" },
		{ HEAD SAMPLED("p", "bytes", "[[1e300]]", "[1]") TAIL,
		  "profile 0: frame 1e+300 does not exist: there are 2 frames" },
		{ HEAD SAMPLED("p", "bytes", "[[0]]", "[]") TAIL,
		  "profile 0: samples and weights are not equally many" },
		{ HEAD SAMPLED("p", "bytes", "[]", "[1]") TAIL,
		  "profile 0: samples and weights are not equally many" },
		{ HEAD SAMPLED("p", "bytes", "[[0]]", "[-2]") TAIL,
		  "profile 0: weight -2 is negative" },
		{ HEAD SAMPLED("p", "bytes", "[[0]]", "[1e300]") TAIL,
		  "profile 0: weight 1e+300 is too large" },
		{ HEAD SAMPLED("p", "seconds", "[[0]]", "[9223372037]") TAIL,
		  "profile 0: weight 9.22337e+09 is too large" },
		{ HEAD EVENTED("none", "[" OPEN("0", "2") "," CLOSE("0", "1") "]") TAIL,
		  "profile 0: the event at 1 comes behind that at 2" },
		{ HEAD EVENTED("none", "[" OPEN("0", "0") "," CLOSE("1", "1") "]") TAIL,
		  "profile 0: frame 1 is closed at 1, and the innermost open one is 0" },
		{ HEAD EVENTED("none", "[" CLOSE("1", "1") "]") TAIL,
		  "profile 0: frame 1 is closed at 1, and none is open" },
		{ HEAD EVENTED("none", "[" OPEN("2", "1") "]") TAIL,
		  "profile 0: frame 2 does not exist: there are 2 frames" },
		{ HEAD EVENTED("none", "[{\"type\":\"X\",\"at\":1}]") TAIL,
		  "profile 0: event type 'X' is neither O nor C" },
		{ HEAD TAIL "x", NULL },
		{ HEAD SAMPLED("p", "bytes", "7", "[]") TAIL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(decoded_run(arena, "name=svc&format=speedscope", STR(""),
		                             str_of(cases[i].body), &out, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(out.stage, FORMAT_PARSING);
		if (cases[i].message)
			assert_string_equal(err.message, cases[i].message);
	}
}

/* Their series are equal, but for the start that no label has: neither is a retry. */
static void profiles_that_differ_in_their_start_are_both_kept(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		decoded_run(arena, "name=svc&format=speedscope", STR(""),
	                    STR(HEAD SAMPLED("p", "bytes", "[[0]]",
	                                     "[1]") ",{\"type\":\"sampled\",\"name\":\"p\","
	                                            "\"unit\":\"bytes\",\"startValue\":5,"
	                                            "\"samples\":[[0]],\"weights\":[1]}" TAIL),
	                    &out, &err),
		0);
	assert_int_equal(out.count, 2);
	assert_false(str_equal(out.profiles[0].sender_id, out.profiles[1].sender_id));
}

static void an_unknown_suffix_is_refused(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(decoded_run(arena, "name=svc.web&format=speedscope", STR(""),
	                             STR(HEAD SAMPLED("p", "bytes", "[[0]]", "[1]") TAIL), &out,
	                             &err),
	                 -1);
	assert_string_equal(err.message, "pyroscopeIngesterAdapter failed to convert metadata: "
	                                 "unknown profile type: web");
}

/*
 * Events that open one frame after the other, without an end: every stack is deeper than
 * the one before, and all together have 5 * 10^9 frames.
 */
static void events_that_say_more_than_they_weigh_are_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)1 << 30, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, (size_t)64 << 20);
	strbuf_add_text(&body, HEAD "{\"type\":\"evented\",\"unit\":\"none\",\"events\":[");
	for (int i = 0; i < 100000; i++)
		strbuf_printf(&body, "%s" OPEN("0", "%d"), i > 0 ? "," : "", i);
	strbuf_add_text(&body, "]}" TAIL);
	assert_int_equal(decoded_run(arena, "name=svc&format=speedscope", STR(""),
	                             strbuf_view(&body), &out, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_string_equal(err.message, "profile 0: the stacks have more than 67108864 frames");
}

static void decode_whole(const struct strbuf *body)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct format_output out;
	struct error err = { 0 };

	assert_int_equal(decoded_run(arena, "name=svc&format=speedscope", STR(""),
	                             strbuf_view(body), &out, &err),
	                 0);
}

#define ALIKE 200 /* frames; a stack is two of them */

/* More stacks than a profile may have, and then frames one below the other. */
static void walk_what_is_not_kept(size_t levels)
{
	CLEANUP(strbuf_fini) struct strbuf body;
	size_t at = 0;

	strbuf_init(&body, (size_t)64 << 20);
	strbuf_add_text(&body, "{\"$schema\":\"" SPEEDSCOPE_SCHEMA
	                       "\",\"shared\":{\"frames\":[{\"name\":\"f0\"}");
	for (size_t i = 1; i < ALIKE; i++)
		strbuf_printf(&body, ",{\"name\":\"f%zu\"}", i);
	strbuf_add_text(&body,
	                "]},\"profiles\":[{\"type\":\"evented\",\"unit\":\"none\",\"events\":[");
	for (size_t i = 0; i * ALIKE <= decoded_limits.max_samples; i++) {
		strbuf_printf(&body, OPEN("%zu", "%zu") ",", i, at);
		for (size_t j = 0; j < ALIKE; j++, at++)
			strbuf_printf(&body, OPEN("%zu", "%zu") "," CLOSE("%zu", "%zu") ",", j, at,
			              j, at + 1);
		strbuf_printf(&body, CLOSE("%zu", "%zu") ",", i, at);
	}
	for (size_t i = 0; i < levels; i++)
		strbuf_printf(&body, OPEN("0", "%zu") ",", at++);
	strbuf_printf(&body, OPEN("0", "%zu") "]}" TAIL, at);
	decode_whole(&body);
}

/* A frame with a name of that many bytes, in a stack for every eighth of them. */
static void repeat_a_name(size_t size)
{
	CLEANUP(strbuf_fini) struct strbuf body;

	strbuf_init(&body, (size_t)16 << 20);
	strbuf_add_text(&body, "{\"$schema\":\"" SPEEDSCOPE_SCHEMA
	                       "\",\"shared\":{\"frames\":[{\"name\":\"");
	for (size_t i = 0; i < size; i++)
		strbuf_add_byte(&body, 'n');
	strbuf_add_text(&body, "\"}]},\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
	                       "\"samples\":[[0]");
	for (size_t i = 0; i < size / 8; i++)
		strbuf_add_text(&body, ",[0]");
	strbuf_add_text(&body, "],\"weights\":[1");
	for (size_t i = 0; i < size / 8; i++)
		strbuf_add_text(&body, ",1");
	strbuf_add_text(&body, "]}" TAIL);
	decode_whole(&body);
}

static void what_is_said_again_costs_no_more_than_its_bytes(void **state)
{
	(void)state;
	growth_is_linear(repeat_a_name, 64 << 10);
	growth_is_linear(walk_what_is_not_kept, 10000);
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf body;

	(void)state;
	strbuf_init(&body, 1 << 20);
	strbuf_add_text(&body, "{\"$schema\":\"" SPEEDSCOPE_SCHEMA "\",\"shared\":{\"frames\":[");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&body, "%s{\"name\":\"f%d\"}", i > 0 ? "," : "", i);
	strbuf_add_text(&body,
	                "]},\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&body, "%s[%d]", i > 0 ? "," : "", i);
	strbuf_add_text(&body, "],\"weights\":[1");
	for (int i = 1; i < 1000; i++)
		strbuf_add_text(&body, ",1");
	strbuf_add_text(&body, "]}]}");
	for (size_t limit = 4096; limit < 200000; limit += 4096) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct format_output out;
		struct error err = { 0 };

		if (decoded_run(arena, "name=a&format=speedscope", STR(""), strbuf_view(&body),
		                &out, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(out.profiles[0].input->profile.sample_count, 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_become_values_by_unit_rate_and_name),
		cmocka_unit_test(what_is_not_the_format_is_refused_with_its_place),
		cmocka_unit_test(profiles_that_differ_in_their_start_are_both_kept),
		cmocka_unit_test(an_unknown_suffix_is_refused),
		cmocka_unit_test(events_that_say_more_than_they_weigh_are_bounded),
		cmocka_unit_test(what_is_said_again_costs_no_more_than_its_bytes),
		cmocka_unit_test(a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
