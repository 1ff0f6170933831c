#include "collector/bpf/probe_points.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/code_bytes.h"
#include "collector/elf/elf_image.h"

/* The place of code at an address; false when it is data, or nowhere. */
static bool find_code(const struct elf_image *image, uint64_t address, struct probe_point *out)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if ((segment->flags & PF_X) && address >= segment->address &&
		    address - segment->address < segment->file_size) {
			out->offset = segment->offset + (address - segment->address);
			out->code_start = segment->offset;
			out->code_end = segment->offset + segment->file_size;
			return true;
		}
	}
	return false;
}

static bool has_offset(const struct probe_points *points, uint64_t offset)
{
	for (size_t i = 0; i < points->count; i++) {
		if (points->points[i].offset == offset)
			return true;
	}
	return false;
}

static bool is_in_scope(enum cuda_function_id id, enum probe_scope scope)
{
	return cuda_role_is_of_several(cuda_function(id)->role) == (scope == PROBE_SCOPE_SEVERAL);
}

static void collect(const struct elf_image *image, enum probe_scope scope,
                    struct probe_points *points)
{
	for (unsigned int id = 0; id < CUDA_FUNCTION_COUNT; id++) {
		struct probe_point point = { .function = id };
		uint64_t address;

		if (!is_in_scope(id, scope))
			continue;
		if (!elf_image_export(image, cuda_function(id)->name, &address) ||
		    !find_code(image, address, &point))
			points->missing++;
		else if (has_offset(points, point.offset))
			points->aliases++;
		else
			points->points[points->count++] = point;
	}
}

/*
 * A probe that is set on a page which nobody has read yet makes some kernels warn when the
 * page is mapped.
 */
static int read_pages(int descriptor, const struct probe_points *points, struct error *err)
{
	for (size_t i = 0; i < points->count; i++) {
		char byte;

		if (pread(descriptor, &byte, sizeof(byte), (off_t)points->points[i].offset) != 1)
			return error_set(err, ERROR_INVALID, "the file ends before its code");
	}
	return 0;
}

int probe_points_find(int descriptor, enum probe_scope scope, struct probe_points *out,
                      struct error *err)
{
	CLEANUP(code_blocks_freep) struct code_blocks *blocks = code_blocks_new();
	struct probe_points points = { .count = 0 };
	struct code_bytes bytes = { .descriptor = -1 };
	struct elf_image image;
	struct stat status;
	int own;
	int rc;

	if (fstat(descriptor, &status) < 0)
		return error_set_errno(err, errno, "looking at a library");
	own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return error_set_errno(err, errno, "opening a library again");
	code_bytes_init_file(&bytes, blocks, own, (uint64_t)status.st_size);
	rc = elf_image_init(&image, &bytes, err);
	if (rc == 0) {
		collect(&image, scope, &points);
		rc = read_pages(descriptor, &points, err);
	}
	code_bytes_fini(&bytes);
	if (rc == 0)
		*out = points;
	return rc;
}
