/*
 * Symbols as pages: columns of a run of ids of one kind.
 *
 * Shape    a page holds the entries [first, first + count) of one kind, column after
 *          column, as varints and differences. Lines stand with their locations, so there
 *          are no pages of lines. Payloads only: the envelope is page_seal()'s.
 * Errors   ERROR_CORRUPT for bytes that symbol_page_encode() did not write, or that refer
 *          to what is not there.
 * Threads  none.
 * Source   docs/formats/store.md, "Symbol pages"
 */
#pragma once

#include "base/strbuf.h"
#include "storage/symbol_table.h"

/* Numbers of page kinds on disk; a number is never used again for another layout. */
enum page_kind {
	PAGE_STRINGS = 1,
	PAGE_FUNCTIONS = 2,
	PAGE_MAPPINGS = 3,
	PAGE_LOCATIONS = 4,
	PAGE_STACKS = 5,
};

/* In the order in which pages must be written and read: each refers to earlier ones. */
#define SYMBOL_PAGE_KINDS 5
struct symbol_page_kind {
	enum page_kind page;
	enum symbol_kind symbol;
	uint32_t first; /* symbol that stands in a page: those before it are always there */
};
extern const struct symbol_page_kind symbol_page_kinds[SYMBOL_PAGE_KINDS];

/*
 * Appends the payload of the entries [first, end), which are in the table; first >= 1 for
 * kinds whose 0 is there from the start.
 */
void symbol_page_encode(const struct symbol_table *table, enum page_kind kind, uint32_t first,
                        uint32_t end, struct strbuf *out);

/*
 * Adds the page's entries to the table; those below the table's count are there already
 * and are skipped (a page may have been written anew with more behind it). A page that
 * starts behind the count is ERROR_CORRUPT. What was added is not published.
 */
int symbol_page_decode(struct symbol_table *table, enum page_kind kind, uint32_t first,
                       uint32_t count, struct str payload, struct error *err);
