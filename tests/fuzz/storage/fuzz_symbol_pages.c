/*
 * Symbol pages, one after the other into one table: kind, count, length and payload. What
 * was taken in must encode to pages that a second table takes in, with the same entries.
 */
#include <stdint.h>
#include <stdlib.h>

#include "storage/byte_cursor.h"
#include "storage/interner.h"
#include "storage/symbol_pages.h"

#define PAGES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_pages(struct symbol_table *table, struct str input)
{
	struct byte_cursor cursor = byte_cursor(input);

	for (int i = 0; i < PAGES_MAX && cursor.at < cursor.end; i++) {
		const enum page_kind kind = (enum page_kind)(byte_cursor_number(&cursor) & 7);
		const uint32_t back = (uint32_t)(byte_cursor_number(&cursor) & 3);
		const uint32_t count = (uint32_t)byte_cursor_number(&cursor);
		const struct str payload = byte_cursor_text(&cursor);
		uint32_t first = 0;
		struct error err;

		for (size_t j = 0; j < SYMBOL_PAGE_KINDS; j++)
			if (symbol_page_kinds[j].page == kind)
				first = table->counts[symbol_page_kinds[j].symbol];
		(void)symbol_page_decode(table, kind, first > back ? first - back : first, count,
		                         payload, &err);
	}
}

static void copy(const struct symbol_table *from, struct symbol_table *to)
{
	for (size_t i = 0; i < SYMBOL_PAGE_KINDS; i++) {
		const struct symbol_page_kind kind = symbol_page_kinds[i];
		const uint32_t first = to->counts[kind.symbol];
		const uint32_t end = from->counts[kind.symbol];
		struct strbuf page;
		struct error err;

		if (first == end)
			continue;
		strbuf_init(&page, (size_t)64 << 20);
		symbol_page_encode(from, kind.page, first, end, &page);
		if (symbol_page_decode(to, kind.page, first, end - first, strbuf_view(&page),
		                       &err) < 0 ||
		    to->counts[kind.symbol] != end)
			abort();
		strbuf_fini(&page);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_table *table = symbol_table_new();
	struct symbol_table *second = symbol_table_new();
	struct interner *interner = NULL;
	struct error err;

	decode_pages(table, str_make(data, size));
	copy(table, second);
	if (interner_new(table, 1, &interner, &err) == 0)
		interner_free(interner);
	symbol_table_free(second);
	symbol_table_free(table);
	return 0;
}
