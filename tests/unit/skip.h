/*
 * Skips the running test, and says why where the totals are made: tests/support/totals.py
 * reads the line.
 */
#pragma once

#define SKIP_BECAUSE(reason)                                          \
	do {                                                          \
		print_message("skipped: %s: " reason "\n", __func__); \
		skip();                                               \
	} while (0)
