/*
 * libnvidia-ml.so.1, loaded while we run: no program of ours is linked with it.
 *
 * Shape    it comes from a path that somebody gave, from where the loader looks, or from
 *          where distributions and driver containers put it below the root of the machine.
 *          It stays loaded until the process ends.
 * Errors   ERROR_NOT_FOUND: it is nowhere; ERROR_UNAVAILABLE: it is there, and lacks a
 *          function or its init has failed; nothing of it may be called then.
 * Threads  none: whoever opens it. Both loading and init may take seconds, or hang.
 * Source   collector specification 2.5
 */
#pragma once

#include "base/error.h"
#include "collector/nvml/nvml_calls.h"

/* `path` "": where it usually is; `host_root` "": this machine's root is not looked into. */
int nvml_library_open(const char *path, const char *host_root, struct nvml_calls *out,
                      struct error *err);

/* ERROR_UNAVAILABLE: that function has failed, and why, where its result is known. */
int nvml_result_error(const char *symbol, int result, struct error *err);
