/*
 * The folder of a spool and the files in it: the part of push_spool.h that knows the system.
 *
 * Shape    one process has the folder, by a lock on a file in it. All paths are names below
 *          an open folder; links are not followed, nothing but regular files is opened.
 * Errors   as the system gives them: ERROR_IO, ERROR_NO_SPACE; ERROR_CORRUPT for a file that
 *          is not the push that its name says, ERROR_NOT_FOUND for one that is not there,
 *          ERROR_UNAVAILABLE when this process has no descriptor or memory left.
 * Threads  files of different numbers on different threads; renewing on one of them.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "server/push/spool_file.h"

struct spool_folder {
	int fd;
	int lock_fd;
};

/*
 * Made with mode 0700 if it is missing. It must be ours and nobody else's:
 * ERROR_FORBIDDEN. ERROR_UNAVAILABLE: another process has it.
 */
int spool_folder_open(const char *path, struct spool_folder *out, struct error *err);
void spool_folder_close(struct spool_folder *folder);

/* 1: it was removed, and there is a new one at the path from now on. 0: it is there. */
int spool_folder_renew(struct spool_folder *folder, const char *path, struct error *err);

/*
 * Tells of every file that has a push's name, in no order. What was half written goes.
 */
int spool_folder_list(const struct spool_folder *folder,
                      void (*found)(void *context, uint64_t sequence), void *context,
                      struct error *err);

/* The file is there whole, or not at all. */
int spool_folder_write(const struct spool_folder *folder, const struct spool_head *head,
                       struct str request, struct error *err);

/* The head alone, of a file as long as it says. */
int spool_folder_look(const struct spool_folder *folder, uint64_t sequence, struct spool_head *out,
                      struct error *err);

/* The whole file, into `bytes`; *out_request is a view of them. */
int spool_folder_read(const struct spool_folder *folder, uint64_t sequence, struct strbuf *bytes,
                      struct spool_head *out, struct str *out_request, struct error *err);

int spool_folder_remove(const struct spool_folder *folder, uint64_t sequence, struct error *err);

/* The bytes of one file; it may have gone. Then the names of all of them. */
int spool_folder_sync_file(const struct spool_folder *folder, uint64_t sequence, struct error *err);
int spool_folder_sync_names(const struct spool_folder *folder, struct error *err);
