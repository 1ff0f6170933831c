#include "collector/elf/symbol_index.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define CHUNK_SYMBOLS 2048
#define ALIASES_MAX   32 /* functions at one address whose names are compared */
#define NESTED_MAX    16 /* functions that are looked at behind one that does not reach */

void symbol_index_init(struct symbol_index *table, uint64_t base)
{
	*table = (struct symbol_index){ .base = base };
}

void symbol_index_fini(struct symbol_index *table)
{
	free(table->symbols);
	*table = (struct symbol_index){ 0 };
}

static uint8_t binding_rank(unsigned char info)
{
	switch (ELF64_ST_BIND(info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

static bool is_function(const struct symbol_index *table, const Elf64_Sym *symbol)
{
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size > 0 && symbol->st_size <= UINT32_MAX &&
	       symbol->st_value >= table->base && symbol->st_value - table->base <= UINT32_MAX;
}

/* The functions of a table; kept in `to` unless that is NULL. -1: it cannot be read. */
static int64_t walk(const struct symbol_index *table, const struct code_bytes *bytes,
                    const struct elf_section *section, struct symbol *to, size_t capacity)
{
	CLEANUP(mem_freep) Elf64_Sym *chunk = mem_zalloc(CHUNK_SYMBOLS, sizeof(*chunk));
	const uint64_t count = section->size / sizeof(*chunk);
	size_t kept = 0;

	for (uint64_t done = 0; done < count;) {
		const uint64_t left = count - done < CHUNK_SYMBOLS ? count - done : CHUNK_SYMBOLS;

		if (!code_bytes_get(bytes, section->offset + done * sizeof(*chunk), chunk,
		                    left * sizeof(*chunk)))
			return -1;
		for (size_t i = 0; i < left; i++) {
			if (!is_function(table, &chunk[i]))
				continue;
			if (to && kept == capacity)
				return (int64_t)kept;
			if (to)
				to[kept] = (struct symbol){
					.start = (uint32_t)(chunk[i].st_value - table->base),
					.size = (uint32_t)chunk[i].st_size,
					.name = chunk[i].st_name,
					.source = (uint8_t)table->source_count,
					.binding = binding_rank(chunk[i].st_info),
				};
			kept++;
		}
		done += left;
	}
	return (int64_t)kept;
}

int symbol_index_add(struct symbol_index *table, const struct code_bytes *bytes,
                     const struct elf_symbols *symbols, struct error *err)
{
	int64_t count;

	assert(table->source_count < SYMBOL_SOURCES_MAX);
	if (symbols->table.size / sizeof(Elf64_Sym) > 4 * SYMBOLS_MAX)
		return error_set(err, ERROR_TOO_LARGE, "more than %zu symbols", 4 * SYMBOLS_MAX);
	count = walk(table, bytes, &symbols->table, NULL, 0);
	if (count < 0)
		return error_set(err, ERROR_CORRUPT, "the symbol table cannot be read");
	if ((size_t)count > SYMBOLS_MAX - table->count)
		return error_set(err, ERROR_TOO_LARGE, "more than %zu functions", SYMBOLS_MAX);
	if (count == 0)
		return 0;
	table->symbols =
		mem_resize(table->symbols, table->count + (size_t)count, sizeof(*table->symbols));
	count = walk(table, bytes, &symbols->table, table->symbols + table->count, (size_t)count);
	if (count < 0)
		return error_set(err, ERROR_CORRUPT, "the symbol table cannot be read");
	table->count += (size_t)count;
	table->sources[table->source_count++] =
		(struct symbol_source){ .bytes = bytes, .names = symbols->names };
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct symbol *first = a;
	const struct symbol *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

void symbol_index_sort(struct symbol_index *table)
{
	if (table->count > 1)
		qsort(table->symbols, table->count, sizeof(*table->symbols), compare_starts);
}

/* The index behind the last symbol that starts at or before `start`. */
static size_t find_behind(const struct symbol_index *table, uint32_t start)
{
	size_t low = 0;
	size_t high = table->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t underscores(struct str name)
{
	size_t count = 0;

	while (count < name.length && name.data[count] == '_')
		count++;
	return count;
}

/* Below zero when `a` is the better name of the two. */
static int compare_names(const struct symbol *a, struct str a_name, const struct symbol *b,
                         struct str b_name)
{
	const size_t a_underscores = underscores(a_name);
	const size_t b_underscores = underscores(b_name);

	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding > b->binding ? -1 : 1;
	if (a_name.length != b_name.length)
		return a_name.length < b_name.length ? -1 : 1;
	return str_compare(a_name, b_name);
}

/* Of the symbols that begin where `last` does and reach `address`: the best name. */
static const struct symbol *best_alias(const struct symbol_index *table, size_t last,
                                       uint32_t address)
{
	const struct symbol *best = NULL;
	const uint32_t start = table->symbols[last].start;
	char texts[2][SYMBOL_NAME_MAX + 1];
	struct str best_name = { NULL, 0 };
	int spare = 0;

	for (size_t i = 0; i < ALIASES_MAX && i <= last; i++) {
		const struct symbol *symbol = &table->symbols[last - i];
		struct str name;

		if (symbol->start != start)
			break;
		if (address - start >= symbol->size)
			continue;
		if (!best && (i == last || table->symbols[last - i - 1].start != start))
			return symbol; /* the usual case: no alias, no name is read */
		name = symbol_index_name(table, symbol, texts[spare]);
		if (name.length == 0 || (best && compare_names(best, best_name, symbol, name) <= 0))
			continue;
		best = symbol;
		best_name = name;
		spare = !spare;
	}
	return best;
}

const struct symbol *symbol_index_find(const struct symbol_index *table, uint64_t address)
{
	uint32_t relative;
	size_t behind;

	if (address < table->base || address - table->base > UINT32_MAX)
		return NULL;
	relative = (uint32_t)(address - table->base);
	behind = find_behind(table, relative);
	for (size_t i = 0; i < NESTED_MAX && i < behind; i++) {
		const struct symbol *symbol = &table->symbols[behind - 1 - i];

		if (relative - symbol->start >= symbol->size)
			continue;
		/* Aliases that begin here may stand on both sides of this one. */
		return best_alias(table, find_behind(table, symbol->start) - 1, relative);
	}
	return NULL;
}

struct str symbol_index_name(const struct symbol_index *table, const struct symbol *symbol,
                             char *to)
{
	const struct symbol_source *source = &table->sources[symbol->source];

	return code_bytes_text(source->bytes, source->names.offset + symbol->name,
	                       source->names.offset + source->names.size, to, SYMBOL_NAME_MAX + 1);
}

size_t symbol_index_bytes(const struct symbol_index *table)
{
	return table->count * sizeof(*table->symbols);
}
