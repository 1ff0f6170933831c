/*
 * A module's file without its code and data: what unwinding and naming read of it, and
 * nothing else, so that a recorded stack unwinds anywhere.
 *
 * Shape    "VSKL", a version (1), then varints and bytes: length of the path, path, size of
 *          the file, number of parts, for each part the gap before it and its length; the
 *          rest is one zstd frame with the parts in order. Parts are ascending and apart;
 *          between them the file reads as zeros. Kept are the headers, .eh_frame and its
 *          table, symbols and their names, notes, and the beginning of what an interpreter
 *          says of itself (.PyRuntime, Py_Version).
 * Units    bytes.
 * Errors   ERROR_TOO_LARGE past MODULE_SKELETON_MAX, ERROR_CORRUPT for bytes that are no
 *          skeleton.
 * Threads  any.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "collector/elf/code_bytes.h"

#define MODULE_SKELETON_MAX   ((size_t)256 << 20) /* of the parts, unpacked */
#define MODULE_SKELETON_PARTS 4096

struct module;

/* Appends the skeleton of a module to *out. */
int module_skeleton_write(const struct module *module, struct strbuf *out, struct error *err);

/* Unpacks one. *out_bytes and *out_path (a string to free) are the caller's. */
int module_skeleton_read(struct str skeleton, struct code_bytes *out_bytes, char **out_path,
                         struct error *err);
