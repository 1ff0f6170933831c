#include "collector/identity/mount_table.h"

#include "base/cleanup.h"

#define PATH_BYTES 512

static const char *const local_kinds[] = {
	"ext2", "ext3", "ext4",  "xfs",   "btrfs",   "zfs",
	"f2fs", "jfs",  "tmpfs", "ramfs", "overlay", "bcachefs"
};

/* The kernel writes so what would not be told from its own signs. */
static const struct {
	const char *escape;
	char byte;
} escapes[] = {
	{ "\\040", ' ' }, { "\\011", '\t' }, { "\\012", '\n' }, { "\\134", '\\' }, { "\\043", '#' },
};

static struct str unescape(struct str text, char buffer[static PATH_BYTES])
{
	size_t length = 0;

	while (text.length > 0 && length < PATH_BYTES) {
		size_t taken = 1;

		buffer[length] = text.data[0];
		for (size_t i = 0; i < ARRAY_LENGTH(escapes); i++) {
			if (!str_starts_with(text, str_of(escapes[i].escape)))
				continue;
			buffer[length] = escapes[i].byte;
			taken = strlen(escapes[i].escape);
		}
		text = str_skip(text, taken);
		length++;
	}
	return str_make(buffer, length);
}

static bool is_above(struct str folder, struct str path)
{
	if (folder.length == 1) /* the root */
		return true;
	return str_starts_with(path, folder) &&
	       (path.length == folder.length || path.data[folder.length] == '/');
}

static bool is_local_kind(struct str kind)
{
	for (size_t i = 0; i < ARRAY_LENGTH(local_kinds); i++)
		if (str_equals(kind, local_kinds[i]))
			return true;
	return false;
}

bool mount_table_is_local(struct str mounts, struct str path)
{
	char buffer[PATH_BYTES];
	size_t longest = 0;
	bool is_local = false;
	struct str line;

	while (str_split(&mounts, '\n', &line)) {
		struct str device;
		struct str folder;
		struct str kind;

		if (!str_split(&line, ' ', &device) || !str_split(&line, ' ', &folder) ||
		    !str_split(&line, ' ', &kind) || folder.length == 0)
			continue;
		folder = unescape(folder, buffer);
		if (folder.length < longest || !is_above(folder, path))
			continue;
		longest = folder.length;
		is_local = is_local_kind(kind);
	}
	return is_local;
}
