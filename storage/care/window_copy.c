#include "storage/care/window_copy.h"

#include <errno.h>
#include <unistd.h>

#include "storage/database.h"
#include "storage/window_file.h"

#define ATTEMPTS 3 /* a file is replaced once a day at most */

static int open_source(const char *from, enum listed_kind kind, struct database **out,
                       struct error *err)
{
	if (kind == LISTED_WINDOW)
		return window_file_open_to_read(from, out, err);
	if (access(from, F_OK) < 0 && errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "%s is gone", from);
	return database_open(from, DATABASE_READ, out, err);
}

/* Begins the transaction; what it sees stays, whatever is written. */
static int begin(struct database *database, struct error *err)
{
	int64_t tables;

	if (database_run(database, "BEGIN", err) < 0)
		return -1;
	return database_number(database, "SELECT count(*) FROM sqlite_master", 0, &tables, err);
}

static int open_begun(const char *from, enum listed_kind kind, struct database **out,
                      struct error *err)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		CLEANUP(database_closep) struct database *database = NULL;

		if (open_source(from, kind, &database, err) < 0 || begin(database, err) < 0)
			return -1;
		if (database_check_place(database, err) == 0) {
			*out = TAKE(database);
			return 0;
		}
		if (err->code != ERROR_CORRUPT)
			return -1;
		*err = (struct error){ 0 };
	}
	return error_set(err, ERROR_UNAVAILABLE, "%s is replaced again and again", from);
}

static int copy_all(struct database *database, const char *to,
                    const struct file_bytes_progress *progress, struct error *err)
{
	CLEANUP(database_copy_endp) struct database_copy *copy = NULL;
	uint64_t bytes;
	int more;

	if (database_copy_begin(database, to, &copy, err) < 0)
		return -1;
	do {
		more = database_copy_step(copy, &bytes, err);
		if (more >= 0 && progress && progress->tell)
			progress->tell(progress->context, bytes);
	} while (more > 0);
	return more;
}

int window_copy(const char *from, enum listed_kind kind, const char *to,
                const struct file_bytes_progress *progress, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;

	if (open_begun(from, kind, &database, err) < 0)
		return -1;
	if (copy_all(database, to, progress, err) < 0 || file_bytes_sync(to, err) < 0) {
		(void)unlink(to);
		return -1;
	}
	return 0;
}
