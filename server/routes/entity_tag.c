#include "server/routes/entity_tag.h"

#include <inttypes.h>

bool entity_tag_matches(struct str header, struct str tag)
{
	struct str rest = str_trim(header);
	struct str part;

	if (str_equals(rest, "*"))
		return true;
	/* our tags have no comma, so that a list may be taken apart at each */
	while (str_split(&rest, ',', &part)) {
		part = str_trim(part);
		if (str_starts_with(part, STR("W/")))
			part = str_skip(part, 2);
		if (str_equal(part, tag))
			return true;
	}
	return false;
}

struct str entity_tag_of(struct hash128 hash, struct arena *arena)
{
	return arena_printf(arena, "\"%016" PRIx64 "%016" PRIx64 "\"", hash.high, hash.low);
}

bool entity_tag_answer(const struct http_request *request, struct http_response *response,
                       struct str tag)
{
	const struct str *asked = http_request_header(request, "If-None-Match");

	if (!tag.data)
		return false;
	http_response_header(response, "ETag", tag);
	if (!asked || !entity_tag_matches(*asked, tag))
		return false;
	response->status = 304;
	strbuf_reset(&response->body);
	return true;
}

void entity_tag_apply(const struct http_request *request, struct http_response *response,
                      struct arena *arena)
{
	const struct hash128 hash = hash128_str(0, strbuf_view(&response->body));

	(void)entity_tag_answer(request, response, entity_tag_of(hash, arena));
}
