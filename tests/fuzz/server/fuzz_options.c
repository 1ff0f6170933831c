/*
 * A configuration file with its environment: what is accepted prints as a file that says the
 * same.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server/options.h"

#define TEXT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(options_freep) struct options *options = options_new();
	CLEANUP(options_freep) struct options *again = options_new();
	CLEANUP(strbuf_fini) struct strbuf expanded;
	CLEANUP(strbuf_fini) struct strbuf printed;
	struct error err = { 0 };

	strbuf_init(&expanded, TEXT_MAX);
	strbuf_init(&printed, TEXT_MAX);
	if (options_expand_env(str_make(data, size), &expanded, &err) < 0 ||
	    options_set_yaml(options, strbuf_view(&expanded), "fuzz", &err) < 0)
		return 0;
	options_print_yaml(options, OPTIONS_PRINT_ALL, &printed);
	if (options_set_yaml(again, strbuf_view(&printed), "printed", &err) == 0)
		for (size_t i = 0; i < OPTION_COUNT_ALL; i++)
			assert(strcmp(options->texts[i], again->texts[i]) == 0);
	return 0;
}
