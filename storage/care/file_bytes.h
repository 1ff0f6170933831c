/*
 * Whole files: copied, hashed, written.
 *
 * Shape    what was made is on disk (fsync) when a function returns; what failed on its way
 *          is unlinked.
 * Errors   ERROR_NO_SPACE, ERROR_IO, with the file's path; ERROR_EXISTS when `to` is there.
 * Threads  none.
 */
#pragma once

#include "base/error.h"
#include "base/hash.h"

/* What is told of bytes while they pass; tell may be NULL. */
struct file_bytes_progress {
	void (*tell)(void *context, uint64_t bytes);
	void *context;
};

struct file_bytes {
	struct hash128 hash; /* XXH3-128 with key 0 */
	uint64_t count;
};

int file_bytes_hash(const char *path, const struct file_bytes_progress *progress,
                    struct file_bytes *out, struct error *err);

/* Copies what it reads and tells what that was. */
int file_bytes_copy(const char *from, const char *to, const struct file_bytes_progress *progress,
                    struct file_bytes *out, struct error *err);

int file_bytes_sync(const char *path, struct error *err);

/* A small text, whole or not at all: written beside it, then renamed. */
int file_bytes_write(const char *path, struct str text, struct error *err);

/* All of a file of at most `limit` bytes; free() it. ERROR_NOT_FOUND when there is none. */
int file_bytes_read(const char *path, size_t limit, char **out, size_t *out_length,
                    struct error *err);
