/*
 * Names as Go's compiler makes them: type parameters by shape are cut out.
 *
 * Shape    pkg.F[go.shape.int] becomes pkg.F; pkg.F[int] stays.
 * Errors   false when the arena is full.
 * Threads  none.
 * Source   ingest specification, 2.5
 */
#pragma once

#include "profile/label_set.h"
#include "profile/profile.h"

/*
 * Whether the profile is one of Go: by its spy label, else by the first telling string.
 */
bool go_names_apply(const struct profile *profile, const struct label_set *labels);

/*
 * Cuts the shapes out of every string, and lets stacks refer to one location where
 * several became equal by that.
 */
bool go_names_cut(struct profile *profile);
