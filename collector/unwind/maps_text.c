#include "collector/unwind/maps_text.h"

/* A number in base 10 or 16 at the start of *rest, and `end` behind it. */
static bool take_number(struct str *rest, unsigned base, char end, uint64_t *out)
{
	const ptrdiff_t length = str_index(*rest, end);
	uint64_t number = 0;

	if (length <= 0 || length > (base == 16 ? 16 : 19))
		return false;
	for (ptrdiff_t i = 0; i < length; i++) {
		const char c = rest->data[i];
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a' + 10);
		else
			return false;
		number = number * base + digit;
	}
	*rest = str_skip(*rest, (size_t)length + 1);
	*out = number;
	return true;
}

/* "start-end perms offset major:minor inode        path" */
static bool take_line(struct str line, struct maps_line *out)
{
	struct maps_line found = { 0 };
	uint64_t major;
	uint64_t minor;

	if (!take_number(&line, 16, '-', &found.start) ||
	    !take_number(&line, 16, ' ', &found.end) || line.length < 5 || line.data[4] != ' ')
		return false;
	found.is_executable = line.data[2] == 'x';
	line = str_skip(line, 5);
	if (!take_number(&line, 16, ' ', &found.offset) || !take_number(&line, 16, ':', &major) ||
	    !take_number(&line, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	found.device_major = (uint32_t)major;
	found.device_minor = (uint32_t)minor;
	if (!take_number(&line, 10, ' ', &found.inode)) {
		/* Without a path the line may end behind the number. */
		if (!str_to_u64(line, UINT64_MAX, &found.inode))
			return false;
		line.length = 0;
	}
	while (line.length > 0 && line.data[0] == ' ')
		line = str_skip(line, 1);
	found.path = line;
	if (found.start >= found.end)
		return false;
	*out = found;
	return true;
}

bool maps_text_next(struct str *rest, struct maps_line *out)
{
	struct str line;

	while (str_split(rest, '\n', &line))
		if (take_line(line, out))
			return true;
	return false;
}
