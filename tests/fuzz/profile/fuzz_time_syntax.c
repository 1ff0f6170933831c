/*
 * Any text is a time; digits alone never depend on the clock.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/time_syntax.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str text = str_make(data, size);
	uint64_t number;

	(void)time_syntax_parse(text, INT64_MAX, TIME_SYNTAX_RFC3339);
	(void)time_syntax_parse(text, INT64_MIN, TIME_SYNTAX_RFC3339);
	if (str_to_u64(text, UINT64_MAX, &number))
		assert(time_syntax_parse(text, 0, 0) ==
		       time_syntax_parse(text, 1, TIME_SYNTAX_RFC3339));
	return 0;
}
