#include "collector/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES  256
#define FIELD_FIRST 3 /* the one behind the name, which is in parentheses */

struct str proc_file_read(const char *path, char *buffer, size_t max)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = 1;

	if (descriptor < 0)
		return STR("");
	while (length < max && (got > 0 || (got < 0 && errno == EINTR))) {
		got = read(descriptor, buffer + length, max - length);
		length += got > 0 ? (size_t)got : 0;
	}
	(void)close(descriptor);
	return str_make(buffer, length);
}

struct str proc_file_of(const char *proc, uint32_t tgid, const char *name, char *buffer, size_t max)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", proc, tgid, name) >= PATH_BYTES)
		return STR("");
	return proc_file_read(path, buffer, max);
}

int proc_file_append(int folder, const char *path, struct strbuf *out)
{
	const int descriptor = openat(folder, path, O_RDONLY | O_CLOEXEC);
	int result;
	int number;

	if (descriptor < 0)
		return -1;
	result = strbuf_read(out, descriptor);
	number = errno;
	(void)close(descriptor);
	errno = number;
	return result;
}

struct str proc_stat_field(struct str stat, int field)
{
	/* a name may have any character, and spaces, and parentheses */
	struct str rest = str_trim(str_skip(stat, (size_t)(str_last_index(stat, ')') + 1)));
	struct str word;

	for (int i = FIELD_FIRST; str_split(&rest, ' ', &word); i++)
		if (i == field)
			return word;
	return STR("");
}
