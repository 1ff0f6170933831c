/*
 * What lies in a store's folder, file by file.
 *
 * Shape    names are relative to the folder; in their order. Only what a store itself makes
 *          is listed: windows, settings, and windows that were set aside.
 * Errors   ERROR_IO for a folder that does not list to its end; ERROR_INVALID for a link in
 *          the place of a tenant's folder or file: what is there is all listed, or nothing.
 * Units    bytes of content.
 * Threads  none.
 * Source   docs/formats/store.md, "The folder"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/window_name.h"

#define LISTED_NAME_SIZE (TENANT_FOLDER_SIZE + WINDOW_FILE_SIZE + 32)

enum listed_kind {
	LISTED_WINDOW,
	LISTED_SETTINGS,
	LISTED_ASIDE, /* a window that did not read back and was set aside */
};

struct listed_file {
	enum listed_kind kind;
	char name[LISTED_NAME_SIZE]; /* tenants/t/2024-10-04.db */
	char folder[TENANT_FOLDER_SIZE];
	int32_t day;     /* not of settings */
	uint32_t number; /* likewise */
	uint64_t bytes;
};

struct store_listing {
	struct listed_file *files;
	size_t count;
	size_t capacity;
	uint64_t bytes; /* of those that are no LISTED_ASIDE */
};

int store_listing_make(const char *path, struct store_listing *out, struct error *err);
void store_listing_fini(struct store_listing *listing);

/* False for a name that no store makes. Bytes stay 0. */
bool listed_file_parse(struct str name, struct listed_file *out);

/* The index, or SIZE_MAX. */
size_t store_listing_find(const struct store_listing *listing, const char *name);
