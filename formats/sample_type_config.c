#include "formats/sample_type_config.h"

#include "base/json.h"

/* These initialisers stand for STR(), which is no constant expression. */
#define TEXT(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

static const struct sample_type_display default_types[] = {
	{ TEXT("samples"), TEXT("cpu") },
	{ TEXT("inuse_objects"), TEXT("inuse_objects") },
	{ TEXT("alloc_objects"), TEXT("alloc_objects") },
	{ TEXT("inuse_space"), TEXT("inuse_space") },
	{ TEXT("alloc_space"), TEXT("alloc_space") },
	{ TEXT("goroutine"), TEXT("goroutines") },
	{ TEXT("contentions"), TEXT("mutex_count") },
	{ TEXT("delay"), TEXT("mutex_duration") },
};

const struct sample_type_config sample_type_config_default = {
	default_types,
	ARRAY_LENGTH(default_types),
};

/* The fields of a type and what they must be; others are ignored. */
static const struct {
	const char *name;
	enum json_kind kind;
} fields[] = {
	{ "units", JSON_TEXT },      { "display-name", JSON_TEXT }, { "aggregation", JSON_TEXT },
	{ "cumulative", JSON_BOOL }, { "sampled", JSON_BOOL },
};

struct reader {
	struct sample_type_display *types;
	size_t count;
	struct error *err;
};

static int bad_config(struct error *err, struct str type)
{
	return error_set(err, ERROR_INVALID, "sample_type_config: \"%.*s\" has a wrong type",
	                 STR_ARGS(str_first(type, 100)));
}

static int read_type(void *context, struct str key, const struct json *value)
{
	struct reader *reader = context;
	const enum json_kind kind = json_kind(value);

	if (kind != JSON_MAP && kind != JSON_NULL_VALUE)
		return bad_config(reader->err, key);
	for (size_t i = 0; kind == JSON_MAP && i < ARRAY_LENGTH(fields); i++) {
		const enum json_kind field = json_kind(json_get(value, fields[i].name));

		if (field != JSON_NONE && field != JSON_NULL_VALUE && field != fields[i].kind)
			return bad_config(reader->err, key);
	}
	reader->types[reader->count++] = (struct sample_type_display){
		.type = key,
		.name = kind == JSON_MAP ? json_text(json_get(value, "display-name"))
		                         : (struct str){ 0 },
	};
	return 0;
}

int sample_type_config_parse(struct str text, struct arena *arena, struct sample_type_config *out,
                             struct error *err)
{
	struct reader reader = { .err = err };
	const struct json *root;

	if (json_parse(text, arena, &root, err) < 0)
		return error_context(err, "sample_type_config");
	if (json_kind(root) == JSON_NULL_VALUE) {
		*out = (struct sample_type_config){ 0 };
		return 0;
	}
	if (json_kind(root) != JSON_MAP)
		return error_set(err, ERROR_INVALID, "sample_type_config: not a JSON object");
	if (json_length(root) > SAMPLE_TYPE_CONFIG_MAX)
		return error_set(err, ERROR_TOO_LARGE, "sample_type_config: more than %d types",
		                 SAMPLE_TYPE_CONFIG_MAX);
	reader.types = arena_array(arena, json_length(root), sizeof(*reader.types));
	if (!reader.types)
		return arena_error(arena, err);
	if (json_each(root, read_type, &reader) != 0)
		return -1;
	*out = (struct sample_type_config){ reader.types, reader.count };
	return 0;
}

static const struct sample_type_display *find(const struct sample_type_config *config,
                                              struct str type)
{
	for (size_t i = 0; i < config->count; i++)
		if (str_equal(config->types[i].type, type))
			return &config->types[i];
	return NULL;
}

bool sample_type_config_has(const struct sample_type_config *config, struct str type)
{
	return find(config, type) != NULL;
}

static bool contains(struct str text, const char *part)
{
	return str_find(text, str_of(part)) >= 0;
}

/* The metric that a displayed sample type belongs to, or NULL when it does not say. */
static const char *known_metric(struct str shown)
{
	if (contains(shown, "cpu"))
		return "process_cpu";
	if (contains(shown, "alloc_") || contains(shown, "inuse_") || str_equals(shown, "space") ||
	    str_equals(shown, "objects"))
		return "memory";
	if (contains(shown, "mutex_"))
		return "mutex";
	if (contains(shown, "block_"))
		return "block";
	if (contains(shown, "goroutines"))
		return "goroutines";
	return NULL;
}

static struct str type_name(const struct profile *profile, size_t index)
{
	const uint32_t type = profile->sample_types[index].type;

	return type < profile->string_count ? profile_string(profile, type) : STR("");
}

struct str sample_type_config_metric(const struct sample_type_config *config,
                                     const struct profile *profile)
{
	struct str shown = STR("");

	for (size_t i = 0; i < profile->sample_type_count; i++)
		if (str_equals(type_name(profile, i), "wall"))
			return STR("wall");
	for (size_t i = 0; i < profile->sample_type_count; i++) {
		const struct sample_type_display *display = find(config, type_name(profile, i));
		const char *metric;

		shown = display && display->name.length > 0 ? display->name : type_name(profile, i);
		metric = known_metric(shown);
		if (metric)
			return str_of(metric);
	}
	return shown;
}
