#include "collector/watch/self_test.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "collector/bpf/pid_namespace.h"
#include "collector/bpf/self_probe_shared.h"
#include "collector/proc_file.h"
#include "collector/unwind/maps_text.h"
#include "collector/watch/library_file.h"
#include "self_probe.skel.h"

#define MAPS_MAX       ((size_t)4 << 20)
#define ARGUMENT       UINT64_C(0x5e1f7e57)
#define COOKIE         CU_MEM_ALLOC_V2 /* any that has a return */
#define EXIT_NO_FILTER 3

uint64_t self_test_target(uint64_t number);

/* What is probed. Its result is not what it was given, so that both are seen. */
__attribute__((noinline)) uint64_t self_test_target(uint64_t number)
{
	__asm__ volatile("" : "+r"(number));
	return number + 1;
}

struct self_test {
	struct self_probe_bpf *programs;
	struct probe_link *link;
	struct ring_buffer *hits;
	int seen_entry;
	int seen_return;
};

/* The file that our own function is in, and its offset there. */
static int find_target(int *out_descriptor, uint64_t *out_offset, struct error *err)
{
	const uint64_t address = (uint64_t)(uintptr_t)&self_test_target;
	struct strbuf text;
	struct str rest;
	struct maps_line line;
	int rc = -1;

	strbuf_init(&text, MAPS_MAX);
	if (proc_file_append(AT_FDCWD, "/proc/self/maps", &text) < 0) {
		strbuf_fini(&text);
		return error_set_errno(err, errno, "reading /proc/self/maps");
	}
	rest = strbuf_view(&text);
	while (rc < 0 && maps_text_next(&rest, &line)) {
		if (address < line.start || address >= line.end)
			continue;
		*out_offset = address - line.start + line.offset;
		if (library_file_open(&(struct library_mapping){ .tgid = getpid(),
		                                                 .start = line.start,
		                                                 .end = line.end,
		                                                 .inode = line.inode,
		                                                 .path = line.path },
		                      out_descriptor, err) < 0)
			break;
		rc = 0;
	}
	if (rc < 0 && err->code == ERROR_NONE)
		error_set(err, ERROR_NOT_FOUND, "our own code is not among our mappings");
	strbuf_fini(&text);
	return rc;
}

static int take_hit(void *context, void *data, size_t size)
{
	struct self_test *test = context;
	const struct self_probe_hit *hit = data;

	if (size < sizeof(*hit) || hit->tgid != (uint32_t)getpid() || hit->cookie != COOKIE)
		return 0;
	test->seen_entry |= hit->place == SELF_PROBE_ENTRY && hit->number == ARGUMENT;
	test->seen_return |= hit->place == SELF_PROBE_RETURN && hit->number == ARGUMENT + 1;
	return 0;
}

static int refused(int number, const char *what, struct error *err)
{
	error_set_errno(err, number, "%s", what);
	err->code = number == EPERM || number == EACCES ? ERROR_FORBIDDEN : ERROR_UNIMPLEMENTED;
	return -1;
}

static int load(struct self_test *test, enum probe_method method, struct error *err)
{
	const enum bpf_attach_type multi = (enum bpf_attach_type)PROBE_LINK_MULTI_ATTACH_TYPE;
	int rc;

	libbpf_set_print(NULL);
	test->programs = self_probe_bpf__open();
	if (!test->programs)
		return refused(errno, "opening a program for the kernel", err);
	test->programs->rodata->pid_namespace_inode = pid_namespace_own();
	if (method == PROBE_METHOD_MULTI) {
		(void)bpf_program__set_expected_attach_type(test->programs->progs.self_enter,
		                                            multi);
		(void)bpf_program__set_expected_attach_type(test->programs->progs.self_leave,
		                                            multi);
	}
	rc = self_probe_bpf__load(test->programs);
	if (rc < 0)
		return refused(-rc, "loading a program into the kernel", err);
	test->hits = ring_buffer__new(bpf_map__fd(test->programs->maps.hits), take_hit, test, NULL);
	if (!test->hits)
		return refused(errno, "mapping a ring buffer", err);
	return 0;
}

static int attach(struct self_test *test, enum probe_method method, struct error *err)
{
	struct probe_points points = { .count = 1, .points = { { .function = COOKIE } } };
	int descriptor;
	int rc;

	if (find_target(&descriptor, &points.points[0].offset, err) < 0)
		return -1;
	rc = probe_link_open(&(struct probe_target){ descriptor, &points, 0 },
	                     test->programs->progs.self_enter, test->programs->progs.self_leave,
	                     method, &test->link, err);
	(void)close(descriptor);
	return rc;
}

static int call(struct self_test *test, struct error *err)
{
	(void)self_test_target(ARGUMENT);
	(void)ring_buffer__consume(test->hits);
	if (!test->seen_entry || !test->seen_return)
		return error_set(err, ERROR_UNIMPLEMENTED,
		                 "a probe was set, and its program did not run at the %s",
		                 test->seen_entry ? "return" : "entry");
	return 0;
}

/* Only read, write, exit and sigreturn are left to this process of one thread. */
static void call_in_sandbox(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		_exit(EXIT_NO_FILTER);
	(void)self_test_target(0);
	(void)syscall(SYS_exit, 0);
}

static enum self_test_sandbox test_sandbox(void)
{
	const pid_t child = _Fork(); /* runs no handlers, which might start a thread */
	int status;

	if (child == 0)
		call_in_sandbox();
	if (child < 0 || waitpid(child, &status, 0) != child)
		return SELF_TEST_SANDBOX_UNKNOWN;
	if (WIFSIGNALED(status))
		return SELF_TEST_SANDBOX_KILLED;
	return WEXITSTATUS(status) == 0 ? SELF_TEST_SANDBOX_LIVES : SELF_TEST_SANDBOX_UNKNOWN;
}

int self_test_run(struct self_test_result *out, struct error *err)
{
	const enum probe_method method = probe_link_has_multi() ? PROBE_METHOD_MULTI
	                                                        : PROBE_METHOD_PERF;
	struct self_test test = { .seen_entry = 0 };
	int rc = -1;

	if (load(&test, method, err) == 0 && attach(&test, method, err) == 0 &&
	    call(&test, err) == 0) {
		*out = (struct self_test_result){ method, test_sandbox() };
		rc = 0;
	}
	probe_link_close(test.link);
	ring_buffer__free(test.hits);
	self_probe_bpf__destroy(test.programs);
	return rc;
}
