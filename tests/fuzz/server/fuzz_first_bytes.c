/*
 * The first bytes of a connection: the decision about the protocol, and, for HTTP/1, request
 * target and headers as their checks see them. The decision must not depend on how the bytes
 * are cut.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/http/head_check.h"
#include "server/http/preface.h"

#define HEADERS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_preface(struct str bytes)
{
	const enum preface whole = preface_of(bytes);
	enum preface decided = PREFACE_UNDECIDED;

	for (size_t length = 0; length <= bytes.length && decided == PREFACE_UNDECIDED; length++)
		decided = preface_of(str_first(bytes, length));
	assert(decided == whole);
}

static void check_target(struct str line)
{
	struct str word;
	struct str path;
	struct str query;
	enum head_version version;

	while (str_split(&line, ' ', &word)) {
		(void)head_version_parse(word, &version);
		if (!head_split_target(word, &path, &query))
			continue;
		assert(path.length > 0 && path.data[0] == '/');
		assert(str_index(path, '?') < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_header headers[HEADERS_MAX];
	struct str rest = str_make(data, size);
	struct str line;
	struct head head;
	const char *reason = NULL;
	size_t count = 0;

	check_preface(rest);
	if (str_split(&rest, '\n', &line))
		check_target(line);
	while (count < HEADERS_MAX && str_split(&rest, '\n', &line)) {
		const ptrdiff_t colon = str_index(line, ':');

		if (colon < 0)
			continue;
		headers[count].name = str_first(line, (size_t)colon);
		headers[count++].value = str_skip(line, (size_t)colon + 1);
	}
	for (int version = HEAD_HTTP_1_0; version <= HEAD_HTTP_1_1; version++)
		if (head_check((enum head_version)version, headers, count, &head, &reason) == 0)
			assert(!head.is_chunked || head.content_length == 0);
		else
			assert(reason);
	return 0;
}
