#include "storage/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"

#define PATH_SIZE 4096

static const struct {
	uint64_t magic;
	const char *name;
} network_file_systems[] = {
	{ 0x6969, "NFS" },        { 0x517b, "SMB" },        { 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB2" },   { 0x01021997, "9p" },     { 0x65735546, "FUSE" },
	{ 0x00c36400, "Ceph" },   { 0x5346414f, "AFS" },    { 0x6b414653, "AFS" },
	{ 0x73757245, "Coda" },   { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },
	{ 0x564c, "NCP" },        { 0x01161970, "GFS2" },   { 0x7461636f, "OCFS2" },
	{ 0x786f4256, "vboxsf" }, { 0x013111a8, "IBRIX" },  { 0xaad7aaea, "PanFS" },
};

const char *store_folder_network_name(uint64_t magic)
{
	for (size_t i = 0; i < ARRAY_LENGTH(network_file_systems); i++)
		if (network_file_systems[i].magic == magic)
			return network_file_systems[i].name;
	return NULL;
}

static void close_fd(const int *fd)
{
	const int number = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = number;
}

static int take_fd(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* Adds who we are and whose the folder is: most often that is what is wrong. */
static int refuse(const char *path, int number, struct error *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return error_set_errno(err, number, "store folder %s cannot be written", path);
	if (!S_ISDIR(status.st_mode))
		return error_set(err, ERROR_IO, "%s is a file; a folder is expected for the store",
		                 path);
	(void)error_set_errno(err, number,
	                      "store folder %s (uid %u, gid %u, mode %04o) cannot be written by "
	                      "uid %u, gid %u",
	                      path, status.st_uid, status.st_gid, status.st_mode & 07777, geteuid(),
	                      getegid());
	return -1;
}

static int sync_folder(const char *path)
{
	CLEANUP(close_fd) const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

/*
 * A folder, if there is none: a power cut does not take it away again, unless the one above
 * may not be read.
 */
static int make_folder(const char *above, const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : -1;
	return sync_folder(above) < 0 && errno != EACCES ? -1 : 0;
}

/* Makes the folder and those above it. */
static int make_folders(const char *path, struct error *err)
{
	CLEANUP(mem_freep) char *copy = mem_strdup(path);
	CLEANUP(mem_freep) char *above = mem_strdup(path[0] == '/' ? "/" : ".");

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_folder(above, copy, 0777) < 0)
			return error_set_errno(err, errno, "folder %s cannot be made", copy);
		free(above);
		above = mem_strdup(copy);
		*slash = '/';
	}
	if (make_folder(above, copy, 0750) < 0)
		return error_set_errno(err, errno, "store folder %s cannot be made", copy);
	return 0;
}

static int check_file_system(const char *path, struct error *err)
{
	struct statfs status;
	const char *name;

	if (statfs(path, &status) < 0)
		return error_set_errno(err, errno, "store folder %s", path);
	/* some magic numbers are negative where the field is a signed word */
	name = store_folder_network_name((uint64_t)status.f_type & 0xffffffff);
	if (name)
		return error_set(err, ERROR_INVALID,
		                 "store folder %s is on %s: a store needs a local disk, since the "
		                 "database's log does not work over a network",
		                 path, name);
	return 0;
}

static int take_lock(const char *path, struct store_folder *folder, struct error *err)
{
	char name[PATH_SIZE];
	char text[32] = "";
	CLEANUP(close_fd) int fd = -1;
	struct stat status;
	int length;

	(void)snprintf(name, sizeof(name), "%s/LOCK", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return refuse(path, errno, err);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_set_errno(err, errno, "%s cannot be locked", name);
		length = (int)pread(fd, text, sizeof(text) - 1, 0);
		text[length > 0 ? length : 0] = '\0';
		text[strcspn(text, " \n")] = '\0';
		return error_set(err, ERROR_UNAVAILABLE,
		                 "store folder %s is in use by another process%s%s", path,
		                 text[0] ? ", pid " : "", text);
	}
	if (fstat(fd, &status) < 0)
		return error_set_errno(err, errno, "%s", name);
	folder->last_used_unix_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
	/* for whoever is refused; of one length, so that a full disk takes it too */
	length = snprintf(text, sizeof(text), "%-10d\n", (int)getpid());
	(void)!pwrite(fd, text, (size_t)length, 0);
	folder->lock_fd = take_fd(&fd);
	return 0;
}

/* Takes `prefix` off the text, then what stands before the end of the line. */
static bool take_line(struct str *text, const char *prefix, struct str *out)
{
	ptrdiff_t end;

	if (!str_starts_with(*text, str_of(prefix)))
		return false;
	*text = str_skip(*text, strlen(prefix));
	end = str_index(*text, '\n');
	if (end < 0)
		return false;
	*out = str_first(*text, (size_t)end);
	*text = str_skip(*text, (size_t)end + 1);
	return true;
}

static int parse_store_file(const char *name, struct str text, uint64_t *out_key, struct error *err)
{
	struct str line;
	uint64_t format;
	uint64_t key = 0;
	uint8_t digits[sizeof(key)];

	if (!take_line(&text, "vramscope store", &line) || line.length > 0 ||
	    !take_line(&text, "format ", &line) || !str_to_u64(line, UINT32_MAX, &format))
		return error_set(err, ERROR_CORRUPT, "%s is not what a store writes", name);
	if (format > STORE_FORMAT)
		return error_set(err, ERROR_INVALID,
		                 "%s has format %u, this program reads up to %d", name,
		                 (unsigned)format, STORE_FORMAT);
	if (!take_line(&text, "key ", &line) || !hex_decode(line, digits, sizeof(digits)))
		return error_set(err, ERROR_CORRUPT, "%s is not what a store writes", name);
	for (size_t i = 0; i < sizeof(digits); i++)
		key = key << 8 | digits[i];
	*out_key = key;
	return 0;
}

static int read_store_file(const char *path, uint64_t *out_key, struct error *err)
{
	char name[PATH_SIZE];
	CLEANUP(close_file) FILE *file = NULL;
	char text[256];
	size_t length;

	(void)snprintf(name, sizeof(name), "%s/STORE", path);
	file = fopen(name, "re");
	if (!file) {
		if (errno == ENOENT)
			return error_set(err, ERROR_NOT_FOUND, "%s holds no store", path);
		return error_set_errno(err, errno, "%s", name);
	}
	length = fread(text, 1, sizeof(text), file);
	if (ferror(file))
		return error_set_errno(err, errno, "%s", name);
	return parse_store_file(name, str_make(text, length), out_key, err);
}

static int write_file(const char *name, const char *text, struct error *err)
{
	const size_t length = strlen(text);
	CLEANUP(close_fd) int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	if (fd < 0)
		return error_set_errno(err, errno, "%s", name);
	if (write(fd, text, length) != (ssize_t)length || fsync(fd) < 0)
		return error_set_errno(err, errno, "%s", name);
	return 0;
}

/* Written beside, then renamed: there is a whole one or none. */
int store_folder_write_key(const char *path, uint64_t key, struct error *err)
{
	char name[PATH_SIZE];
	char fresh[PATH_SIZE];
	char text[128];

	(void)snprintf(name, sizeof(name), "%s/STORE", path);
	(void)snprintf(fresh, sizeof(fresh), "%s/STORE.new", path);
	(void)snprintf(text, sizeof(text), "vramscope store\nformat %d\nkey %016" PRIx64 "\n",
	               STORE_FORMAT, key);
	if (write_file(fresh, text, err) < 0)
		return -1;
	if (rename(fresh, name) < 0)
		return error_set_errno(err, errno, "%s", name);
	if (sync_folder(path) < 0)
		return error_set_errno(err, errno, "%s", path);
	return 0;
}

/*
 * Writes, syncs and renames a small file: what fails here would fail at the first
 * profile.
 */
static int probe(const char *path, struct error *err)
{
	char name[PATH_SIZE];
	char moved[PATH_SIZE];

	(void)snprintf(name, sizeof(name), "%s/PROBE.new", path);
	(void)snprintf(moved, sizeof(moved), "%s/PROBE", path);
	if (write_file(name, "probe\n", err) < 0) {
		const int number = errno;

		if (err->code != ERROR_NO_SPACE)
			return refuse(path, number, err);
		*err = (struct error){ 0 }; /* retention makes room later */
		(void)unlink(name);
		return 0;
	}
	if (rename(name, moved) < 0)
		return refuse(path, errno, err);
	(void)unlink(moved);
	return 0;
}

static bool has(const char *path, const char *file)
{
	char name[PATH_SIZE];

	(void)snprintf(name, sizeof(name), "%s/%s", path, file);
	return access(name, F_OK) == 0;
}

static int check_whole(const char *path, struct error *err)
{
	if (has(path, STORE_FOLDER_RESTORING))
		return error_set(
			err, ERROR_INVALID,
			"a restore into %s is not finished: it runs, or was stopped and must be run again",
			path);
	return 0;
}

static int open_for_writing(const char *path, struct store_folder *folder, struct error *err)
{
	char tenants[PATH_SIZE];

	if (access(path, W_OK | X_OK) < 0)
		return refuse(path, errno, err);
	if (has(path, STORE_FOLDER_BACKUP))
		return error_set(err, ERROR_INVALID,
		                 "%s is a backup: vramscope restore makes a store of it", path);
	if (take_lock(path, folder, err) < 0 || probe(path, err) < 0)
		return -1;
	(void)snprintf(tenants, sizeof(tenants), "%s/tenants", path);
	if (mkdir(tenants, 0750) < 0 && errno != EEXIST)
		return refuse(path, errno, err);
	if (read_store_file(path, &folder->key, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	if (getrandom(&folder->key, sizeof(folder->key), 0) != sizeof(folder->key))
		return error_set_errno(err, errno, "no random numbers");
	return store_folder_write_key(path, folder->key, err);
}

/* Room for the longest name below it. */
static int check_path(const char *path, struct error *err)
{
	if (strlen(path) > 0 && strlen(path) <= PATH_SIZE - 512)
		return 0;
	return error_set(err, ERROR_INVALID, "store folder's path has %zu bytes", strlen(path));
}

int store_folder_hold(const char *path, struct store_folder *out, struct error *err)
{
	CLEANUP(store_folder_close) struct store_folder folder = { .lock_fd = -1 };

	if (check_path(path, err) < 0 || make_folders(path, err) < 0 ||
	    take_lock(path, &folder, err) < 0)
		return -1;
	folder.path = mem_strdup(path);
	*out = folder;
	folder = (struct store_folder){ .lock_fd = -1 };
	return 0;
}

int store_folder_open(const char *path, enum store_folder_access access,
                      enum store_folder_network network, struct store_folder *out,
                      struct error *err)
{
	CLEANUP(store_folder_close) struct store_folder folder = { .lock_fd = -1 };

	if (check_path(path, err) < 0)
		return -1;
	if (access == STORE_FOLDER_WRITE && make_folders(path, err) < 0)
		return -1;
	if (network == STORE_FOLDER_LOCAL_ONLY && check_file_system(path, err) < 0)
		return -1;
	if (check_whole(path, err) < 0)
		return -1;
	if (access == STORE_FOLDER_WRITE) {
		if (open_for_writing(path, &folder, err) < 0)
			return -1;
	} else if (read_store_file(path, &folder.key, err) < 0) {
		return -1;
	}
	folder.path = mem_strdup(path);
	*out = folder;
	folder = (struct store_folder){ .lock_fd = -1 };
	return 0;
}

int store_folder_check(const struct store_folder *folder, struct error *err)
{
	char name[PATH_SIZE];
	struct stat held;
	struct stat found;

	(void)snprintf(name, sizeof(name), "%s/LOCK", folder->path);
	if (fstat(folder->lock_fd, &held) < 0)
		return error_set_errno(err, errno, "the lock of %s", folder->path);
	if (stat(name, &found) < 0)
		return error_set_errno(
			err, errno,
			errno == ENOENT || errno == ENOTDIR
				? "store folder %s was removed or moved while in use: %s"
				: "store folder %s cannot be looked at: %s",
			folder->path, name);
	if (found.st_dev != held.st_dev || found.st_ino != held.st_ino)
		return error_set(err, ERROR_IO,
		                 "store folder %s was replaced while in use: %s is another file",
		                 folder->path, name);
	return 0;
}

void store_folder_note_use(const struct store_folder *folder, int64_t now_unix_ns)
{
	const struct timespec now = { now_unix_ns / NS_PER_S, now_unix_ns % NS_PER_S };

	(void)futimens(folder->lock_fd, (const struct timespec[]){ now, now });
}

void store_folder_close(struct store_folder *folder)
{
	if (folder->path || folder->lock_fd > 0)
		close_fd(&folder->lock_fd);
	free(folder->path);
	*folder = (struct store_folder){ .lock_fd = -1 };
}
