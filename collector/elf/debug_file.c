#include "collector/elf/debug_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define PATH_BYTES 4096

struct search {
	const struct elf_image *image;
	const struct file_opener *opener;
	struct code_blocks *blocks;
	struct code_bytes *bytes;
	struct elf_image *out;
};

static bool has_our_symbols(const struct search *search)
{
	const struct elf_image *image = search->image;
	const struct elf_image *found = search->out;
	struct error err;

	return elf_image_init(search->out, search->bytes, &err) == 0 &&
	       found->symtab.table.size > 0 && found->build_id_length == image->build_id_length &&
	       memcmp(found->build_id, image->build_id, image->build_id_length) == 0;
}

/* Takes the descriptor. */
static bool try_descriptor(const struct search *search, int descriptor)
{
	struct stat status;

	if (descriptor < 0)
		return false;
	if (fstat(descriptor, &status) < 0) {
		(void)close(descriptor);
		return false;
	}
	code_bytes_init_file(search->bytes, search->blocks, descriptor, (uint64_t)status.st_size);
	if (has_our_symbols(search))
		return true;
	code_bytes_fini(search->bytes);
	return false;
}

static bool try_path(const struct search *search, const char *path)
{
	if (search->opener &&
	    try_descriptor(search, search->opener->open(search->opener->context, path)))
		return true;
	return try_descriptor(search, regular_file_open(AT_FDCWD, path, 0));
}

static bool try_build_id(const struct search *search)
{
	const struct elf_image *image = search->image;
	char path[sizeof(DEBUG_ROOT "/.build-id//.debug") + 2 * ELF_BUILD_ID_MAX];
	int length =
		snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", image->build_id[0]);

	for (uint32_t i = 1; i < image->build_id_length; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x",
		                   image->build_id[i]);
	(void)snprintf(path + length, sizeof(path) - (size_t)length, ".debug");
	return try_path(search, path);
}

static bool try_link(const struct search *search, struct str path)
{
	static const char *const places[][2] = { { "", "" },
		                                 { "", "/.debug" },
		                                 { DEBUG_ROOT, "" } };
	const struct elf_section *section = &search->image->debug_link;
	const ptrdiff_t slash = str_last_index(path, '/');
	char name[ELF_DEBUGLINK_MAX];
	char text[PATH_BYTES];
	struct str link;

	if (section->size == 0 || slash < 0)
		return false;
	link = code_bytes_text(search->image->bytes, section->offset,
	                       section->offset + section->size, name, sizeof(name));
	if (link.length == 0 || str_index(link, '/') >= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		const int length = snprintf(text, sizeof(text), "%s%.*s%s/%s", places[i][0],
		                            (int)slash, path.data, places[i][1], link.data);

		if (length > 0 && (size_t)length < sizeof(text) && try_path(search, text))
			return true;
	}
	return false;
}

bool debug_file_find(const struct elf_image *image, struct str path,
                     const struct file_opener *opener, struct code_blocks *blocks,
                     struct code_bytes *bytes, struct elf_image *out)
{
	const struct search search = { image, opener, blocks, bytes, out };

	if (image->build_id_length == 0)
		return false;
	return try_build_id(&search) || try_link(&search, path);
}
