#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/watch/library_table.h"

#define SECOND     INT64_C(1000000000)
#define PATH_BYTES 64

static char folder[] = "/tmp/test_library_table.XXXXXX";

/* Says what it was asked for; refuses when told to. */
struct fake_probes {
	size_t attached;
	size_t detached;
	size_t refused;
	size_t functions;
	int refuses;
};

static int attach(void *context, int descriptor, void **out_link, size_t *out_functions,
                  struct error *err)
{
	struct fake_probes *probes = context;

	assert_true(descriptor >= 0);
	if (probes->refuses) {
		probes->refused++;
		return error_set(err, ERROR_INVALID, "no function");
	}
	probes->attached++;
	*out_link = probes;
	*out_functions = probes->functions;
	return 0;
}

static void detach(void *context, void *link)
{
	struct fake_probes *probes = context;

	assert_ptr_equal(link, probes);
	probes->detached++;
}

static struct library_table *table_with(struct fake_probes *probes)
{
	return library_table_new(&(struct library_attacher){ attach, detach, probes });
}

static void write_file(const char *name, const char *text)
{
	char path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int open_file(const char *name)
{
	char path[PATH_BYTES];
	int descriptor;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(descriptor >= 0);
	return descriptor;
}

static int offer_of(struct library_table *table, const char *name, uint32_t owner, int64_t now_ns)
{
	const struct library_offer offer = { open_file(name), owner, now_ns };
	struct error err = { 0 };
	const int rc = library_table_offer(table, &offer, &err);

	library_table_check(table);
	return rc;
}

static int offer(struct library_table *table, const char *name, int64_t now_ns)
{
	return offer_of(table, name, 0, now_ns);
}

static void remove_file(const char *name)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static void a_file_gets_its_probes_once(void **state)
{
	struct fake_probes probes = { .functions = 13 };
	struct library_table *table = table_with(&probes);
	struct library_counts counts;

	(void)state;
	write_file("a", "one");
	write_file("b", "two");
	for (int64_t i = 0; i < 3; i++) {
		assert_int_equal(offer(table, "a", i), 0);
		assert_int_equal(offer(table, "b", i), 0);
	}
	counts = library_table_counts(table);
	assert_int_equal(probes.attached, 2);
	assert_int_equal(counts.libraries, 2);
	assert_int_equal(counts.functions, 26);
	assert_int_equal(counts.refused, 0);
	assert_int_equal(counts.errors, 0);
	library_table_free(table);
	assert_int_equal(probes.detached, 2);
}

static void a_file_with_another_inode_is_another_library(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);

	(void)state;
	write_file("a", "one");
	assert_int_equal(offer(table, "a", 0), 0);
	remove_file("a"); /* its descriptor is kept, so its inode is not used again */
	write_file("a", "one");
	assert_int_equal(offer(table, "a", 0), 0);
	assert_int_equal(probes.attached, 2);
	assert_int_equal(probes.detached, 0);
	library_table_free(table);
}

static void a_file_that_is_overwritten_gets_its_probes_anew(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);

	(void)state;
	write_file("a", "one");
	assert_int_equal(offer(table, "a", 0), 0);
	write_file("a", "longer");
	library_table_sweep(table, SECOND);
	assert_int_equal(probes.attached, 2);
	assert_int_equal(probes.detached, 1);
	library_table_sweep(table, 2 * SECOND);
	assert_int_equal(probes.attached, 2);

	write_file("a", "longer still");
	assert_int_equal(offer(table, "a", 3 * SECOND), 0);
	assert_int_equal(probes.attached, 3);
	library_table_free(table);
	assert_int_equal(probes.detached, 3);
}

static void what_nobody_maps_is_dropped_after_a_while(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);

	(void)state;
	write_file("a", "one");
	write_file("b", "two");
	assert_int_equal(offer(table, "a", 0), 0);
	assert_int_equal(offer(table, "b", 0), 0);
	assert_int_equal(offer(table, "b", SECOND), 0);
	library_table_sweep(table, LIBRARY_KEEP_NS);
	assert_int_equal(probes.detached, 0);
	library_table_sweep(table, LIBRARY_KEEP_NS + 1);
	library_table_check(table);
	assert_int_equal(probes.detached, 1);
	library_table_sweep(table, LIBRARY_KEEP_NS + SECOND + 1);
	assert_int_equal(probes.detached, 2);
	assert_int_equal(library_table_counts(table).libraries, 0);
	library_table_free(table);
}

static void a_refused_file_is_tried_again_later(void **state)
{
	struct fake_probes probes = { .functions = 1, .refuses = 1 };
	struct library_table *table = table_with(&probes);
	struct library_counts counts;

	(void)state;
	write_file("a", "one");
	assert_int_equal(offer(table, "a", 0), -1);
	assert_int_equal(offer(table, "a", 1), 0);
	library_table_sweep(table, LIBRARY_RETRY_NS - 1);
	assert_int_equal(probes.refused, 1);
	assert_int_equal(offer(table, "a", LIBRARY_RETRY_NS), -1);
	assert_int_equal(probes.refused, 2);
	counts = library_table_counts(table);
	assert_int_equal(counts.libraries, 0);
	assert_int_equal(counts.refused, 1);
	assert_int_equal(counts.errors, 2);
	probes.refuses = 0;
	library_table_sweep(table, 2 * LIBRARY_RETRY_NS);
	assert_int_equal(library_table_counts(table).libraries, 1);
	library_table_free(table);
}

static void many_fakes_leave_room_for_a_driver(void **state)
{
	struct fake_probes probes = { .functions = 1, .refuses = 1 };
	struct library_table *table = table_with(&probes);
	char name[16];

	(void)state;
	for (int i = 0; i < LIBRARIES_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "fake%d", i);
		write_file(name, "x");
		assert_int_equal(offer(table, name, i), -1);
		remove_file(name);
	}
	probes.refuses = 0;
	write_file("a", "one");
	assert_int_equal(offer(table, "a", 1000), 0);
	assert_int_equal(library_table_counts(table).libraries, 1);
	library_table_free(table);
	assert_int_equal(probes.detached, 1);
}

static void a_table_full_of_drivers_takes_no_more(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);
	char name[16];

	(void)state;
	for (int i = 0; i <= LIBRARIES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "real%d", i);
		write_file(name, "x");
		assert_int_equal(offer(table, name, i), i < LIBRARIES_MAX ? 0 : -1);
		remove_file(name);
	}
	assert_int_equal(library_table_counts(table).libraries, LIBRARIES_MAX);
	library_table_free(table);
	assert_int_equal(probes.detached, LIBRARIES_MAX);
}

static int offer_new(struct library_table *table, uint32_t owner, int64_t number)
{
	char name[32];
	int rc;

	(void)snprintf(name, sizeof(name), "new%d", (int)number);
	write_file(name, "x");
	rc = offer_of(table, name, owner, number);
	remove_file(name);
	return rc;
}

/* However many it copies and maps, a process costs no more than some probes. */
static void a_process_brings_only_some(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);

	(void)state;
	for (int i = 0; i < 3 * LIBRARIES_OF_ONE_MAX; i++)
		assert_int_equal(offer_new(table, 7, i), i < LIBRARIES_OF_ONE_MAX ? 0 : -1);
	assert_int_equal(probes.attached, LIBRARIES_OF_ONE_MAX);
	assert_int_equal(offer_new(table, 8, 100), 0);
	library_table_free(table);
}

/* Where all have brought as many as they may, a process with its first driver gets probes. */
static void who_brings_many_makes_room(void **state)
{
	struct fake_probes probes = { .functions = 1 };
	struct library_table *table = table_with(&probes);
	const uint32_t owners = LIBRARIES_MAX / LIBRARIES_OF_ONE_MAX;

	(void)state;
	for (uint32_t i = 0; i < LIBRARIES_MAX; i++)
		assert_int_equal(offer_new(table, 1 + i % owners, i), 0);
	for (uint32_t i = 0; i < owners; i++)
		assert_int_equal(offer_new(table, 1000 + i, LIBRARIES_MAX + i), 0);
	assert_int_equal(library_table_counts(table).libraries, LIBRARIES_MAX);
	assert_int_equal(probes.detached, owners);
	library_table_free(table);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	remove_file("a");
	remove_file("b");
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_gets_its_probes_once),
		cmocka_unit_test(a_file_with_another_inode_is_another_library),
		cmocka_unit_test(a_file_that_is_overwritten_gets_its_probes_anew),
		cmocka_unit_test(what_nobody_maps_is_dropped_after_a_while),
		cmocka_unit_test(a_refused_file_is_tried_again_later),
		cmocka_unit_test(many_fakes_leave_room_for_a_driver),
		cmocka_unit_test(a_table_full_of_drivers_takes_no_more),
		cmocka_unit_test(a_process_brings_only_some),
		cmocka_unit_test(who_brings_many_makes_room),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
