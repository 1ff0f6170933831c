/*
 * Whether a description fits a process, and where its threads keep their thread states.
 *
 * Threads  none.
 * Source   unwinding specification 1.3, 3.4
 */
#pragma once

#include "collector/python/interpreter.h"

/*
 * Sees in the process that the offsets lead from _PyRuntime to code objects. Puts the place
 * of autoTSSkey right where a patch release moved it, and sets PYTHON_THREAD_DATA when a
 * thread's data lead to its state; else that of every event is looked for in the lists.
 * Errors as interpreter_describe().
 */
int interpreter_check(const struct interpreter_process *process,
                      struct python_description *description, struct error *err);
