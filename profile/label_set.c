#include "profile/label_set.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

#define INSERTION_MAX 32 /* labels; more are merged from runs of this length. A guess */

static void insertion_sort(struct label *labels, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct label label = labels[i];
		size_t at = i;

		while (at > 0 && str_compare(labels[at - 1].name, label.name) > 0) {
			labels[at] = labels[at - 1];
			at--;
		}
		labels[at] = label;
	}
}

/* Merges the sorted runs from[0, middle) and from[middle, count) into `to`. */
static void merge_runs(const struct label *from, size_t middle, size_t count, struct label *to)
{
	size_t left = 0;
	size_t right = middle;

	for (size_t i = 0; i < count; i++) {
		if (right == count ||
		    (left < middle && str_compare(from[left].name, from[right].name) <= 0))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

static void merge_sort(struct label *labels, size_t count)
{
	struct label *from = labels;
	struct label *scratch = mem_zalloc(count, sizeof(*scratch));
	struct label *to = scratch;

	for (size_t at = 0; at < count; at += INSERTION_MAX)
		insertion_sort(labels + at,
		               count - at < INSERTION_MAX ? count - at : INSERTION_MAX);
	for (size_t width = INSERTION_MAX; width < count; width *= 2) {
		struct label *swapped = from;

		for (size_t at = 0; at < count; at += 2 * width) {
			const size_t left = count - at;

			merge_runs(from + at, left < width ? left : width,
			           left < 2 * width ? left : 2 * width, to + at);
		}
		from = to;
		to = swapped;
	}
	if (from != labels)
		memcpy(labels, from, count * sizeof(*labels));
	free(scratch);
}

void label_set_sort(struct label_set *set)
{
	if (set->count <= INSERTION_MAX)
		insertion_sort(set->labels, set->count);
	else
		merge_sort(set->labels, set->count);
}

const struct str *label_set_find(const struct label_set *set, struct str name)
{
	size_t low = 0;
	size_t high = set->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (str_compare(set->labels[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < set->count && str_equal(set->labels[low].name, name))
		return &set->labels[low].value;
	return NULL;
}

int label_set_compare(const struct label_set *a, const struct label_set *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = str_compare(a->labels[i].name, b->labels[i].name);

		if (order == 0)
			order = str_compare(a->labels[i].value, b->labels[i].value);
		if (order != 0)
			return order;
	}
	return (a->count > b->count) - (a->count < b->count);
}

struct hash128 label_set_fingerprint(const struct label_set *set, uint64_t key)
{
	struct hash128 chain = { set->count, 0 };

	for (size_t i = 0; i < set->count; i++) {
		const struct hash128 link[3] = { chain, hash128_str(key, set->labels[i].name),
			                         hash128_str(key, set->labels[i].value) };

		chain = hash128(key, link, sizeof(link));
	}
	return chain;
}

bool label_set_copy(const struct label_set *set, struct arena *arena, struct label_set *out)
{
	struct label *labels = arena_array_raw(arena, set->count, sizeof(*labels));

	if (!labels)
		return false;
	for (size_t i = 0; i < set->count; i++) {
		labels[i].name = arena_copy(arena, set->labels[i].name);
		labels[i].value = arena_copy(arena, set->labels[i].value);
		if (!labels[i].name.data || !labels[i].value.data)
			return false;
	}
	*out = (struct label_set){ labels, set->count };
	return true;
}

/* The letter behind the backslash of Go's short escapes, or 0. */
static char escape_letter(uint32_t rune)
{
	switch (rune) {
	case '\a':
		return 'a';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	case '\v':
		return 'v';
	case '\\':
	case '"':
		return (char)rune;
	default:
		return 0;
	}
}

/*
 * Blanks other than ' ', controls and marks without a picture, roughly as Go tells them.
 */
static bool is_printable(uint32_t rune)
{
	return rune >= 0x20 && (rune < 0x7f || rune > 0xa0) && rune != 0xad &&
	       (rune < 0x2000 || rune > 0x200f) && (rune < 0x2028 || rune > 0x202f) &&
	       (rune < 0x205f || rune > 0x206f) && (rune < 0xe000 || rune > 0xf8ff) &&
	       rune != 0x3000 && rune != 0xfeff && rune < 0xe0000;
}

static void quote_rune(uint32_t rune, struct str bytes, struct strbuf *out)
{
	const char letter = escape_letter(rune);

	if (letter) {
		strbuf_add_byte(out, '\\');
		strbuf_add_byte(out, letter);
	} else if (is_printable(rune)) {
		strbuf_add_str(out, bytes);
	} else if (rune < 0x80) {
		strbuf_printf(out, "\\x%02x", rune);
	} else if (rune < 0x10000) {
		strbuf_printf(out, "\\u%04x", rune);
	} else {
		strbuf_printf(out, "\\U%08x", rune);
	}
}

static void quote(struct str text, struct strbuf *out)
{
	strbuf_add_byte(out, '"');
	while (text.length > 0) {
		uint32_t rune;
		const int length = utf8_next(text, &rune);

		if (length < 0)
			strbuf_printf(out, "\\x%02x", (unsigned char)text.data[0]);
		else
			quote_rune(rune, str_first(text, (size_t)length), out);
		text = str_skip(text, length < 0 ? 1 : (size_t)length);
	}
	strbuf_add_byte(out, '"');
}

void label_set_format(const struct label_set *set, struct strbuf *out)
{
	strbuf_add_byte(out, '{');
	for (size_t i = 0; i < set->count; i++) {
		if (i > 0)
			strbuf_add_text(out, ", ");
		strbuf_add_str(out, set->labels[i].name);
		strbuf_add_byte(out, '=');
		quote(set->labels[i].value, out);
	}
	strbuf_add_byte(out, '}');
}
