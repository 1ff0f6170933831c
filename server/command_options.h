/*
 * The options of a command that runs something: server, run, collector.
 */
#pragma once

#include <stdbool.h>

#include "server/options.h"

/*
 * For a command that is these halves (bits of enum option_half): help lists what they
 * look at. True: the command runs with *out. False: help or the version was printed, or what is
 * wrong; *out_status is the exit status.
 */
bool command_options(const char *command, unsigned halves, int argc, char **argv,
                     struct options **out, int *out_status);
