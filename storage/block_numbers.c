#include "storage/block_numbers.h"

#include <math.h>
#include <string.h>

#include "base/wire.h"

#define WIDTH_MAX BLOCK_NUMBERS_WIDTH_MAX

/* ---- measuring ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static unsigned width_of(uint64_t largest)
{
	unsigned width = 0;

	for (; largest > 0; largest >>= 8)
		width++;
	return width;
}

static int64_t least_of(const int64_t *numbers, size_t count)
{
	int64_t least = count > 0 ? numbers[0] : 0;

	for (size_t i = 1; i < count; i++)
		if (numbers[i] < least)
			least = numbers[i];
	return least;
}

/* What all differences to `least` are multiples of; 0 when all are `least`. */
static uint64_t scale_of(const int64_t *numbers, size_t count, int64_t least, uint64_t *out_largest)
{
	uint64_t scale = 0;
	uint64_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t above = (uint64_t)numbers[i] - (uint64_t)least;

		if (above > largest)
			largest = above;
		if (scale != 1 && above != 0)
			scale = common_divisor(above, scale);
	}
	*out_largest = largest;
	return scale;
}

/* The bits of a plane by its bytes' frequencies. */
static double entropy_of(const uint32_t *frequencies, size_t count)
{
	double bits = 0;

	for (size_t i = 0; i < 256; i++)
		if (frequencies[i] > 0)
			bits += frequencies[i] * log2((double)count / frequencies[i]);
	return bits;
}

static uint64_t bits_of(const int64_t *numbers, size_t count, const struct block_numbers_plan *plan)
{
	uint32_t frequencies[WIDTH_MAX][256] = { { 0 } };
	double bits = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t n = (uint64_t)numbers[i] - (uint64_t)plan->least;

		if (plan->scale != 1)
			n /= plan->scale;
		for (unsigned plane = 0; plane < plan->width; plane++)
			frequencies[plane][n >> 8 * plane & 0xff]++;
	}
	for (unsigned plane = 0; plane < plan->width; plane++)
		bits += entropy_of(frequencies[plane], count);
	return (uint64_t)bits;
}

struct block_numbers_plan block_numbers_measure(const int64_t *numbers, size_t count)
{
	struct block_numbers_plan plan = { .least = least_of(numbers, count) };
	uint64_t largest;

	plan.scale = scale_of(numbers, count, plan.least, &largest);
	plan.width = plan.scale > 0 ? width_of(largest / plan.scale) : 0;
	if (plan.width > 0)
		plan.bits = bits_of(numbers, count, &plan);
	return plan;
}

/* ---- writing ---- */

/* What stands for a number. */
static uint64_t above_least(int64_t number, const struct block_numbers_plan *plan)
{
	const uint64_t above = (uint64_t)number - (uint64_t)plan->least;

	return plan->scale == 1 ? above : above / plan->scale;
}

static void put_plane(const int64_t *numbers, size_t count, const struct block_numbers_plan *plan,
                      unsigned shift, struct strbuf *out)
{
	uint8_t *plane;

	while (count > 0 && (above_least(numbers[count - 1], plan) >> shift & 0xff) == 0)
		count--;
	wire_put_varint(out, count);
	plane = (uint8_t *)strbuf_reserve(out, count);
	if (!plane)
		return;
	for (size_t i = 0; i < count; i++)
		plane[i] = (uint8_t)(above_least(numbers[i], plan) >> shift);
	strbuf_advance(out, count);
}

void block_numbers_encode(const int64_t *numbers, size_t count,
                          const struct block_numbers_plan *plan, struct strbuf *out)
{
	wire_put_varint(out, zigzag_encode(plan->least));
	strbuf_add_byte(out, (char)plan->width);
	if (plan->width > 0)
		wire_put_varint(out, plan->scale);
	for (unsigned shift = 0; shift < 8 * plan->width; shift += 8)
		put_plane(numbers, count, plan, shift, out);
}

/* ---- reading ---- */

bool block_numbers_decode(struct byte_cursor *cursor, size_t count, struct block_numbers *out)
{
	struct block_numbers numbers = { .count = count, .least = byte_cursor_signed(cursor) };
	const uint64_t width = byte_cursor_number(cursor);

	if (width > WIDTH_MAX)
		return false;
	numbers.width = (unsigned)width;
	numbers.scale = width > 0 ? byte_cursor_number(cursor) : 1;
	for (unsigned plane = 0; plane < width; plane++) {
		numbers.planes[plane] = byte_cursor_text(cursor);
		if (numbers.planes[plane].length > count)
			return false;
	}
	if (cursor->failed)
		return false;
	*out = numbers;
	return true;
}

/* The part of a plane that has bytes of numbers [first, first + count). */
static struct str part_of(struct str plane, size_t first, size_t count)
{
	return str_first(str_skip(plane, first), count);
}

static void unpack(const struct block_numbers *numbers, size_t first, size_t count, int64_t *out)
{
	const struct str low = part_of(numbers->planes[0], first, count);

	for (size_t i = 0; i < low.length; i++)
		out[i] = (uint8_t)low.data[i];
	for (size_t i = low.length; i < count; i++)
		out[i] = 0;
	for (unsigned plane = 1; plane < numbers->width; plane++) {
		const struct str part = part_of(numbers->planes[plane], first, count);

		for (size_t i = 0; i < part.length; i++)
			out[i] |= (int64_t)((uint64_t)(uint8_t)part.data[i] << 8 * plane);
	}
}

void block_numbers_read(const struct block_numbers *numbers, size_t first, size_t count,
                        int64_t *out)
{
	const uint64_t least = (uint64_t)numbers->least;
	const uint64_t scale = numbers->scale;

	if (numbers->width == 0) {
		for (size_t i = 0; i < count; i++)
			out[i] = numbers->least;
		return;
	}
	unpack(numbers, first, count, out);
	if (scale != 1)
		for (size_t i = 0; i < count; i++)
			out[i] = (int64_t)((uint64_t)out[i] * scale);
	if (least != 0)
		for (size_t i = 0; i < count; i++)
			out[i] = (int64_t)((uint64_t)out[i] + least);
}

/* ---- adding up ---- */

#define LANES      UINT64_C(0x00ff00ff00ff00ff) /* every other byte of eight */
#define LANE_TURNS 128                          /* two bytes a turn: what 16 bits hold */

static uint64_t load(const uint8_t *bytes)
{
	uint64_t eight;

	memcpy(&eight, bytes, sizeof(eight));
	return eight;
}

static uint64_t add_lanes(uint64_t lanes)
{
	const uint64_t halves = (lanes & UINT64_C(0x0000ffff0000ffff)) +
	                        (lanes >> 16 & UINT64_C(0x0000ffff0000ffff));

	return (halves & UINT32_MAX) + (halves >> 32);
}

/* The sum of the bytes, or of those under the mask: eight at once. */
static inline uint64_t sum_bytes(const uint8_t *bytes, const uint8_t *mask, size_t count)
{
	uint64_t sum = 0;
	size_t i = 0;

	while (i + 8 <= count) {
		uint64_t lanes = 0;

		for (int turn = 0; turn < LANE_TURNS && i + 8 <= count; turn++, i += 8) {
			const uint64_t eight = load(bytes + i) &
			                       (mask ? load(mask + i) : UINT64_MAX);

			lanes += (eight & LANES) + (eight >> 8 & LANES);
		}
		sum += add_lanes(lanes);
	}
	for (; i < count; i++)
		sum += bytes[i] & (mask ? mask[i] : 0xff);
	return sum;
}

static inline uint64_t sum_planes(const struct block_numbers *numbers, size_t first, size_t count,
                                  const uint8_t *mask)
{
	uint64_t sum = 0;

	for (unsigned plane = 0; plane < numbers->width; plane++) {
		const struct str part = part_of(numbers->planes[plane], first, count);

		sum += sum_bytes((const uint8_t *)part.data, mask, part.length) << 8 * plane;
	}
	return sum * numbers->scale;
}

uint64_t block_numbers_sum(const struct block_numbers *numbers, size_t first, size_t count)
{
	return (uint64_t)numbers->least * count + sum_planes(numbers, first, count, NULL);
}

uint64_t block_numbers_sum_masked(const struct block_numbers *numbers, size_t first, size_t count,
                                  const uint8_t *mask)
{
	const uint64_t taken = sum_bytes(mask, NULL, count) / 0xff;

	return (uint64_t)numbers->least * taken + sum_planes(numbers, first, count, mask);
}

uint64_t block_numbers_sum_members(const struct block_numbers *numbers, size_t first, size_t count,
                                   const uint32_t *members, const uint8_t *inside)
{
	uint64_t taken = 0;
	uint64_t sum = 0;

	for (size_t i = 0; numbers->least != 0 && i < count; i++)
		taken += inside[members[i]] & 1;
	for (unsigned plane = 0; plane < numbers->width; plane++) {
		const struct str part = part_of(numbers->planes[plane], first, count);
		uint64_t bytes = 0;

		for (size_t i = 0; i < part.length; i++)
			bytes += (uint8_t)part.data[i] & inside[members[i]];
		sum += bytes << 8 * plane;
	}
	return (uint64_t)numbers->least * taken + sum * numbers->scale;
}
