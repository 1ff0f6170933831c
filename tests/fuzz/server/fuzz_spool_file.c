/*
 * A file of a spool and its name: what reads back as a push is the bytes that writing it makes;
 * and the same bytes as a request come back as they are.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/push/spool_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file of a push. */
static char *encode(const struct spool_head *head, struct str request)
{
	char *bytes = malloc(SPOOL_HEAD_BYTES + request.length);

	assert(bytes);
	spool_head_encode(head, request, (uint8_t *)bytes);
	if (request.length > 0)
		memcpy(bytes + SPOOL_HEAD_BYTES, request.data, request.length);
	return bytes;
}

static void check_decoding(struct str bytes)
{
	struct error err = { 0 };
	struct spool_head head;
	struct str request;
	char *again;

	if (spool_file_decode(bytes, &head, &request, &err) < 0) {
		assert(err.code == ERROR_CORRUPT);
		return;
	}
	again = encode(&head, request);
	assert(request.length == head.length && bytes.length == SPOOL_HEAD_BYTES + head.length);
	assert(memcmp(again, bytes.data, bytes.length) == 0);
	free(again);
}

/* Any bytes as a request, under any number and time. */
static void check_round_trip(struct str bytes)
{
	struct spool_head head = { 0 };
	struct spool_head found;
	struct error err = { 0 };
	struct str request;
	char *file;

	if (bytes.length <= 2 * sizeof(uint64_t))
		return;
	memcpy(&head.sequence, bytes.data, sizeof(head.sequence));
	memcpy(&head.time_unix_ns, bytes.data + sizeof(uint64_t), sizeof(head.time_unix_ns));
	bytes = str_skip(bytes, 2 * sizeof(uint64_t));
	file = encode(&head, bytes);
	assert(spool_file_decode(str_make(file, SPOOL_HEAD_BYTES + bytes.length), &found, &request,
	                         &err) == 0);
	assert(found.sequence == head.sequence && found.time_unix_ns == head.time_unix_ns);
	assert(str_equal(request, bytes));
	free(file);
}

static void check_name(struct str bytes)
{
	char name[SPOOL_NAME_BYTES];
	char *text = malloc(bytes.length + 1);
	uint64_t sequence;
	enum spool_name kind;

	assert(text);
	memcpy(text, bytes.data, bytes.length);
	text[bytes.length] = '\0';
	kind = spool_name_parse(text, &sequence);
	if (kind != SPOOL_NAME_OTHER) {
		spool_name_format(sequence, kind, name);
		assert(strcmp(name, text) == 0);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str bytes = str_make(data, size);

	if (size == 0)
		return 0;
	check_decoding(bytes);
	check_round_trip(bytes);
	check_name(bytes);
	return 0;
}
