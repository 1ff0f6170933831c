#include "server/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define USER_NAME   "vramscope"
#define NOBODY      65534
#define FOLDER_MODE 0700
#define STORE_DEPTH 8      /* folders in folders; a store has two */
#define MOUNT_PLACE "/mnt" /* in our own namespace; what lies there elsewhere stays */

struct identity {
	uid_t user;
	gid_t group;
};

/* ---- the store's folder ---- */

static const char *const store_entries[] = { "LOCK", "STORE", "tenants" };

static bool is_store_entry(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(store_entries); i++)
		if (strcmp(name, store_entries[i]) == 0)
			return true;
	return false;
}

static void closedir_p(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static void close_p(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static DIR *open_folder(int at, const char *name)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Only what is a store's, or nothing at all, may be given to somebody. */
static int check_folder(int fd, const char *store, struct error *err)
{
	CLEANUP(closedir_p) DIR *folder = open_folder(fd, ".");
	const struct dirent *entry;

	if (!folder)
		return error_set_errno(err, errno, "%s", store);
	while ((entry = readdir(folder))) /* NOLINT(concurrency-mt-unsafe): one thread */
		if (!is_dots(entry->d_name) && !is_store_entry(entry->d_name))
			return error_set(
				err, ERROR_INVALID,
				"-storage.path %s has '%s', which is no store's; `run` as root "
				"gives the folder to an ordinary user: name another one",
				store, entry->d_name);
	return 0;
}

static int give(int at, const char *name, struct identity to, int depth, struct error *err);

static int give_entries(int at, const char *name, struct identity to, int depth, struct error *err)
{
	CLEANUP(closedir_p) DIR *folder = open_folder(at, name);
	const struct dirent *entry;

	if (!folder)
		return error_set_errno(err, errno, "%s", name);
	while ((entry = readdir(folder))) /* NOLINT(concurrency-mt-unsafe): one thread */
		if (!is_dots(entry->d_name) &&
		    give(dirfd(folder), entry->d_name, to, depth - 1, err) < 0)
			return -1;
	return 0;
}

/* Files and folders only; a second name of a file might be somebody else's. */
static int give(int at, const char *name, struct identity to, int depth, struct error *err)
{
	struct stat stat;

	if (fstatat(at, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "%s", name);
	if (S_ISREG(stat.st_mode) ? stat.st_nlink != 1 : !S_ISDIR(stat.st_mode) || depth == 0)
		return 0;
	if (fchownat(at, name, to.user, to.group, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "give %s to user %u", name, to.user);
	return S_ISDIR(stat.st_mode) ? give_entries(at, name, to, depth, err) : 0;
}

static struct identity ordinary_user(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	const struct passwd *entry = getpwnam(USER_NAME);

	if (entry && entry->pw_uid != 0)
		return (struct identity){ entry->pw_uid, entry->pw_gid };
	return (struct identity){ NOBODY, NOBODY };
}

/* Whom the folder is to belong to: whose it is, unless that is root. */
static struct identity owner_of(const struct stat *folder)
{
	return folder->st_uid != 0 ? (struct identity){ folder->st_uid, folder->st_gid }
	                           : ordinary_user();
}

static int give_folder(int fd, const char *store, struct identity to, struct error *err)
{
	if (check_folder(fd, store, err) < 0)
		return -1;
	return give(fd, ".", to, STORE_DEPTH, err);
}

/* ---- the mount namespace ---- */

static int leave_mounts(struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0)
		return error_set_errno(err, errno, "a mount namespace of our own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set_errno(err, errno, "make mounts our own");
	return 0;
}

/* The folder was opened in our namespace. */
static int bind_store(int fd, struct error *err)
{
	char source[64];

	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (mount(source, MOUNT_PLACE, NULL, MS_BIND, NULL) < 0)
		return error_set_errno(err, errno, "mount the store on " MOUNT_PLACE);
	return 0;
}

/* ---- what may be done ---- */

static int need_capabilities(struct error *err)
{
	static const struct {
		int number;
		const char *name;
	} needed[] = {
		{ CAP_CHOWN, "CAP_CHOWN" },         { CAP_SETGID, "CAP_SETGID" },
		{ CAP_SETUID, "CAP_SETUID" },       { CAP_SETPCAP, "CAP_SETPCAP" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return error_set_errno(err, errno, "capabilities");
	for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
		const int number = needed[i].number;

		if (!(data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)))
			return error_set(err, ERROR_FORBIDDEN, "%s is missing", needed[i].name);
	}
	return 0;
}

/* In a map of a user namespace: lines of first id inside, first outside, count. */
static bool is_mapped(const char *map, unsigned long id)
{
	FILE *file = fopen(map, "re");
	unsigned long first;
	unsigned long count;
	bool found = !file; /* a kernel without them: every id exists */

	/* NOLINTNEXTLINE(cert-err34-c): of the kernel */
	while (!found && fscanf(file, "%lu %*u %lu", &first, &count) == 2)
		found = id >= first && id - first < count;
	if (file)
		(void)fclose(file);
	return found;
}

/* A user namespace that an ordinary user has made forbids it. */
static bool may_set_groups(void)
{
	char text[16] = "";
	FILE *file = fopen("/proc/self/setgroups", "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		(void)fclose(file);
	return strncmp(text, "deny", 4) != 0;
}

static int need_identity(struct identity to, struct error *err)
{
	if (!is_mapped("/proc/self/uid_map", to.user) || !is_mapped("/proc/self/gid_map", to.group))
		return error_set(err, ERROR_FORBIDDEN,
		                 "this user namespace has no user %u with group %u", to.user,
		                 to.group);
	if (!may_set_groups())
		return error_set(err, ERROR_FORBIDDEN,
		                 "this user namespace lets no process leave its groups");
	return 0;
}

/* ---- what goes ---- */

/* Nobody whom we might become gets them back. */
static int drop_bounds(struct error *err)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			return error_set_errno(err, errno, "drop capability %d", capability);
	return 0;
}

/* With the inheritable ones the ambient ones go, too. */
static int drop_capabilities(struct error *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capset, &head, none) < 0)
		return error_set_errno(err, errno, "drop capabilities");
	return 0;
}

static int become(struct identity to, struct error *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(to.group, to.group, to.group) < 0 ||
	    setresuid(to.user, to.user, to.user) < 0)
		return error_set_errno(err, errno, "become user %u, group %u", to.user, to.group);
	return 0;
}

/*
 * Whoever may not do what comes before the folder is given away stays who it is, and *kept
 * says why: until then nobody else sees anything of it.
 */
static int become_other(const char *store, char path[static PATH_MAX], struct error *kept,
                        struct error *err)
{
	CLEANUP(close_p) int fd = -1;
	struct stat folder;
	struct identity to;

	if (need_capabilities(kept) < 0 || leave_mounts(kept) < 0)
		return 0;
	if (mkdir(store, FOLDER_MODE) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "%s", store);
	fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &folder) < 0)
		return error_set_errno(err, errno, "%s", store);
	to = owner_of(&folder);
	if (need_identity(to, kept) < 0 || bind_store(fd, kept) < 0)
		return 0;
	(void)snprintf(path, PATH_MAX, "%s", MOUNT_PLACE);
	if (folder.st_uid == 0 && give_folder(fd, store, to, err) < 0)
		return -1;
	return drop_bounds(err) < 0 ? -1 : become(to, err);
}

int privileges_drop(const char *store, char path[static PATH_MAX], struct error *kept,
                    struct error *err)
{
	*kept = (struct error){ 0 };
	if (snprintf(path, PATH_MAX, "%s", store) >= PATH_MAX)
		return error_set(err, ERROR_INVALID, "-storage.path is too long");
	if (geteuid() == 0 && become_other(store, path, kept, err) < 0)
		return -1;
	if (drop_capabilities(err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set_errno(err, errno, "no new privileges");
	return 0;
}
