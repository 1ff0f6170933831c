#include "storage/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define COPY_PAGES 1024 /* of one step: a progress line is due then */

#define BUSY_MS 2000 /* a checkpoint waits this long for readers; a guess */

struct database {
	sqlite3 *handle;
	const char *name; /* the last part of path */
	char *path;
	uint32_t wal_frames;
};

/* A statement is SQLite's own; the name is ours. */
static sqlite3_stmt *own(struct statement *statement)
{
	return (sqlite3_stmt *)(void *)statement;
}

static enum error_code code_of_errno(int number)
{
	return number == ENOSPC || number == EDQUOT ? ERROR_NO_SPACE : ERROR_IO;
}

/*
 * SQLite calls a database malformed that the system could not read just then; errno still
 * tells it apart, since it was 0 before (begin_call()).
 */
static bool is_unreadable(int result)
{
	return (result & 0xff) == SQLITE_CORRUPT && (errno == EIO || errno == ENXIO);
}

static void begin_call(void)
{
	errno = 0;
}

static enum error_code code_of(sqlite3 *handle, int result)
{
	const int system_errno = handle ? sqlite3_system_errno(handle) : 0;

	switch (result & 0xff) {
	case SQLITE_FULL:
		return ERROR_NO_SPACE;
	case SQLITE_CORRUPT:
		return is_unreadable(result) ? ERROR_IO : ERROR_CORRUPT;
	case SQLITE_NOTADB:
		return ERROR_CORRUPT;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_NOMEM:
		return ERROR_UNAVAILABLE;
	case SQLITE_CANTOPEN:
		/* others close theirs soon */
		if (system_errno == EMFILE || system_errno == ENFILE)
			return ERROR_UNAVAILABLE;
		return code_of_errno(system_errno);
	case SQLITE_IOERR:
		if (result == SQLITE_IOERR_SHORT_READ)
			return ERROR_CORRUPT;
		return code_of_errno(system_errno);
	default:
		return ERROR_IO;
	}
}

static int fail(sqlite3 *handle, const char *name, int result, struct error *err)
{
	if (is_unreadable(result))
		return error_set_errno(err, errno, "%s cannot be read", name);
	return error_set(err, code_of(handle, result), "%s: %s", name,
	                 handle ? sqlite3_errmsg(handle) : sqlite3_errstr(result));
}

/* Statements are constant: one that does not fit the tables says that they are not ours. */
static int fail_prepare(sqlite3 *handle, const char *name, int result, struct error *err)
{
	(void)fail(handle, name, result, err);
	if (result == SQLITE_ERROR)
		err->code = ERROR_CORRUPT;
	return -1;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int note_wal(void *context, sqlite3 *handle, const char *schema, int frames)
{
	struct database *database = context;

	(void)handle;
	(void)schema;
	database->wal_frames = (uint32_t)frames;
	return SQLITE_OK;
}

/* "file:" and the path with what a URI cares about escaped. */
static char *immutable_uri(const char *path)
{
	static const char tail[] = "?immutable=1";
	char *uri = mem_zalloc(strlen(path) * 3 + sizeof(tail) + 5, 1);
	char *to = uri;

	to = stpcpy(to, "file:");
	for (const char *p = path; *p; p++) {
		if (*p == '?' || *p == '#' || *p == '%') {
			*to++ = '%';
			*to++ = "0123456789ABCDEF"[(unsigned char)*p >> 4];
			*to++ = "0123456789ABCDEF"[(unsigned char)*p & 15];
		} else {
			*to++ = *p;
		}
	}
	(void)stpcpy(to, tail);
	return uri;
}

/*
 * SQLite opens a file for reading only when it could not be opened for writing, for whatever
 * reason: a connection that stays so would refuse all writes.
 */
static int check_writable(const struct database *database, struct error *err)
{
	if (sqlite3_db_readonly(database->handle, "main") != 1)
		return 0;
	if (access(database->path, W_OK) < 0)
		return error_set_errno(err, errno, "%s cannot be written", database->path);
	return error_set(err, ERROR_UNAVAILABLE, "%s could not be opened for writing just now",
	                 database->path);
}

/* Of a change that is under way, or that was cut short: then whoever comes next takes it back. */
static bool has_journal(const char *path)
{
	CLEANUP(mem_freep) char *name = mem_zalloc(strlen(path) + sizeof("-journal"), 1);

	(void)stpcpy(stpcpy(name, path), "-journal");
	return access(name, F_OK) == 0;
}

static int flags_of(const char *path, enum database_mode mode)
{
	switch (mode) {
	case DATABASE_CREATE:
		return SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	case DATABASE_WRITE:
		return SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
	case DATABASE_IMMUTABLE:
		return SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
	default:
		return SQLITE_OPEN_NOMUTEX |
		       (has_journal(path) ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	}
}

/* To open a pipe waits for somebody who writes, and with the writer's thread all would wait. */
static int check_kind(const char *path, struct error *err)
{
	struct stat status;

	if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
		return 0;
	return error_set(err, ERROR_IO, "%s is no regular file", last_part(path));
}

int database_open(const char *path, enum database_mode mode, struct database **out,
                  struct error *err)
{
	const int flags = flags_of(path, mode);
	CLEANUP(database_closep) struct database *database = NULL;
	CLEANUP(mem_freep) char *uri = mode == DATABASE_IMMUTABLE ? immutable_uri(path) : NULL;
	int result;

	if (check_kind(path, err) < 0)
		return -1;
	database = mem_zalloc(1, sizeof(*database));
	database->path = mem_strdup(path);
	database->name = last_part(database->path);
	begin_call();
	result = sqlite3_open_v2(uri ? uri : path, &database->handle, flags, NULL);
	if (result != SQLITE_OK) {
		(void)fail(database->handle, database->name, result, err);
		return -1;
	}
	if ((flags & SQLITE_OPEN_READWRITE) && check_writable(database, err) < 0)
		return -1;
	sqlite3_extended_result_codes(database->handle, 1);
	sqlite3_busy_timeout(database->handle, BUSY_MS);
	/*
	 * a reader that goes last must not touch the log: its file may have been replaced
	 */
	if (mode == DATABASE_READ)
		(void)sqlite3_db_config(database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
		                        NULL);
	/* damaged schemas are found as such, never obeyed */
	(void)sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_wal_hook(database->handle, note_wal, database);
	*out = TAKE(database);
	return 0;
}

void database_close(struct database *database)
{
	sqlite3_stmt *statement;

	if (!database)
		return;
	while ((statement = sqlite3_next_stmt(database->handle, NULL)))
		(void)sqlite3_finalize(statement);
	(void)sqlite3_close(database->handle);
	free(database->path);
	free(database);
}

int database_run(struct database *database, const char *sql, struct error *err)
{
	int result;

	begin_call();
	result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
	return result == SQLITE_OK ? 0 : fail(database->handle, database->name, result, err);
}

int database_number(struct database *database, const char *sql, int64_t otherwise, int64_t *out,
                    struct error *err)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = otherwise;
	int result;

	begin_call();
	result = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);
	if (result != SQLITE_OK)
		return fail_prepare(database->handle, database->name, result, err);
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		number = sqlite3_column_int64(statement, 0);
	if (result == SQLITE_ROW || result == SQLITE_DONE)
		result = SQLITE_OK;
	if (result != SQLITE_OK)
		(void)fail(database->handle, database->name, result, err);
	(void)sqlite3_finalize(statement);
	if (result != SQLITE_OK)
		return -1;
	*out = number;
	return 0;
}

int64_t database_changes(const struct database *database)
{
	return sqlite3_changes64(database->handle);
}

int64_t database_last_id(const struct database *database)
{
	return sqlite3_last_insert_rowid(database->handle);
}

void database_rollback(struct database *database)
{
	if (!sqlite3_get_autocommit(database->handle))
		(void)sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

static bool has_moved(const struct database *database)
{
	int moved = 0;

	(void)sqlite3_file_control(database->handle, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved;
}

/* SQLite takes a file that it cannot look at for one that is gone. */
int database_check_place(const struct database *database, struct error *err)
{
	struct stat found;

	if (!has_moved(database))
		return 0;
	if (stat(database->path, &found) < 0 && errno != ENOENT && errno != ENOTDIR)
		return error_set_errno(err, errno, "%s", database->path);
	if (!has_moved(database))
		return 0;
	return error_set(err, ERROR_CORRUPT, "%s was removed or replaced while in use",
	                 database->path);
}

uint32_t database_wal_frames(const struct database *database)
{
	return database->wal_frames;
}

int database_checkpoint(struct database *database, enum database_checkpoint how, struct error *err)
{
	const int mode = how == DATABASE_CHECKPOINT_TRUNCATE ? SQLITE_CHECKPOINT_TRUNCATE
	                                                     : SQLITE_CHECKPOINT_PASSIVE;
	int frames = 0;
	int moved = 0;
	int result;

	begin_call();
	result = sqlite3_wal_checkpoint_v2(database->handle, NULL, mode, &frames, &moved);
	/* the next commit starts the log anew once all of it has moved */
	database->wal_frames = frames > moved ? (uint32_t)frames : 0;
	if (result == SQLITE_OK || (result & 0xff) == SQLITE_BUSY)
		return 0;
	return fail(database->handle, database->name, result, err);
}

/* ---- copies ---- */

struct database_copy {
	struct database *from;
	struct database *to;
	sqlite3_backup *backup;
	int left; /* pages */
	bool is_begun;
};

/* The file is nobody's until it is whole, and whoever made it syncs it then. */
static int open_copy(const char *path, struct database **out, struct error *err)
{
	CLEANUP(database_closep) struct database *to = NULL;

	if (database_open(path, DATABASE_CREATE, &to, err) < 0 ||
	    database_run(to, "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE", err) < 0)
		return -1;
	*out = TAKE(to);
	return 0;
}

int database_copy_begin(struct database *from, const char *path, struct database_copy **out,
                        struct error *err)
{
	CLEANUP(database_copy_endp) struct database_copy *copy = mem_zalloc(1, sizeof(*copy));

	copy->from = from;
	if (open_copy(path, &copy->to, err) < 0)
		return -1;
	copy->backup = sqlite3_backup_init(copy->to->handle, "main", from->handle, "main");
	if (!copy->backup)
		return fail(copy->to->handle, copy->to->name, sqlite3_errcode(copy->to->handle),
		            err);
	*out = TAKE(copy);
	return 0;
}

/* Whose fault it is cannot be told: both files are named. */
static int fail_copy(const struct database_copy *copy, int result, struct error *err)
{
	return error_set(err, code_of(copy->to->handle, result), "copying %s to %s: %s",
	                 copy->from->name, copy->to->path, sqlite3_errstr(result));
}

static int finish_copy(struct database_copy *copy, struct error *err)
{
	const int result = sqlite3_backup_finish(TAKE(copy->backup));

	if (result != SQLITE_OK)
		return fail_copy(copy, result, err);
	/* the head that was copied says that there is a log */
	return database_run(copy->to, "PRAGMA journal_mode=DELETE", err);
}

int database_copy_step(struct database_copy *copy, uint64_t *out_bytes, struct error *err)
{
	const int before = copy->left;
	const int result = sqlite3_backup_step(copy->backup, COPY_PAGES);
	int64_t page_bytes = 0;

	if (result != SQLITE_OK && result != SQLITE_DONE)
		return fail_copy(copy, result, err);
	copy->left = sqlite3_backup_remaining(copy->backup);
	if (database_number(copy->from, "PRAGMA page_size", 0, &page_bytes, err) < 0)
		return -1;
	*out_bytes = (uint64_t)page_bytes *
	             (uint64_t)((copy->is_begun ? before : sqlite3_backup_pagecount(copy->backup)) -
	                        copy->left);
	copy->is_begun = true;
	if (result == SQLITE_OK)
		return 1;
	return finish_copy(copy, err);
}

void database_copy_end(struct database_copy *copy)
{
	if (!copy)
		return;
	if (copy->backup)
		(void)sqlite3_backup_finish(copy->backup);
	database_close(copy->to);
	free(copy);
}

/* ---- statements ---- */

int database_prepare(struct database *database, const char *sql, struct statement **out,
                     struct error *err)
{
	sqlite3_stmt *statement = NULL;
	int result;

	begin_call();
	result = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
	                            &statement, NULL);
	if (result != SQLITE_OK)
		return fail_prepare(database->handle, database->name, result, err);
	*out = (struct statement *)(void *)statement;
	return 0;
}

void statement_free(struct statement *statement)
{
	(void)sqlite3_finalize(own(statement));
}

void statement_bind_int(struct statement *statement, int parameter, int64_t value)
{
	(void)sqlite3_bind_int64(own(statement), parameter, value);
}

void statement_bind_bytes(struct statement *statement, int parameter, struct str bytes)
{
	(void)sqlite3_bind_blob64(own(statement), parameter, bytes.length ? bytes.data : "",
	                          bytes.length, SQLITE_STATIC);
}

void statement_bind_null(struct statement *statement, int parameter)
{
	(void)sqlite3_bind_null(own(statement), parameter);
}

int statement_step(struct statement *statement, struct error *err)
{
	sqlite3 *handle;
	int result;

	begin_call();
	result = sqlite3_step(own(statement));
	if (result == SQLITE_ROW)
		return 1;
	if (result == SQLITE_DONE)
		return 0;
	handle = sqlite3_db_handle(own(statement));
	return fail(handle, last_part(sqlite3_db_filename(handle, NULL)), result, err);
}

void statement_reset(struct statement *statement)
{
	(void)sqlite3_reset(own(statement));
	(void)sqlite3_clear_bindings(own(statement));
}

int statement_run(struct statement *statement, struct error *err)
{
	const int result = statement_step(statement, err);

	statement_reset(statement);
	return result < 0 ? -1 : 0;
}

int64_t statement_int(struct statement *statement, int column)
{
	return sqlite3_column_int64(own(statement), column);
}

struct str statement_bytes(struct statement *statement, int column)
{
	const void *bytes = sqlite3_column_blob(own(statement), column);

	return str_make(bytes, (size_t)sqlite3_column_bytes(own(statement), column));
}

bool statement_is_null(struct statement *statement, int column)
{
	return sqlite3_column_type(own(statement), column) == SQLITE_NULL;
}
