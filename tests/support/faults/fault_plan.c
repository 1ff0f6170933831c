#include "tests/support/faults/fault_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a call says when it fails so; 0: it cannot. */
static const int numbers[FAULT_KIND_COUNT][DISK_CALL_COUNT] = {
	[FAULT_NO_SPACE] = { [DISK_CREATE] = ENOSPC,
	                     [DISK_WRITE] = ENOSPC,
	                     [DISK_SYNC] = ENOSPC,
	                     [DISK_TRUNCATE] = ENOSPC,
	                     [DISK_NAME] = ENOSPC },
	[FAULT_IO] = { [DISK_OPEN] = EIO,
	               [DISK_CREATE] = EIO,
	               [DISK_READ] = EIO,
	               [DISK_WRITE] = EIO,
	               [DISK_SYNC] = EIO,
	               [DISK_TRUNCATE] = EIO,
	               [DISK_MAP] = EIO,
	               [DISK_NAME] = EIO,
	               [DISK_UNLINK] = EIO,
	               [DISK_LIST] = EIO,
	               [DISK_STATUS] = EIO },
	[FAULT_INTERRUPTED] = { [DISK_OPEN] = EINTR,
	                        [DISK_CREATE] = EINTR,
	                        [DISK_READ] = EINTR,
	                        [DISK_WRITE] = EINTR,
	                        [DISK_SYNC] = EINTR,
	                        [DISK_TRUNCATE] = EINTR },
	[FAULT_SHORT] = { [DISK_WRITE] = FAULT_HALF },
	[FAULT_DESCRIPTORS] = { [DISK_OPEN] = EMFILE,
	                        [DISK_CREATE] = EMFILE,
	                        [DISK_LIST] = EMFILE },
	[FAULT_MEMORY] = { [DISK_MAP] = ENOMEM },
};

/* Process-wide, as the files are. */
static struct fault_plan *plan;
static const char *folder;
static size_t folder_length;

/* Before anything else of the process runs; what came earlier goes on as ever. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("VRAMSCOPE_FAULT_PLAN"); /* NOLINT(concurrency-mt-unsafe) */
	void *page;
	int fd;

	folder = getenv("VRAMSCOPE_FAULT_FOLDER"); /* NOLINT(concurrency-mt-unsafe) */
	if (!path || !folder)
		return;
	folder_length = strlen(folder);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)syscall(SYS_close, fd);
	plan = page == MAP_FAILED ? NULL : page;
}

bool fault_plan_has(const char *path)
{
	return plan && strncmp(path, folder, folder_length) == 0 &&
	       (path[folder_length] == '/' || path[folder_length] == '\0');
}

int fault_plan_next(enum disk_call call, const char *name, const char *path)
{
	const uint32_t kind = atomic_load(&plan->kind);
	const uint64_t first = atomic_load(&plan->first);
	uint64_t at;

	if (first == 0 || kind >= FAULT_KIND_COUNT || numbers[kind][call] == 0)
		return 0;
	at = atomic_fetch_add(&plan->calls, 1) + 1;
	if (at < first || at > atomic_load(&plan->last))
		return 0;
	(void)snprintf(plan->last_failed, sizeof(plan->last_failed), "%s %s", name,
	               path + (strlen(path) > folder_length ? folder_length + 1 : 0));
	atomic_fetch_add(&plan->failed, 1);
	return numbers[kind][call];
}

int64_t fault_plan_clock_shift_ns(void)
{
	return plan ? atomic_load(&plan->clock_shift_ns) : 0;
}

uint64_t fault_plan_file_system(void)
{
	return plan ? atomic_load(&plan->file_system) : 0;
}
