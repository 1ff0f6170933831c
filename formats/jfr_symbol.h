/*
 * Names that the JVM and libraries make anew at each start, made equal.
 *
 * Shape    a number or an address in the name of a generated class or of an unpacked
 *          library becomes "_". Other names stay as they are.
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "base/str.h"

/* A name in two pieces, so that nothing is copied: the tail is constant, often empty. */
struct jfr_symbol {
	struct str head;
	struct str tail;
};

struct jfr_symbol jfr_symbol_clean(struct str name);
