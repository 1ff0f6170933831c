#include "storage/care/file_stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define JUST_NOW_NS (2 * NS_PER_S) /* file systems keep times as coarsely as that */
#define NUMBERS     5

static bool has_tail(const char *path, const char *tail)
{
	const size_t size = strlen(path) + strlen(tail) + 1;
	CLEANUP(mem_freep) char *name = mem_zalloc(size, 1);
	struct stat status;

	(void)snprintf(name, size, "%s%s", path, tail);
	return stat(name, &status) == 0 && status.st_size > 0;
}

static int64_t ns_of(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

struct file_stamp file_stamp_of(const char *path, int64_t now_unix_ns)
{
	struct file_stamp stamp = { 0 };
	struct stat status;

	if (stat(path, &status) < 0)
		return stamp;
	stamp = (struct file_stamp){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.modified_ns = ns_of(status.st_mtim),
		.changed_ns = ns_of(status.st_ctim),
	};
	/* a time of the future is one of a clock that was set back */
	stamp.is_known = now_unix_ns - stamp.changed_ns > JUST_NOW_NS &&
	                 now_unix_ns - stamp.modified_ns > JUST_NOW_NS && !has_tail(path, "-wal") &&
	                 !has_tail(path, "-journal");
	return stamp;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->is_known && b->is_known && a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && a->modified_ns == b->modified_ns &&
	       a->changed_ns == b->changed_ns;
}

void file_stamp_format(const struct file_stamp *stamp, struct strbuf *out)
{
	if (!stamp->is_known)
		strbuf_add_byte(out, '-');
	else
		strbuf_printf(out, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRId64 ".%" PRId64,
		              stamp->device, stamp->inode, stamp->size, stamp->modified_ns,
		              stamp->changed_ns);
}

bool file_stamp_parse(struct str word, struct file_stamp *out)
{
	uint64_t numbers[NUMBERS];
	struct str part;

	*out = (struct file_stamp){ 0 };
	if (str_equal(word, STR("-")))
		return true;
	for (size_t i = 0; i < NUMBERS; i++)
		if (!str_split(&word, '.', &part) || !str_to_u64(part, INT64_MAX, &numbers[i]))
			return false;
	if (word.data)
		return false;
	*out = (struct file_stamp){
		.is_known = true,
		.device = numbers[0],
		.inode = numbers[1],
		.size = numbers[2],
		.modified_ns = (int64_t)numbers[3],
		.changed_ns = (int64_t)numbers[4],
	};
	return true;
}
