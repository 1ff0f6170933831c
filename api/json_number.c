#include "api/json_number.h"

#include <math.h>
#include <stdlib.h>

#define NUMBER_TEXT_MAX 400  /* bytes; the longest exact double has some 330 digits */
#define EXPONENT_MAX    1000 /* past it every number but 0 is out of range */

/* A JSON number taken apart: digits (without the point) times ten to the `exponent`. */
struct decimal {
	bool negative;
	char digits[NUMBER_TEXT_MAX];
	size_t count;
	int exponent;
};

static size_t take_digits(struct str *rest, struct decimal *decimal)
{
	size_t count = 0;

	while (count < rest->length && rest->data[count] >= '0' && rest->data[count] <= '9')
		decimal->digits[decimal->count++] = rest->data[count++];
	*rest = str_skip(*rest, count);
	return count;
}

static bool take(struct str *rest, char wanted)
{
	if (rest->length == 0 || rest->data[0] != wanted)
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

static bool take_exponent(struct str *rest, struct decimal *decimal)
{
	const bool negative = take(rest, '-');
	int exponent = 0;

	if (!negative)
		(void)take(rest, '+');
	if (rest->length == 0)
		return false;
	for (size_t i = 0; i < rest->length; i++) {
		if (rest->data[i] < '0' || rest->data[i] > '9')
			return false;
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + (rest->data[i] - '0');
	}
	decimal->exponent += negative ? -exponent : exponent;
	*rest = STR("");
	return true;
}

/* JSON's grammar: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)? */
static bool decimal_parse(struct str text, struct decimal *decimal)
{
	size_t whole;

	decimal->count = 0;
	decimal->exponent = 0;
	if (text.length > NUMBER_TEXT_MAX)
		return false;
	decimal->negative = take(&text, '-');
	whole = take_digits(&text, decimal);
	if (whole == 0 || (whole > 1 && decimal->digits[0] == '0'))
		return false;
	if (take(&text, '.')) {
		const size_t fraction = take_digits(&text, decimal);

		if (fraction == 0)
			return false;
		decimal->exponent = -(int)fraction;
	}
	if ((take(&text, 'e') || take(&text, 'E')) && !take_exponent(&text, decimal))
		return false;
	return text.length == 0;
}

/* Appends a digit on the negative side, whose range is larger by one. */
static bool push_digit(int64_t *number, int digit)
{
	return !__builtin_mul_overflow(*number, 10, number) &&
	       !__builtin_sub_overflow(*number, digit, number);
}

bool json_number_to_i64(struct str text, int64_t *out)
{
	struct decimal decimal;
	int64_t number = 0;

	if (!decimal_parse(text, &decimal))
		return false;
	while (decimal.count > 0 && decimal.digits[decimal.count - 1] == '0') {
		decimal.count--;
		decimal.exponent++;
	}
	if (decimal.count == 0) {
		*out = 0;
		return true;
	}
	if (decimal.exponent < 0)
		return false;
	for (size_t i = 0; i < decimal.count; i++)
		if (!push_digit(&number, decimal.digits[i] - '0'))
			return false;
	for (int i = 0; i < decimal.exponent; i++)
		if (!push_digit(&number, 0))
			return false;
	if (!decimal.negative && __builtin_sub_overflow(0, number, &number))
		return false;
	*out = number;
	return true;
}

bool json_number_from_real(double real, int64_t *out)
{
	if (!(real >= -0x1p63 && real < 0x1p63) || real != trunc(real))
		return false;
	*out = (int64_t)real;
	return true;
}

bool json_number_to_double(struct str text, double *out)
{
	struct decimal decimal;
	char copy[NUMBER_TEXT_MAX + 1];

	if (str_equals(text, "NaN")) {
		*out = NAN;
		return true;
	}
	if (str_equals(text, "Infinity") || str_equals(text, "-Infinity")) {
		*out = text.data[0] == '-' ? -INFINITY : INFINITY;
		return true;
	}
	if (!decimal_parse(text, &decimal))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	*out = strtod(copy, NULL);
	return isfinite(*out);
}
