#include "collector/identity/kept_file.h"

void kept_file_init(struct kept_file *kept, size_t limit_bytes)
{
	*kept = (struct kept_file){ .reads = 0 };
	strbuf_init(&kept->text, limit_bytes);
}

void kept_file_fini(struct kept_file *kept)
{
	strbuf_fini(&kept->text);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *before, const struct stat *now)
{
	return before->st_nlink > 0 && before->st_dev == now->st_dev &&
	       before->st_ino == now->st_ino && before->st_size == now->st_size &&
	       is_same_time(&before->st_mtim, &now->st_mtim) &&
	       is_same_time(&before->st_ctim, &now->st_ctim);
}

struct str kept_file_text(struct kept_file *kept, const struct host_files *files, const char *path)
{
	struct stat status = { .st_nlink = 0 };

	if (!host_files_status(files, path, &status)) {
		strbuf_reset(&kept->text);
		kept->status.st_nlink = 0;
	} else if (!is_unchanged(&kept->status, &status)) {
		strbuf_reset(&kept->text);
		kept->status = status; /* from before it is read: a change is seen the next time */
		kept->reads++;
		if (!host_files_read(files, path, &kept->text))
			strbuf_reset(&kept->text);
	}
	return strbuf_view(&kept->text);
}
