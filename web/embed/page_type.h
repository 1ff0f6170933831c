/*
 * The content type of a file of the pages, by the ending of its name.
 *
 * Threads  any.
 */
#pragma once

#include "base/str.h"

/* NULL: no such file is expected among the pages. */
const char *page_type_of(struct str path);
