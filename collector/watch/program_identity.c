#include "collector/watch/program_identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_BYTES_MAX 4096

/* Fields of proc(5), counted from 1; the second one is a name in parentheses. */
#define FIELD_AFTER_NAME  3
#define FIELD_START_CODE  26
#define FIELD_START_STACK 28
#define FIELD_ARG_START   48

int program_identity_parse(struct str stat, struct exec_identity *out, struct error *err)
{
	struct str rest = str_skip(stat, (size_t)(str_last_index(stat, ')') + 1));
	int found = 0;
	struct str word;

	rest = str_trim(rest);
	for (int field = FIELD_AFTER_NAME; str_split(&rest, ' ', &word); field++) {
		uint64_t value = 0;

		if (field != FIELD_START_CODE && field != FIELD_START_STACK &&
		    field != FIELD_ARG_START)
			continue;
		if (!str_to_u64(word, UINT64_MAX, &value) || value == 0)
			break; /* hidden from us */
		if (field == FIELD_START_CODE)
			out->start_code = value;
		else if (field == FIELD_START_STACK)
			out->start_stack = value;
		else
			out->arg_start = value;
		found++;
	}
	return found == 3 ? 0 : error_set(err, ERROR_NOT_FOUND, "its addresses are not told");
}

int program_identity_read(uint32_t tgid, struct exec_identity *out, struct error *err)
{
	struct exec_identity identity = { 0 };
	char text[STAT_BYTES_MAX];
	struct stat status;
	char path[64];
	ssize_t length;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, ERROR_NOT_FOUND, "process %u has ended", tgid);
	length = read(fd, text, sizeof(text));
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	if (length <= 0 || stat(path, &status) < 0)
		return error_set(err, ERROR_NOT_FOUND, "process %u has ended", tgid);
	if (program_identity_parse(str_make(text, (size_t)length), &identity, err) < 0)
		return -1;
	identity.inode = status.st_ino;
	*out = identity;
	return 0;
}
