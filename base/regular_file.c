#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROC_BYTES 32

/* The file that a descriptor without rights stands for, opened. */
static int open_found(int found)
{
	char path[PROC_BYTES];
	struct stat status;

	if (fstat(found, &status) < 0)
		return -1;
	if (!S_ISREG(status.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int regular_file_open(int folder, const char *path, uint64_t resolve)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	const int found = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	int descriptor;
	int number;

	if (found < 0)
		return -1;
	descriptor = open_found(found);
	number = errno;
	(void)close(found);
	errno = number;
	return descriptor;
}
