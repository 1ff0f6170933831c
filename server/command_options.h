/*
 * The options of a command that runs something: server, run, collector.
 */
#pragma once

#include <stdbool.h>

#include "server/options.h"

/*
 * True: the command runs with *out. False: help or the version was printed, or what is
 * wrong; *out_status is the exit status.
 */
bool command_options(const char *command, int argc, char **argv, struct options **out,
                     int *out_status);
