#include "collector/identity/process_start.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define STAT_BYTES  4096
#define PATH_BYTES  256
#define FIELD_STATE 3 /* the first one behind the name, which is in parentheses */
#define FIELD_START 22

bool process_start_parse(struct str stat, uint64_t *out_ns)
{
	/* a name may have any character, and spaces, and parentheses */
	struct str rest = str_trim(str_skip(stat, (size_t)(str_last_index(stat, ')') + 1)));
	struct str word;
	uint64_t ticks;

	for (int field = FIELD_STATE; str_split(&rest, ' ', &word); field++) {
		if (field < FIELD_START)
			continue;
		if (!str_to_u64(word, UINT64_MAX / PROCESS_START_TICK_NS, &ticks))
			return false;
		*out_ns = ticks * PROCESS_START_TICK_NS;
		return true;
	}
	return false;
}

bool process_start_read(const char *proc, uint32_t tgid, uint64_t *out_ns)
{
	char path[PATH_BYTES];
	char text[STAT_BYTES];
	ssize_t length;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/stat", proc, tgid) >= PATH_BYTES)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text));
	(void)close(fd);
	return length > 0 && process_start_parse(str_make(text, (size_t)length), out_ns);
}
