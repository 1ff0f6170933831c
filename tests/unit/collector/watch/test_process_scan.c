#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/watch/process_scan.h"

#define FOUND_MAX  8
#define PATH_BYTES 64

struct found {
	size_t count;
	struct library_mapping mappings[FOUND_MAX];
	char paths[FOUND_MAX][PATH_BYTES];
};

static void keep(void *context, const struct library_mapping *mapping)
{
	struct found *found = context;

	assert_true(found->count < FOUND_MAX && mapping->path.length < PATH_BYTES);
	found->mappings[found->count] = *mapping;
	memcpy(found->paths[found->count], mapping->path.data, mapping->path.length);
	found->count++;
}

/* As a process with a driver shows them; one is for data, one is the runtime. */
static void executable_mappings_of_drivers_are_found(void **state)
{
	static const char maps[] =
		"55d0c0000000-55d0c0001000 r-xp 00001000 08:01 100   /usr/bin/python3.11\n"
		"7f0000000000-7f0000100000 r--p 00000000 08:01 777   /usr/lib/libcuda.so.1\n"
		"7f0000100000-7f0000900000 r-xp 00100000 08:01 777   /usr/lib/libcuda.so.1\n"
		"7f0001000000-7f0001100000 r-xp 00000000 08:01 778   /usr/lib/libcudart.so.12\n"
		"7f0002000000-7f0002100000 r-xp 00000000 00:2a 5   /x/libcuda.so.550 (deleted)\n"
		"7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0   [stack]\n";
	struct found found = { .count = 0 };

	(void)state;
	process_scan_maps(42, STR(""), keep, &found);
	assert_int_equal(found.count, 0);
	process_scan_maps(42, str_of(maps), keep, &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.mappings[0].tgid, 42);
	assert_int_equal(found.mappings[0].start, 0x7f0000100000);
	assert_int_equal(found.mappings[0].end, 0x7f0000900000);
	assert_int_equal(found.mappings[0].inode, 777);
	assert_string_equal(found.paths[0], "/usr/lib/libcuda.so.1");
	assert_string_equal(found.paths[1], "/x/libcuda.so.550 (deleted)");
}

static void all_processes_are_looked_at(void **state)
{
	struct found found = { .count = 0 };
	struct process_scan_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(process_scan(keep, &found, &result, &err), 0);
	assert_true(result.processes >= 1); /* this one */
	assert_true(result.unreadable < result.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executable_mappings_of_drivers_are_found),
		cmocka_unit_test(all_processes_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
