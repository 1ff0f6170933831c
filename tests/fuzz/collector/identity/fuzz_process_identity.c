/*
 * What /proc says of a process, as the process would have it: environment, control group,
 * command line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/identity/process_identity.h"
#include "collector/identity/script_name.h"

static void check(const char *text)
{
	if (strlen(text) > IDENTITY_TEXT_MAX || !utf8_is_valid(str_of(text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str bytes = str_make(data, size);
	char out[IDENTITY_TEXT_MAX + 1] = "";
	struct str script;

	(void)process_identity_of_environment(bytes, out);
	check(out);
	(void)process_identity_of_cgroup(bytes, out);
	check(out);
	script = script_name(STR("python3.12"), bytes);
	if (script.length > size)
		abort();
	script = script_name(STR("bash"), bytes);
	if (script.length > size)
		abort();
	return 0;
}
