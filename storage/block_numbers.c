#include "storage/block_numbers.h"

#include <math.h>
#include <string.h>

#include "base/wire.h"

#define WIDTH_MAX 8
#define STRIDE    64 /* numbers that are spread over the planes at once */

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

/* Spreads up to STRIDE numbers over planes that have `pitch` bytes. */
static void spread(const int64_t *numbers, size_t count, const struct block_numbers_plan *plan,
                   uint8_t *planes, size_t pitch)
{
	uint64_t above[STRIDE];

	for (size_t i = 0; i < count; i++)
		above[i] = (uint64_t)numbers[i] - (uint64_t)plan->least;
	if (plan->scale != 1)
		for (size_t i = 0; i < count; i++)
			above[i] /= plan->scale;
	for (unsigned plane = 0; plane < plan->width; plane++)
		for (size_t i = 0; i < count; i++)
			planes[plane * pitch + i] = (uint8_t)(above[i] >> 8 * plane);
}

void block_numbers_encode(const int64_t *numbers, size_t count,
                          const struct block_numbers_plan *plan, struct strbuf *out)
{
	uint8_t *planes;

	wire_put_varint(out, zigzag_encode(plan->least));
	strbuf_add_byte(out, (char)plan->width);
	if (plan->width == 0)
		return;
	wire_put_varint(out, plan->scale);
	planes = (uint8_t *)strbuf_reserve(out, plan->width * count);
	if (!planes)
		return;
	for (size_t i = 0; i < count; i += STRIDE)
		spread(numbers + i, count - i < STRIDE ? count - i : STRIDE, plan, planes + i,
		       count);
	strbuf_advance(out, plan->width * count);
}

/* ---- reading ---- */

bool block_numbers_decode(struct byte_cursor *cursor, size_t count, struct block_numbers *out)
{
	const int64_t least = byte_cursor_signed(cursor);
	const uint64_t width = byte_cursor_number(cursor);
	const uint64_t scale = width > 0 ? byte_cursor_number(cursor) : 1;
	struct str planes;

	if (cursor->failed || width > WIDTH_MAX ||
	    (width > 0 && count > byte_cursor_left(cursor) / width))
		return false;
	planes = byte_cursor_run(cursor, width * count);
	*out = (struct block_numbers){ count, least, scale, (unsigned)width,
		                       (const uint8_t *)planes.data };
	return !cursor->failed;
}

static void unpack(const struct block_numbers *numbers, size_t first, size_t count, int64_t *out)
{
	const uint8_t *plane = numbers->planes + first;

	for (size_t i = 0; i < count; i++)
		out[i] = plane[i];
	for (unsigned shift = 8; shift < 8 * numbers->width; shift += 8) {
		plane += numbers->count;
		for (size_t i = 0; i < count; i++)
			out[i] |= (int64_t)((uint64_t)plane[i] << shift);
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
	const uint8_t *plane = numbers->planes + first; /* not NULL: a view of what was read */
	uint64_t sum = 0;

	for (unsigned shift = 0; shift < 8 * numbers->width; shift += 8, plane += numbers->count)
		sum += sum_bytes(plane, mask, count) << shift;
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
