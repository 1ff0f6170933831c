/*
 * The pid namespace that we are in.
 *
 * Threads  any.
 */
#pragma once

#include <stdint.h>

/* Its inode; 0: the initial one, or nobody says. */
uint32_t pid_namespace_own(void);
