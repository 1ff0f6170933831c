#include "collector/identity/process_sight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/url.h"
#include "collector/identity/host_files.h"
#include "collector/identity/script_name.h"
#include "collector/proc_file.h"
#include "profile/profile.h"

#define ENVIRONMENT_MAX ((size_t)256 << 10)
#define ARGUMENTS_MAX   ((size_t)16 << 10)
#define CGROUP_MAX      ((size_t)16 << 10)
#define COMM_MAX        ((size_t)64)
#define STATUS_MAX      ((size_t)4 << 10)
#define SCRATCH_MAX     ((size_t)64 << 10)
#define NAME_FILE_MAX   ((size_t)4 << 10)
#define PATH_BYTES      256

/* ---- environment ---- */

/* service.name of "a=b,service.name=c": values are percent-encoded. */
static bool read_attributes(struct str attributes, struct label_text *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(SCRATCH_MAX, NULL);
	struct str attribute;

	while (str_split(&attributes, ',', &attribute)) {
		const ptrdiff_t equals = str_index(attribute, '=');
		struct str value;

		if (equals < 0 ||
		    !str_equals(str_trim(str_first(attribute, (size_t)equals)), "service.name"))
			continue;
		value = str_trim(str_skip(attribute, (size_t)equals + 1));
		(void)url_decode(value, URL_PLUS_IS_PLUS, arena, &value);
		return label_text_set(out, value);
	}
	return false;
}

bool process_sight_own_name(struct str environment, struct label_text *out)
{
	static const char *const names[] = { "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=",
		                             "PYROSCOPE_APPLICATION_NAME=" };
	struct str values[ARRAY_LENGTH(names)] = { 0 };
	struct str variable;

	while (str_split(&environment, '\0', &variable))
		for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
			if (!values[i].data && str_starts_with(variable, str_of(names[i])))
				values[i] = str_skip(variable, strlen(names[i]));
	return label_text_set(out, values[0]) || read_attributes(values[1], out) ||
	       label_text_set(out, values[2]);
}

/* ---- files ---- */

static bool make_path(const char *proc, uint32_t tgid, const char *name, char path[PATH_BYTES])
{
	return snprintf(path, PATH_BYTES, "%s/%" PRIu32 "/%s", proc, tgid, name) < PATH_BYTES;
}

static void read_comm(const char *proc, uint32_t tgid, const char *comm, struct label_text *out)
{
	char buffer[COMM_MAX];

	if (!label_text_set(out, proc_file_of(proc, tgid, "comm", buffer, sizeof(buffer))) &&
	    !label_text_set(out, str_of(comm)))
		(void)label_text_set(out, STR("unknown"));
}

static void read_program(const char *proc, uint32_t tgid, struct label_text *out)
{
	char link[4096];
	char path[PATH_BYTES];
	char *arguments;
	struct str program;
	ssize_t length = -1;

	if (make_path(proc, tgid, "exe", path))
		length = readlink(path, link, sizeof(link));
	if (length <= 0)
		return;
	program = profile_basename(str_make(link, (size_t)length));
	if (str_ends_with(program, STR(" (deleted)")))
		program.length -= strlen(" (deleted)");
	arguments = mem_zalloc(ARGUMENTS_MAX, 1);
	if (!label_text_set(out, script_name(program, proc_file_of(proc, tgid, "cmdline", arguments,
	                                                           ARGUMENTS_MAX))))
		(void)label_text_set(out, program);
	free(arguments);
}

static void read_environment(const char *proc, uint32_t tgid, struct process_sight *out)
{
	char *buffer = mem_zalloc(ENVIRONMENT_MAX, 1);
	const struct str environment = proc_file_of(proc, tgid, "environ", buffer, ENVIRONMENT_MAX);

	(void)process_sight_own_name(environment, &out->own_name);
	device_sight_environment(environment, &out->devices);
	explicit_bzero(buffer, environment.length); /* secrets stand there */
	free(buffer);
}

static void read_cgroup(const char *proc, uint32_t tgid, struct cgroup_path *out)
{
	char *buffer = mem_zalloc(CGROUP_MAX, 1);

	cgroup_path_read(proc_file_of(proc, tgid, "cgroup", buffer, CGROUP_MAX), out);
	free(buffer);
}

bool process_sight_uid(struct str status, uint32_t *out)
{
	struct str line;
	struct str word;
	uint64_t uid;

	while (str_split(&status, '\n', &line)) {
		if (!str_starts_with(line, STR("Uid:")))
			continue;
		line = str_trim(str_skip(line, strlen("Uid:")));
		if (!str_split(&line, '\t', &word) || !str_to_u64(word, UINT32_MAX, &uid))
			return false;
		*out = (uint32_t)uid;
		return true;
	}
	return false;
}

bool process_sight_read_uid(const char *proc, uint32_t tgid, uint32_t *out)
{
	char buffer[STATUS_MAX];

	return process_sight_uid(proc_file_of(proc, tgid, "status", buffer, sizeof(buffer)), out);
}

void process_sight_read(const char *proc, uint32_t tgid, const char *comm,
                        struct process_sight *out)
{
	*out = (struct process_sight){ .comm = { "" } };
	read_comm(proc, tgid, comm, &out->comm);
	read_environment(proc, tgid, out);
	device_sight_files(proc, tgid, &out->devices);
	read_program(proc, tgid, &out->program);
	read_cgroup(proc, tgid, &out->cgroup);
	out->has_uid = process_sight_read_uid(proc, tgid, &out->uid);
}

/* ---- its pod ---- */

/* Whether it shares the network namespace of the machine's first process. */
static bool has_host_network(const char *proc, uint32_t tgid)
{
	char path[PATH_BYTES];
	struct stat own;
	struct stat first;

	return make_path(proc, tgid, "ns/net", path) && stat(path, &own) == 0 &&
	       make_path(proc, 1, "ns/net", path) && stat(path, &first) == 0 &&
	       own.st_ino == first.st_ino && own.st_dev == first.st_dev;
}

static void read_name(const struct host_files *files, const char *path, struct label_text *out)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, NAME_FILE_MAX);
	if (host_files_read(files, path, &text))
		(void)label_text_set(out, strbuf_view(&text));
}

void process_sight_pod(const char *proc, uint32_t tgid, struct process_sight *sight)
{
	CLEANUP(host_files_close) struct host_files files = { -1 };
	char path[PATH_BYTES];
	struct error err;

	if (!make_path(proc, tgid, "root", path) || host_files_open(path, &files, &err) < 0)
		return;
	read_name(&files, "/var/run/secrets/kubernetes.io/serviceaccount/namespace",
	          &sight->pod_namespace);
	if (label_text_is_set(&sight->pod_namespace) && !has_host_network(proc, tgid))
		read_name(&files, "/etc/hostname", &sight->pod);
}
