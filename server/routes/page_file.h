/*
 * A file of the pages: one of those in the program, or of the folder of -server.web-dir.
 *
 * Shape    those in the program are packed already. In a folder nothing outside of it is
 *          reached, and nothing but regular files.
 * Errors   the operating system's; ERROR_TOO_LARGE; arena_error().
 * Threads  any.
 * Source   web-ui specification, 3.3
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"

struct page_file {
	const char *type;    /* Content-Type */
	struct str bytes;    /* gzip, when it is packed */
	size_t size;         /* of the file itself */
	struct hash128 hash; /* of the file itself, with key 0 */
	bool is_packed;
};

/*
 * A path below the pages' folder. 1: found; 0: there is none; -1. `web_dir` is empty for
 * the program's own.
 */
int page_file_find(const char *web_dir, struct str path, struct arena *arena, struct page_file *out,
                   struct error *err);

/* The file itself. */
int page_file_unpack(const struct page_file *file, struct arena *arena, struct str *out,
                     struct error *err);
