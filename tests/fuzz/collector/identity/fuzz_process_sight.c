/*
 * What /proc says of a process, as the process would have it: environment, command line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/identity/process_sight.h"
#include "collector/identity/script_name.h"

static void check(const struct label_text *text)
{
	if (!memchr(text->text, '\0', sizeof(text->text)) || !utf8_is_valid(str_of(text->text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str bytes = str_make(data, size);
	struct label_text out = { "" };
	struct str script;

	(void)process_sight_own_name(bytes, &out);
	check(&out);
	script = script_name(STR("python3.12"), bytes);
	if (script.length > size)
		abort();
	script = script_name(STR("bash"), bytes);
	if (script.length > size)
		abort();
	return 0;
}
