#include "profile/label_groups.h"

#include "base/uuid.h"

void label_groups_init(struct label_groups *groups, struct arena *arena, const struct str *group_by,
                       size_t group_by_count)
{
	const struct uuid random = uuid_random();

	*groups = (struct label_groups){
		.arena = arena,
		.group_by = group_by,
		.group_by_count = group_by_count,
	};
	memcpy(&groups->secret, random.bytes, sizeof(groups->secret));
}

/* The group's labels, bytes borrowed. */
static bool project(const struct label_groups *groups, const struct label_set *labels,
                    struct label_set *out)
{
	*out = (struct label_set){ 0 };
	out->labels = arena_array_raw(groups->arena, groups->group_by_count, sizeof(*out->labels));
	if (!out->labels)
		return false;
	for (size_t i = 0; i < groups->group_by_count; i++) {
		const struct str *value = label_set_find(labels, groups->group_by[i]);

		if (value)
			out->labels[out->count++] = (struct label){ groups->group_by[i], *value };
	}
	return true;
}

uint32_t label_groups_add(struct label_groups *groups, const struct label_set *labels)
{
	struct label_set projected;
	bool is_new;
	uint32_t id;

	if (!project(groups, labels, &projected) ||
	    !ARENA_GROW(groups->arena, groups->groups, groups->count, groups->capacity))
		return LABEL_GROUPS_FULL;
	id = intern_add(&groups->ids, groups->arena,
	                label_set_fingerprint(&projected, groups->secret), &is_new);
	if (id == INTERN_NONE || !is_new)
		return id;
	if (!label_set_copy(&projected, groups->arena, &groups->groups[id]))
		return LABEL_GROUPS_FULL;
	groups->count++;
	return id;
}

static bool is_grouped_by(const struct label_groups *groups, struct str name)
{
	for (size_t i = 0; i < groups->group_by_count; i++)
		if (str_equal(groups->group_by[i], name))
			return true;
	return false;
}

bool label_groups_rest(const struct label_groups *groups, const struct label_set *labels,
                       struct label_set *out)
{
	struct label_set rest = { 0 };

	rest.labels = arena_array_raw(groups->arena, labels->count, sizeof(*rest.labels));
	if (!rest.labels)
		return false;
	for (size_t i = 0; i < labels->count; i++)
		if (!is_grouped_by(groups, labels->labels[i].name))
			rest.labels[rest.count++] = labels->labels[i];
	return label_set_copy(&rest, groups->arena, out);
}

bool label_groups_common(const struct label_set *a, const struct label_set *b, struct arena *arena,
                         struct label_set *out)
{
	struct label_set common = { 0 };

	if (label_set_compare(a, b) == 0) {
		*out = *a;
		return true;
	}
	common.labels = arena_array_raw(arena, a->count, sizeof(*common.labels));
	if (!common.labels)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct str *value = label_set_find(b, a->labels[i].name);

		if (value && str_equal(*value, a->labels[i].value))
			common.labels[common.count++] = a->labels[i];
	}
	*out = common;
	return true;
}
