/*
 * From a name to the address that a file exports under it.
 *
 * The table .gnu.hash: {buckets, first symbol, words of the filter, shift}, the filter, the
 * buckets (the first symbol of each chain), and a hash for each symbol from the first on,
 * whose lowest bit ends a chain. A name that is not there costs one read of the filter, so
 * that all files of a process can be asked.
 */
#include <elf.h>
#include <string.h>

#include "collector/elf/elf_image.h"

#define CHAIN_MAX      4096                /* symbols of one bucket */
#define SCAN_MAX       ((uint64_t)1 << 20) /* symbols, where there is no .gnu.hash */
#define SCAN_CHUNK     256
#define NAME_MAX_BYTES 512

struct gnu_hash_header {
	uint32_t bucket_count;
	uint32_t first_symbol;
	uint32_t filter_words;
	uint32_t filter_shift;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool is_definition(const struct elf_image *image, const Elf64_Sym *symbol, const char *name)
{
	const struct elf_section *names = &image->dynsym.names;
	char text[NAME_MAX_BYTES];

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return false;
	return str_equals(code_bytes_text(image->bytes, names->offset + symbol->st_name,
	                                  names->offset + names->size, text, sizeof(text)),
	                  name);
}

static bool symbol_at(const struct elf_image *image, uint64_t number, Elf64_Sym *out)
{
	const struct elf_section *table = &image->dynsym.table;

	return number < table->size / sizeof(*out) &&
	       code_bytes_get(image->bytes, table->offset + number * sizeof(*out), out,
	                      sizeof(*out));
}

/* A piece of .gnu.hash; false when it is not in the section. */
static bool hash_at(const struct elf_image *image, uint64_t at, void *to, size_t length)
{
	const struct elf_section *table = &image->gnu_hash;

	return at < table->size && length <= table->size - at &&
	       code_bytes_get(image->bytes, table->offset + at, to, length);
}

/* 1 found, 0 not there, -1: the table is of no use. */
static int find_by_hash(const struct elf_image *image, const char *name, Elf64_Sym *out)
{
	const uint32_t hash = gnu_hash(name);
	struct gnu_hash_header header;
	uint64_t filter;
	uint64_t buckets;
	uint64_t bits;
	uint32_t number;

	if (!hash_at(image, 0, &header, sizeof(header)) || header.bucket_count == 0 ||
	    header.filter_words == 0 || header.filter_shift > 31)
		return -1;
	filter = sizeof(header) + (hash / 64 % header.filter_words) * UINT64_C(8);
	bits = (UINT64_C(1) << hash % 64) | (UINT64_C(1) << (hash >> header.filter_shift) % 64);
	if (!hash_at(image, filter, &filter, sizeof(filter)))
		return -1;
	if ((filter & bits) != bits)
		return 0;
	buckets = sizeof(header) + header.filter_words * UINT64_C(8);
	if (!hash_at(image, buckets + hash % header.bucket_count * UINT64_C(4), &number,
	             sizeof(number)))
		return -1;
	if (number < header.first_symbol)
		return number == 0 ? 0 : -1;
	for (uint32_t i = 0; i < CHAIN_MAX; i++, number++) {
		const uint64_t chain = buckets + header.bucket_count * UINT64_C(4);
		uint32_t entry;

		if (!hash_at(image, chain + (number - header.first_symbol) * UINT64_C(4), &entry,
		             sizeof(entry)))
			return -1;
		if ((entry | 1) == (hash | 1) && symbol_at(image, number, out) &&
		    is_definition(image, out, name))
			return 1;
		if (entry & 1)
			return 0;
	}
	return 0;
}

static bool find_by_scan(const struct elf_image *image, const char *name, Elf64_Sym *out)
{
	const struct elf_section *table = &image->dynsym.table;
	Elf64_Sym chunk[SCAN_CHUNK];
	uint64_t count = table->size / sizeof(*out);

	if (count > SCAN_MAX)
		count = SCAN_MAX;
	for (uint64_t done = 0; done < count;) {
		const uint64_t left = count - done < SCAN_CHUNK ? count - done : SCAN_CHUNK;
		const size_t got = code_bytes_read(image->bytes,
		                                   table->offset + done * sizeof(*out), chunk,
		                                   left * sizeof(*out)) /
		                   sizeof(*out);

		for (size_t i = 0; i < got; i++) {
			if (!is_definition(image, &chunk[i], name))
				continue;
			*out = chunk[i];
			return true;
		}
		if (got < left)
			return false;
		done += got;
	}
	return false;
}

bool elf_image_export(const struct elf_image *image, const char *name, uint64_t *out_address)
{
	Elf64_Sym symbol;
	int found = -1;

	if (image->dynsym.table.size == 0)
		return false;
	if (image->gnu_hash.size > 0)
		found = find_by_hash(image, name, &symbol);
	if (found == 0 || (found < 0 && !find_by_scan(image, name, &symbol)))
		return false;
	*out_address = symbol.st_value;
	return true;
}
