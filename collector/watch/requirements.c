#include <linux/bpf.h>

#include "collector/watch/requirements.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"
#include "collector/bpf/pid_namespace.h"
#include "collector/bpf/probe_link.h"
#include "collector/proc_file.h"
#include "collector/watch/self_test.h"
#include "collector/watch/task_events.h"

#define FILE_BYTES 4096

/* Headers of some distributions are older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON            38
#define CAP_BPF                39
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define KERNEL_OLDEST        KERNEL_RELEASE(5, 15)
#define KERNEL_RELEASE(a, b) ((a) << 16 | (b))
#define SECCOMP_BY_FILTER    2

/* What several requirements are told from. */
struct machine {
	struct utsname name;
	unsigned int release; /* KERNEL_RELEASE() */
	uint64_t capabilities;
	uint64_t seccomp;        /* 0 none, 1 strict, 2 by a filter */
	bool has_user_namespace; /* of its own: capabilities are good for nothing outside */
};

/* It holds, and what shows that. Returns true. */
static bool met(struct requirement *requirement, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool met(struct requirement *requirement, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(requirement->detail, sizeof(requirement->detail), format, arguments);
	va_end(arguments);
	return true;
}

/* It does not, and why. Returns false. */
static bool missed(struct requirement *requirement, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool missed(struct requirement *requirement, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(requirement->detail, sizeof(requirement->detail), format, arguments);
	va_end(arguments);
	return false;
}

/* The text behind "name:" in /proc/self/status. */
static struct str status_field(struct str status, struct str name)
{
	struct str line;

	while (str_split(&status, '\n', &line)) {
		if (str_starts_with(line, name) && line.length > name.length &&
		    line.data[name.length] == ':')
			return str_trim(str_skip(line, name.length + 1));
	}
	return STR("");
}

static uint64_t from_hex(struct str text)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.length; i++) {
		const char c = text.data[i];

		number = number * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return number;
}

/* In the first one all ids are what they are: "0 0 4294967295". */
static bool is_user_namespace(void)
{
	char text[FILE_BYTES];
	struct str map = proc_file_read("/proc/self/uid_map", text, sizeof(text));
	const bool is_known = map.length > 0;
	struct str word;

	while (str_split(&map, ' ', &word))
		if (str_equals(str_trim(word), "4294967295"))
			return false;
	return is_known;
}

static void look_at_machine(struct machine *machine)
{
	char text[FILE_BYTES];
	const struct str status = proc_file_read("/proc/self/status", text, sizeof(text));
	unsigned int major = 0;
	unsigned int minor = 0;

	*machine = (struct machine){ .release = 0 };
	if (uname(&machine->name) == 0) {
		struct str rest = str_of(machine->name.release);
		struct str part;
		uint64_t number;

		if (str_split(&rest, '.', &part) && str_to_u64(part, UINT16_MAX, &number))
			major = (unsigned int)number;
		if (str_split(&rest, '.', &part) && str_to_u64(part, UINT16_MAX, &number))
			minor = (unsigned int)number;
	}
	machine->release = KERNEL_RELEASE(major, minor);
	machine->capabilities = from_hex(status_field(status, STR("CapEff")));
	(void)str_to_u64(status_field(status, STR("Seccomp")), 2, &machine->seccomp);
	machine->has_user_namespace = is_user_namespace();
}

static bool has(const struct machine *machine, unsigned int capability)
{
	return machine->capabilities >> capability & 1;
}

static bool check_KERNEL(const struct machine *machine, struct requirement *requirement)
{
	if (machine->release >= KERNEL_OLDEST)
		return met(requirement, "Linux %s", machine->name.release);
	return missed(requirement, "Linux %s", machine->name.release);
}

static bool check_BTF(const struct machine *machine, struct requirement *requirement)
{
	(void)machine;
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		return met(requirement, "/sys/kernel/btf/vmlinux");
	return missed(requirement, "/sys/kernel/btf/vmlinux: %s", strerrordesc_np(errno));
}

static bool check_CAPABILITIES(const struct machine *machine, struct requirement *requirement)
{
	if (machine->has_user_namespace)
		return missed(requirement, "of a user namespace, not of the machine");
	if (has(machine, CAP_SYS_ADMIN))
		return met(requirement, "CAP_SYS_ADMIN");
	if (has(machine, CAP_BPF) && has(machine, CAP_PERFMON))
		return met(requirement, "CAP_BPF and CAP_PERFMON");
	return missed(requirement, "CAP_BPF %s, CAP_PERFMON %s",
	              has(machine, CAP_BPF) ? "is there" : "is missing",
	              has(machine, CAP_PERFMON) ? "is there" : "is missing");
}

/* A command that does not exist: the kernel says so, a filter forbids it. */
static bool check_SECCOMP(const struct machine *machine, struct requirement *requirement)
{
	if (machine->seccomp != SECCOMP_BY_FILTER)
		return met(requirement, "no filter");
	if (syscall(SYS_bpf, -1, NULL, 0) < 0 && (errno == EPERM || errno == ENOSYS))
		return missed(requirement, "bpf(): %s", strerrordesc_np(errno));
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0UL) < 0 &&
	    (errno == EPERM || errno == ENOSYS))
		return missed(requirement, "perf_event_open(): %s", strerrordesc_np(errno));
	return met(requirement, "the filter allows both");
}

static bool check_LOCKDOWN(const struct machine *machine, struct requirement *requirement)
{
	char text[FILE_BYTES];
	const struct str levels =
		str_trim(proc_file_read("/sys/kernel/security/lockdown", text, sizeof(text)));

	(void)machine;
	if (levels.length == 0)
		return met(requirement, "none");
	if (str_find(levels, STR("[confidentiality]")) < 0)
		return met(requirement, "%.*s", STR_ARGS(levels));
	return missed(requirement, "%.*s", STR_ARGS(levels));
}

static bool check_PID_NAMESPACE(const struct machine *machine, struct requirement *requirement)
{
	const uint32_t own = pid_namespace_own();

	(void)machine;
	if (own == 0)
		return met(requirement, "the initial one");
	return missed(requirement, "a namespace of its own, pid:[%u]", own);
}

static bool check_RING_BUFFER(const struct machine *machine, struct requirement *requirement)
{
	(void)machine;
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 1)
		return met(requirement, "one was made");
	return missed(requirement, "none can be made");
}

static void ignore_record(void *context, const struct perf_record *record)
{
	(void)context;
	(void)record;
}

static bool check_TASK_EVENTS(const struct machine *machine, struct requirement *requirement)
{
	const struct task_event_handler handler = { ignore_record, NULL };
	struct task_events *events = NULL;
	struct error err = { 0 };

	(void)machine;
	if (task_events_open(&handler, &events, &err) < 0)
		return missed(requirement, "%.200s", err.message);
	task_events_close(events);
	return met(requirement, "a buffer for each CPU");
}

static bool check_SELF_TEST(const struct machine *machine, struct requirement *requirement)
{
	struct self_test_result result;
	struct error err = { 0 };

	(void)machine;
	if (self_test_run(&result, &err) < 0)
		return missed(requirement, "%.200s", err.message);
	return met(requirement, "by %s",
	           result.method == PROBE_METHOD_MULTI ? "multi-uprobe links"
	                                               : "perf uprobes with cookies");
}

static bool check_SANDBOXES(const struct machine *machine, struct requirement *requirement)
{
	struct self_test_result result;
	struct error err = { 0 };

	if (self_test_run(&result, &err) == 0 && result.sandbox == SELF_TEST_SANDBOX_LIVES)
		return met(requirement, "one was probed and lives");
	if (err.code == ERROR_NONE && result.sandbox == SELF_TEST_SANDBOX_KILLED)
		return missed(requirement, "one was probed and was killed");
	if (machine->release >= KERNEL_RELEASE(6, 11) && machine->release < KERNEL_RELEASE(6, 14))
		return missed(requirement, "not tried; Linux %s may kill them",
		              machine->name.release);
	return met(requirement, "not tried; Linux %s is not known to kill them",
	           machine->name.release);
}

static bool check_MULTI_LINK(const struct machine *machine, struct requirement *requirement)
{
	(void)machine;
	if (probe_link_has_multi())
		return met(requirement, "the kernel knows them");
	return missed(requirement, "none can be made");
}

static bool check_TASK_STORAGE(const struct machine *machine, struct requirement *requirement)
{
	(void)machine;
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1)
		return met(requirement, "one was made");
	return missed(requirement, "none can be made");
}

static bool check_OTHER_USERS(const struct machine *machine, struct requirement *requirement)
{
	if (has(machine, CAP_SYS_PTRACE))
		return met(requirement, "CAP_SYS_PTRACE");
	return missed(requirement, "without CAP_SYS_PTRACE only processes of this user");
}

static bool check_FILES(const struct machine *machine, struct requirement *requirement)
{
	if (has(machine, CAP_DAC_READ_SEARCH))
		return met(requirement, "CAP_DAC_READ_SEARCH");
	return missed(requirement, "without CAP_DAC_READ_SEARCH only what this user may read");
}

static bool check_MAPPED_FILES(const struct machine *machine, struct requirement *requirement)
{
	if (has(machine, CAP_CHECKPOINT_RESTORE))
		return met(requirement, "CAP_CHECKPOINT_RESTORE");
	if (has(machine, CAP_SYS_ADMIN))
		return met(requirement, "CAP_SYS_ADMIN");
	return missed(requirement, "neither CAP_CHECKPOINT_RESTORE nor CAP_SYS_ADMIN");
}

static bool check_DRIVER(const struct machine *machine, struct requirement *requirement)
{
	char text[FILE_BYTES];
	struct str version = proc_file_read("/proc/driver/nvidia/version", text, sizeof(text));
	struct str line;

	(void)machine;
	if (str_split(&version, '\n', &line) && line.length > 0)
		return met(requirement, "%.*s", STR_ARGS(str_first(line, 200)));
	return missed(requirement, "no /proc/driver/nvidia/version");
}

/* Without these the kernel refuses whatever it may be able to do. */
static const struct {
	enum requirement_id id;
	unsigned int capability;
	const char *name;
} needed[] = {
	{ REQUIREMENT_RING_BUFFER, CAP_BPF, "CAP_BPF" },
	{ REQUIREMENT_TASK_EVENTS, CAP_PERFMON, "CAP_PERFMON" },
	{ REQUIREMENT_SELF_TEST, CAP_BPF, "CAP_BPF" },
	{ REQUIREMENT_SELF_TEST, CAP_PERFMON, "CAP_PERFMON" },
	{ REQUIREMENT_MULTI_LINK, CAP_BPF, "CAP_BPF" },
	{ REQUIREMENT_TASK_STORAGE, CAP_BPF, "CAP_BPF" },
};

/* What did not hold may only not have shown. */
static void judge(enum requirement_id id, const struct machine *machine, struct requirement *out)
{
	for (size_t i = 0; i < ARRAY_LENGTH(needed) && !out->is_unknown; i++) {
		if (needed[i].id != id ||
		    (!machine->has_user_namespace &&
		     (has(machine, CAP_SYS_ADMIN) || has(machine, needed[i].capability))))
			continue;
		out->is_unknown = true;
		(void)missed(out, "not tried: needs %s%s", needed[i].name,
		             machine->has_user_namespace ? " of the machine" : "");
	}
}

static bool needs_self_test(enum requirement_id id)
{
	return id == REQUIREMENT_SELF_TEST || id == REQUIREMENT_SANDBOXES;
}

/* One after the other, as requirements.def has them. */
static void check_one(enum requirement_id id, const struct machine *machine,
                      struct requirement *out)
{
	switch (id) {
#define REQUIREMENT(id, label, importance, reason, what_to_do)   \
	case REQUIREMENT_##id:                                   \
		*out = (struct requirement){                     \
			.name = (label),                         \
			.level = REQUIREMENT_LEVEL_##importance, \
			.why = (reason),                         \
			.remedy = (what_to_do),                  \
		};                                               \
		out->holds = check_##id(machine, out);           \
		break;
#include "collector/watch/requirements.def"
#undef REQUIREMENT
	case REQUIREMENT_COUNT:
		return;
	}
	if (!out->holds)
		judge(id, machine, out);
}

static bool is_missing(const struct requirement *requirement)
{
	return requirement->level == REQUIREMENT_LEVEL_REQUIRED && !requirement->holds &&
	       !requirement->is_unknown;
}

void requirements_check(struct requirement out[REQUIREMENT_COUNT])
{
	struct machine machine;

	look_at_machine(&machine);
	libbpf_set_print(NULL);
	for (int id = 0; id < REQUIREMENT_COUNT; id++)
		check_one((enum requirement_id)id, &machine, &out[id]);
}

bool requirements_explain(struct requirement *out)
{
	struct machine machine;

	look_at_machine(&machine);
	libbpf_set_print(NULL);
	for (int id = 0; id < REQUIREMENT_COUNT; id++) {
		if (needs_self_test((enum requirement_id)id))
			continue;
		check_one((enum requirement_id)id, &machine, out);
		if (is_missing(out))
			return true;
	}
	return false;
}

const struct requirement *
requirements_missing(const struct requirement requirements[REQUIREMENT_COUNT])
{
	for (size_t i = 0; i < REQUIREMENT_COUNT; i++)
		if (is_missing(&requirements[i]))
			return &requirements[i];
	return NULL;
}
