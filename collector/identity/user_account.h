/*
 * Accounts of the machine's users, as /etc/passwd lists them.
 *
 * Shape    lines of seven fields; the first line of a uid counts. Users that another service
 *          knows (LDAP) are not in it, and have no name here.
 * Errors   none: false when there is no such line.
 * Threads  any.
 * Source   passwd(5); collector specification 6.3
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define USER_ACCOUNTS_MAX ((size_t)1 << 20) /* bytes of the file that are read */

/* Views into the text. */
struct user_account {
	struct str name;
	struct str home;
};

bool user_account_find(struct str passwd, uint32_t uid, struct user_account *out);
