#include "storage/window_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

#define APPLICATION_ID 0x7672616d /* "vram" */
#define FORMAT_FIRST   1          /* a file begins with */
#define FORMAT_NEWEST  WINDOW_FORMAT_SEALED

/*
 * profile lies by (group, time), totals beside the times, samples elsewhere: a time
 * series reads no samples. A sample's id counts up, so that bodies are appended at the
 * table's end.
 */
static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE page(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, labels BLOB NOT NULL);"
	"CREATE TABLE series_group(id INTEGER PRIMARY KEY, series BLOB NOT NULL);"
	"CREATE TABLE profile(grp INTEGER NOT NULL, time INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" id BLOB NOT NULL, origin BLOB, duration INTEGER NOT NULL, received INTEGER NOT NULL,"
	" totals BLOB NOT NULL, sample INTEGER NOT NULL, PRIMARY KEY(grp, time, seq))"
	" WITHOUT ROWID;"
	"CREATE TABLE sample(id INTEGER PRIMARY KEY, body BLOB NOT NULL);";

/*
 * Rows of block are small: all of an hour, or of a family, are found without a look at the
 * bodies. Bodies count up, as samples do.
 */
static const char block_schema[] =
	"CREATE TABLE block(family INTEGER NOT NULL, hour INTEGER NOT NULL, part INTEGER NOT NULL,"
	" first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, profiles INTEGER NOT NULL,"
	" groups BLOB NOT NULL, heads INTEGER NOT NULL, origins INTEGER, sums INTEGER NOT NULL,"
	" detail INTEGER NOT NULL, PRIMARY KEY(family, hour, part)) WITHOUT ROWID;"
	"CREATE TABLE block_page(id INTEGER PRIMARY KEY, body BLOB NOT NULL);";

static const char *sync_pragma(enum sqlite_store_sync sync)
{
	return sync == SQLITE_STORE_SYNC_FULL ? "PRAGMA synchronous=FULL"
	                                      : "PRAGMA synchronous=NORMAL";
}

static int put_meta(struct database *database, const char *key, struct str text, int64_t number,
                    struct error *err)
{
	CLEANUP(statement_freep) struct statement *insert = NULL;

	if (database_prepare(database, "INSERT INTO meta VALUES(CAST(? AS TEXT), ?)", &insert,
	                     err) < 0)
		return -1;
	statement_bind_bytes(insert, 1, str_of(key));
	if (text.data)
		statement_bind_bytes(insert, 2, text);
	else
		statement_bind_int(insert, 2, number);
	return statement_run(insert, err);
}

static int put_format(struct database *database, int format, struct error *err)
{
	char pragma[48];

	(void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%d", format);
	return database_run(database, pragma, err);
}

/* The tables of a format, and the numbers, within a transaction. */
static int fill_head(struct database *database, const struct window_file_options *options,
                     int format, struct error *err)
{
	char pragma[48];

	(void)snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d", APPLICATION_ID);
	if (database_run(database, schema, err) < 0 ||
	    (format >= WINDOW_FORMAT_BLOCKS && database_run(database, block_schema, err) < 0) ||
	    put_meta(database, "day", (struct str){ 0 }, options->day, err) < 0 ||
	    put_meta(database, "tenant",
	             str_make(options->tenant.data ? options->tenant.data : "",
	                      options->tenant.length),
	             0, err) < 0 ||
	    database_run(database, pragma, err) < 0)
		return -1;
	return put_format(database, format, err);
}

static int make_tables(struct database *database, const struct window_file_options *options,
                       struct error *err)
{
	if (database_run(database, "BEGIN IMMEDIATE", err) < 0 ||
	    fill_head(database, options, FORMAT_FIRST, err) < 0 ||
	    database_run(database, "COMMIT", err) < 0) {
		database_rollback(database);
		return -1;
	}
	return 0;
}

/* Tables and numbers come in one transaction: there are both or none. */
static int check_unmade(struct database *database, int64_t *out_format, struct error *err)
{
	int64_t tables = 0;

	if (database_number(database, "SELECT count(*) FROM sqlite_master", 0, &tables, err) < 0)
		return -1;
	if (tables > 0)
		return error_set(err, ERROR_CORRUPT, "a database without its numbers");
	*out_format = 0;
	return 0;
}

/* Gives the format: 0 for a file without tables. */
static int check_format(struct database *database, int64_t *out_format, struct error *err)
{
	int64_t application = 0;
	int64_t format = 0;

	if (database_number(database, "PRAGMA application_id", 0, &application, err) < 0 ||
	    database_number(database, "PRAGMA user_version", 0, &format, err) < 0)
		return -1;
	if (application == 0 && format == 0)
		return check_unmade(database, out_format, err);
	if (application != APPLICATION_ID || format < 1)
		return error_set(err, ERROR_CORRUPT, "a database of another program");
	if (format > FORMAT_NEWEST)
		return error_set(err, ERROR_CORRUPT,
		                 "a window of format %lld, this program reads up to %d",
		                 (long long)format, FORMAT_NEWEST);
	*out_format = format;
	return 0;
}

/* False also where that cannot be told: the log of a file that is there holds profiles. */
static bool is_missing(const char *path)
{
	return access(path, F_OK) < 0 && errno == ENOENT;
}

/* What an unlinked file of the same name left behind must not be taken for its log. */
static void remove_leftovers(const char *path)
{
	static const char *const tails[] = { "-wal", "-shm", "-journal" };
	char name[4200];

	if (!is_missing(path))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(tails); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		(void)unlink(name);
	}
}

int window_file_open(const struct window_file_options *options, struct database **out,
                     struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t format = 0;

	remove_leftovers(options->path);
	if (database_open(options->path, DATABASE_CREATE, &database, err) < 0 ||
	    check_format(database, &format, err) < 0)
		return -1;
	if (format >= WINDOW_FORMAT_SEALED)
		return error_set(err, ERROR_UNAVAILABLE, "%s is sealed", options->path);
	if (database_run(database, "PRAGMA journal_mode=WAL", err) < 0 ||
	    database_run(database, sync_pragma(options->sync), err) < 0 ||
	    /*
	     * The writer moves the log, after it has answered. No pragma says so: wal_autocheckpoint
	     * would take away the hook that counts the log, which stands in its place already.
	     */
	    database_run(database,
	                 "PRAGMA journal_size_limit=8388608; PRAGMA secure_delete=OFF;"
	                 "PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY",
	                 err) < 0)
		return -1;
	if (format == 0 && make_tables(database, options, err) < 0)
		return -1;
	*out = TAKE(database);
	return 0;
}

int window_file_add_blocks(struct database *database, struct error *err)
{
	int64_t format = 0;

	if (check_format(database, &format, err) < 0)
		return -1;
	if (format >= WINDOW_FORMAT_BLOCKS)
		return 0;
	if (database_run(database, block_schema, err) < 0)
		return -1;
	return put_format(database, WINDOW_FORMAT_BLOCKS, err);
}

static bool has_log(const char *path)
{
	char name[4200];

	(void)snprintf(name, sizeof(name), "%s-wal", path);
	return !is_missing(name);
}

int window_file_settle(const char *path, enum sqlite_store_sync sync, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (!has_log(path))
		return 0;
	if (database_open(path, DATABASE_WRITE, &database, err) < 0 ||
	    database_run(database, sync_pragma(sync), err) < 0)
		return -1;
	return database_checkpoint(database, DATABASE_CHECKPOINT_TRUNCATE, err);
}

/* ---- sealed ones ---- */

int window_file_create_sealed(const struct window_file_options *options, struct database **out,
                              struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (database_open(options->path, DATABASE_CREATE, &database, err) < 0 ||
	    database_run(database,
	                 "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
	                 "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-2048; BEGIN",
	                 err) < 0 ||
	    fill_head(database, options, WINDOW_FORMAT_SEALED, err) < 0)
		return -1;
	*out = TAKE(database);
	return 0;
}

int window_file_unseal(const char *path, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (database_open(path, DATABASE_WRITE, &database, err) < 0 ||
	    database_run(database, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF", err) < 0)
		return -1;
	return put_format(database, WINDOW_FORMAT_BLOCKS, err);
}

/* Without locks, and without a look at a log. Gives the format. */
static int open_alone(const char *path, struct database **out, int64_t *out_format,
                      struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (database_open(path, DATABASE_IMMUTABLE, &database, err) < 0 ||
	    check_format(database, out_format, err) < 0)
		return -1;
	*out = TAKE(database);
	return 0;
}

/*
 * By SQLite: a descriptor of our own would take its locks along when it is closed. What does
 * not read back is told by whoever opens it.
 */
enum window_seal window_file_seal(const char *path)
{
	CLEANUP(database_closep) struct database *database = NULL;
	struct error err = { 0 };
	int64_t format;

	if (is_missing(path))
		return WINDOW_UNSEALED;
	if (open_alone(path, &database, &format, &err) < 0)
		return err.code == ERROR_CORRUPT ? WINDOW_UNSEALED : WINDOW_SEAL_UNKNOWN;
	return format == WINDOW_FORMAT_SEALED ? WINDOW_SEALED : WINDOW_UNSEALED;
}

/* ---- reading ---- */

/*
 * A folder that we may not write, and nobody who writes: then the file is read alone.
 */
static int open_unsealed(const char *path, struct database **out, int64_t *out_format,
                         struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (database_open(path, DATABASE_READ, &database, err) < 0)
		return -1;
	if (check_format(database, out_format, err) == 0) {
		*out = TAKE(database);
		return 0;
	}
	if ((err->code != ERROR_IO && err->code != ERROR_UNAVAILABLE) || has_log(path))
		return -1;
	*err = (struct error){ 0 };
	return open_alone(path, out, out_format, err);
}

/* A file that is not sealed has a log, which must not be passed over. */
static int open_as_it_is(const char *path, struct database **out, int64_t *out_format,
                         struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	struct error ignored;

	if (is_missing(path))
		return error_set(err, ERROR_NOT_FOUND, "%s is gone", path);
	if (open_alone(path, &database, out_format, &ignored) == 0 &&
	    *out_format == WINDOW_FORMAT_SEALED) {
		*out = TAKE(database);
		return 0;
	}
	database_close(TAKE(database));
	if (open_unsealed(path, &database, out_format, err) < 0)
		return -1;
	if (*out_format == WINDOW_FORMAT_SEALED)
		return error_set(err, ERROR_UNAVAILABLE, "%s was sealed just now", path);
	*out = TAKE(database);
	return 0;
}

int window_file_open_to_read(const char *path, struct database **out, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t format = 0;

	/* a second time for one that was sealed between the two looks */
	if (open_as_it_is(path, &database, &format, err) < 0 &&
	    (err->code != ERROR_UNAVAILABLE || open_as_it_is(path, &database, &format, err) < 0))
		return -1;
	if (format == 0)
		return error_set(err, ERROR_NOT_FOUND, "%s is not made yet", path);
	if (database_run(database, "PRAGMA cache_size=-256; PRAGMA temp_store=MEMORY", err) < 0)
		return -1;
	*out = TAKE(database);
	return 0;
}

int window_file_open_still(const char *path, struct database **out, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t format = 0;

	if (is_missing(path))
		return error_set(err, ERROR_NOT_FOUND, "%s is gone", path);
	if (open_alone(path, &database, &format, err) < 0)
		return -1;
	if (format == 0)
		return error_set(err, ERROR_NOT_FOUND, "%s is not made yet", path);
	*out = TAKE(database);
	return 0;
}
