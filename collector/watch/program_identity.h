/*
 * Which program a process runs, before the kernel side has said so: by /proc.
 *
 * Shape    what struct exec_identity has, from the process' stat and its executable. The
 *          kernel side may see another inode (on overlay file systems): then it is a
 *          program that nobody runs, and does no harm.
 * Errors   ERROR_NOT_FOUND: the process has ended, or does not let itself be read.
 * Threads  any.
 * Source   unwinding specification 8
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "collector/cuda_event.h"

int program_identity_read(uint32_t tgid, struct exec_identity *out, struct error *err);

/* The addresses of a stat's text; the inode is left alone. */
int program_identity_parse(struct str stat, struct exec_identity *out, struct error *err);
