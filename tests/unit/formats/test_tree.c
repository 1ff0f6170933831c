#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/tree.h"
#include "tests/unit/formats/decoded.h"
#include "tests/unit/formats/vectors.h"
#include "tests/unit/growth.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define QUERY       "name=svc.alloc_objects&format=tree"

static void nodes_are_frames_with_values_of_their_own(void **state)
{
	static const struct {
		const char *hex;
		const char *samples;
	} cases[] = {
		/* the vectors of the specification, 8.4 */
		{ "000001016100020162010001630200", "a;b 1|a;c 2|" },
		{ "000001046d61696e000201610100016200010163ac0200", "main;a 1|main;b;c 300|" },
		/* the root's name and value are nobody's; equal siblings are one */
		{ "0172"
		  "0902"
		  "016101"
		  "00"
		  "016102"
		  "00",
		  "a 3|" },
		/* a name is a frame as it stands */
		{ "000001"
		  "03613b62"
		  "05"
		  "00",
		  "a;b 5|" },
		/* what stands behind the tree is ignored */
		{ "000001"
		  "0161"
		  "0100"
		  "ffff",
		  "a 1|" },
		/* inner nodes count */
		{ "000001"
		  "0161"
		  "0401"
		  "0162"
		  "0600",
		  "a 4|a;b 6|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

		decoded_gives(arena, QUERY, vector_unhex(arena, cases[i].hex), cases[i].samples);
	}
}

static void a_tree_that_ends_early_or_passes_a_limit_is_refused(void **state)
{
	static const struct {
		const char *hex;
		const char *message;
	} cases[] = {
		{ "", "EOF: the tree ends early" },
		{ "00", "unexpected EOF: the node at byte 0 has no value" },
		{ "000001", "EOF: the tree ends early" },
		{ "000002016101"
		  "00",
		  "EOF: the tree ends early" },
		{ "0000817d", "tree node children count 16001 exceeds maximum 16000" },
		{ "000001ffff0f", "tree node name length 262143 exceeds maximum 65535" },
		{ "000001ffffffffffffffffff01",
		  "tree node name length 18446744073709551615 exceeds maximum 65535" },
		{ "0000ffffffffffffffffff01",
		  "tree node children count 18446744073709551615 exceeds maximum 16000" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

		decoded_fails(arena, QUERY, vector_unhex(arena, cases[i].hex), FORMAT_PARSING,
		              cases[i].message);
	}
}

/* `levels` nodes named "a", one below the other. */
static void chain(struct strbuf *body, char value, size_t levels)
{
	strbuf_add(body, "\0\0\1", 3);
	for (size_t i = 0; i + 1 < levels; i++) {
		strbuf_add_text(body, "\1a");
		strbuf_add_byte(body, value);
		strbuf_add_byte(body, '\1');
	}
	strbuf_add(body, "\1a\1\0", 4);
}

static void a_deep_tree_takes_no_stack_of_ours(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)256 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, (size_t)16 << 20);
	chain(&body, 0, 1000000);
	assert_int_equal(decoded_run(arena, QUERY, STR(""), strbuf_view(&body), &out, &err), 0);
	assert_int_equal(out.profiles[0].input->profile.sample_count, 1);
	assert_int_equal(out.profiles[0].input->profile.samples[0].depth, 1000000);
}

/* Stacks of 1, 2, 3, ... frames: 5 * 10^11 of them in a body of 4 MB. */
static void stacks_that_grow_out_of_little_are_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)1 << 30, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, (size_t)16 << 20);
	chain(&body, 1, 1000000);
	assert_int_equal(decoded_run(arena, QUERY, STR(""), strbuf_view(&body), &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_string_equal(err.message, "the stacks have more than 33554432 frames");
}

/* As many different stacks as a profile may have, and one more. */
static void add_too_many_stacks(struct strbuf *body)
{
	for (size_t i = 0; i <= decoded_limits.max_samples; i++) {
		strbuf_add_byte(body, '\3');
		for (size_t rest = i, letter = 0; letter < 3; letter++, rest /= 26)
			strbuf_add_byte(body, (char)('a' + rest % 26));
		strbuf_add(body, "\1\0", 2);
	}
}

/* Of a profile that is refused already deep stacks are not walked any more. */
static void walk_what_is_not_kept(size_t levels)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	strbuf_init(&body, (size_t)16 << 20);
	/* a node of 16,000 children; the root has the last stack and the deep ones, too */
	strbuf_add(&body, "\0\0\3\1x\0\x80\x7d", 8);
	add_too_many_stacks(&body);
	for (size_t i = 0; i + 1 < levels; i++)
		strbuf_add(&body, "\1a\1\1", 4);
	strbuf_add(&body, "\1a\1\0", 4);
	assert_int_equal(decoded_run(arena, QUERY, STR(""), strbuf_view(&body), &out, &err), 0);
	assert_int_equal(out.profiles[0].input->samples_sent, decoded_limits.max_samples + 1);
}

static void stacks_that_are_not_kept_cost_no_more_than_their_bytes(void **state)
{
	(void)state;
	growth_is_linear(walk_what_is_not_kept, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_frames_with_values_of_their_own),
		cmocka_unit_test(a_tree_that_ends_early_or_passes_a_limit_is_refused),
		cmocka_unit_test(a_deep_tree_takes_no_stack_of_ours),
		cmocka_unit_test(stacks_that_grow_out_of_little_are_bounded),
		cmocka_unit_test(stacks_that_are_not_kept_cost_no_more_than_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
