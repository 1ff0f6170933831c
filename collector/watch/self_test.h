/*
 * Probes on a function of our own: whether what the collector needs works on this machine.
 *
 * Shape    load, attach, call, see what the programs sent; then once more from a process
 *          that forbids itself all but four system calls, since return probes of some
 *          kernels kill such a one.
 * Errors   the first step that failed: ERROR_FORBIDDEN or ERROR_UNIMPLEMENTED.
 * Threads  forks: before threads are started.
 * Source   collector specification 4.1, 4.6
 */
#pragma once

#include "base/error.h"
#include "collector/bpf/probe_link.h"

enum self_test_sandbox {
	SELF_TEST_SANDBOX_UNKNOWN, /* this machine lets nobody restrict itself so */
	SELF_TEST_SANDBOX_LIVES,
	SELF_TEST_SANDBOX_KILLED, /* by a return probe */
};

struct self_test_result {
	enum probe_method method; /* that worked */
	enum self_test_sandbox sandbox;
};

int self_test_run(struct self_test_result *out, struct error *err);
