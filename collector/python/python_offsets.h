/*
 * Where the versions of CPython keep what is read of them: python_offsets.def.
 *
 * Errors   ERROR_INVALID: a version that is not known, or a block that says what cannot be.
 * Threads  any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/python/python_description.h"

#define DEBUG_OFFSETS_BYTES 760   /* of _Py_DebugOffsets in 3.14, the largest that is read */
#define PYTHON_OFFSET_MAX   65535 /* what lies further from its structure's beginning is a lie */

/*
 * Sets version, flags, string bits and offsets as the tables have them for a build with the
 * GIL; the rest stays.
 */
int python_offsets_of_version(uint32_t version, struct python_description *description,
                              struct error *err);

/*
 * The same from the interpreter's own block, the first `length` bytes of _PyRuntime, where it
 * has one (3.13 and later); what it does not say is taken from the tables. 1; 0 when there is no
 * block; -1.
 */
int python_offsets_of_block(const uint8_t *block, size_t length,
                            struct python_description *description, struct error *err);
