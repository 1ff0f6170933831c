/*
 * Where finished profiles go: the store of this program, a remote server, a test.
 *
 * Shape    one push is all profiles of one tick; the sink keeps no pointer into it.
 * Errors   a sink keeps what it cannot deliver now, within its bounds, and counts what it
 *          must drop; pushing never fails for who makes profiles.
 * Threads  those of who makes profiles.
 */
#pragma once

#include "profile/label_set.h"
#include "profile/profile.h"

struct sink_profile {
	struct label_set labels; /* __name__ and service_name among them; sorted */
	const struct profile *profile;
};

struct profile_sink {
	void (*push)(void *context, const struct sink_profile *profiles, size_t count);
	void *context;
};
