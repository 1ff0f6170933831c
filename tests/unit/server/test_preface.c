#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/preface.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void the_preface_is_known_by_its_last_byte(void **state)
{
	(void)state;
	for (size_t length = 0; length < PREFACE_LENGTH; length++)
		assert_int_equal(preface_of(str_make(preface, length)), PREFACE_UNDECIDED);
	assert_int_equal(preface_of(str_make(preface, PREFACE_LENGTH)), PREFACE_HTTP2);
	assert_int_equal(preface_of(STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0")), PREFACE_HTTP2);
}

static void one_other_byte_makes_it_http1(void **state)
{
	(void)state;
	for (size_t i = 0; i < PREFACE_LENGTH; i++) {
		char text[PREFACE_LENGTH];

		for (size_t j = 0; j < PREFACE_LENGTH; j++)
			text[j] = preface[j];
		text[i] ^= 1;
		assert_int_equal(preface_of(str_make(text, i + 1)), PREFACE_HTTP1);
		assert_int_equal(preface_of(str_make(text, PREFACE_LENGTH)), PREFACE_HTTP1);
	}
	assert_int_equal(preface_of(STR("GET / HTTP/1.1\r\n")), PREFACE_HTTP1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_preface_is_known_by_its_last_byte),
		cmocka_unit_test(one_other_byte_makes_it_http1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
