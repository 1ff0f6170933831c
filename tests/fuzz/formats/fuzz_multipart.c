/*
 * Forms: the first line is the content type, the rest the body. Parts lie in the body, in
 * order.
 */
#include <assert.h>

#include "formats/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(struct str view, struct str body)
{
	if (view.length > 0)
		assert(view.data >= body.data &&
		       view.data + view.length <= body.data + body.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str body = str_make(data, size);
	struct str type;
	struct multipart reader;
	struct multipart_part part;
	struct error err = { 0 };
	const char *behind;
	int more;

	if (size == 0 || !str_split(&body, '\n', &type) ||
	    multipart_init(&reader, type, body, &err) < 0)
		return 0;
	behind = body.data;
	while ((more = multipart_next(&reader, &part, &err)) > 0) {
		check_view(part.name, body);
		check_view(part.filename, body);
		check_view(part.content, body);
		assert(part.content.data >= behind);
		behind = part.content.data + part.content.length;
	}
	assert(more == 0 || err.code != ERROR_NONE);
	return 0;
}
