#include "collector/identity/process_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/proc_file.h"

#define PATH_BYTES   256
#define LINK_BYTES   64 /* "pid:[4026531836]" */
#define STATUS_BYTES 4096
#define SELF         "self"

static bool has_namespace(const char *proc, const char *process, uint64_t pid_namespace)
{
	char path[PATH_BYTES];
	char link[LINK_BYTES];
	char expected[LINK_BYTES];
	ssize_t length;

	if (snprintf(path, sizeof(path), "%s/%s/ns/pid", proc, process) >= PATH_BYTES)
		return false;
	length = readlink(path, link, sizeof(link));
	(void)snprintf(expected, sizeof(expected), "pid:[%" PRIu64 "]", pid_namespace);
	return length > 0 && str_equals(str_make(link, (size_t)length), expected);
}

bool process_number_is_ours(const char *proc, uint64_t pid_namespace)
{
	return has_namespace(proc, SELF, pid_namespace);
}

bool process_number_parse(struct str status, uint32_t *out)
{
	struct str line;
	struct str word;
	uint64_t number = 0;

	while (str_split(&status, '\n', &line)) {
		if (!str_starts_with(line, STR("NSpid:")))
			continue;
		line = str_trim(str_skip(line, strlen("NSpid:")));
		while (str_split(&line, '\t', &word))
			if (!str_to_u64(word, UINT32_MAX, &number))
				return false;
		*out = (uint32_t)number;
		return number > 0;
	}
	return false;
}

bool process_number_is(const char *proc, uint32_t tgid, uint64_t pid_namespace, uint32_t number)
{
	char process[16];
	char buffer[STATUS_BYTES];
	uint32_t innermost;

	(void)snprintf(process, sizeof(process), "%" PRIu32, tgid);
	return has_namespace(proc, process, pid_namespace) &&
	       process_number_parse(proc_file_of(proc, tgid, "status", buffer, sizeof(buffer)),
	                            &innermost) &&
	       innermost == number;
}
