#include "server/push/spool_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* The last byte is the version. */
static const char magic[8] = { 'v', 'r', 'a', 'm', 'p', 's', 'h', 1 };

/* Offsets of the head's fields, little-endian. */
enum {
	AT_MAGIC = 0,
	AT_SEQUENCE = 8,
	AT_TIME = 16,
	AT_LENGTH = 24,
	AT_CHECK = 32,
};

_Static_assert(AT_CHECK + sizeof(uint64_t) == SPOOL_HEAD_BYTES, "the check is the last field");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie");

static uint64_t check_of(const uint8_t *head, struct str request)
{
	return hash64(hash64(0, head, AT_CHECK), request.data, request.length);
}

void spool_head_encode(const struct spool_head *head, struct str request,
                       uint8_t out[static SPOOL_HEAD_BYTES])
{
	const uint64_t length = request.length;
	uint64_t check;

	memcpy(out + AT_MAGIC, magic, sizeof(magic));
	memcpy(out + AT_SEQUENCE, &head->sequence, sizeof(head->sequence));
	memcpy(out + AT_TIME, &head->time_unix_ns, sizeof(head->time_unix_ns));
	memcpy(out + AT_LENGTH, &length, sizeof(length));
	check = check_of(out, request);
	memcpy(out + AT_CHECK, &check, sizeof(check));
}

int spool_head_decode(struct str bytes, struct spool_head *out, struct error *err)
{
	struct spool_head head = { 0 };

	if (bytes.length < SPOOL_HEAD_BYTES)
		return error_set(err, ERROR_CORRUPT, "it is %zu bytes long, its head %d",
		                 bytes.length, SPOOL_HEAD_BYTES);
	if (memcmp(bytes.data + AT_MAGIC, magic, sizeof(magic)) != 0)
		return error_set(err, ERROR_CORRUPT, "it does not begin as a push of this version");
	memcpy(&head.sequence, bytes.data + AT_SEQUENCE, sizeof(head.sequence));
	memcpy(&head.time_unix_ns, bytes.data + AT_TIME, sizeof(head.time_unix_ns));
	memcpy(&head.length, bytes.data + AT_LENGTH, sizeof(head.length));
	memcpy(&head.check, bytes.data + AT_CHECK, sizeof(head.check));
	if (head.length == 0 || head.length > SPOOL_REQUEST_MAX)
		return error_set(err, ERROR_CORRUPT, "its head says %" PRIu64 " bytes",
		                 head.length);
	*out = head;
	return 0;
}

int spool_file_decode(struct str bytes, struct spool_head *out, struct str *out_request,
                      struct error *err)
{
	struct spool_head head = { 0 };
	struct str request;

	if (spool_head_decode(bytes, &head, err) < 0)
		return -1;
	request = str_skip(bytes, SPOOL_HEAD_BYTES);
	if (request.length != head.length)
		return error_set(err, ERROR_CORRUPT,
		                 "%zu bytes follow its head, which says %" PRIu64, request.length,
		                 head.length);
	if (check_of((const uint8_t *)bytes.data, request) != head.check)
		return error_set(err, ERROR_CORRUPT, "its bytes are not those that were written");
	*out = head;
	*out_request = request;
	return 0;
}

/* ---- names ---- */

static const char *const endings[] = {
	[SPOOL_NAME_PUSH] = ".push",
	[SPOOL_NAME_PART] = ".part",
};

void spool_name_format(uint64_t sequence, enum spool_name kind, char out[static SPOOL_NAME_BYTES])
{
	(void)snprintf(out, SPOOL_NAME_BYTES, "%016" PRIx64 "%s", sequence, endings[kind]);
}

/* Lower-case digits only: a number has one name. */
static bool parse_digits(const char *name, uint64_t *out)
{
	uint64_t number = 0;

	for (size_t i = 0; i < SPOOL_DIGITS; i++) {
		const char digit = name[i];

		if (digit >= '0' && digit <= '9')
			number = number << 4 | (uint64_t)(digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			number = number << 4 | (uint64_t)(digit - 'a' + 10);
		else
			return false;
	}
	*out = number;
	return number <= SPOOL_SEQUENCE_MAX;
}

enum spool_name spool_name_parse(const char *name, uint64_t *out_sequence)
{
	uint64_t sequence;

	if (!parse_digits(name, &sequence))
		return SPOOL_NAME_OTHER;
	for (size_t kind = 0; kind < sizeof(endings) / sizeof(endings[0]); kind++) {
		if (strcmp(name + SPOOL_DIGITS, endings[kind]) != 0)
			continue;
		*out_sequence = sequence;
		return (enum spool_name)kind;
	}
	return SPOOL_NAME_OTHER;
}
