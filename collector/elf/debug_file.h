/*
 * The separate file that holds the symbols of a stripped one.
 *
 * Shape    looked for by build id below /usr/lib/debug/.build-id, then by the name in
 *          .gnu_debuglink beside the file, in its .debug folder and below /usr/lib/debug; in
 *          the root of the process first, then in ours. Only a file with the same build id
 *          counts, so nothing is read to compare checksums.
 * Errors   none: there is one or not.
 * Threads  none.
 * Source   collector specification 5, 2
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "collector/elf/elf_image.h"

/* Opens files by the paths that a process sees. Returns a descriptor or -1. */
struct file_opener {
	int (*open)(void *context, const char *path);
	void *context;
};

/*
 * Finds the one for `image`, which `path` names. On success *bytes and *out are set, both
 * the caller's; out->bytes is `bytes`. `opener` may be NULL: then only our own root counts.
 */
bool debug_file_find(const struct elf_image *image, struct str path,
                     const struct file_opener *opener, struct code_blocks *blocks,
                     struct code_bytes *bytes, struct elf_image *out);
