#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/trie.h"
#include "tests/unit/formats/decoded.h"
#include "tests/unit/formats/vectors.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define QUERY       "name=svc.alloc_objects&format=trie"

static void keys_are_what_stands_on_the_way_from_the_root(void **state)
{
	static const struct {
		const char *hex;
		const char *samples;
	} cases[] = {
		/* the vectors of the specification, 8.3 */
		{ "00000102616200020163010001640200", "abc 1|abd 2|" },
		{ "000001056d61696e3b00020161010003623b63ac0200", "main;a 1|main;b;c 300|" },
		/* inner nodes count, names may be empty, and a node may be a root of its own */
		{ "0000010161050100"
		  "0700",
		  "a 12|" },
		{ "0000010161050102"
		  "3b6207"
		  "00",
		  "a 5|a;b 7|" },
		{ "000002016101010002"
		  "00"
		  "0162"
		  "0300",
		  "a 3|b 3|" },
		{ "016101"
		  "00"
		  "0162"
		  "02"
		  "00",
		  "a 1|b 2|" },
		{ "010001"
		  "00",
		  "\\0 1|" },
		/* a character may be cut: c3 a9 is one */
		{ "00000101c300"
		  "01"
		  "01a909"
		  "00",
		  "\xc3\xa9 9|" },
		/* the end of the body is the end, whatever is missing */
		{ "00000501610100", "a 1|" },
		/* lengths may be written with more bytes than they need */
		{ "80000001"
		  "818000"
		  "61"
		  "8100"
		  "00",
		  "a 1|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf text;
		struct format_output out;
		struct error err = { 0 };

		strbuf_init(&text, 10000);
		assert_int_equal(decoded_run(arena, QUERY, STR(""),
		                             vector_unhex(arena, cases[i].hex), &out, &err),
		                 0);
		decoded_samples(&out, &text);
		if (strcmp(cases[i].samples, "\\0 1|") == 0)
			assert_memory_equal(text.data, "\0 1|", 5);
		else
			assert_string_equal(text.data, cases[i].samples);
	}
}

static void an_empty_trie_is_nothing(void **state)
{
	static const char *const cases[] = { "", "000000", "00000101610000" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(decoded_run(arena, QUERY, STR(""), vector_unhex(arena, cases[i]),
		                             &out, &err),
		                 0);
		assert_int_equal(out.count, 0);
	}
}

static void a_node_that_is_cut_is_refused(void **state)
{
	static const struct {
		const char *hex;
		const char *message;
	} cases[] = {
		{ "ffffffffffffffffff01", "unexpected EOF: the node at byte 0 has no whole name" },
		{ "0000ff", "unexpected EOF: the node at byte 0 has no number of children" },
		{ "0000010261", "unexpected EOF: the node at byte 3 has no whole name" },
		{ "00000180", "unexpected EOF: the node at byte 3 has no length of its name" },
		{ "0000010161", "unexpected EOF: the node at byte 3 has no value" },
		/* eleven bytes, and a tenth that passes 64 bits */
		{ "00ffffffffffffffffffff0100", "unexpected EOF: the node at byte 0 has no value" },
		{ "00ffffffffffffffffff0200", "unexpected EOF: the node at byte 0 has no value" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

		decoded_fails(arena, QUERY, vector_unhex(arena, cases[i].hex), FORMAT_PARSING,
		              cases[i].message);
	}
}

/* A chain of nodes of one byte each: the body grows by four bytes a level. */
static void chain(struct strbuf *body, const char *name, uint8_t value, size_t levels)
{
	strbuf_add(body, "\0\0\1", 3);
	for (size_t i = 0; i < levels; i++) {
		strbuf_add_byte(body, 1);
		strbuf_add(body, name, 1);
		strbuf_add_byte(body, (char)value);
		strbuf_add_byte(body, i + 1 < levels ? '\1' : '\0');
	}
}

static void a_deep_trie_is_cut_as_any_stack(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)256 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, (size_t)16 << 20);
	chain(&body, ";", 0, 1000000);
	strbuf_add(&body, "\0\1\0", 3);
	body.data[body.length - 4] = 1; /* the last of the chain has this child */
	assert_int_equal(decoded_run(arena, QUERY, STR(""), strbuf_view(&body), &out, &err), 0);
	assert_int_equal(out.profiles[0].input->profile.sample_count, 1);
	/* a ';' at the end adds nothing: a million of them are so many empty frames */
	assert_int_equal(out.profiles[0].input->profile.samples[0].depth, 1000000);
}

/* Each level counts: keys of 1, 2, 3, ... bytes, half a TiB of them in a body of 4 MB. */
static void keys_that_grow_out_of_little_are_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)2 << 30, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, (size_t)16 << 20);
	chain(&body, "a", 1, 1000000);
	assert_int_equal(decoded_run(arena, QUERY, STR(""), strbuf_view(&body), &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_string_equal(err.message, "the keys of the trie have more than 268435456 bytes");
}

static void the_content_type_alone_says_it(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 1000);
	assert_int_equal(decoded_run(arena, "name=svc", STR("binary/octet-stream+trie"),
	                             vector_unhex(arena, "00000102616200020163010001640200"), &out,
	                             &err),
	                 0);
	decoded_type(&out, 0, &text);
	strbuf_add_byte(&text, ' ');
	decoded_samples(&out, &text);
	assert_string_equal(
		text.data,
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds abc 10000000|abd 20000000|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_what_stands_on_the_way_from_the_root),
		cmocka_unit_test(an_empty_trie_is_nothing),
		cmocka_unit_test(a_node_that_is_cut_is_refused),
		cmocka_unit_test(a_deep_trie_is_cut_as_any_stack),
		cmocka_unit_test(keys_that_grow_out_of_little_are_bounded),
		cmocka_unit_test(the_content_type_alone_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
