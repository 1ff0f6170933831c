#include "formats/pprof_bytes.h"

#include "base/gzip.h"
#include "profile/pprof.h"

#define SHORTEST 10 /* a gzip header; nor is a shorter message a profile */

int pprof_bytes_unpack(struct str raw, size_t limit_bytes, struct arena *arena, struct str *out,
                       struct error *err)
{
	const size_t limit = limit_bytes > 0 ? limit_bytes : PPROF_BYTES_MAX;

	if (raw.length < SHORTEST)
		return error_set(err, ERROR_INVALID, "failed to read the profile: unexpected EOF");
	if (gzip_is(raw))
		return gzip_inflate(raw, limit, arena, out, err);
	if (raw.length > limit)
		return error_set(err, ERROR_TOO_LARGE, "profile is larger than %zu bytes", limit);
	*out = raw;
	return 0;
}
