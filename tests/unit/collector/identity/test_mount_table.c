#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/identity/mount_table.h"

#define MOUNTS                                       \
	"/dev/sda1 / ext4 rw,relatime 0 0\n"         \
	"proc /proc proc rw 0 0\n"                   \
	"/dev/sdb1 /users xfs rw 0 0\n"              \
	"auto.home /users/net autofs rw,fd=5 0 0\n"  \
	"filer:/x /users/net/eve nfs4 rw 0 0\n"      \
	"//pc/s /users/with\\040space cifs rw 0 0\n" \
	"sshfs /users/mount fuse.sshfs rw 0 0\n"     \
	"tmpfs /users/mount tmpfs rw 0 0\n"          \
	"half\n"

static void the_longest_mount_above_a_file_is_its(void **state)
{
	static const struct {
		const char *path;
		bool is_local;
	} cases[] = {
		{ "/etc/passwd", true },
		{ "/proc/1", false },
		{ "/users/ada/file", true },
		{ "/users", true },
		{ "/users/net/bob/file", false }, /* to look there would mount it */
		{ "/users/net/eve/file", false },
		{ "/users/network/file", true }, /* no part of the name */
		{ "/users/with space/file", false },
		{ "/users/mount/file", true }, /* the last one lies on top */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(mount_table_is_local(STR(MOUNTS), str_of(cases[i].path)),
		                 cases[i].is_local);
}

static void what_is_not_known_is_not_local(void **state)
{
	(void)state;
	assert_false(mount_table_is_local(STR(""), STR("/users/ada")));
	assert_false(mount_table_is_local(STR("half"), STR("/users/ada")));
	assert_false(mount_table_is_local(STR("a / newfs rw 0 0"), STR("/users/ada")));
	/* escapes that are cut, or no digits, are some other path */
	assert_false(mount_table_is_local(STR("a /users\\04 ext4 rw"), STR("/users/ada")));
	assert_false(mount_table_is_local(STR("a /users\\zzz ext4 rw"), STR("/users/ada")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_mount_above_a_file_is_its),
		cmocka_unit_test(what_is_not_known_is_not_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
