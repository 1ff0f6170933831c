#include "base/uuid.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define POOL_COUNT 256 /* random UUIDs fetched by one call: 4 KiB */

static _Thread_local struct {
	struct uuid uuids[POOL_COUNT];
	size_t left;
} pool;

/* A child would repeat what its parent goes on to give out. */
static void forget_pool(void)
{
	pool.left = 0;
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, forget_pool);
}

static void fill_pool(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint8_t *to = (uint8_t *)pool.uuids;
	size_t missing = sizeof(pool.uuids);

	(void)pthread_once(&once, watch_forks);
	while (missing > 0) {
		const ssize_t got = getrandom(to, missing, 0);

		if (got < 0)
			continue; /* EINTR; no other failure fits this call */
		to += got;
		missing -= (size_t)got;
	}
	pool.left = POOL_COUNT;
}

struct uuid uuid_random(void)
{
	struct uuid uuid;

	if (pool.left == 0)
		fill_pool();
	uuid = pool.uuids[--pool.left];
	uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x40); /* version 4 */
	uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80); /* variant 1 */
	return uuid;
}

/* The value of a hex digit, or -1. */
static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool hex_decode(struct str text, uint8_t *to, size_t length)
{
	if (text.length / 2 != length || text.length % 2 != 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		const int high = digit_value(text.data[2 * i]);
		const int low = digit_value(text.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void hex_encode(const uint8_t *bytes, size_t length, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 0xf];
	}
	*text = '\0';
}

static bool is_dash_place(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

/* 8-4-4-4-12. */
static bool parse_dashed(struct str text, struct uuid *out)
{
	char digits[2 * sizeof(out->bytes)];
	size_t count = 0;

	for (size_t i = 0; i < UUID_TEXT_LENGTH; i++) {
		if (!is_dash_place(i))
			digits[count++] = text.data[i];
		else if (text.data[i] != '-')
			return false;
	}
	return hex_decode(str_make(digits, count), out->bytes, sizeof(out->bytes));
}

bool uuid_parse(struct str text, struct uuid *out)
{
	const struct str urn = STR("urn:uuid:");
	struct uuid uuid;

	if (text.length == UUID_TEXT_LENGTH + urn.length) {
		if (!str_equal_ignoring_case(str_first(text, urn.length), urn))
			return false;
		text = str_skip(text, urn.length);
	} else if (text.length == UUID_TEXT_LENGTH + 2) {
		if (text.data[0] != '{' || text.data[text.length - 1] != '}')
			return false;
		text = str_skip(str_first(text, text.length - 1), 1);
	}
	if (text.length == UUID_TEXT_LENGTH) {
		if (!parse_dashed(text, &uuid))
			return false;
	} else if (!hex_decode(text, uuid.bytes, sizeof(uuid.bytes))) {
		return false;
	}
	*out = uuid;
	return true;
}

void uuid_format(const struct uuid *uuid, char text[static UUID_TEXT_LENGTH + 1])
{
	char digits[2 * sizeof(uuid->bytes) + 1];
	const char *from = digits;

	hex_encode(uuid->bytes, sizeof(uuid->bytes), digits);
	for (size_t i = 0; i < UUID_TEXT_LENGTH; i++)
		text[i] = (char)(is_dash_place(i) ? '-' : *from++);
	text[UUID_TEXT_LENGTH] = '\0';
}
