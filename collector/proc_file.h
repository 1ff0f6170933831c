/*
 * Files of /proc: their text, which has no size before it is read.
 *
 * Units    bytes.
 * Errors   reading a file of a process that has ended, or that is another's: as said below.
 * Threads  any.
 * Source   proc(5)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strbuf.h"

/* The first `max` bytes, in `buffer`; empty when it cannot be read. */
struct str proc_file_read(const char *path, char *buffer, size_t max);

/* The same of PROC/PID/NAME: `proc` is where it is mounted. */
struct str proc_file_of(const char *proc, uint32_t tgid, const char *name, char *buffer,
                        size_t max);

/*
 * Appends as much as the buffer has room for, as strbuf_read(): -1 and errno when it cannot be
 * read. A path that is not absolute begins at `folder`.
 */
int proc_file_append(int folder, const char *path, struct strbuf *out);

/*
 * A field of the text of PROC/PID/stat, counted from 1 as proc(5) does; those behind the
 * name (3 and more) alone. Empty: there is none.
 */
struct str proc_stat_field(struct str stat, int field);
