/*
 * A view of bytes: a pointer and a length, by value.
 *
 * Shape    the bytes belong to somebody else, may contain NUL and need not end with
 *          one. An empty view may have a NULL pointer.
 * Units    lengths are bytes. Order is that of unsigned bytes, as memcmp's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *data;
	size_t length;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })

/* For printf's "%.*s". */
#define STR_ARGS(view) (int)(view).length, (view).data ? (view).data : ""

static inline struct str str_of(const char *text)
{
	return (struct str){ text, strlen(text) };
}

static inline struct str str_make(const void *data, size_t length)
{
	return (struct str){ (const char *)data, length };
}

static inline bool str_equal(struct str a, struct str b)
{
	/* clang's analyzer forgets that only an empty view may be without bytes */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool str_equals(struct str a, const char *text)
{
	return str_equal(a, str_of(text));
}

/* Below zero, zero, above zero, as memcmp; a prefix comes first. */
static inline int str_compare(struct str a, struct str b)
{
	const size_t shorter = a.length < b.length ? a.length : b.length;
	const int order = shorter ? memcmp(a.data, b.data, shorter) : 0;

	return order ? order : (a.length > b.length) - (a.length < b.length);
}

static inline bool str_starts_with(struct str a, struct str prefix)
{
	return a.length >= prefix.length &&
	       str_equal((struct str){ a.data, prefix.length }, prefix);
}

static inline bool str_ends_with(struct str a, struct str suffix)
{
	return a.length >= suffix.length &&
	       str_equal((struct str){ a.data + (a.length - suffix.length), suffix.length },
	                 suffix);
}

/* Without the first `count` bytes (or empty). */
static inline struct str str_skip(struct str a, size_t count)
{
	if (count >= a.length)
		return (struct str){ a.length ? a.data + a.length : a.data, 0 };
	return (struct str){ a.data + count, a.length - count };
}

/* Takes `count` bytes off the front; false when there are not so many. */
static inline bool str_take(struct str *from, size_t count, struct str *out)
{
	if (count > from->length)
		return false;
	*out = (struct str){ from->data, count };
	*from = str_skip(*from, count);
	return true;
}

/* The first `count` bytes (or all). */
static inline struct str str_first(struct str a, size_t count)
{
	return (struct str){ a.data, count < a.length ? count : a.length };
}

/* The offset of the first or last byte `c`, or -1. */
ptrdiff_t str_index(struct str a, char c);
ptrdiff_t str_last_index(struct str a, char c);

/* The offset of `needle`'s first place, or -1. */
ptrdiff_t str_find(struct str a, struct str needle);

/* Without blanks, tabs, CR, LF, VT and FF at both ends. */
struct str str_trim(struct str a);

/* Equal when ASCII letters count alike in both cases. */
bool str_equal_ignoring_case(struct str a, struct str b);

/*
 * Takes the bytes before the next `separator` off *rest. False when *rest is used
 * up (its data is NULL then). "a,,b" gives "a", "", "b"; "" gives "" once.
 */
bool str_split(struct str *rest, char separator, struct str *out_part);

/*
 * A decimal number without sign, blanks or anything else, at most `max`. False
 * when it is not that.
 */
bool str_to_u64(struct str a, uint64_t max, uint64_t *out_number);

/* The same with an optional '+' or '-'. */
bool str_to_i64(struct str a, int64_t *out_number);
