/*
 * The file of -server.http-port-file: a port's number, for whoever started the server.
 *
 * Shape    a line of digits. A file that is there is whole: written beside, and renamed; a
 *          link that stands in its place is replaced and not followed.
 * Errors   ERROR_IO, ERROR_NO_SPACE; ERROR_INVALID for a path that is too long.
 * Threads  none.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

int port_file_write(const char *path, uint16_t port, struct error *err);
