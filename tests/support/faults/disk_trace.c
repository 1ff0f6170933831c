#include "tests/support/faults/disk_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Process-wide, as the files are. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("VRAMSCOPE_FAULT_TRACE"); /* NOLINT(concurrency-mt-unsafe) */

	if (path)
		trace = (int)syscall(SYS_openat, AT_FDCWD, path,
		                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void disk_trace_begin(void)
{
	if (trace >= 0)
		(void)pthread_mutex_lock(&lock);
}

/* A record that is not written would make every conclusion wrong: then nothing goes on. */
static void write_record(const struct disk_event *event)
{
	const char *path = event->path ? event->path : "";
	const char *other = event->other ? event->other : "";
	const struct disk_record record = {
		.change = event->change,
		.fd = event->fd,
		.flags = (uint32_t)event->flags,
		.path_bytes = (uint32_t)strlen(path),
		.other_bytes = (uint32_t)strlen(other),
		.offset = (uint64_t)event->offset,
		.bytes = event->length,
	};
	const struct iovec parts[] = {
		{ (void *)&record, sizeof(record) },
		{ (void *)path, record.path_bytes },
		{ (void *)other, record.other_bytes },
		{ (void *)event->bytes, event->length },
	};
	const size_t whole =
		sizeof(record) + record.path_bytes + record.other_bytes + event->length;

	if (writev(trace, parts, 4) != (ssize_t)whole) {
		(void)fputs("the trace of the disk cannot be written\n", stderr);
		abort();
	}
}

void disk_trace_end(const struct disk_event *event, int is_made)
{
	const int number = errno;

	if (trace < 0)
		return;
	if (is_made)
		write_record(event);
	(void)pthread_mutex_unlock(&lock);
	errno = number;
}
