#include "collector/identity/process_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "collector/identity/script_name.h"
#include "profile/profile.h"

#define ENVIRONMENT_MAX ((size_t)256 << 10)
#define ARGUMENTS_MAX   ((size_t)16 << 10)
#define CGROUP_MAX      ((size_t)16 << 10)
#define COMM_MAX        ((size_t)64)
#define SCRATCH_MAX     ((size_t)64 << 10)

/* Copies `text`, repaired, without blanks around it and cut. False when nothing is left. */
static bool keep_text(struct str text, char out[IDENTITY_TEXT_MAX + 1])
{
	size_t length = 0;

	text = str_trim(text);
	while (text.length > 0) {
		char character[4];
		uint32_t rune;
		const int taken = utf8_next(text, &rune);
		size_t bytes;

		if (rune < 0x20 || rune == 0x7f) /* no control characters in labels */
			rune = ' ';
		bytes = utf8_put(character, rune);
		if (length + bytes > IDENTITY_TEXT_MAX)
			break;
		memcpy(out + length, character, bytes);
		length += bytes;
		text = str_skip(text, taken > 0 ? (size_t)taken : 1);
	}
	out[length] = '\0';
	return length > 0;
}

/* ---- environment ---- */

/* service.name of "a=b,service.name=c": values are percent-encoded. */
static bool read_attributes(struct str attributes, char out[IDENTITY_TEXT_MAX + 1])
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
		return keep_text(value, out);
	}
	return false;
}

bool process_identity_of_environment(struct str environment, char out[IDENTITY_TEXT_MAX + 1])
{
	static const char *const names[] = { "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=",
		                             "PYROSCOPE_APPLICATION_NAME=" };
	struct str values[ARRAY_LENGTH(names)] = { 0 };
	struct str variable;

	while (str_split(&environment, '\0', &variable))
		for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
			if (!values[i].data && str_starts_with(variable, str_of(names[i])))
				values[i] = str_skip(variable, strlen(names[i]));
	return keep_text(values[0], out) || read_attributes(values[1], out) ||
	       keep_text(values[2], out);
}

/* ---- control group ---- */

/* "\x2d" is '-': systemd's escapes. */
static struct str unescape(struct str text, char *to)
{
	size_t length = 0;

	while (text.length > 0) {
		uint8_t byte;

		if (text.length >= 4 && text.data[0] == '\\' && text.data[1] == 'x' &&
		    hex_decode(str_make(text.data + 2, 2), &byte, 1)) {
			to[length++] = (char)byte;
			text = str_skip(text, 4);
			continue;
		}
		to[length++] = text.data[0];
		text = str_skip(text, 1);
	}
	return str_make(to, length);
}

/* What of a path's last component names a unit; a login's session says nothing. */
static struct str unit_of(struct str component)
{
	if (str_ends_with(component, STR(".service")) && !str_starts_with(component, STR("user@")))
		return str_first(component, component.length - strlen(".service"));
	if (str_ends_with(component, STR(".scope")) && str_starts_with(component, STR("app-")))
		return str_first(component, component.length - strlen(".scope"));
	return STR("");
}

bool process_identity_of_cgroup(struct str text, char out[IDENTITY_TEXT_MAX + 1])
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		const ptrdiff_t slash = str_last_index(line, '/');
		char unescaped[IDENTITY_TEXT_MAX];
		struct str unit;

		if (!str_starts_with(line, STR("0::")) && str_find(line, STR(":name=systemd:")) < 0)
			continue;
		unit = slash < 0 ? STR("") : unit_of(str_skip(line, (size_t)slash + 1));
		if (unit.length > 0 && unit.length <= sizeof(unescaped) &&
		    keep_text(unescape(unit, unescaped), out))
			return true;
	}
	return false;
}

/* ---- files ---- */

/* What a file of /proc says, up to `max` bytes; empty when it cannot be read. */
static struct str read_file(const char *proc, uint32_t tgid, const char *name, char *buffer,
                            size_t max)
{
	char path[256];
	size_t length = 0;
	ssize_t got = 1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", proc, tgid, name) >=
	    (int)sizeof(path))
		return STR("");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return STR("");
	while (length < max && (got > 0 || (got < 0 && errno == EINTR))) {
		got = read(fd, buffer + length, max - length);
		length += got > 0 ? (size_t)got : 0;
	}
	(void)close(fd);
	return str_make(buffer, length);
}

/* Rule 7, or rule 8 when the program is no interpreter. */
static bool read_program(const char *proc, uint32_t tgid, char out[IDENTITY_TEXT_MAX + 1])
{
	char link[4096];
	char path[256];
	char *arguments = mem_zalloc(ARGUMENTS_MAX, 1);
	struct str program;
	ssize_t length = -1;
	bool is_known = false;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/exe", proc, tgid) < (int)sizeof(path))
		length = readlink(path, link, sizeof(link));
	if (length > 0) {
		program = profile_basename(str_make(link, (size_t)length));
		if (str_ends_with(program, STR(" (deleted)")))
			program.length -= strlen(" (deleted)");
		is_known = keep_text(script_name(program, read_file(proc, tgid, "cmdline",
		                                                    arguments, ARGUMENTS_MAX)),
		                     out) ||
		           keep_text(program, out);
	}
	free(arguments);
	return is_known;
}

static bool read_environment(const char *proc, uint32_t tgid, char out[IDENTITY_TEXT_MAX + 1])
{
	char *buffer = mem_zalloc(ENVIRONMENT_MAX, 1);
	const bool is_known = process_identity_of_environment(
		read_file(proc, tgid, "environ", buffer, ENVIRONMENT_MAX), out);

	explicit_bzero(buffer, ENVIRONMENT_MAX); /* secrets stand there */
	free(buffer);
	return is_known;
}

static bool read_cgroup(const char *proc, uint32_t tgid, char out[IDENTITY_TEXT_MAX + 1])
{
	char *buffer = mem_zalloc(CGROUP_MAX, 1);
	const bool is_known = process_identity_of_cgroup(
		read_file(proc, tgid, "cgroup", buffer, CGROUP_MAX), out);

	free(buffer);
	return is_known;
}

void process_identity_read(const char *proc, uint32_t tgid, const char *comm,
                           struct process_identity *out)
{
	char buffer[COMM_MAX];

	if (!keep_text(read_file(proc, tgid, "comm", buffer, sizeof(buffer)), out->comm) &&
	    !keep_text(str_of(comm), out->comm))
		(void)keep_text(STR("unknown"), out->comm);
	if (!read_environment(proc, tgid, out->service_name) &&
	    !read_cgroup(proc, tgid, out->service_name) &&
	    !read_program(proc, tgid, out->service_name))
		(void)keep_text(str_of(out->comm), out->service_name);
}

static void identify(void *proc, uint32_t tgid, const char *comm, struct process_identity *out)
{
	process_identity_read(proc, tgid, comm, out);
}

struct process_namer process_namer_of_proc(const char *proc)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): identify() only reads it */
	return (struct process_namer){ identify, (void *)(uintptr_t)proc };
}
