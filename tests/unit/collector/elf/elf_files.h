/* Real files of code that every machine has, for tests: this program, and the C library that it runs with. */
#pragma once

#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/module_cache.h"

static inline const char *own_path(void)
{
	static char path[4096];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert(length > 0);
	path[length] = '\0';
	return path;
}

static inline const char *libc_path(void)
{
	Dl_info info;

	assert(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info) != 0);
	return info.dli_fname;
}

static inline struct module *open_path(struct module_cache *cache, const char *path)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct module *module = NULL;
	struct error err = { 0 };

	if (descriptor < 0 ||
	    module_cache_open(cache, descriptor, str_of(path), NULL, &module, &err) < 0)
		return NULL;
	return module;
}

/* The file that holds the interpreter of python3 (or of VRAMSCOPE_TEST_PYTHON), or NULL. */
static inline const char *python_path(void)
{
	static char path[4096];
	FILE *pipe;
	size_t length;

	pipe = popen(
		"readlink -f \"$(${VRAMSCOPE_TEST_PYTHON:-python3} -c 'import os, sys, sysconfig\n"
		"v = sysconfig.get_config_var\n"
		"library = os.path.join(v(\"LIBDIR\") or \"\", v(\"INSTSONAME\") or \"\")\n"
		"print(library if os.path.isfile(library) else sys.executable)')\" 2>/dev/null",
		"r");
	if (!pipe)
		return NULL;
	length = fread(path, 1, sizeof(path) - 1, pipe);
	(void)pclose(pipe);
	path[length] = '\0';
	path[strcspn(path, "\n")] = '\0';
	return access(path, R_OK) == 0 ? path : NULL;
}
