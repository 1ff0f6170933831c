/*
 * Which layout an OTLP export request has, when nothing says so.
 *
 * Shape    one look over the whole request without interpreting it. A request comes from
 *          one encoder, so it has one layout; the kinds of its fields tell it. Samples
 *          that fit two layouts are decided by what their numbers can mean.
 * Errors   ERROR_INVALID for malformed bytes, for a request without dictionary that is
 *          none of the oldest layout either, and for samples of two layouts.
 * Threads  none.
 * Source   ingest specification, 5.3 and 11.3
 */
#pragma once

#include "base/error.h"
#include "formats/otlp_layout.h"

int otlp_detect(struct str request, const struct otlp_layout **out_layout, struct error *err);
