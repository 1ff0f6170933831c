/*
 * The text of a credential file, and, behind the first byte 0, what a stranger says in
 * Authorization: nobody fits who does not know a secret.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "server/guard/credentials.h"

#define KNOWN "one read a,b 0123456789abcdef0123456789abcdef\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(credentials_freep) struct credentials *credentials = NULL;
	CLEANUP(credentials_freep) struct credentials *known = NULL;
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)1 << 20, NULL);
	const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
	const struct str text = str_make(data, end ? (size_t)(end - data) : size);
	const struct str said = end ? str_make(end + 1, size - text.length - 1) : STR("");
	const struct credential *found;
	struct error err = { 0 };

	if (credentials_parse(text, "text", &credentials, &err) == 0)
		for (size_t i = 0; i < credentials_count(credentials); i++)
			assert(credentials_at(credentials, i)->roles != 0);
	else
		assert(err.code == ERROR_INVALID);
	assert(credentials_parse(STR(KNOWN), "known", &known, &err) == 0);
	found = credentials_find(known, said, arena);
	assert(!found || str_find(said, STR("0123456789abcdef0123456789abcdef")) >= 0 ||
	       str_equal_ignoring_case(str_first(said, 5), STR("Basic")));
	return 0;
}
