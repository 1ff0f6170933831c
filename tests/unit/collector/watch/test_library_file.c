/*
 * Our own process maps a file under the name of a driver; it is found again by that mapping.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/watch/library_file.h"
#include "tests/unit/skip.h"

#define PATH_BYTES   128
#define MAPPED_BYTES 4096

static char folder[] = "/tmp/test_library_file.XXXXXX";
static char path[PATH_BYTES];

/* A page of a new file, mapped for execution. */
struct mapped {
	void *memory;
	ino_t inode;
};

static struct mapped map_new_file(void)
{
	const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct mapped mapped;
	struct stat status;

	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, MAPPED_BYTES), 0);
	assert_int_equal(fstat(file, &status), 0);
	mapped.inode = status.st_ino;
	mapped.memory = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(mapped.memory, MAP_FAILED);
	(void)close(file);
	return mapped;
}

static struct library_mapping mapping_of(const struct mapped *mapped, const char *name)
{
	const uint64_t start = (uint64_t)(uintptr_t)mapped->memory;

	return (struct library_mapping){ .tgid = getpid(),
		                         .start = start,
		                         .end = start + MAPPED_BYTES,
		                         .inode = mapped->inode,
		                         .path = str_of(name) };
}

static int open_inode(const struct library_mapping *mapping, ino_t *out, struct error *err)
{
	struct stat status;
	int descriptor;

	if (library_file_open(mapping, &descriptor, err) < 0)
		return -1;
	assert_int_equal(fstat(descriptor, &status), 0);
	(void)close(descriptor);
	*out = status.st_ino;
	return 0;
}

static void forget(const struct mapped *mapped)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(munmap(mapped->memory, MAPPED_BYTES), 0);
}

static bool may_follow_mappings(const struct library_mapping *mapping)
{
	char link[PATH_BYTES];
	int descriptor;

	(void)snprintf(link, sizeof(link), "/proc/self/map_files/%llx-%llx",
	               (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	descriptor = open(link, O_RDONLY | O_CLOEXEC);
	if (descriptor >= 0)
		(void)close(descriptor);
	return descriptor >= 0;
}

static void a_driver_is_known_by_its_name(void **state)
{
	static const struct {
		const char *path;
		bool is_driver;
	} cases[] = {
		{ "/usr/lib/libcuda.so.1", true },
		{ "libcuda.so", true },
		{ "/x/libcuda.so.535.104.05", true },
		{ "/x/libcuda.so.1 (deleted)", true },
		{ "/usr/lib/libcudart.so.12", false },
		{ "/usr/lib/mylibcuda.so.1", false },
		{ "/libcuda.so/x", false },
		{ "", false },
		{ "[vdso]", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(library_file_is_driver(str_of(cases[i].path)) == cases[i].is_driver);
}

static void a_mapped_file_is_opened(void **state)
{
	const struct mapped mapped = map_new_file();
	const struct library_mapping mapping = mapping_of(&mapped, path);
	struct error err = { 0 };
	ino_t inode = 0;

	(void)state;
	assert_int_equal(open_inode(&mapping, &inode, &err), 0);
	assert_int_equal(inode, mapped.inode);
	forget(&mapped);
}

static void a_file_that_has_lost_its_name_is_opened(void **state)
{
	const struct mapped mapped = map_new_file();
	struct library_mapping mapping = mapping_of(&mapped, path);
	char deleted[PATH_BYTES + 16];
	struct error err = { 0 };
	ino_t inode = 0;

	(void)state;
	if (!may_follow_mappings(&mapping)) {
		forget(&mapped);
		SKIP_BECAUSE("/proc/PID/map_files may not be followed");
	}
	assert_int_equal(unlink(path), 0);
	(void)snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	mapping.path = str_of(deleted);
	assert_int_equal(open_inode(&mapping, &inode, &err), 0);
	assert_int_equal(inode, mapped.inode);
	assert_int_equal(munmap(mapped.memory, MAPPED_BYTES), 0);
}

static void a_new_file_of_the_same_name_is_not_taken_for_it(void **state)
{
	const struct mapped old = map_new_file();
	struct library_mapping mapping = mapping_of(&old, path);
	struct mapped new;
	struct error err = { 0 };
	ino_t inode = 0;

	(void)state;
	if (!may_follow_mappings(&mapping)) {
		forget(&old);
		SKIP_BECAUSE("/proc/PID/map_files may not be followed");
	}
	assert_int_equal(unlink(path), 0);
	new = map_new_file();
	assert_int_equal(open_inode(&mapping, &inode, &err), 0);
	assert_int_equal(inode, old.inode);
	mapping.inode = 0; /* as where the record has a build id instead */
	assert_int_equal(open_inode(&mapping, &inode, &err), 0);
	assert_int_equal(inode, old.inode);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(munmap(old.memory, MAPPED_BYTES), 0);
	assert_int_equal(munmap(new.memory, MAPPED_BYTES), 0);
}

static void what_is_gone_is_not_found(void **state)
{
	struct library_mapping mapping = { .tgid = getpid(),
		                           .start = 0x1000,
		                           .end = 0x2000,
		                           .path = STR("/nowhere/libcuda.so.1") };
	struct error err = { 0 };
	ino_t inode;

	(void)state;
	assert_int_equal(open_inode(&mapping, &inode, &err), -1);
	assert_int_equal(err.code, ERROR_IO); /* we run: that is no end of ours */
	mapping.tgid = INT32_MAX;             /* over any pid_max */
	err.code = ERROR_NONE;
	assert_int_equal(open_inode(&mapping, &inode, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* A process may name a pipe like a driver; nobody waits for its writer. */
static void a_pipe_is_refused(void **state)
{
	struct error err = { 0 };
	ino_t inode;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_inode(&(struct library_mapping){ .tgid = getpid(),
	                                                       .start = 0x1000,
	                                                       .end = 0x2000,
	                                                       .path = str_of(path) },
	                            &inode, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_driver_is_known_by_its_name),
		cmocka_unit_test(a_mapped_file_is_opened),
		cmocka_unit_test(a_file_that_has_lost_its_name_is_opened),
		cmocka_unit_test(a_new_file_of_the_same_name_is_not_taken_for_it),
		cmocka_unit_test(what_is_gone_is_not_found),
		cmocka_unit_test(a_pipe_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
