/*
 * A tenant's settings: a small database beside its windows, written on the writer's
 * thread.
 *
 * Rollback journal, and a sync of the folder once it is removed: it is written by hand, now
 * and then, and not by profiles.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/damaged_file.h"
#include "storage/database.h"
#include "storage/sqlite_store_parts.h"

static char *path_of(const struct sqlite_store *store, struct str tenant, const char *file)
{
	char folder[TENANT_FOLDER_SIZE];
	const size_t size = strlen(store->folder.path) + sizeof(folder) + strlen(file) + 16;
	char *path = mem_zalloc(size, 1);

	tenant_folder_format(tenant, folder);
	(void)snprintf(path, size, "%s/tenants/%s%s", store->folder.path, folder, file);
	return path;
}

static int open_to_write(const struct sqlite_store *store, struct str tenant, struct database **out,
                         struct error *err)
{
	CLEANUP(mem_freep) char *path = path_of(store, tenant, "/settings.db");
	CLEANUP(database_closep) struct database *database = NULL;
	char folder[TENANT_FOLDER_SIZE];

	tenant_folder_format(tenant, folder);
	if (store_folder_check(&store->folder, err) < 0 ||
	    window_set_make_folder(&store->windows, folder, err) < 0 ||
	    database_open(path, DATABASE_CREATE, &database, err) < 0 ||
	    database_run(database,
	                 "PRAGMA synchronous=EXTRA; CREATE TABLE IF NOT EXISTS setting("
	                 "name BLOB PRIMARY KEY, value BLOB NOT NULL, modified INTEGER NOT NULL)"
	                 " WITHOUT ROWID",
	                 err) < 0)
		return -1;
	*out = TAKE(database);
	return 0;
}

/* ---- reading ---- */

static int visit_rows(struct database *database, store_setting_visitor visit, void *context,
                      struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more;

	if (database_prepare(database, "SELECT name, value, modified FROM setting ORDER BY name",
	                     &rows, err) < 0)
		return -1;
	while ((more = statement_step(rows, err)) > 0) {
		const struct store_setting setting = {
			.name = statement_bytes(rows, 0),
			.value = statement_bytes(rows, 1),
			.modified_unix_ms = statement_int(rows, 2),
		};

		if (visit(context, &setting, err) < 0)
			return -1;
	}
	return more;
}

static int read_file(const char *path, store_setting_visitor visit, void *context,
                     struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t tables = 0;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (database_open(path, DATABASE_READ, &database, err) < 0 ||
	    database_number(database, "SELECT count(*) FROM sqlite_master", 0, &tables, err) < 0)
		return -1;
	return tables == 0 ? 0 : visit_rows(database, visit, context, err);
}

/* ---- damage ---- */

static int ignore_setting(void *context, const struct store_setting *setting, struct error *err)
{
	(void)context;
	(void)setting;
	(void)err;
	return 0;
}

struct damage {
	struct sqlite_store *store;
	const char *path;
};

/* What a change stumbles over may lie where no read comes by: SQLite looks everywhere. */
static int check_file(const char *path, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t complaints = 0;

	if (read_file(path, ignore_setting, NULL, err) < 0 ||
	    database_open(path, DATABASE_READ, &database, err) < 0 ||
	    database_number(database,
	                    "SELECT count(*) FROM pragma_integrity_check "
	                    "WHERE integrity_check <> 'ok'",
	                    0, &complaints, err) < 0)
		return -1;
	return complaints == 0 ? 0 : error_set(err, ERROR_CORRUPT, "%s is damaged", path);
}

/* Unless somebody was faster. On the writer's thread, as all changes are. */
static int set_aside(struct writer *writer, void *context, struct error *err)
{
	const struct damage *damage = context;
	CLEANUP(mem_freep) char *aside = NULL;
	struct error seen = { 0 };

	(void)writer;
	if (check_file(damage->path, &seen) == 0 || seen.code != ERROR_CORRUPT)
		return 0;
	if (damaged_file_set_aside(damage->path, &aside, err) < 0)
		return -1;
	window_set_note_damage(&damage->store->windows, NULL);
	if (aside)
		log_error("%s is damaged; it is set aside as %s, the tenant has no settings now",
		          damage->path, strrchr(aside, '/') + 1);
	return 0;
}

/* After a read that ended with *err: settings that do not read back begin anew. */
static void note_damage(struct sqlite_store *store, const char *path, struct error *err)
{
	struct damage damage = { store, path };
	struct error failed = { 0 };

	if (err->code != ERROR_CORRUPT || !store->writer)
		return;
	if (writer_run(store->writer, set_aside, &damage, &failed) == 0)
		(void)error_context(err, "%s is damaged and was set aside", path);
}

int sqlite_store_settings(struct store *store, struct str tenant, store_setting_visitor visit,
                          void *context, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	CLEANUP(mem_freep) char *path = path_of(own, tenant, "/settings.db");

	if (read_file(path, visit, context, err) == 0)
		return 0;
	note_damage(own, path, err);
	return -1;
}

/* ---- writing ---- */

struct change {
	const struct sqlite_store *store;
	struct str tenant;
	struct str name;
	const struct store_setting *setting; /* NULL: delete it */
	int64_t now_unix_ms;
};

/* The newest change of the setting that is stored; INT64_MIN: there is none. */
static int modified_of(struct database *database, struct str name, int64_t *out, struct error *err)
{
	CLEANUP(statement_freep) struct statement *find = NULL;
	int more;

	if (database_prepare(database, "SELECT modified FROM setting WHERE name = ?", &find, err) <
	    0)
		return -1;
	statement_bind_bytes(find, 1, name);
	more = statement_step(find, err);
	if (more < 0)
		return -1;
	*out = more > 0 ? statement_int(find, 0) : INT64_MIN;
	return 0;
}

static int put(struct database *database, const struct store_setting *setting, struct error *err)
{
	CLEANUP(statement_freep) struct statement *insert = NULL;

	if (database_prepare(database, "INSERT OR REPLACE INTO setting VALUES(?, ?, ?)", &insert,
	                     err) < 0)
		return -1;
	statement_bind_bytes(insert, 1, setting->name);
	statement_bind_bytes(insert, 2, setting->value);
	statement_bind_int(insert, 3, setting->modified_unix_ms);
	return statement_run(insert, err);
}

static int delete (struct database *database, struct str name, struct error *err)
{
	CLEANUP(statement_freep) struct statement *statement = NULL;

	if (database_prepare(database, "DELETE FROM setting WHERE name = ?", &statement, err) < 0)
		return -1;
	statement_bind_bytes(statement, 1, name);
	return statement_run(statement, err);
}

static int change(struct writer *writer, void *context, struct error *err)
{
	const struct change *asked = context;
	const int64_t wanted = asked->setting ? asked->setting->modified_unix_ms
	                                      : asked->now_unix_ms;
	CLEANUP(database_closep) struct database *database = NULL;
	int64_t stored;

	(void)writer;
	if (open_to_write(asked->store, asked->tenant, &database, err) < 0 ||
	    modified_of(database, asked->name, &stored, err) < 0)
		return -1;
	if (stored > wanted)
		return error_set(err, ERROR_EXISTS,
		                 "failed to %s %.*s: newer update already written",
		                 asked->setting ? "update" : "delete", STR_ARGS(asked->name));
	return asked->setting ? put(database, asked->setting, err)
	                      : delete (database, asked->name, err);
}

/* Once more when what was there had to be set aside. */
static int make_change(struct sqlite_store *store, struct change *asked, struct error *err)
{
	CLEANUP(mem_freep) char *path = path_of(store, asked->tenant, "/settings.db");

	if (writer_run(store->writer, change, asked, err) == 0)
		return 0;
	if (err->code != ERROR_CORRUPT)
		return -1;
	note_damage(store, path, err);
	*err = (struct error){ 0 };
	return writer_run(store->writer, change, asked, err);
}

int sqlite_store_put_setting(struct store *store, struct str tenant, struct store_setting *setting,
                             struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct change asked = {
		.store = own,
		.tenant = tenant,
		.name = setting->name,
		.setting = setting,
		.now_unix_ms = clock_unix_ns() / NS_PER_MS,
	};

	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	if (setting->modified_unix_ms <= 0)
		setting->modified_unix_ms = asked.now_unix_ms;
	return make_change(own, &asked, err);
}

int sqlite_store_remove_setting(struct store *store, struct str tenant, struct str name,
                                struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct change asked = {
		.store = own,
		.tenant = tenant,
		.name = name,
		.now_unix_ms = clock_unix_ns() / NS_PER_MS,
	};

	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	return make_change(own, &asked, err);
}
