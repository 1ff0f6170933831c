/*
 * A call graph as Graphviz text, in the shape that `go tool pprof -dot` writes.
 *
 * Errors   arena_error(). What does not fit into `out` is dropped there.
 * Source   read specification, 3.11
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile.h"

/*
 * The first sample type of `profile`; the top max_nodes functions (0: all). Nothing for a
 * profile without samples.
 */
int dot_write(const struct profile *profile, size_t max_nodes, struct arena *arena,
              struct strbuf *out, struct error *err);
