/*
 * What devices say of themselves, as Prometheus text: beside live bytes it adds up to what
 * is used.
 *
 * Errors   none: the buffer's limit bounds the text.
 * Threads  none: the collector's.
 * Source   collector specification 3.5
 */
#pragma once

#include "collector/live/device_books.h"
#include "collector/live/metrics_text.h"

/* Nothing but that they are not asked, or do not answer, where there is no picture. */
void device_metrics_format(const struct metrics_text *text, const struct device_books *devices);
