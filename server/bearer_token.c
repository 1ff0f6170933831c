#include "server/bearer_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static int add_header(struct str token, const char *place, struct strbuf *out, struct error *err)
{
	for (size_t i = 0; i < token.length; i++)
		if (token.data[i] <= ' ' || token.data[i] > '~')
			return error_set(err, ERROR_INVALID,
			                 "%s: a token has visible characters of ASCII only", place);
	strbuf_printf(out, "Authorization: Bearer %.*s", STR_ARGS(token));
	if (token.length == 0 || strbuf_overflowed(out))
		return error_set(err, ERROR_INVALID, "%s: a token has 1 to %d characters", place,
		                 BEARER_TOKEN_MAX / 2);
	return 0;
}

static int read_file(const char *path, struct strbuf *out, struct error *err)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	int result = descriptor < 0 ? -1 : strbuf_read(out, descriptor);

	if (result < 0)
		(void)error_set_errno(err, errno, "%s", path);
	if (descriptor >= 0)
		(void)close(descriptor);
	return result;
}

int bearer_token_header(const char *path, struct strbuf *out, struct error *err)
{
	/* nothing here sets the environment */
	const char *given = getenv(BEARER_TOKEN_ENVIRONMENT); /* NOLINT(concurrency-mt-unsafe) */
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, BEARER_TOKEN_MAX / 2);
	if (*path)
		return read_file(path, &text, err) < 0
		               ? -1
		               : add_header(str_trim(strbuf_view(&text)), path, out, err);
	if (given && *given)
		return add_header(str_of(given), BEARER_TOKEN_ENVIRONMENT, out, err);
	return 0;
}
