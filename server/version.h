/*
 * What was built.
 */
#pragma once

const char *version_text(void);     /* "0.1.0" */
const char *version_revision(void); /* of the repository when it was configured, or "unknown" */
const char *version_branch(void);
const char *version_compiler(void);
