/*
 * The files of the pages, as they were when the program was built.
 *
 * Shape    a table in the order of the paths' bytes, made by pack_assets; contents are gzip,
 *          and lie in the program's read-only data.
 * Threads  any.
 * Source   web-ui specification, 3.3
 */
#pragma once

#include "base/hash.h"

struct page_asset {
	const char *path; /* below the folder: "index.html", "assets/index-1a2b.js" */
	const char *type;
	const unsigned char *packed; /* gzip, up to packed_end */
	const unsigned char *packed_end;
	size_t size;         /* of the file */
	struct hash128 hash; /* of the file's bytes, with key 0 */
};

/* The table: page_asset_count entries of a generated source. */
extern const struct page_asset page_assets[];
extern const size_t page_asset_count;

/* The file of exactly that path, or NULL. */
const struct page_asset *page_assets_find(struct str path);

static inline struct str page_asset_packed(const struct page_asset *asset)
{
	return str_make((const char *)asset->packed, (size_t)(asset->packed_end - asset->packed));
}
