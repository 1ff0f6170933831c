/* Whether this machine lets us load programs into its kernel. */
#pragma once

/* NULL when it does, else why not. */
const char *permission_missing(void);
