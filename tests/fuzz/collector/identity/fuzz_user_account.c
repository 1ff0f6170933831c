/*
 * Texts of a machine: its accounts and mounts, and the parts of /proc that say whose a process
 * is, when it began, and which number it has.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collector/identity/mount_table.h"
#include "collector/identity/process_number.h"
#include "collector/identity/process_sight.h"
#include "collector/identity/process_start.h"
#include "collector/identity/user_account.h"

static void check_inside(struct str part, struct str whole)
{
	if (part.length > 0 &&
	    (part.data < whole.data || part.data + part.length > whole.data + whole.length))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str text = str_make(data, size);
	struct user_account account;
	uint64_t start_ns;
	uint32_t number;

	if (user_account_find(text, 1000, &account)) {
		check_inside(account.name, text);
		check_inside(account.home, text);
		if (account.name.length == 0)
			abort();
	}
	(void)mount_table_is_local(text, STR("/users/ada/file"));
	if (process_number_parse(text, &number) && number == 0)
		abort();
	(void)process_sight_uid(text, &number);
	if (process_start_parse(text, &start_ns) && process_start_shown(start_ns) != start_ns)
		abort();
	return 0;
}
