#include "tests/unit/collector/python/pythons.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static int by_version(const void *a, const void *b)
{
	const struct python *left = a;
	const struct python *right = b;

	if (left->version != right->version)
		return left->version < right->version ? -1 : 1;
	return strcmp(left->path, right->path);
}

/* Asks a program what it is; one that does not answer is none. */
static void ask(struct python *out, size_t *count, const char *program)
{
	struct python python = { 0 };
	char command[1200];
	FILE *pipe;

	if (*count == PYTHONS_MAX || access(program, X_OK) != 0)
		return;
	(void)snprintf(command, sizeof(command),
	               "'%s' -c 'import os, sys; print(os.path.realpath(sys.executable), "
	               "sys.version.split()[0])' 2>/dev/null",
	               program);
	pipe = popen(command, "r");
	if (!pipe)
		return;
	if (fscanf(pipe, "%511s %15s", python.path, python.text) == 2 &&
	    strncmp(python.text, "3.", 2) == 0)
		python.version = 0x0300 | (uint32_t)strtoul(python.text + 2, NULL, 10);
	(void)pclose(pipe);
	if (python.version < 0x0308)
		return;
	for (size_t i = 0; i < *count; i++)
		if (strcmp(out[i].path, python.path) == 0)
			return;
	out[(*count)++] = python;
}

static void ask_all(struct python *out, size_t *count, const char *pattern)
{
	glob_t found;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a test has one thread */
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			ask(out, count, found.gl_pathv[i]);
	globfree(&found);
}

/* The interpreters of a folder of PATH: its own, or those that its shims stand for. */
static void ask_folder(struct python *out, size_t *count, struct str folder)
{
	char path[512];

	if (str_ends_with(folder, STR("/shims"))) {
		(void)snprintf(path, sizeof(path), "%.*s/../versions/3.*/bin/python3",
		               STR_ARGS(folder));
		ask_all(out, count, path);
		return;
	}
	for (unsigned int minor = 8; minor <= 14; minor++) {
		(void)snprintf(path, sizeof(path), "%.*s/python3.%u", STR_ARGS(folder), minor);
		ask(out, count, path);
	}
	(void)snprintf(path, sizeof(path), "%.*s/python3", STR_ARGS(folder));
	ask(out, count, path);
}

size_t pythons_find(struct python *out)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): a test has one thread */
	struct str named = str_of(getenv("VRAMSCOPE_PYTHONS") ?: "");
	struct str folders = str_of(getenv("PATH") ?: "");
	/* NOLINTEND(concurrency-mt-unsafe) */
	struct str part;
	size_t count = 0;

	while (str_split(&named, ':', &part)) {
		char path[512];

		(void)snprintf(path, sizeof(path), "%.*s", STR_ARGS(part));
		ask(out, &count, path);
	}
	while (str_split(&folders, ':', &part))
		ask_folder(out, &count, part);
	qsort(out, count, sizeof(*out), by_version);
	return count;
}
