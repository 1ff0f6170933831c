/*
 * The multi-uprobe link by the system call itself: libbpf knows it from 1.3 on, Debian 12 has
 * 1.1. The attributes are those of BPF_LINK_CREATE with attach type 48 in linux/bpf.h of 6.6.
 */
#include <linux/bpf.h>

#include "collector/bpf/probe_link.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "collector/bpf/probe_cookie.h"

#define MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

struct multi_link_attributes {
	uint32_t program;
	uint32_t target; /* unused */
	uint32_t attach_type;
	uint32_t link_flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t count;
	uint32_t flags;
	uint32_t pid;
	uint32_t padding;
};

_Static_assert(sizeof(struct multi_link_attributes) == 64, "as in linux/bpf.h");

/* One program on all functions. */
struct probe_half {
	int multi; /* the link; -1: none */
	size_t count;
	struct bpf_link *links[CUDA_FUNCTION_COUNT];
};

struct probe_link {
	struct probe_half enter;
	struct probe_half leave;
};

static uint64_t pages_between(uint64_t from, uint64_t to)
{
	const uint64_t pages = (to >> PROBE_COOKIE_PAGE_BITS) - (from >> PROBE_COOKIE_PAGE_BITS);

	return pages < PROBE_COOKIE_PAGES_MAX ? pages : PROBE_COOKIE_PAGES_MAX;
}

static uint64_t cookie_of(const struct probe_point *point)
{
	return probe_cookie_make(point->function, pages_between(point->code_start, point->offset),
	                         pages_between(point->offset, point->code_end));
}

/* On one file by its path, in one process or in all (0). */
struct probed_file {
	const char *path;
	uint32_t tgid;
};

static int create_multi(int program, const struct probed_file *file,
                        const struct probe_points *points, uint32_t flags)
{
	uint64_t offsets[CUDA_FUNCTION_COUNT];
	uint64_t cookies[CUDA_FUNCTION_COUNT];
	struct multi_link_attributes attributes = {
		.program = (uint32_t)program,
		.attach_type = PROBE_LINK_MULTI_ATTACH_TYPE,
		.path = (uint64_t)(uintptr_t)file->path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.count = (uint32_t)points->count,
		.flags = flags,
		.pid = file->tgid,
	};

	for (size_t i = 0; i < points->count; i++) {
		offsets[i] = points->points[i].offset;
		cookies[i] = cookie_of(&points->points[i]);
	}
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
}

/* The error of a link that cannot be, of a program for such links; 0: there is none. */
static int error_of_multi(uint32_t tgid)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	/* a folder is no file to be probed */
	const struct probed_file folder = { "/", tgid };
	const struct probe_points one = { .count = 1 };
	LIBBPF_OPTS(bpf_prog_load_opts, options,
	            .expected_attach_type = (enum bpf_attach_type)PROBE_LINK_MULTI_ATTACH_TYPE);
	const int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "multi_link", "GPL", nothing,
	                                  sizeof(nothing) / sizeof(nothing[0]), &options);
	int link;
	int number;

	if (program < 0)
		return 0;
	link = create_multi(program, &folder, &one, 0);
	number = link < 0 ? errno : 0;
	if (link >= 0)
		close(link);
	close(program);
	return number;
}

bool probe_link_has_multi(void)
{
	return error_of_multi(0) == EBADF; /* who does not know the link: bad argument */
}

bool probe_link_has_processes(void)
{
	/* kernels that take it for a process look at it first: no process has that number */
	return probe_link_has_multi() && error_of_multi(UINT32_MAX) == EINVAL;
}

static int refused(int number, const char *what, struct error *err)
{
	error_set_errno(err, number, "attaching %s", what);
	if (number == EPERM || number == EACCES)
		err->code = ERROR_FORBIDDEN;
	if (number == ESRCH)
		err->code = ERROR_NOT_FOUND;
	return -1;
}

static int attach_multi(struct probe_half *half, const struct bpf_program *program,
                        const struct probed_file *file, const struct probe_points *points,
                        uint32_t flags, struct error *err)
{
	half->multi = create_multi(bpf_program__fd(program), file, points, flags);
	if (half->multi < 0)
		return refused(errno, "a multi-uprobe link", err);
	return 0;
}

static int attach_events(struct probe_half *half, const struct bpf_program *program,
                         const struct probed_file *file, const struct probe_points *points,
                         uint32_t flags, struct error *err)
{
	assert(file->tgid == 0);
	for (size_t i = 0; i < points->count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = flags == MULTI_RETURN,
		            .bpf_cookie = cookie_of(&points->points[i]));
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			program, -1, file->path, points->points[i].offset, &options);

		if (!link)
			return refused(errno, "a perf uprobe", err);
		half->links[half->count++] = link;
	}
	return 0;
}

static void close_half(struct probe_half *half)
{
	if (half->multi >= 0)
		close(half->multi);
	while (half->count > 0)
		bpf_link__destroy(half->links[--half->count]);
}

static struct probe_points returning(const struct probe_points *points)
{
	struct probe_points some = { .count = 0 };

	for (size_t i = 0; i < points->count; i++) {
		if (cuda_function(points->points[i].function)->role != CUDA_ROLE_INIT)
			some.points[some.count++] = points->points[i];
	}
	return some;
}

int probe_link_open(const struct probe_target *target, const struct bpf_program *enter,
                    const struct bpf_program *leave, enum probe_method method,
                    struct probe_link **out, struct error *err)
{
	int (*const attach)(struct probe_half *, const struct bpf_program *,
	                    const struct probed_file *, const struct probe_points *, uint32_t,
	                    struct error *) = method == PROBE_METHOD_MULTI ? attach_multi
	                                                                   : attach_events;
	const struct probe_points *points = target->points;
	const struct probe_points at_return = returning(points);
	struct probe_link *link = mem_zalloc(1, sizeof(*link));
	char path[32];
	const struct probed_file file = { path, target->tgid };

	assert(method != PROBE_METHOD_BEST);
	/* The very file that was looked into, whatever its name leads to by now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", target->descriptor);
	link->enter.multi = -1;
	link->leave.multi = -1;
	/* Returns first: one without its entry is nothing, an entry without its return is. */
	if ((at_return.count > 0 &&
	     attach(&link->leave, leave, &file, &at_return, MULTI_RETURN, err) < 0) ||
	    (points->count > 0 && attach(&link->enter, enter, &file, points, 0, err) < 0)) {
		probe_link_close(link);
		return -1;
	}
	*out = link;
	return 0;
}

void probe_link_close(struct probe_link *link)
{
	if (!link)
		return;
	close_half(&link->enter);
	close_half(&link->leave);
	free(link);
}
