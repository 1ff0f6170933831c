/*
 * The time as HTTP writes it: "Sun, 06 Nov 1994 08:49:37 GMT".
 *
 * Threads  any.
 * Source   RFC 9110, 5.6.7
 */
#pragma once

#include <stdint.h>

#define HTTP_DATE_LENGTH 29

/* Fills `text` and puts a NUL behind it. Years 0 to 9999. */
void http_date_format(int64_t unix_ns, char text[static HTTP_DATE_LENGTH + 1]);
