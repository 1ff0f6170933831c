#include "profile/profile_type.h"

#include "base/cleanup.h"

#define PARTS      5
#define QUOTED_MAX 256 /* bytes of a refused id in its message */

int profile_type_parse(struct str id, struct profile_type *out, struct error *err)
{
	struct str parts[PARTS];
	struct str rest = id;
	struct str part;
	size_t count = 0;

	for (; str_split(&rest, ':', &part); count++)
		if (count < PARTS)
			parts[count] = part;
	if (count != PARTS && count != PARTS + 1)
		return error_set(err, ERROR_INVALID,
		                 "profile-type selection must be of the form "
		                 "<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>"
		                 "(:delta), got(%zu): \"%.*s\"",
		                 count, STR_ARGS(str_first(id, QUOTED_MAX)));
	*out = (struct profile_type){ parts[0], parts[1], parts[2], parts[3], parts[4] };
	return 0;
}

struct str profile_type_id(const struct profile_type *type, struct arena *arena)
{
	const struct str parts[PARTS] = { type->name, type->sample_type, type->sample_unit,
		                          type->period_type, type->period_unit };
	size_t length = PARTS - 1;
	char *id;
	char *at;

	for (size_t i = 0; i < PARTS; i++)
		length += parts[i].length;
	id = arena_alloc_raw(arena, length);
	if (!id)
		return (struct str){ NULL, 0 };
	at = id;
	for (size_t i = 0; i < PARTS; i++) {
		if (i > 0)
			*at++ = ':';
		if (parts[i].length > 0)
			memcpy(at, parts[i].data, parts[i].length);
		at += parts[i].length;
	}
	return (struct str){ id, length };
}

/* What a device had at the moment of an event. */
static bool is_of_oom_device(const struct profile_type *type)
{
	return str_equals(type->name, "gpu_memory_oom") &&
	       str_starts_with(type->sample_type, STR("device_"));
}

bool profile_type_is_instant(const struct profile_type *type)
{
	return str_starts_with(type->sample_type, STR("inuse_")) ||
	       str_equals(type->sample_type, "goroutine") ||
	       str_equals(type->sample_type, "goroutines") ||
	       str_equals(type->sample_type, "live") || str_equals(type->name, "gpu_memory_peak") ||
	       str_equals(type->name, "gpu_memory_device") || is_of_oom_device(type);
}

enum profile_merge profile_type_merge(const struct profile_type *type, enum profile_merge wanted)
{
	if (!profile_type_is_instant(type))
		return PROFILE_MERGE_SUM;
	if (wanted == PROFILE_MERGE_MEAN &&
	    (str_equals(type->name, "gpu_memory_peak") || is_of_oom_device(type)))
		return PROFILE_MERGE_MAX;
	return wanted;
}

bool profile_merge_parse(struct str text, enum profile_merge *out)
{
	static const struct {
		const char *text;
		enum profile_merge merge;
	} words[] = {
		{ "sum", PROFILE_MERGE_SUM },
		{ "mean", PROFILE_MERGE_MEAN },
		{ "last", PROFILE_MERGE_LAST },
		{ "max", PROFILE_MERGE_MAX },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		if (str_equals(text, words[i].text)) {
			*out = words[i].merge;
			return true;
		}
	}
	return false;
}
