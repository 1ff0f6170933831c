#include "collector/identity/host_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/regular_file.h"

#define RESOLVE (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

int host_files_open(const char *root, struct host_files *out, struct error *err)
{
	const int descriptor = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (descriptor < 0)
		return error_set_errno(err, errno, "opening %s", root);
	out->root = descriptor;
	return 0;
}

void host_files_close(struct host_files *files)
{
	if (files->root >= 0)
		(void)close(files->root);
	files->root = -1;
}

static bool read_file(const struct host_files *files, const char *path, uint64_t resolve,
                      struct strbuf *out)
{
	const int descriptor = regular_file_open(files->root, path, resolve);
	bool is_read;

	if (descriptor < 0)
		return false;
	is_read = strbuf_read(out, descriptor) == 0 && !strbuf_overflowed(out);
	(void)close(descriptor);
	return is_read;
}

bool host_files_status(const struct host_files *files, const char *path, struct stat *out)
{
	const int descriptor = regular_file_open(files->root, path, RESOLVE);
	bool is_there;

	if (descriptor < 0)
		return false;
	is_there = fstat(descriptor, out) == 0;
	(void)close(descriptor);
	return is_there;
}

bool host_files_read(const struct host_files *files, const char *path, struct strbuf *out)
{
	return read_file(files, path, RESOLVE, out);
}

bool host_files_read_plain(const struct host_files *files, const char *path, struct strbuf *out)
{
	return read_file(files, path, RESOLVE | RESOLVE_NO_SYMLINKS, out);
}

bool host_files_each(const struct host_files *files, const char *folder, size_t limit,
                     bool (*visit)(void *context, struct str name), void *context)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		                      .resolve = RESOLVE };
	const int descriptor = (int)syscall(SYS_openat2, files->root, folder, &how, sizeof(how));
	DIR *names = descriptor < 0 ? NULL : fdopendir(descriptor);
	const struct dirent *entry;
	bool is_found = false;

	if (!names) {
		if (descriptor >= 0)
			(void)close(descriptor);
		return false;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this one */
	for (size_t i = 0; !is_found && i < limit && (entry = readdir(names)); i++) {
		const struct str name = str_of(entry->d_name);

		if (!str_equals(name, ".") && !str_equals(name, ".."))
			is_found = visit(context, name);
	}
	(void)closedir(names);
	return is_found;
}
