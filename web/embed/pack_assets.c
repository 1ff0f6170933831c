/*
 * pack_assets FOLDER OUT: packs the files of a folder and writes OUT/page_table.c, a C source
 * with the table of page_assets.h. It runs while vramscope is built.
 *
 * Shape    OUT/<n>.gz is the n-th file in the order of the paths' bytes. The same folder gives
 *          the same bytes.
 * Errors   a line on standard error and exit status 1: what is no regular file, has no known
 *          type or is past a limit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/mem.h"
#include "web/embed/page_type.h"

#define FILES_MAX  1000
#define BYTES_MAX  ((size_t)16 << 20) /* of a file */
#define DEPTH_MAX  8
#define PATH_BYTES 1024

struct packer {
	const char *folder;
	const char *out;
	char *paths[FILES_MAX]; /* below the folder */
	size_t count;
};

static int fail(const char *path, const char *what)
{
	(void)fprintf(stderr, "pack_assets: %s: %s\n", path, what);
	return -1;
}

static int join(const char *folder, const char *name, char out[static PATH_BYTES])
{
	const int length = snprintf(out, PATH_BYTES, folder[0] ? "%s/%s" : "%s%s", folder, name);

	return length > 0 && length < PATH_BYTES ? 0 : fail(name, "the path is too long");
}

/* ---- which files ---- */

static int add_folder(struct packer *packer, const char *below, int depth);

static int add_entry(struct packer *packer, const char *path, int depth)
{
	char whole[PATH_BYTES];
	struct stat status;

	if (join(packer->folder, path, whole) < 0)
		return -1;
	if (lstat(whole, &status) < 0)
		return fail(whole, strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
	if (S_ISDIR(status.st_mode))
		return add_folder(packer, path, depth + 1);
	if (!S_ISREG(status.st_mode))
		return fail(whole, "it is neither a file nor a folder");
	if (!page_type_of(str_of(path)))
		return fail(whole, "no content type is known: web/embed/page_type.c");
	if (packer->count == FILES_MAX)
		return fail(packer->folder, "there are too many files");
	packer->paths[packer->count++] = mem_strdup(path);
	return 0;
}

static int add_folder(struct packer *packer, const char *below, int depth)
{
	char whole[PATH_BYTES];
	DIR *folder;
	int result = 0;

	if (depth > DEPTH_MAX)
		return fail(below, "the folders are too deep");
	if (join(packer->folder, below, whole) < 0)
		return -1;
	folder = opendir(whole);
	if (!folder)
		return fail(whole, "it is no folder that can be read");
	while (result == 0) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
		const struct dirent *entry = readdir(folder);
		char path[PATH_BYTES];

		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		result = join(below, entry->d_name, path);
		if (result == 0)
			result = add_entry(packer, path, depth);
	}
	(void)closedir(folder);
	return result;
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* ---- what is written ---- */

static int read_file(const char *path, struct strbuf *out)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (file < 0)
		return fail(path, "it cannot be opened");
	status = strbuf_read(out, file);
	(void)close(file);
	if (status < 0)
		return fail(path, "it cannot be read");
	return strbuf_overflowed(out) ? fail(path, "it is too large") : 0;
}

static int write_file(const char *path, struct str bytes)
{
	FILE *file = fopen(path, "we");
	bool is_written;

	if (!file)
		return fail(path, "it cannot be made");
	is_written = fwrite(bytes.data, 1, bytes.length, file) == bytes.length;
	if (fclose(file) != 0 || !is_written)
		return fail(path, "it cannot be written");
	return 0;
}

/* Text between the quotes of C: paths are ours, and have none of what needs more. */
static bool is_plain(const char *path)
{
	return strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                    "-_./+@ ") == strlen(path);
}

/* Packs file `number`, and adds where its bytes lie and its row. */
static int pack(const struct packer *packer, size_t number, struct strbuf *bytes,
                struct strbuf *rows)
{
	CLEANUP(strbuf_fini) struct strbuf content;
	CLEANUP(strbuf_fini) struct strbuf packed;
	const char *path = packer->paths[number];
	char name[32];
	char from[PATH_BYTES];
	char to[PATH_BYTES];
	struct hash128 hash;

	strbuf_init(&content, BYTES_MAX);
	strbuf_init(&packed, 2 * BYTES_MAX);
	(void)snprintf(name, sizeof(name), "%zu.gz", number);
	if (join(packer->folder, path, from) < 0 || join(packer->out, name, to) < 0 ||
	    read_file(from, &content) < 0)
		return -1;
	if (!is_plain(path) || !is_plain(to))
		return fail(path, "it has an odd character in its path");
	gzip_deflate_once(strbuf_view(&content), &packed);
	if (write_file(to, strbuf_view(&packed)) < 0)
		return -1;
	hash = hash128_str(0, strbuf_view(&content));
	strbuf_printf(bytes,
	              "\t\"page_%zu:\\n\"\n\t\".incbin \\\"%s\\\"\\n\"\n\t\"page_%zu_end:\\n\"\n",
	              number, to, number);
	strbuf_printf(rows,
	              "\t{ \"%s\", \"%s\", page_%zu, page_%zu_end, %zu,\n"
	              "\t  { UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64 ") } },\n",
	              path, page_type_of(str_of(path)), number, number, content.length, hash.low,
	              hash.high);
	return 0;
}

static int write_table(const struct packer *packer)
{
	CLEANUP(strbuf_fini) struct strbuf bytes;
	CLEANUP(strbuf_fini) struct strbuf rows;
	CLEANUP(strbuf_fini) struct strbuf source;
	char path[PATH_BYTES];

	strbuf_init(&bytes, BYTES_MAX);
	strbuf_init(&rows, BYTES_MAX);
	strbuf_init(&source, 2 * BYTES_MAX);
	for (size_t i = 0; i < packer->count; i++)
		if (pack(packer, i, &bytes, &rows) < 0)
			return -1;
	strbuf_add_text(&source,
	                "/* made by pack_assets */\n#include \"web/embed/page_assets.h\"\n\n"
	                "__asm__(\".pushsection .rodata.pages, \\\"a\\\"\\n\"\n");
	strbuf_add_str(&source, strbuf_view(&bytes));
	strbuf_add_text(&source, "\t\".popsection\\n\");\n\n");
	for (size_t i = 0; i < packer->count; i++)
		strbuf_printf(&source,
		              "extern const unsigned char page_%zu[];\n"
		              "extern const unsigned char page_%zu_end[];\n",
		              i, i);
	strbuf_add_text(&source, "\nconst struct page_asset page_assets[] = {\n");
	strbuf_add_str(&source, strbuf_view(&rows));
	strbuf_printf(&source, "};\nconst size_t page_asset_count = %zu;\n", packer->count);
	if (strbuf_overflowed(&source))
		return fail(packer->folder, "the table is too large");
	return join(packer->out, "page_table.c", path) < 0 ? -1
	                                                   : write_file(path, strbuf_view(&source));
}

int main(int argc, char **argv)
{
	static struct packer packer;
	int result;

	if (argc != 3) {
		(void)fputs("usage: pack_assets FOLDER OUT\n", stderr);
		return 2;
	}
	packer.folder = argv[1];
	packer.out = argv[2];
	result = add_folder(&packer, "", 0);
	qsort(packer.paths, packer.count, sizeof(packer.paths[0]), compare_paths);
	if (result == 0 && packer.count == 0)
		result = fail(packer.folder, "there is no file");
	if (result == 0)
		result = write_table(&packer);
	for (size_t i = 0; i < packer.count; i++)
		free(packer.paths[i]);
	return result < 0;
}
