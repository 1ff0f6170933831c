#include "server/query/gpu_place.h"

#include <inttypes.h>

#define HASH_DIGITS 16

struct gpu_place gpu_place_of(int64_t time_ns, const struct label_set *labels)
{
	return (struct gpu_place){ time_ns, label_set_fingerprint(labels, 0).low };
}

int gpu_place_compare(const struct gpu_place *a, const struct gpu_place *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return (a->hash < b->hash) - (a->hash > b->hash);
}

struct str gpu_place_format(const struct gpu_place *place, struct arena *arena)
{
	return arena_printf(arena, "%" PRId64 "-%0*" PRIx64, place->time_ns, HASH_DIGITS,
	                    place->hash);
}

static bool parse_hash(struct str text, uint64_t *out)
{
	uint64_t hash = 0;

	if (text.length != HASH_DIGITS)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		const ptrdiff_t digit = str_index(STR("0123456789abcdef"), text.data[i]);

		if (digit < 0)
			return false;
		hash = hash << 4 | (uint64_t)digit;
	}
	*out = hash;
	return true;
}

int gpu_place_parse(struct str text, struct gpu_place *out, struct error *err)
{
	struct str rest = text;
	struct gpu_place place;
	uint64_t time_ns;
	struct str time;

	if (!str_split(&rest, '-', &time) || !str_to_u64(time, INT64_MAX, &time_ns) ||
	    !parse_hash(rest, &place.hash))
		return error_set(err, ERROR_INVALID, "cursor: '%.*s' is none that was given out",
		                 STR_ARGS(str_first(text, 64)));
	place.time_ns = (int64_t)time_ns;
	*out = place;
	return 0;
}
