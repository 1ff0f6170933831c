/*
 * A call graph as Graphviz text, in the shape that `go tool pprof -dot` writes.
 *
 * Source   read specification, 3.11
 */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

/* One sample type (the first) of `profile`; the top max_nodes functions. Nothing for a profile without samples. */
int dot_write(const struct profile *profile, size_t max_nodes, struct arena *arena,
              struct strbuf *out, struct error *err);
