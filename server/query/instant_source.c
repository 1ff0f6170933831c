#include "server/query/instant_source.h"

#include "base/cleanup.h"

static const struct str places[] = {
	{ "hostname", 8 },
	{ "node", 4 },
	{ "instance", 8 },
	{ "pod", 3 },
};

static struct hash128 hash_label(uint64_t secret, uint64_t salt, struct str value)
{
	return hash128_str(secret + salt, value);
}

struct hash128 instant_source_key(uint64_t secret, const struct label_set *labels)
{
	const struct str *service = label_set_find(labels, STR("service_name"));
	const struct hash128 key = hash_label(secret, 0, service ? *service : STR(""));

	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		const struct str *place = label_set_find(labels, places[i]);

		if (place) {
			const struct hash128 pair[] = { key, hash_label(secret, i + 1, *place) };

			return hash128(secret, pair, sizeof(pair));
		}
	}
	return key;
}

static bool is_peak(const struct label_set *labels)
{
	const struct str *type = label_set_find(labels, STR("__profile_type__"));

	return type && str_starts_with(*type, STR("gpu_memory_peak:"));
}

/* Of all labels but those (NULL ends them). */
static struct hash128 key_without(uint64_t secret, const struct label_set *labels,
                                  const char *const *without)
{
	struct hash128 key = { secret, 0 };

	for (size_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->labels[i];
		const struct hash128 parts[] = { key, hash_label(secret, 0, label->name),
			                         hash_label(secret, 1, label->value) };
		const char *const *name = without;

		while (*name && !str_equals(label->name, *name))
			name++;
		if (!*name)
			key = hash128(secret, parts, sizeof(parts));
	}
	return key;
}

struct hash128 instant_maximum_key(uint64_t secret, const struct label_set *labels)
{
	static const char *const of_peaks[] = { "reason", "gpu", NULL };
	static const char *const none[] = { NULL };

	return key_without(secret, labels, is_peak(labels) ? of_peaks : none);
}

struct hash128 instant_moment_key(uint64_t secret, const struct label_set *labels)
{
	static const char *const of_peaks[] = { "gpu", NULL };
	static const char *const none[] = { NULL };

	return key_without(secret, labels, is_peak(labels) ? of_peaks : none);
}

int instant_question_widen(const struct store_query *query, struct instant_question *out,
                           struct error *err)
{
	static const char *const kept[] = { "__profile_type__", "service_name",
		                            "__service_name__" };
	struct selector *selector = &out->selector;

	*out = (struct instant_question){ .query = *query };
	selector_init(selector, query->arena);
	selector->matchers =
		arena_array(query->arena, query->selector->count + 1, sizeof(*selector->matchers));
	if (!selector->matchers)
		return arena_error(query->arena, err);
	for (size_t i = 0; i < query->selector->count; i++)
		for (size_t j = 0; j < ARRAY_LENGTH(kept); j++)
			if (str_equals(query->selector->matchers[i].name, kept[j]))
				selector->matchers[selector->count++] =
					query->selector->matchers[i];
	if (query->filter) {
		out->filter.profile_ids = query->filter->profile_ids;
		out->filter.profile_id_count = query->filter->profile_id_count;
	}
	out->query.selector = selector;
	out->query.filter = &out->filter;
	return 0;
}
