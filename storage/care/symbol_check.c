/*
 * Symbol pages: each decodes (which checks what its entries refer to, and that parents
 * come before children), pages of a kind follow each other without gaps, and no two symbols
 * are equal.
 */
#include <stdio.h>

#include "base/id_map.h"
#include "base/mem.h"
#include "storage/care/window_checker.h"
#include "storage/page.h"
#include "storage/symbol_pages.h"

#define IDENTITY_MAX ((size_t)64 << 20) /* bytes of one location's lines */

/* ---- kinds ---- */

static void stand_in_string(struct symbol_table *table)
{
	(void)symbol_table_add_string(table, STR(""));
}

static void stand_in_function(struct symbol_table *table)
{
	(void)symbol_table_add_function(table, &(struct symbol_function){ 0 });
}

static void stand_in_mapping(struct symbol_table *table)
{
	(void)symbol_table_add_mapping(table, &(struct symbol_mapping){ 0 });
}

static void stand_in_location(struct symbol_table *table)
{
	(void)symbol_table_add_location(table, PROFILE_NONE, 0, NULL, 0);
}

/* Locations come first; where all of them are lost there is none to refer to. */
static void stand_in_stack(struct symbol_table *table)
{
	if (table->counts[SYMBOL_LOCATION] == 0)
		stand_in_location(table);
	(void)symbol_table_add_stack(table, 0, 0);
}

static void string_identity(const struct symbol_table *table, uint32_t id, struct strbuf *out)
{
	strbuf_add_str(out, *symbol_table_string(table, id));
}

static void put_numbers(struct strbuf *out, const uint64_t *numbers, size_t count)
{
	strbuf_add(out, numbers, count * sizeof(*numbers));
}

static void function_identity(const struct symbol_table *table, uint32_t id, struct strbuf *out)
{
	const struct symbol_function *function = symbol_table_function(table, id);
	const uint64_t numbers[] = { function->name, function->system_name, function->file,
		                     function->kind, (uint64_t)function->start_line };

	put_numbers(out, numbers, ARRAY_LENGTH(numbers));
}

static void mapping_identity(const struct symbol_table *table, uint32_t id, struct strbuf *out)
{
	const struct symbol_mapping *mapping = symbol_table_mapping(table, id);
	const uint64_t numbers[] = { mapping->start, mapping->limit,    mapping->offset,
		                     mapping->file,  mapping->build_id, mapping->flags };

	put_numbers(out, numbers, ARRAY_LENGTH(numbers));
}

static void location_identity(const struct symbol_table *table, uint32_t id, struct strbuf *out)
{
	const struct symbol_location *location = symbol_table_location(table, id);
	const uint64_t head[] = { location->mapping, location->address };

	put_numbers(out, head, ARRAY_LENGTH(head));
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct symbol_line *line = symbol_table_line(table, location->first_line + i);
		const uint64_t numbers[] = { line->function, (uint64_t)line->line };

		put_numbers(out, numbers, ARRAY_LENGTH(numbers));
	}
}

static void stack_identity(const struct symbol_table *table, uint32_t id, struct strbuf *out)
{
	const struct symbol_stack *stack = symbol_table_stack(table, id);
	const uint64_t numbers[] = { stack->parent, stack->location };

	put_numbers(out, numbers, ARRAY_LENGTH(numbers));
}

/* In the order of symbol_page_kinds. */
static const struct kind {
	const char *noun;
	uint32_t first; /* the first that is compared: the root is like no other stack */
	void (*stand_in)(struct symbol_table *table);
	void (*identity)(const struct symbol_table *table, uint32_t id, struct strbuf *out);
} kinds[SYMBOL_PAGE_KINDS] = {
	{ "string", 0, stand_in_string, string_identity },
	{ "function", 0, stand_in_function, function_identity },
	{ "mapping", 0, stand_in_mapping, mapping_identity },
	{ "location", 0, stand_in_location, location_identity },
	{ "stack", 1, stand_in_stack, stack_identity },
};

/* ---- pages ---- */

/* The pages of one kind, while they are read. */
struct page_run {
	struct window_checker *checker;
	int index;     /* of the kind */
	uint64_t next; /* the symbol that the next page must begin with */
	bool unsure;   /* of `next`: the page before did not decode */
	bool lost;     /* stand-ins are there */
	bool over;     /* too much is lost to go on */
};

static uint32_t *count_of(const struct page_run *run)
{
	return &run->checker->symbols->counts[symbol_page_kinds[run->index].symbol];
}

/* Adds stand-ins up to the symbol `until`. */
static void stand_in(struct page_run *run, uint64_t until)
{
	const uint32_t count = *count_of(run);

	if (until <= count)
		return;
	run->lost = true;
	if (until - count > STAND_INS_MAX || until >= SYMBOL_COUNT_MAX) {
		run->over = true;
		return;
	}
	while (*count_of(run) < until)
		kinds[run->index].stand_in(run->checker->symbols);
}

/* The page's place among those of its kind. */
static void check_place(struct page_run *run, const char *where, uint64_t first)
{
	struct window_checker *checker = run->checker;
	const char *noun = kinds[run->index].noun;

	if (!run->unsure && first > run->next)
		window_checker_tell(checker, "page", where, "%llu %ss before it are missing",
		                    (unsigned long long)(first - run->next), noun);
	else if (first < *count_of(run))
		window_checker_tell(checker, "page", where,
		                    "overlaps the page before it by %llu %ss",
		                    (unsigned long long)(*count_of(run) - first), noun);
	stand_in(run, first);
}

/* Whether the entries are in the table now. */
static int decode_page(struct window_checker *checker, enum page_kind kind, uint64_t first,
                       int64_t count, struct str body, struct error *err)
{
	struct str payload;

	if (count < 1 || count > SYMBOL_COUNT_MAX)
		return error_set(err, ERROR_CORRUPT, "has %lld entries", (long long)count);
	arena_reset(checker->arena);
	if (page_open(body, checker->arena, &payload, err) < 0)
		return -1;
	return symbol_page_decode(checker->symbols, kind, (uint32_t)first, (uint32_t)count, payload,
	                          err);
}

static void check_page(struct page_run *run, struct statement *rows)
{
	struct window_checker *checker = run->checker;
	const enum page_kind kind = symbol_page_kinds[run->index].page;
	const uint64_t first = (uint64_t)statement_int(rows, 0) & UINT32_MAX;
	const int64_t count = statement_int(rows, 1);
	const struct str body = statement_bytes(rows, 2);
	struct error err;
	char where[32];

	(void)snprintf(where, sizeof(where), "%d/%llu", (int)kind, (unsigned long long)first);
	checker->counts->pages++;
	window_checker_read(checker, body.length);
	check_place(run, where, first);
	if (run->over)
		return;
	run->unsure = decode_page(checker, kind, first, count, body, &err) < 0;
	if (run->unsure)
		window_checker_tell(checker, "page", where, "%s", err.message);
	run->next = first + (uint64_t)(count > 0 ? count : 1);
}

static void check_equal_ones(const struct page_run *run)
{
	struct window_checker *checker = run->checker;
	const struct kind *kind = &kinds[run->index];
	struct id_map seen = { 0 };
	struct strbuf identity;

	strbuf_init(&identity, IDENTITY_MAX);
	for (uint32_t id = kind->first; id < *count_of(run); id++) {
		bool is_new;

		strbuf_reset(&identity);
		kind->identity(checker->symbols, id, &identity);
		(void)id_map_add(&seen, hash128_str(0, strbuf_view(&identity)), &is_new);
		if (!is_new)
			window_checker_tell(checker, "page", NULL,
			                    "%s %u is equal to an earlier one", kind->noun, id);
	}
	strbuf_fini(&identity);
	id_map_fini(&seen);
}

static int check_kind(struct window_checker *checker, int index, struct error *err)
{
	const enum page_kind kind = symbol_page_kinds[index].page;
	CLEANUP(statement_freep) struct statement *rows = NULL;
	struct page_run run = { .checker = checker, .index = index };
	int more = 0;

	run.next = *count_of(&run);
	if (database_prepare(
		    checker->database,
		    "SELECT id, count, body FROM page WHERE id >= ? AND id < ? ORDER BY id", &rows,
		    err) < 0)
		return -1;
	statement_bind_int(rows, 1, (int64_t)kind << 32);
	statement_bind_int(rows, 2, ((int64_t)kind + 1) << 32);
	while (!run.over && (more = statement_step(rows, err)) > 0)
		check_page(&run, rows);
	if (run.unsure)
		stand_in(&run, run.next);
	if (run.over)
		window_checker_tell(checker, "page", NULL,
		                    "%ss behind the damaged ones cannot be checked",
		                    kinds[index].noun);
	if (run.over || more < 0)
		checker->lacks_stacks = true;
	else if (!run.lost)
		check_equal_ones(&run);
	return run.over ? 0 : more;
}

/* Kinds from 16 on are of blocks. */
static int check_other_kinds(struct window_checker *checker, struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more;

	if (database_prepare(checker->database, "SELECT id FROM page WHERE id < ? OR id >= ?",
	                     &rows, err) < 0)
		return -1;
	statement_bind_int(rows, 1, (int64_t)symbol_page_kinds[0].page << 32);
	statement_bind_int(rows, 2,
	                   ((int64_t)symbol_page_kinds[SYMBOL_PAGE_KINDS - 1].page + 1) << 32);
	while ((more = statement_step(rows, err)) > 0) {
		char where[32];

		(void)snprintf(where, sizeof(where), "%lld", (long long)statement_int(rows, 0));
		window_checker_tell(checker, "page", where, "is of no kind that is known");
	}
	return more;
}

int symbol_check(struct window_checker *checker, struct error *err)
{
	for (int i = 0; i < SYMBOL_PAGE_KINDS; i++) {
		if (check_kind(checker, i, err) < 0) {
			checker->lacks_stacks = true;
			return -1;
		}
	}
	return check_other_kinds(checker, err);
}
