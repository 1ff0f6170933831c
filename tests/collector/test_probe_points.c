/*
 * Where functions begin in a library, beside what readelf says of it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/bpf/probe_cookie.h"
#include "collector/bpf/probe_points.h"

#define LINE_BYTES 512

static int find_in(const char *path, enum probe_scope scope, struct probe_points *out,
                   struct error *err)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	assert_true(descriptor >= 0);
	rc = probe_points_find(descriptor, scope, out, err);
	(void)close(descriptor);
	return rc;
}

/* Calls take(context, line) for each line that a command prints; false: no such command. */
static bool each_line_of(const char *command, void (*take)(void *context, const char *line),
                         void *context)
{
	char line[LINE_BYTES];
	FILE *output = popen(command, "re"); /* NOLINT(cert-env33-c): of this test */

	assert_non_null(output);
	while (fgets(line, sizeof(line), output))
		take(context, line);
	return pclose(output) == 0;
}

/* The executable segment, and the address of each function. */
struct facts {
	uint64_t segment_offset;
	uint64_t segment_address;
	uint64_t segment_size;
	uint64_t addresses[CUDA_FUNCTION_COUNT];
};

/*   LOAD           0x00a000 0x000000000000a000 0x000000000000a000 0x003f99 0x003f99 R E 0x1000 */
static void take_segment(void *context, const char *line)
{
	struct facts *facts = context;
	uint64_t offset;
	uint64_t address;
	uint64_t size;

	/* NOLINTNEXTLINE(cert-err34-c): readelf's numbers */
	if (sscanf(line, " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64 " %*x R E", &offset, &address,
	           &size) != 3 ||
	    !strstr(line, "R E"))
		return;
	facts->segment_offset = offset;
	facts->segment_address = address;
	facts->segment_size = size;
}

/*     12: 000000000000a6c0    49 FUNC    GLOBAL DEFAULT   14 cuMemAllocAsync */
static void take_symbol(void *context, const char *line)
{
	struct facts *facts = context;
	uint64_t address;
	char section[16];
	char name[128];

	/* NOLINTNEXTLINE(cert-err34-c): readelf's numbers */
	if (sscanf(line, " %*d: %" SCNx64 " %*s FUNC %*s DEFAULT %15s %127s", &address, section,
	           name) != 3 ||
	    strcmp(section, "UND") == 0)
		return;
	for (unsigned int id = 0; id < CUDA_FUNCTION_COUNT; id++) {
		if (strcmp(cuda_function(id)->name, name) == 0)
			facts->addresses[id] = address;
	}
}

static void compare(const struct probe_points *points, const struct facts *facts)
{
	for (size_t i = 0; i < points->count; i++) {
		const struct probe_point *point = &points->points[i];
		const uint64_t address = facts->addresses[point->function];

		assert_true(address > 0);
		assert_int_equal(point->offset,
		                 address - facts->segment_address + facts->segment_offset);
		assert_int_equal(point->code_start, facts->segment_offset);
		assert_int_equal(point->code_end, facts->segment_offset + facts->segment_size);
	}
}

static void functions_begin_where_readelf_says(void **state)
{
	struct facts facts = { .segment_size = 0 };
	struct probe_points points;
	struct error err = { 0 };

	(void)state;
	if (!each_line_of("readelf -lW " STUB_DRIVER, take_segment, &facts) ||
	    !each_line_of("readelf -W --dyn-syms " STUB_DRIVER, take_symbol, &facts))
		skip();
	assert_true(facts.segment_size > 0);
	assert_int_equal(find_in(STUB_DRIVER, PROBE_SCOPE_ALL, &points, &err), 0);
	assert_int_equal(points.count, CUDA_FUNCTION_COMMON_COUNT);
	compare(&points, &facts);
	assert_int_equal(find_in(STUB_DRIVER, PROBE_SCOPE_SEVERAL, &points, &err), 0);
	assert_int_equal(points.count, CUDA_FUNCTION_COUNT - CUDA_FUNCTION_COMMON_COUNT);
	compare(&points, &facts);
	for (size_t i = 0; i < points.count; i++)
		assert_in_range(points.points[i].function, CUDA_FUNCTION_COMMON_COUNT,
		                CUDA_FUNCTION_COUNT - 1);
}

static void a_library_without_the_functions_has_no_points(void **state)
{
	struct probe_points points;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(find_in("/proc/self/exe", PROBE_SCOPE_ALL, &points, &err), 0);
	assert_int_equal(points.count, 0);
	assert_int_equal(points.missing, CUDA_FUNCTION_COMMON_COUNT);
}

static int find_in_text(const char *text, struct error *err)
{
	const int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct probe_points points;
	int rc;

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	rc = probe_points_find(file, PROBE_SCOPE_ALL, &points, err);
	(void)close(file);
	return rc;
}

static void what_is_no_library_is_refused(void **state)
{
	static const char *const texts[] = { "", "\177ELF", "#!/bin/sh\nexit 0\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(find_in_text(texts[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

/* Of any length: what is there is found, what is not is missing, nothing is read outside. */
static void a_library_that_is_cut_is_no_danger(void **state)
{
	const int whole = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);
	const int part = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat status;

	(void)state;
	assert_true(whole >= 0 && part >= 0);
	assert_int_equal(fstat(whole, &status), 0);
	assert_int_equal(sendfile(part, whole, NULL, (size_t)status.st_size), status.st_size);
	for (off_t length = status.st_size; length > 0; length = length * 15 / 16) {
		struct probe_points points = { .count = 0 };
		struct error err = { 0 };

		assert_int_equal(ftruncate(part, length), 0);
		if (probe_points_find(part, PROBE_SCOPE_ALL, &points, &err) < 0) {
			assert_int_equal(err.code, ERROR_INVALID);
			continue;
		}
		assert_int_equal(points.count + points.missing, CUDA_FUNCTION_COMMON_COUNT);
		for (size_t i = 0; i < points.count; i++)
			assert_true(points.points[i].offset < (uint64_t)length);
	}
	(void)close(whole);
	(void)close(part);
}

static void a_cookie_carries_three_numbers(void **state)
{
	static const struct {
		uint64_t function;
		uint64_t before;
		uint64_t behind;
	} cases[] = { { 0, 0, 0 }, { 13, 1, 2 }, { 0xffff, 0xffffff, 0xffffff }, { 7, 0, 9 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t cookie =
			probe_cookie_make(cases[i].function, cases[i].before, cases[i].behind);

		assert_int_equal(probe_cookie_function(cookie), cases[i].function);
		assert_int_equal(probe_cookie_pages_before(cookie), cases[i].before);
		assert_int_equal(probe_cookie_pages_behind(cookie), cases[i].behind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_begin_where_readelf_says),
		cmocka_unit_test(a_library_without_the_functions_has_no_points),
		cmocka_unit_test(what_is_no_library_is_refused),
		cmocka_unit_test(a_library_that_is_cut_is_no_danger),
		cmocka_unit_test(a_cookie_carries_three_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
