/* Whether this machine lets us load programs into its kernel. */
#pragma once

#include <stdbool.h>

/* NULL when it does, else why not. */
const char *permission_missing(void);

/* The same for perf uprobes, which need more than multi-uprobe links do. */
const char *permission_missing_for_perf(void);

/* Whether mappings of our own may be followed to their files, which needs more too. */
bool permission_follows_mappings(void);
