/*
 * What a route asks for, and a credential gives.
 *
 * Shape    bits. Who may write need not be able to read; an admin may do everything.
 */
#pragma once

enum role {
	ROLE_OPEN = 0, /* nobody is asked */
	ROLE_READ = 1 << 0,
	ROLE_WRITE = 1 << 1,
	ROLE_ADMIN = 1 << 2,   /* what changes or takes away what is stored */
	ROLE_METRICS = 1 << 3, /* readers may; so may programs on this machine */
};
