/*
 * Names as people wrote them: C++ and Rust. The only file that includes libiberty.
 *
 * Shape    suffixes that compilers put on clones of a function (.isra.0, .cold) and versions
 *          (@GLIBC_2.2.5) are left out; `@plt` becomes " (plt)". C names stay as they are.
 * Units    bytes.
 * Errors   none: what cannot be demangled within the limits stays mangled.
 * Threads  any.
 * Source   collector specification 5, 7
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/strbuf.h"

#define DEMANGLE_INPUT_MAX  2048 /* longer ones stay: libiberty takes stack by their square */
#define DEMANGLE_OUTPUT_MAX 8192 /* substitutions can grow without end */

/*
 * Appends the readable form of `name` to *out. Says whether it differs from `name`; when it
 * does not, nothing was appended.
 */
bool demangle(struct str name, struct strbuf *out);
