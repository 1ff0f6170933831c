#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/routes/entity_tag.h"

static void a_list_names_a_tag(void **state)
{
	static const struct {
		const char *header;
		bool matches;
	} cases[] = {
		{ "\"abc\"", true },    { " \"x\" , \"abc\" ", true },
		{ "W/\"abc\"", true },  { "\"x\",W/\"abc\",\"y\"", true },
		{ "*", true },          { " * ", true },
		{ "\"ab\"", false },    { "abc", false },
		{ "", false },          { ",", false },
		{ "W/*", false },       { "\"x\" \"abc\"", false },
		{ "\"abc\"\"", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(entity_tag_matches(str_of(cases[i].header), STR("\"abc\"")),
		                 cases[i].matches);
}

/* The answer to a request whose If-None-Match is `asked` (or NULL). */
static int status_of(const char *body, const struct str *asked, struct arena *arena,
                     struct str *out_tag)
{
	const struct http_header header = { STR("if-none-match"), asked ? *asked : STR("") };
	const struct http_request request = { .headers = &header, .header_count = asked != NULL };
	struct http_response response;
	int status;

	http_response_init(&response, 1000);
	strbuf_add_text(&response.body, body);
	entity_tag_apply(&request, &response, arena);
	status = response.status;
	assert_int_equal(response.body.length, status == 304 ? 0 : strlen(body));
	*out_tag = *http_response_find_header(&response, "ETag");
	http_response_fini(&response);
	return status;
}

static void the_same_body_is_not_sent_twice(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(65536, NULL);
	struct str first;
	struct str again;

	(void)state;
	assert_int_equal(status_of("{}", NULL, arena, &first), 200);
	assert_int_equal(first.length, 34);
	assert_int_equal(first.data[0], '"');
	assert_int_equal(status_of("{}", &first, arena, &again), 304);
	assert_true(str_equal(first, again));
	assert_int_equal(status_of("{ }", &first, arena, &again), 200);
	assert_false(str_equal(first, again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_names_a_tag),
		cmocka_unit_test(the_same_body_is_not_sent_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
