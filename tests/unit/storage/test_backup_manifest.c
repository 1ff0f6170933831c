#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/care/backup_manifest.h"
#include "tests/unit/storage/store_fixture.h"

/* The check is `printf TEXT | xxhsum -H3` of what stands before the last line. */
#define TWO_FILES                                                                \
	"vramscope backup\nformat 1\nmade 1728043200123\nkey 0123456789abcdef\n" \
	"file 4096 000102030405060708090a0b0c0d0e0f - tenants/a/2024-10-04.db\n" \
	"file 8192 f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff 1.2.8192.4.5 tenants/a/settings.db\n"

static int setup(void **state)
{
	*state = folder_make();
	return 0;
}

static int teardown(void **state)
{
	folder_drop(*state);
	return 0;
}

static void add(struct backup_manifest *manifest, const char *name, uint64_t bytes,
                struct hash128 hash, struct file_stamp stamp)
{
	struct backup_file file = { .hash = hash, .stamp = stamp };

	assert_true(listed_file_parse(str_of(name), &file.listed));
	file.listed.bytes = bytes;
	backup_manifest_add(manifest, &file);
}

static struct backup_manifest two_files(void)
{
	struct backup_manifest manifest = { .made_unix_ms = INT64_C(1728043200123),
		                            .key = UINT64_C(0x0123456789abcdef) };

	add(&manifest, "tenants/a/2024-10-04.db", 4096,
	    (struct hash128){ .high = UINT64_C(0x0001020304050607),
	                      .low = UINT64_C(0x08090a0b0c0d0e0f) },
	    (struct file_stamp){ 0 });
	add(&manifest, "tenants/a/settings.db", 8192,
	    (struct hash128){ .high = UINT64_C(0xf0f1f2f3f4f5f6f7),
	                      .low = UINT64_C(0xf8f9fafbfcfdfeff) },
	    (struct file_stamp){ true, 1, 2, 8192, 4, 5 });
	return manifest;
}

static char *text_of(const char *folder)
{
	char path[4200];
	char *text = calloc(1, 4096);
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/BACKUP", folder);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_true(fread(text, 1, 4095, file) > 0);
	(void)fclose(file);
	return text;
}

static void it_is_written_as_the_format_says_and_read_back(void **state)
{
	struct backup_manifest manifest = two_files();
	struct backup_manifest again;
	struct error err = { 0 };
	char *text;

	assert_int_equal(backup_manifest_write(&manifest, *state, &err), 0);
	text = text_of(*state);
	assert_memory_equal(text, TWO_FILES "end 2 ", sizeof(TWO_FILES "end 2 ") - 1);
	free(text);
	assert_int_equal(backup_manifest_read(*state, &again, &err), 0);
	assert_int_equal(again.count, 2);
	assert_int_equal(again.made_unix_ms, INT64_C(1728043200123));
	assert_int_equal(again.bytes, 12288);
	assert_true(again.files[0].listed.kind == LISTED_WINDOW &&
	            again.files[0].listed.day == 20000);
	assert_false(again.files[0].stamp.is_known);
	assert_true(hash128_equal(again.files[1].hash, manifest.files[1].hash));
	assert_true(file_stamp_equal(&again.files[1].stamp, &manifest.files[1].stamp));
	assert_ptr_equal(backup_manifest_find(&again, "tenants/a/settings.db"), &again.files[1]);
	assert_null(backup_manifest_find(&again, "tenants/a/2024-10-05.db"));
	backup_manifest_fini(&again);
	backup_manifest_fini(&manifest);
}

/* Each of all single bytes that are changed or cut off. */
static void any_other_text_is_refused(void **state)
{
	struct backup_manifest manifest = two_files();
	struct backup_manifest again;
	struct error err = { 0 };
	char *text;
	size_t length;

	assert_int_equal(backup_manifest_write(&manifest, *state, &err), 0);
	backup_manifest_fini(&manifest);
	text = text_of(*state);
	length = strlen(text);
	for (size_t i = 0; i < length; i++) {
		text[i] ^= 1;
		assert_int_equal(backup_manifest_parse(str_make(text, length), &again, &err), -1);
		assert_true(err.code == ERROR_CORRUPT || err.code == ERROR_INVALID);
		text[i] ^= 1;
		if (i + 1 < length) /* the last line may lack its end */
			assert_int_equal(backup_manifest_parse(str_make(text, i), &again, &err),
			                 -1);
	}
	assert_int_equal(backup_manifest_parse(str_make(text, length), &again, &err), 0);
	backup_manifest_fini(&again);
	free(text);
}

static void names_lead_into_the_folder_alone(void **state)
{
	static const char *const names[] = {
		"tenants/../../etc/passwd",
		"tenants/a/../2024-10-04.db",
		"/tenants/a/2024-10-04.db",
		"tenants/./2024-10-04.db",
		"tenants//2024-10-04.db",
		"tenants/a/2024-10-04.db-wal",
		"tenants/a/2024-13-04.db",
		"tenants/a/x/2024-10-04.db",
		"tenants/a",
		"tenants/a b/2024-10-04.db",
		"STORE",
		"",
	};
	struct listed_file file;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(listed_file_parse(str_of(names[i]), &file));
	assert_false(listed_file_parse(str_make("tenants/a/2024-10-04.db\0", 24), &file));
	assert_true(listed_file_parse(STR("tenants/a%20b/2024-10-04.12.db"), &file));
	assert_true(file.day == 20000 && file.number == 12);
	assert_true(listed_file_parse(STR("tenants/a/2024-10-04.db.damaged.3"), &file));
	assert_int_equal(file.kind, LISTED_ASIDE);
}

static void a_newer_format_is_told(void **state)
{
	struct backup_manifest manifest;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(backup_manifest_parse(STR("vramscope backup\nformat 2\nelse\n"), &manifest,
	                                       &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.message, "has format 2, this program reads up to 1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_is_written_as_the_format_says_and_read_back),
		TEST(any_other_text_is_refused),
		TEST(names_lead_into_the_folder_alone),
		TEST(a_newer_format_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
