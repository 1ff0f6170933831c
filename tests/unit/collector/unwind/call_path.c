/*
 * Functions that call each other in a known order, built with several options (call_path.h):
 * no frame pointers, large locals, alloca, a callback from the C library, recursion, a signal
 * handler.
 */
#include "tests/unit/collector/unwind/call_path.h"

#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/collector/unwind/self_capture.h"

#define NAME(function)         NAME_OF(CALL_PATH_VARIANT, function)
#define NAME_OF(variant, fn)   NAME_JOIN(variant, fn)
#define NAME_JOIN(variant, fn) variant##_##fn
#ifdef __clang__
#define KEPT __attribute__((noinline, used))
#else
#define KEPT __attribute__((noinline, noclone, used))
#endif

static volatile int sink;
static int is_captured;

/* The functions of one variant are told apart by its name in front. */
int NAME(path)(int depth);
int NAME(leaf)(int number);
int NAME(big_locals)(int number);
int NAME(with_alloca)(int number);
int NAME(compare)(const void *a, const void *b);
int NAME(sorter)(int number);
int NAME(recurse)(int depth);
void NAME(handler)(int number);
int NAME(raiser)(int number);
int NAME(signal_path)(void);

KEPT int NAME(leaf)(int number)
{
	self_capture_take();
	return number + sink;
}

KEPT int NAME(big_locals)(int number)
{
	unsigned char bytes[20000];

	memset(bytes, number, sizeof(bytes));
	sink = bytes[number % 100];
	number = NAME(leaf)(number);
	sink += bytes[7];
	return number + 1;
}

KEPT int NAME(with_alloca)(int number)
{
	unsigned char *bytes = alloca((size_t)(number % 500) + 16);

	bytes[3] = 1;
	sink = bytes[number % 16];
	number = NAME(big_locals)(number);
	sink += bytes[2];
	return number + 1;
}

KEPT int NAME(compare)(const void *a, const void *b)
{
	if (!is_captured) {
		is_captured = 1;
		(void)NAME(with_alloca)(33);
	}
	return *(const int *)a - *(const int *)b;
}

KEPT int NAME(sorter)(int number)
{
	int numbers[4] = { 3, 1, 2, number };

	qsort(numbers, 4, sizeof(numbers[0]), NAME(compare));
	return numbers[0] + sink;
}

KEPT int NAME(recurse)(int depth)
{
	int result;

	if (depth == 0)
		return NAME(sorter)(4) + 1;
	result = NAME(recurse)(depth - 1);
	return result + sink + 1;
}

KEPT int NAME(path)(int depth)
{
	is_captured = 0;
	return NAME(recurse)(depth) + 1;
}

KEPT void NAME(handler)(int number)
{
	sink = NAME(leaf)(number) + 1;
}

KEPT int NAME(raiser)(int number)
{
	(void)raise(number);
	return sink + 1;
}

KEPT int NAME(signal_path)(void)
{
	const struct sigaction action = { .sa_handler = NAME(handler) };
	struct sigaction before;

	(void)sigaction(SIGUSR1, &action, &before);
	sink = NAME(raiser)(SIGUSR1);
	(void)sigaction(SIGUSR1, &before, NULL);
	return sink + 1;
}
