#include "server/routes/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/regular_file.h"
#include "web/embed/page_assets.h"
#include "web/embed/page_type.h"

#define FILE_MAX ((size_t)16 << 20) /* bytes of a file of the folder */

static int find_in_program(struct str path, struct page_file *out)
{
	const struct page_asset *asset = page_assets_find(path);

	if (!asset)
		return 0;
	*out = (struct page_file){
		.type = asset->type,
		.bytes = page_asset_packed(asset),
		.size = asset->size,
		.hash = asset->hash,
		.is_packed = true,
	};
	return 1;
}

/* ---- a folder ---- */

/* A descriptor; -1 with errno. */
static int open_below(const char *web_dir, const char *path)
{
	const int folder = open(web_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file;
	int number;

	if (folder < 0)
		return -1;
	file = regular_file_open(folder, path, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	number = errno;
	(void)close(folder);
	errno = number;
	return file;
}

static int read_all(int descriptor, struct arena *arena, struct str *out, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf bytes;

	strbuf_init(&bytes, FILE_MAX);
	if (strbuf_read(&bytes, descriptor) < 0)
		return error_set_errno(err, errno, "a file of the pages");
	if (strbuf_overflowed(&bytes))
		return error_set(err, ERROR_TOO_LARGE,
		                 "a file of the pages is larger than %zu bytes", FILE_MAX);
	*out = arena_copy(arena, strbuf_view(&bytes));
	return out->data ? 0 : arena_error(arena, err);
}

static int find_in_folder(const char *web_dir, struct str path, struct arena *arena,
                          struct page_file *out, struct error *err)
{
	const struct str name = arena_copy(arena, path);
	int descriptor;
	int status;

	if (!name.data)
		return arena_error(arena, err);
	if (path.length == 0 || memchr(path.data, '\0', path.length) || !page_type_of(path))
		return 0;
	descriptor = open_below(web_dir, name.data);
	if (descriptor < 0)
		return 0;
	*out = (struct page_file){ .type = page_type_of(path) };
	status = read_all(descriptor, arena, &out->bytes, err);
	(void)close(descriptor);
	if (status < 0)
		return -1;
	out->size = out->bytes.length;
	out->hash = hash128_str(0, out->bytes);
	return 1;
}

int page_file_find(const char *web_dir, struct str path, struct arena *arena, struct page_file *out,
                   struct error *err)
{
	return web_dir[0] ? find_in_folder(web_dir, path, arena, out, err)
	                  : find_in_program(path, out);
}

int page_file_unpack(const struct page_file *file, struct arena *arena, struct str *out,
                     struct error *err)
{
	*out = file->bytes;
	return file->is_packed ? gzip_inflate(file->bytes, file->size, arena, out, err) : 0;
}
