/*
 * A module's file without its code and data: what unwinding and naming read of it, and
 * nothing else, so that a recorded stack unwinds anywhere.
 *
 * Shape    "VSKL", a version (1), then varints and bytes: length of the path, path, and for
 *          the file and then the separate one with its symbols (size 0: there is none) the
 *          size, the number of parts, and for each part the gap before it and its length.
 *          The rest is one zstd frame with the parts of both in order. Parts are ascending
 *          and apart; between them a file reads as zeros. Kept are the headers, .eh_frame
 *          and its table, symbols and their names, the build id, and the beginning of what
 *          an interpreter says of itself (_PyRuntime, Py_Version).
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

struct module_skeleton {
	char *path;
	struct code_bytes file;
	struct code_bytes debug; /* size 0: there is none */
};

/* Also for a zeroed one. */
void module_skeleton_fini(struct module_skeleton *skeleton);

/* Appends the skeleton of a module to *out. */
int module_skeleton_write(const struct module *module, struct strbuf *out, struct error *err);

/* Unpacks one, which is the caller's. */
int module_skeleton_read(struct str bytes, struct module_skeleton *out, struct error *err);
