/*
 * When a process began, as /proc tells it: which of two processes with one id it is.
 *
 * Shape    /proc shows ticks of 10 ms; the kernel knows nanoseconds.
 * Units    nanoseconds of the boot-time clock.
 * Errors   none: false when there is no such process.
 * Threads  any.
 * Source   proc(5), field starttime of /proc/PID/stat
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define PROCESS_START_TICK_NS UINT64_C(10000000) /* USER_HZ is 100 on every machine */

/* What /proc shows of a start that is known exactly. */
static inline uint64_t process_start_shown(uint64_t start_ns)
{
	return start_ns - start_ns % PROCESS_START_TICK_NS;
}

bool process_start_read(const char *proc, uint32_t tgid, uint64_t *out_ns);

/* Of a stat's text. */
bool process_start_parse(struct str stat, uint64_t *out_ns);
