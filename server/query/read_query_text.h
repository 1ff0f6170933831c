/*
 * Small texts around queries: durations as the reference prints them, and alias lists.
 *
 * Source   read specification, 3.4.1; deploy specification, 9.2
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define READ_QUERY_DURATION_SIZE 64

/* As Go prints a duration of whole milliseconds: 48h0m0s, 1.5s, 20ms. */
void read_query_duration_format(int64_t ns, char text[static READ_QUERY_DURATION_SIZE]);

/* As Prometheus prints a limit: 1d, 1h30m, 20ms. */
void read_query_limit_format(int64_t ns, char text[static READ_QUERY_DURATION_SIZE]);

/*
 * What `id` is also called by a list "A=B,C=D" (blanks around parts are fine); the first
 * pair that names it counts, in both directions. False when none does.
 */
bool read_query_alias_of(struct str aliases, struct str id, struct str *out);
