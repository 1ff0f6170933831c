/*
 * Numbers of processes in pid namespaces other than ours.
 *
 * Shape    a namespace is the inode of /proc/PID/ns/pid. A process has a number in its own
 *          namespace, and in each that this one lies in; only its own is looked at.
 * Errors   none: what cannot be read is not so.
 * Threads  any.
 * Source   pid_namespaces(7); proc(5), NSpid of /proc/PID/status
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Whether it is that of whoever asks: numbers there are those of `proc`. */
bool process_number_is_ours(const char *proc, uint64_t pid_namespace);

/* Whether `tgid` is of that namespace, and has that number there. */
bool process_number_is(const char *proc, uint32_t tgid, uint64_t pid_namespace, uint32_t number);

/* The innermost number of a status' text. */
bool process_number_parse(struct str status, uint32_t *out);
