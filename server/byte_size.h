/*
 * Sizes as the reference's messages have them: "4.2 MB" in powers of 1000, "4.0 MiB" in
 * powers of 1024.
 *
 * Shape    one decimal below ten, none from ten on; bytes as they are: "123 B".
 * Threads  any.
 * Source   ingest specification, 1.5
 */
#pragma once

#include <stdint.h>

#define BYTE_SIZE_TEXT 32 /* the longest text with its NUL */

void byte_size_decimal(uint64_t bytes, char text[static BYTE_SIZE_TEXT]);
void byte_size_binary(uint64_t bytes, char text[static BYTE_SIZE_TEXT]);
