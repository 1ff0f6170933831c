/*
 * The system calls of a process under test, in the place of libc's: what fault_plan.h says goes
 * wrong, and disk_trace.h gets what was changed. For LD_PRELOAD.
 *
 * Files are known by their path when they are opened, and by their descriptor from then on.
 * What libc opens for itself (fopen(), opendir()) is known where it matters here.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/faults/disk_trace.h"
#include "tests/support/faults/fault_plan.h"

#define FDS_MAX  65536
#define NS_PER_S INT64_C(1000000000)

/* libc's own names of parameters are reserved. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

static _Atomic bool known[FDS_MAX]; /* descriptors of files that are meant */

static bool is_known(int fd)
{
	return fd >= 0 && fd < FDS_MAX && atomic_load_explicit(&known[fd], memory_order_relaxed);
}

static void know(int fd, bool is)
{
	if (fd >= 0 && fd < FDS_MAX)
		atomic_store_explicit(&known[fd], is, memory_order_relaxed);
}

static void path_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t length;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
	out[length > 0 ? length : 0] = '\0';
}

/* The whole path of a name, when it is one of those that are meant. */
static bool find(int at, const char *path, char out[PATH_MAX])
{
	char above[PATH_MAX];
	int length;

	if (path[0] == '/')
		length = snprintf(out, PATH_MAX, "%s", path);
	else if (at == AT_FDCWD)
		return false;
	else {
		path_of(at, above);
		length = snprintf(out, PATH_MAX, "%s/%s", above, path);
	}
	return length < PATH_MAX && fault_plan_has(out);
}

/* Sets errno and says true when the call fails. */
static bool fails(enum disk_call call, const char *name, const char *path)
{
	const int number = fault_plan_next(call, name, path);

	if (number == 0)
		return false;
	errno = number;
	return true;
}

static bool fails_fd(enum disk_call call, const char *name, int fd)
{
	char path[PATH_MAX];

	path_of(fd, path);
	return fails(call, name, path);
}

/* libc's own, where a system call would not do. */
static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* ---- opening and closing ---- */

static int open_file(int at, const char *path, int flags, mode_t mode)
{
	char whole[PATH_MAX];
	struct disk_event event = { .change = DISK_CHANGE_OPEN, .flags = flags, .path = whole };

	if (!find(at, path, whole))
		return (int)syscall(SYS_openat, at, path, flags, mode);
	if (fails(flags & O_CREAT ? DISK_CREATE : DISK_OPEN, "open", whole))
		return -1;
	disk_trace_begin();
	event.fd = (int)syscall(SYS_openat, at, path, flags, mode);
	know(event.fd, true);
	disk_trace_end(&event, event.fd >= 0);
	return event.fd;
}

static mode_t mode_of(int flags, va_list *arguments)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, &arguments);
	va_end(arguments);
	return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, &arguments);
	va_end(arguments);
	return open_file(at, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char *path, int flags, ...) __attribute__((alias("openat")));

int close(int fd)
{
	const struct disk_event event = { .change = DISK_CHANGE_CLOSE, .fd = fd };
	int result;

	if (!is_known(fd))
		return (int)syscall(SYS_close, fd);
	disk_trace_begin();
	know(fd, false);
	result = (int)syscall(SYS_close, fd);
	disk_trace_end(&event, 1);
	return result;
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
	FILE *(*own)(const char *, const char *);
	char whole[PATH_MAX];

	*(void **)&own = next("fopen");
	if (find(AT_FDCWD, path, whole) && fails(DISK_OPEN, "fopen", whole))
		return NULL;
	return own(path, mode);
}

DIR *opendir(const char *path)
{
	char whole[PATH_MAX];
	const bool is_meant = find(AT_FDCWD, path, whole);
	struct disk_event event = { .change = DISK_CHANGE_OPEN,
		                    .flags = O_DIRECTORY,
		                    .path = whole };
	DIR *(*own)(const char *);
	DIR *folder;

	*(void **)&own = next("opendir");
	if (is_meant && fails(DISK_LIST, "opendir", whole))
		return NULL;
	if (!is_meant)
		return own(path);
	disk_trace_begin();
	folder = own(path);
	event.fd = folder ? dirfd(folder) : -1;
	know(event.fd, true);
	disk_trace_end(&event, event.fd >= 0);
	return folder;
}

struct dirent *readdir(DIR *folder)
{
	struct dirent *(*own)(DIR *);

	*(void **)&own = next("readdir");
	if (is_known(dirfd(folder)) && fails_fd(DISK_LIST, "readdir", dirfd(folder)))
		return NULL;
	return own(folder);
}

int closedir(DIR *folder)
{
	const int fd = dirfd(folder);
	const struct disk_event event = { .change = DISK_CHANGE_CLOSE, .fd = fd };
	int (*own)(DIR *);
	int result;

	*(void **)&own = next("closedir");
	if (!is_known(fd))
		return own(folder);
	disk_trace_begin();
	know(fd, false);
	result = own(folder);
	disk_trace_end(&event, 1);
	return result;
}

/* ---- bytes ---- */

ssize_t read(int fd, void *bytes, size_t count)
{
	if (is_known(fd) && fails_fd(DISK_READ, "read", fd))
		return -1;
	return syscall(SYS_read, fd, bytes, count);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
	if (is_known(fd) && fails_fd(DISK_READ, "pread", fd))
		return -1;
	return syscall(SYS_pread64, fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off_t offset) __attribute__((alias("pread")));

/* False when it fails; a short write lessens the count. */
static bool may_write(int fd, const char *name, size_t *count)
{
	char path[PATH_MAX];
	int number;

	path_of(fd, path);
	number = fault_plan_next(DISK_WRITE, name, path);
	if (number == FAULT_HALF && *count > 1)
		*count /= 2;
	if (number <= 0)
		return true;
	errno = number;
	return false;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	struct disk_event event = { .change = DISK_CHANGE_WRITE, .fd = fd, .bytes = bytes };
	ssize_t written;

	if (!is_known(fd))
		return syscall(SYS_write, fd, bytes, count);
	if (!may_write(fd, "write", &count))
		return -1;
	disk_trace_begin();
	event.offset = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
	written = syscall(SYS_write, fd, bytes, count);
	event.length = written > 0 ? (size_t)written : 0;
	disk_trace_end(&event, written > 0);
	return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	struct disk_event event = {
		.change = DISK_CHANGE_WRITE,
		.fd = fd,
		.bytes = bytes,
		.offset = offset,
	};
	ssize_t written;

	if (!is_known(fd))
		return syscall(SYS_pwrite64, fd, bytes, count, offset);
	if (!may_write(fd, "pwrite", &count))
		return -1;
	disk_trace_begin();
	written = syscall(SYS_pwrite64, fd, bytes, count, offset);
	event.length = written > 0 ? (size_t)written : 0;
	disk_trace_end(&event, written > 0);
	return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset)
	__attribute__((alias("pwrite")));

int ftruncate(int fd, off_t length)
{
	const struct disk_event event = {
		.change = DISK_CHANGE_TRUNCATE,
		.fd = fd,
		.offset = length,
	};
	int result;

	if (!is_known(fd))
		return (int)syscall(SYS_ftruncate, fd, length);
	if (fails_fd(DISK_TRUNCATE, "ftruncate", fd))
		return -1;
	disk_trace_begin();
	result = (int)syscall(SYS_ftruncate, fd, length);
	disk_trace_end(&event, result == 0);
	return result;
}

int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));

static int sync_file(int fd, const char *name, long number)
{
	const struct disk_event event = { .change = DISK_CHANGE_SYNC, .fd = fd };
	int result;

	if (!is_known(fd))
		return (int)syscall(number, fd);
	if (fails_fd(DISK_SYNC, name, fd))
		return -1;
	disk_trace_begin();
	result = (int)syscall(number, fd);
	disk_trace_end(&event, result == 0);
	return result;
}

int fsync(int fd)
{
	return sync_file(fd, "fsync", SYS_fsync);
}

int fdatasync(int fd)
{
	return sync_file(fd, "fdatasync", SYS_fdatasync);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	if (is_known(fd) && fails_fd(DISK_MAP, "mmap", fd))
		return MAP_FAILED;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): that is what the call gives */
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

/* ---- names ---- */

int rename(const char *from, const char *to)
{
	char whole[PATH_MAX];
	const struct disk_event event = {
		.change = DISK_CHANGE_RENAME,
		.path = from,
		.other = to,
	};
	int result;

	if (!find(AT_FDCWD, to, whole))
		return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	if (fails(DISK_NAME, "rename", whole))
		return -1;
	disk_trace_begin();
	result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	disk_trace_end(&event, result == 0);
	return result;
}

int mkdir(const char *path, mode_t mode)
{
	char whole[PATH_MAX];
	const struct disk_event event = { .change = DISK_CHANGE_MAKE_FOLDER, .path = whole };
	int result;

	if (!find(AT_FDCWD, path, whole))
		return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	if (fails(DISK_NAME, "mkdir", whole))
		return -1;
	disk_trace_begin();
	result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	disk_trace_end(&event, result == 0);
	return result;
}

int unlinkat(int at, const char *path, int flags)
{
	char whole[PATH_MAX];
	const struct disk_event event = { .change = DISK_CHANGE_UNLINK, .path = whole };
	int result;

	if (!find(at, path, whole))
		return (int)syscall(SYS_unlinkat, at, path, flags);
	if (fails(DISK_UNLINK, "unlink", whole))
		return -1;
	disk_trace_begin();
	result = (int)syscall(SYS_unlinkat, at, path, flags);
	disk_trace_end(&event, result == 0);
	return result;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

/* ---- questions ---- */

int access(const char *path, int mode)
{
	char whole[PATH_MAX];

	if (find(AT_FDCWD, path, whole) && fails(DISK_STATUS, "access", whole))
		return -1;
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int stat(const char *restrict path, struct stat *restrict out)
{
	char whole[PATH_MAX];

	if (find(AT_FDCWD, path, whole) && fails(DISK_STATUS, "stat", whole))
		return -1;
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

int fstat(int fd, struct stat *out)
{
	if (is_known(fd) && fails_fd(DISK_STATUS, "fstat", fd))
		return -1;
	return (int)syscall(SYS_fstat, fd, out);
}

_Static_assert(sizeof(struct stat64) == sizeof(struct stat), "one layout of a file's status");
int stat64(const char *restrict path, struct stat64 *restrict out)
{
	return stat(path, (struct stat *)(void *)out);
}

int fstat64(int fd, struct stat64 *out)
{
	return fstat(fd, (struct stat *)(void *)out);
}

int statfs(const char *path, struct statfs *out)
{
	char whole[PATH_MAX];
	const int result = (int)syscall(SYS_statfs, path, out);

	if (result == 0 && fault_plan_file_system() != 0 && find(AT_FDCWD, path, whole))
		out->f_type = (__fsword_t)fault_plan_file_system();
	return result;
}

/* ---- the wall clock ---- */

int clock_gettime(clockid_t clock, struct timespec *out)
{
	const int result = (int)syscall(SYS_clock_gettime, clock, out);
	int64_t now;

	if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return result;
	now = out->tv_sec * NS_PER_S + out->tv_nsec + fault_plan_clock_shift_ns();
	out->tv_sec = now / NS_PER_S;
	out->tv_nsec = now % NS_PER_S;
	return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
