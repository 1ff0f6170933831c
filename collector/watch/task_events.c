/*
 * Records of different CPUs are put in order by their times. The buffers are looked at one
 * after the other, so a record of a late one may depend on one that an early one got just
 * after it was looked at (a process maps a file here and ends there). Hence only records from
 * before the first look are handed on; the rest has its turn the next time. Whoever makes
 * records faster than they are handed on fills the buffers, and never holds up who drains.
 */
#include "collector/watch/task_events.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#ifndef PERF_FORMAT_LOST /* since Linux 6.0 */
#define PERF_FORMAT_LOST (1U << 4)
#endif

#define RECORD_ROOM (PATH_MAX + 512) /* of the largest record that we ask for */

/*
 * The buffer of one CPU. The kernel puts down that it lost records in front of the next one,
 * which may come much later; so whoever finds a buffer full asks how many it lost.
 */
struct task_buffer {
	int descriptor;
	struct perf_event_mmap_page *control;
	const char *data;
	uint64_t size; /* of data: a power of two */
	uint64_t head; /* up to where there are whole records */
	uint64_t tail; /* behind what was handed on */
	struct perf_record next;
	size_t next_size; /* 0: there is none before `head` */
	uint64_t lost_told;
	uint64_t lost_asked;
	char *wrapped; /* a record in one piece, when it is in two */
};

struct task_events {
	struct task_event_handler handler;
	struct task_buffer *buffers;
	size_t count;
	int epoll;
};

static int open_event(struct perf_event_attr *attributes, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Older kernels do not know all that is asked for. */
static int open_on_cpu(int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_LOST,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.build_id = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int descriptor = open_event(&attributes, cpu);

	if (descriptor < 0 && errno == EINVAL) {
		attributes.read_format = 0;
		descriptor = open_event(&attributes, cpu);
	}
	if (descriptor < 0 && errno == EINVAL) {
		attributes.build_id = 0;
		descriptor = open_event(&attributes, cpu);
	}
	return descriptor;
}

/* Maps a buffer of `bytes` or, where that is too much to lock, of less. */
static int map_buffer(struct task_buffer *buffer, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;; bytes /= 2) {
		void *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		                    buffer->descriptor, 0);

		if (memory != MAP_FAILED) {
			buffer->control = memory;
			buffer->data = (const char *)memory + page;
			buffer->size = bytes;
			return 0;
		}
		if (errno != EPERM || bytes <= TASK_BUFFER_MIN)
			return -1;
	}
}

static int add_cpu(struct task_events *events, int cpu, size_t bytes, struct error *err)
{
	struct task_buffer *buffer = &events->buffers[events->count];
	struct epoll_event interest = { .events = EPOLLIN };

	buffer->descriptor = open_on_cpu(cpu);
	if (buffer->descriptor < 0 && errno == ENODEV)
		return 0; /* that CPU is off */
	if (buffer->descriptor < 0) {
		const int number = errno;

		error_set_errno(err, number, "watching tasks on CPU %d", cpu);
		if (number == EACCES || number == EPERM)
			err->code = ERROR_FORBIDDEN;
		return -1;
	}
	events->count++;
	if (map_buffer(buffer, bytes) < 0)
		return error_set_errno(err, errno, "mapping a buffer for tasks on CPU %d", cpu);
	if (epoll_ctl(events->epoll, EPOLL_CTL_ADD, buffer->descriptor, &interest) < 0)
		return error_set_errno(err, errno, "waiting for tasks on CPU %d", cpu);
	return 0;
}

/* A power of two: the usual size, or less on machines with many CPUs. */
static size_t buffer_bytes(size_t cpus)
{
	size_t bytes = TASK_BUFFER_BYTES;

	while (bytes > TASK_BUFFER_MIN && bytes * cpus > TASK_BUFFERS_MAX)
		bytes /= 2;
	return bytes;
}

int task_events_open(const struct task_event_handler *handler, struct task_events **out,
                     struct error *err)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct task_events *events = mem_zalloc(1, sizeof(*events));

	events->handler = *handler;
	events->epoll = epoll_create1(EPOLL_CLOEXEC);
	events->buffers = mem_zalloc(cpus > 0 ? (size_t)cpus : 1, sizeof(events->buffers[0]));
	if (events->epoll < 0) {
		error_set_errno(err, errno, "waiting for tasks");
		goto failed;
	}
	for (long cpu = 0; cpu < cpus; cpu++) {
		if (add_cpu(events, (int)cpu, buffer_bytes((size_t)cpus), err) < 0)
			goto failed;
	}
	*out = events;
	return 0;

failed:
	task_events_close(events);
	return -1;
}

void task_events_close(struct task_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++) {
		struct task_buffer *buffer = &events->buffers[i];

		if (buffer->control)
			(void)munmap(buffer->control, (size_t)sysconf(_SC_PAGESIZE) + buffer->size);
		(void)close(buffer->descriptor);
		free(buffer->wrapped);
	}
	if (events->epoll >= 0)
		(void)close(events->epoll);
	free(events->buffers);
	free(events);
}

int task_events_descriptor(const struct task_events *events)
{
	return events->epoll;
}

uint64_t task_events_lost(const struct task_events *events)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < events->count; i++) {
		const struct task_buffer *buffer = &events->buffers[i];

		lost += buffer->lost_asked > buffer->lost_told ? buffer->lost_asked
		                                               : buffer->lost_told;
	}
	return lost;
}

/* What is unread, in one piece up to the length of a record. */
static struct str unread(struct task_buffer *buffer)
{
	const uint64_t place = buffer->tail & (buffer->size - 1);
	const uint64_t length = buffer->head - buffer->tail;
	const uint64_t in_one_piece = buffer->size - place;
	const uint64_t wanted = length < PERF_RECORD_BYTES_MAX ? length : PERF_RECORD_BYTES_MAX;

	if (wanted <= in_one_piece)
		return str_make(buffer->data + place, wanted);
	if (!buffer->wrapped)
		buffer->wrapped = mem_zalloc(1, PERF_RECORD_BYTES_MAX);
	memcpy(buffer->wrapped, buffer->data + place, in_one_piece);
	memcpy(buffer->wrapped + in_one_piece, buffer->data, wanted - in_one_piece);
	return str_make(buffer->wrapped, wanted);
}

static void look_at_next(struct task_buffer *buffer)
{
	buffer->next_size = 0;
	if (buffer->tail == buffer->head)
		return;
	buffer->next_size = perf_record_decode(unread(buffer), &buffer->next);
	if (buffer->next_size == 0)
		buffer->tail = buffer->head; /* the kernel writes none like that */
}

/* Where the kernel cannot be asked, one record was lost. */
static void ask_for_lost(struct task_buffer *buffer)
{
	uint64_t answer[2]; /* value, lost */

	if (read(buffer->descriptor, answer, sizeof(answer)) == (ssize_t)sizeof(answer))
		buffer->lost_asked = answer[1];
	else
		buffer->lost_asked = buffer->lost_told + 1;
}

static void look_at_head(struct task_buffer *buffer)
{
	buffer->head = __atomic_load_n(&buffer->control->data_head, __ATOMIC_ACQUIRE);
	if (buffer->size - (buffer->head - buffer->tail) < RECORD_ROOM)
		ask_for_lost(buffer);
	look_at_next(buffer);
}

/* The buffer with the oldest record of before `until_ns`, or NULL. */
static struct task_buffer *oldest(struct task_events *events, uint64_t until_ns)
{
	struct task_buffer *found = NULL;

	for (size_t i = 0; i < events->count; i++) {
		struct task_buffer *buffer = &events->buffers[i];

		if (buffer->next_size > 0 && buffer->next.time_ns < until_ns &&
		    (!found || buffer->next.time_ns < found->next.time_ns))
			found = buffer;
	}
	return found;
}

static void hand_on(const struct task_events *events, struct task_buffer *buffer)
{
	if (buffer->next.kind == PERF_RECORD_KIND_LOST)
		buffer->lost_told += buffer->next.lost;
	else if (buffer->next.kind != PERF_RECORD_KIND_OTHER)
		events->handler.record(events->handler.context, &buffer->next);
	buffer->tail += buffer->next_size;
	__atomic_store_n(&buffer->control->data_tail, buffer->tail, __ATOMIC_RELEASE);
	look_at_next(buffer);
}

static bool has_unread(const struct task_events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		if (events->buffers[i].next_size > 0)
			return true;
	}
	return false;
}

bool task_events_drain(struct task_events *events, size_t limit)
{
	const uint64_t until_ns = (uint64_t)clock_boot_ns();
	struct task_buffer *buffer;

	for (size_t i = 0; i < events->count; i++)
		look_at_head(&events->buffers[i]);
	for (size_t i = 0; i < limit && (buffer = oldest(events, until_ns)); i++)
		hand_on(events, buffer);
	return has_unread(events);
}
