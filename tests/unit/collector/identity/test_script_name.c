#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/script_name.h"

static void scripts_are_found_behind_their_interpreters_options(void **state)
{
	static const struct {
		struct str program;
		struct str arguments;
		const char *name;
	} cases[] = {
		{ STR("python3.11"), STR("python\0/x/train.py\0--steps\0003\0"), "train.py" },
		{ STR("python3"), STR("python3\0-m\0vllm.entrypoints.openai.api_server\0"),
		  "vllm" },
		{ STR("python3"), STR("python3\0-mvllm.serve\0"), "vllm" },
		{ STR("python3"), STR("python3\0-um\0torch.distributed.run\0t.py\0"), "torch" },
		{ STR("python3"), STR("python3\0-u\0-X\0dev\0-Wignore\0a/b.py\0"), "b.py" },
		{ STR("python3"), STR("python3\0-uX\0dev\0b.py\0"), "b.py" },
		{ STR("python3"), STR("python3\0--check-hash-based-pycs\0always\0b.py\0"), "b.py" },
		{ STR("python3"), STR("python3\0-c\0print(1)\0"), "" },
		{ STR("python3"), STR("python3\0-\0"), "" },
		{ STR("python3"), STR("python3\0"), "" },
		{ STR("python3"), STR(""), "" },
		{ STR("python3"), STR("VLLM::EngineCore\0"), "" },
		{ STR("pypy3.9"), STR("pypy3\0s.py\0"), "s.py" },
		{ STR("python3-config"), STR("python3-config\0x\0"), "" },
		{ STR("node"), STR("node\0--inspect\0/srv/app.js\0"), "app.js" },
		{ STR("bash"), STR("bash\0-c\0sleep 1\0"), "" },
		{ STR("bash"), STR("bash\0/etc/rc.local\0"), "rc.local" },
		{ STR("ollama"), STR("ollama\0serve\0"), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct str name = script_name(cases[i].program, cases[i].arguments);

		if (!str_equals(name, cases[i].name))
			fail_msg("case %zu: '%.*s', not '%s'", i, STR_ARGS(name), cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts_are_found_behind_their_interpreters_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
