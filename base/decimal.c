#include "base/decimal.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX    17   /* enough for every double */
#define DIGITS_SAFE   15   /* every decimal of so many digits survives a normal double */
#define WHOLE_MAX     1e15 /* whole numbers below are printed as integers */
#define PLAIN_BELOW   21   /* exponent from which the form with an exponent is used */
#define PLAIN_DOWN_TO (-6)

/* d.ddd * 10^exponent, without zeros at the end. */
struct decimal {
	char digits[DIGITS_MAX + 1];
	size_t count;
	int exponent;
};

/* The decimal of `count` digits that is nearest to `number`, which is above zero. */
static struct decimal nearest(double number, size_t count)
{
	struct decimal decimal = { .count = count };
	char text[DECIMAL_MAX];

	(void)snprintf(text, sizeof(text), "%.*e", (int)count - 1, number);
	decimal.digits[0] = text[0];
	memcpy(decimal.digits + 1, text + 2, count - 1);
	decimal.exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	return decimal;
}

static bool reads_back(const struct decimal *decimal, double number)
{
	char text[DECIMAL_MAX];

	(void)snprintf(text, sizeof(text), "%c.%se%d", decimal->digits[0], decimal->digits + 1,
	               decimal->exponent);
	return strtod(text, NULL) == number;
}

/* The next decimal of as many digits. */
static void step_up(struct decimal *decimal)
{
	size_t i = decimal->count;

	while (i > 0 && decimal->digits[i - 1] == '9')
		decimal->digits[--i] = '0';
	if (i > 0) {
		decimal->digits[i - 1]++;
		return;
	}
	decimal->digits[0] = '1';
	decimal->exponent++;
}

static struct decimal shortest(double number)
{
	/* few digits carry a subnormal number, and fewer than fifteen can be enough */
	size_t count = number < DBL_MIN ? 1 : DIGITS_SAFE;
	struct decimal decimal = nearest(number, count);

	while (count < DIGITS_MAX && !reads_back(&decimal, number)) {
		/* below a power of two doubles lie closer: the nearest may be wrong */
		step_up(&decimal);
		if (reads_back(&decimal, number))
			break;
		decimal = nearest(number, ++count);
	}
	while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
		decimal.digits[--decimal.count] = '\0';
	return decimal;
}

static int format_plain(const struct decimal *decimal, char *text, size_t size)
{
	const int point = decimal->exponent + 1; /* digits before it */
	const int count = (int)decimal->count;

	if (point <= 0)
		return snprintf(text, size, "0.%.*s%s", -point, "000000", decimal->digits);
	if (point >= count)
		return snprintf(text, size, "%s%.*s", decimal->digits, point - count,
		                "00000000000000000000");
	return snprintf(text, size, "%.*s.%s", point, decimal->digits, decimal->digits + point);
}

size_t decimal_format(double number, char text[static DECIMAL_MAX])
{
	char *const end = text + DECIMAL_MAX;
	char *at = text;
	struct decimal decimal;

	assert(isfinite(number));
	if (fabs(number) < WHOLE_MAX && number == trunc(number) &&
	    !(number == 0 && signbit(number)))
		return (size_t)snprintf(text, DECIMAL_MAX, "%" PRId64, (int64_t)number);
	if (signbit(number)) {
		*at++ = '-';
		number = -number;
	}
	if (number == 0) {
		memcpy(at, "0", 2);
		return (size_t)(at - text) + 1;
	}
	decimal = shortest(number);
	if (decimal.exponent >= PLAIN_DOWN_TO && decimal.exponent < PLAIN_BELOW)
		at += format_plain(&decimal, at, end - at);
	else
		at += snprintf(at, end - at, "%c%s%se%+d", decimal.digits[0],
		               decimal.count > 1 ? "." : "", decimal.digits + 1, decimal.exponent);
	return (size_t)(at - text);
}
