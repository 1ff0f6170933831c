#include "profile/go_names.h"

#include "base/cleanup.h"
#include "profile/number_map.h"

#define SHAPE STR("[go.shape.")

/* ---- which language ---- */

static bool begins_or_ends(struct str text, struct str mark)
{
	return str_starts_with(text, mark) || str_ends_with(text, mark);
}

/* 1: a mark of Go, -1: of another language, 0: of none. */
static int language_mark(struct str text)
{
	static const char *const others[] = {
		"java/",   "sun/",       ".rb", "gems/",   "./node_modules/", ".js",
		"System.", "Microsoft.", ".py", "main.rs", "core.rs"
	};

	if (begins_or_ends(text, STR(".go")) || begins_or_ends(text, STR("/usr/local/go/")))
		return 1;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (begins_or_ends(text, str_of(others[i])))
			return -1;
	return 0;
}

/* 1: Go's spy, -1: another that is known, 0: none that is. */
static int spy_mark(const struct label_set *labels)
{
	static const char *const others[] = {
		"pyspy",     "rbspy",  "nodespy",     "javaspy", "grafana-agent.java",
		"dotnetspy", "phpspy", "pyroscope-rs"
	};
	const struct str *spy = label_set_find(labels, STR("pyroscope_spy"));

	if (!spy)
		return 0;
	if (str_equal(*spy, STR("gospy")))
		return 1;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (str_equals(*spy, others[i]))
			return -1;
	return 0;
}

bool go_names_apply(const struct profile *profile, const struct label_set *labels)
{
	int mark = spy_mark(labels);

	for (size_t i = 0; mark == 0 && i < profile->string_count; i++)
		mark = language_mark(profile->strings[i]);
	return mark > 0;
}

/* ---- cutting ---- */

/* The bracket that closes the one at text[0], or -1. */
static ptrdiff_t closing_bracket(struct str text)
{
	size_t depth = 0;

	for (size_t i = 0; i < text.length; i++) {
		depth += text.data[i] == '[';
		if (text.data[i] == ']' && --depth == 0)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* `text` without its shapes, in the arena; {NULL, 0}: full. */
static struct str without_shapes(struct str text, struct arena *arena)
{
	char *copy = arena_alloc_raw(arena, text.length);
	size_t length = 0;
	ptrdiff_t shape;

	if (!copy)
		return (struct str){ NULL, 0 };
	while ((shape = str_find(text, SHAPE)) >= 0) {
		const ptrdiff_t close = closing_bracket(str_skip(text, (size_t)shape));

		if (close < 0)
			break;
		memcpy(copy + length, text.data, (size_t)shape);
		length += (size_t)shape;
		text = str_skip(text, (size_t)(shape + close) + 1);
	}
	if (text.length > 0)
		memcpy(copy + length, text.data, text.length);
	return (struct str){ copy, length + text.length };
}

static bool has_shape(struct str text)
{
	const char *bracket = text.length ? memchr(text.data, '[', text.length) : NULL;

	return bracket && str_find(str_skip(text, (size_t)(bracket - text.data)), SHAPE) >= 0;
}

/* ---- merging what became equal ---- */

/* One index for all things with one content; the first of them. */
struct canon {
	struct number_map map;
	uint64_t key;
	uint32_t *first; /* by index */
};

static bool canon_init(struct canon *canon, size_t count, struct arena *arena)
{
	canon->first = arena_array_raw(arena, count, sizeof(*canon->first));
	return canon->first && number_map_init(&canon->map, arena, count);
}

/*
 * The contents are told apart by 64 bits of a keyed hash: two that fall together would
 * show one of our sender's own frames under the name of another.
 */
static bool canon_add(struct canon *canon, uint32_t index, uint64_t hash)
{
	uint32_t *value = number_map_at(&canon->map, hash);

	if (!value)
		return false;
	if (*value == NUMBER_MAP_NONE)
		*value = index;
	canon->first[index] = *value;
	return true;
}

static bool canon_strings(struct canon *canon, const struct profile *profile)
{
	if (!canon_init(canon, profile->string_count, profile->arena))
		return false;
	for (uint32_t i = 0; i < profile->string_count; i++)
		if (!canon_add(canon, i,
		               hash64(canon->map.key, profile->strings[i].data,
		                      profile->strings[i].length)))
			return false;
	return true;
}

static bool canon_functions(struct canon *canon, const struct profile *profile,
                            const uint32_t *strings)
{
	if (!canon_init(canon, profile->function_count, profile->arena))
		return false;
	for (uint32_t i = 0; i < profile->function_count; i++) {
		const struct profile_function *function = &profile->functions[i];
		const uint64_t content[4] = { strings[function->name],
			                      strings[function->system_name],
			                      strings[function->file],
			                      (uint64_t)function->start_line };

		if (!canon_add(canon, i, hash64(canon->map.key, content, sizeof(content))))
			return false;
	}
	return true;
}

static uint64_t hash_location(const struct profile *profile, const uint32_t *functions,
                              uint32_t index, uint64_t key)
{
	const struct profile_location *location = &profile->locations[index];
	const uint64_t head[3] = { location->address, location->mapping, location->line_count };
	uint64_t hash = hash64(key, head, sizeof(head));

	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		const bool known = line->function < profile->function_count;
		const uint64_t link[3] = { hash, known ? functions[line->function] : PROFILE_NONE,
			                   (uint64_t)line->line };

		hash = hash64(key, link, sizeof(link));
	}
	return hash;
}

static bool merge_locations(struct profile *profile)
{
	struct canon strings;
	struct canon functions;
	struct canon locations;

	if (!canon_strings(&strings, profile) ||
	    !canon_functions(&functions, profile, strings.first) ||
	    !canon_init(&locations, profile->location_count, profile->arena))
		return false;
	for (uint32_t i = 0; i < profile->location_count; i++)
		if (!canon_add(&locations, i,
		               hash_location(profile, functions.first, i, locations.map.key)))
			return false;
	for (size_t i = 0; i < profile->stack_length; i++)
		if (profile->stacks[i] < profile->location_count)
			profile->stacks[i] = locations.first[profile->stacks[i]];
	return true;
}

bool go_names_cut(struct profile *profile)
{
	bool cut = false;

	for (size_t i = 0; i < profile->string_count; i++) {
		if (!has_shape(profile->strings[i]))
			continue;
		profile->strings[i] = without_shapes(profile->strings[i], profile->arena);
		if (!profile->strings[i].data)
			return false;
		cut = true;
	}
	return !cut || merge_locations(profile);
}
