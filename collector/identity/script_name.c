#include "collector/identity/script_name.h"

#include "base/cleanup.h"
#include "profile/profile.h"

/* "python", "python3", "python3.12", "pypy3". */
static bool is_python(struct str program)
{
	struct str rest;

	if (str_starts_with(program, STR("python")))
		rest = str_skip(program, strlen("python"));
	else if (str_starts_with(program, STR("pypy")))
		rest = str_skip(program, strlen("pypy"));
	else
		return false;
	for (size_t i = 0; i < rest.length; i++)
		if (rest.data[i] != '.' && (rest.data[i] < '0' || rest.data[i] > '9'))
			return false;
	return true;
}

static bool is_other_interpreter(struct str program)
{
	static const char *const names[] = { "bash",   "dash", "julia", "lua", "node",
		                             "nodejs", "perl", "php",   "R",   "Rscript",
		                             "ruby",   "sh",   "zsh",   "ksh" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (str_equals(program, names[i]))
			return true;
	return false;
}

static bool next_argument(struct str *rest, struct str *out)
{
	/* every argument ends with a NUL: what is behind the last one is none */
	return rest->length > 0 && str_split(rest, '\0', out);
}

/* "vllm.entrypoints.openai.api_server" is "vllm". */
static struct str package_of(struct str module)
{
	const ptrdiff_t dot = str_index(module, '.');

	return dot < 0 ? module : str_first(module, (size_t)dot);
}

/* The value of an option letter at the end of a cluster: the rest of it, or the next one. */
static struct str value_of(struct str cluster, size_t letter, struct str *rest)
{
	struct str value = str_skip(cluster, letter + 1);

	if (value.length == 0 && !next_argument(rest, &value))
		return STR("");
	return value;
}

/* What one cluster of Python's short options says. */
enum option_effect {
	OPTION_NOTHING,
	OPTION_MODULE,   /* *out_module has its name */
	OPTION_NO_SCRIPT /* -c: the program is text */
};

static enum option_effect read_cluster(struct str cluster, struct str *rest, struct str *out_module)
{
	for (size_t i = 1; i < cluster.length; i++) {
		switch (cluster.data[i]) {
		case 'm':
			*out_module = value_of(cluster, i, rest);
			return OPTION_MODULE;
		case 'c':
			return OPTION_NO_SCRIPT;
		case 'W':
		case 'X':
			(void)value_of(cluster, i, rest);
			return OPTION_NOTHING;
		default:
			break;
		}
	}
	return OPTION_NOTHING;
}

static struct str python_script(struct str rest)
{
	struct str argument;
	struct str module;

	while (next_argument(&rest, &argument)) {
		if (argument.length == 0 || argument.data[0] != '-')
			return profile_basename(argument);
		if (argument.length == 1)
			return STR(""); /* standard input */
		if (str_starts_with(argument, STR("--"))) {
			if (str_equals(argument, "--check-hash-based-pycs"))
				(void)next_argument(&rest, &argument);
			continue;
		}
		switch (read_cluster(argument, &rest, &module)) {
		case OPTION_MODULE:
			return package_of(module);
		case OPTION_NO_SCRIPT:
			return STR("");
		default:
			break;
		}
	}
	return STR("");
}

struct str script_name(struct str program, struct str arguments)
{
	struct str argument;

	if (!next_argument(&arguments, &argument)) /* the program itself */
		return STR("");
	if (is_python(program))
		return python_script(arguments);
	if (!is_other_interpreter(program))
		return STR("");
	while (next_argument(&arguments, &argument)) {
		if (str_equals(argument, "-c") || str_equals(argument, "-e"))
			return STR("");
		if (argument.length > 0 && argument.data[0] != '-')
			return profile_basename(argument);
	}
	return STR("");
}
