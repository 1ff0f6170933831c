#include "web/embed/page_assets.h"

const struct page_asset *page_assets_find(struct str path)
{
	size_t low = 0;
	size_t high = page_asset_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = str_compare(str_of(page_assets[middle].path), path);

		if (order == 0)
			return &page_assets[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
