/*
 * SQLite behind a face of ours: the one file that includes it.
 *
 * Shape    a database is a connection; a statement is prepared once, bound, stepped and
 *          reset. Text of statements is constant, never built.
 * Errors   ERROR_NO_SPACE: the disk is full; ERROR_CORRUPT: the file is damaged, as far as
 *          it could be read; ERROR_UNAVAILABLE: busy or out of memory or descriptors;
 *          ERROR_IO: the rest. Messages begin with the file's name.
 * Threads  a connection and its statements belong to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct database;
struct statement;

enum database_mode {
	DATABASE_READ,      /* also beside a writer; takes back what one began that died */
	DATABASE_IMMUTABLE, /* nobody writes, no locks, no WAL */
	DATABASE_WRITE,     /* the file is there */
	DATABASE_CREATE,    /* made when it is not */
};

int database_open(const char *path, enum database_mode mode, struct database **out,
                  struct error *err);

/* Finalizes every statement that is still there. NULL is fine. */
void database_close(struct database *database);

/* Runs statements that give no rows. */
int database_run(struct database *database, const char *sql, struct error *err);

/*
 * The one number that a statement gives (a pragma, a count); absent or NULL: `otherwise`.
 */
int database_number(struct database *database, const char *sql, int64_t otherwise, int64_t *out,
                    struct error *err);

/* Of the last statement that wrote: rows that it deleted or put, and the id of one put. */
int64_t database_changes(const struct database *database);
int64_t database_last_id(const struct database *database);

/* Ends a transaction without keeping it; fine when there is none. */
void database_rollback(struct database *database);

/*
 * Whether the path leads to the open file: ERROR_CORRUPT when it was removed or replaced,
 * ERROR_IO when that cannot be told.
 */
int database_check_place(const struct database *database, struct error *err);

/* Frames in the write-ahead log after the last commit of this connection. */
uint32_t database_wal_frames(const struct database *database);

/*
 * Moves the log into the file as far as readers allow; `truncate` waits for them a
 * little.
 */
enum database_checkpoint {
	DATABASE_CHECKPOINT_PASSIVE,
	DATABASE_CHECKPOINT_TRUNCATE,
};
int database_checkpoint(struct database *database, enum database_checkpoint how, struct error *err);

/*
 * A copy of what the transaction of `from` sees, page by page into a file that is not there
 * yet: as many steps as there are, then the end. Whoever writes to `from` is not held up.
 * The copy has no log: it can be read where nobody may write.
 */
struct database_copy;
int database_copy_begin(struct database *from, const char *path, struct database_copy **out,
                        struct error *err);
/* 1: there is more; 0: that was all. *out_bytes: those that the last step copied. */
int database_copy_step(struct database_copy *copy, uint64_t *out_bytes, struct error *err);
void database_copy_end(struct database_copy *copy);

/* The statement lives as long as its database, or until statement_free(). */
int database_prepare(struct database *database, const char *sql, struct statement **out,
                     struct error *err);

void statement_free(struct statement *statement);
DEFINE_FREEP(statement)

/* Parameters count from 1. Bytes must stay until the statement is reset. */
void statement_bind_int(struct statement *statement, int parameter, int64_t value);
void statement_bind_bytes(struct statement *statement, int parameter, struct str bytes);
void statement_bind_null(struct statement *statement, int parameter);

/* 1 with a row, 0 at the end, -1 on an error. */
int statement_step(struct statement *statement, struct error *err);

/* Ready for the next binding; bound values are gone. */
void statement_reset(struct statement *statement);

/* Steps once, for statements without rows, and resets. */
int statement_run(struct statement *statement, struct error *err);

/* Columns count from 0. Bytes are borrowed until the next step or reset. */
int64_t statement_int(struct statement *statement, int column);
struct str statement_bytes(struct statement *statement, int column);
bool statement_is_null(struct statement *statement, int column);

static inline void database_copy_endp(struct database_copy **copy)
{
	database_copy_end(*copy);
}

static inline void database_closep(struct database **database)
{
	database_close(*database);
}
