#include "formats/pprof_upload.h"

#include "base/clock.h"
#include "formats/form_parts.h"
#include "formats/pprof_bytes.h"
#include "formats/sample_type_config.h"

#define YEAR_1970_NS (365 * INT64_C(86400) * NS_PER_S)

/* The parts of the form that matter; empty when they are missing. */
enum upload_part {
	UPLOAD_PROFILE,
	UPLOAD_PREVIOUS,
	UPLOAD_CONFIG,
	UPLOAD_PARTS,
};

struct upload {
	struct form_part parts[UPLOAD_PARTS];
};

static int read_upload(const struct format_input *input, struct upload *out, struct error *err)
{
	*out = (struct upload){ .parts = {
					[UPLOAD_PROFILE] = { .name = "profile" },
					[UPLOAD_PREVIOUS] = { .name = "prev_profile" },
					[UPLOAD_CONFIG] = { .name = "sample_type_config" },
				} };
	if (!multipart_is(input->content_type)) {
		out->parts[UPLOAD_PROFILE].content = input->body;
		return 0;
	}
	if (form_parts_read(input->content_type, input->body, out->parts, UPLOAD_PARTS, err) < 0)
		return -1;
	if (out->parts[UPLOAD_PREVIOUS].content.length > 0)
		return error_set(err, ERROR_INVALID,
		                 "unsupported client version. Please update "
		                 "github.com/grafana/pyroscope-go to the latest version");
	return 0;
}

static int read_config(const struct format_input *input, const struct upload *upload,
                       struct sample_type_config *out, struct error *err)
{
	const struct form_part *config = &upload->parts[UPLOAD_CONFIG];

	if (config->rank != FORM_MISSING)
		return sample_type_config_parse(config->content, input->arena, out, err);
	*out = sample_type_config_default;
	return 0;
}

/* Room for `count` more strings. The first of them is old string_count. */
static int add_strings(struct profile *profile, size_t count, struct error *err)
{
	struct str *strings =
		arena_array_raw(profile->arena, profile->string_count + count, sizeof(*strings));

	if (!strings || profile->string_count + count > UINT32_MAX)
		return arena_error(profile->arena, err);
	if (profile->string_count > 0)
		memcpy(strings, profile->strings, profile->string_count * sizeof(*strings));
	profile->strings = strings;
	return 0;
}

static bool wants_files_before_names(struct str spy_name)
{
	return str_equals(spy_name, "pyspy") || str_equals(spy_name, "rbspy") ||
	       str_equals(spy_name, "scripting");
}

/* "<file> <name>" for every function; pyspy leaves those of absolute files alone. */
static int put_files_before_names(struct profile *profile, struct str spy_name, struct error *err)
{
	const bool skip_absolute = str_equals(spy_name, "pyspy");

	if (add_strings(profile, profile->function_count, err) < 0)
		return -1;
	for (size_t i = 0; i < profile->function_count; i++) {
		struct profile_function *function = &profile->functions[i];
		const struct str file = profile_string(profile, function->file);
		const struct str name = profile_string(profile, function->name);
		const size_t length = file.length + 1 + name.length;
		char *text;

		if (skip_absolute && str_starts_with(file, STR("/")))
			continue;
		text = arena_alloc_raw(profile->arena, length);
		if (!text)
			return arena_error(profile->arena, err);
		if (file.length > 0)
			memcpy(text, file.data, file.length);
		text[file.length] = ' ';
		if (name.length > 0)
			memcpy(text + file.length + 1, name.data, name.length);
		function->name = (uint32_t)profile->string_count;
		profile->strings[profile->string_count++] = str_make(text, length);
	}
	return 0;
}

/* alloc-samples becomes alloc_samples. */
static int replace_dashes(struct profile *profile, struct error *err)
{
	if (add_strings(profile, profile->sample_type_count, err) < 0)
		return -1;
	for (size_t i = 0; i < profile->sample_type_count; i++) {
		uint32_t *type = &profile->sample_types[i].type;
		const struct str old = profile_string(profile, *type);
		char *text;

		if (str_index(old, '-') < 0)
			continue;
		text = arena_alloc_raw(profile->arena, old.length);
		if (!text)
			return arena_error(profile->arena, err);
		for (size_t at = 0; at < old.length; at++)
			text[at] = (char)(old.data[at] == '-' ? '_' : old.data[at]);
		*type = (uint32_t)profile->string_count;
		profile->strings[profile->string_count++] = str_make(text, old.length);
	}
	return 0;
}

static bool is_dotnet(struct str spy_name, const struct sample_type_config *config)
{
	return str_equals(spy_name, "dotnetspy") ||
	       (str_equals(spy_name, "unknown") &&
	        sample_type_config_has(config, STR("inuse-space")));
}

static int repair(const struct format_input *input, const struct sample_type_config *config,
                  struct profile *profile, struct error *err)
{
	const struct str spy_name = input->params->spy_name;

	if (profile->string_count == 0)
		return 0; /* refused by the pipeline; nothing here can be named */
	if (wants_files_before_names(spy_name) &&
	    put_files_before_names(profile, spy_name, err) < 0)
		return -1;
	if (is_dotnet(spy_name, config) && replace_dashes(profile, err) < 0)
		return -1;
	if (profile->time_unix_ns >= 0 && profile->time_unix_ns < YEAR_1970_NS)
		profile->time_unix_ns = input->params->from_unix_ns;
	return 0;
}

static int unpack(const struct format_input *input, struct str raw, struct str *out,
                  struct error *err)
{
	const size_t limit = input->limits->max_profile_size_bytes;

	if (pprof_bytes_unpack(raw, limit, input->arena, out, err) == 0)
		return 0;
	if (err->code == ERROR_TOO_LARGE && limit > 0)
		return error_set(err, ERROR_TOO_LARGE,
		                 "decompressed size exceeds maximum allowed size of %zu bytes",
		                 limit);
	return -1;
}

int pprof_upload_decode(const struct format_input *input, struct format_output *out,
                        struct error *err)
{
	const struct ingest_params *params = input->params;
	struct arena *arena = input->arena;
	struct ingest_profile *made = arena_alloc(arena, sizeof(*made));
	struct pprof_input *pprof = arena_alloc(arena, sizeof(*pprof));
	struct pprof_options options = { .max_samples = input->limits->max_samples };
	struct sample_type_config config;
	struct upload upload;
	struct str sent;
	struct str plain;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	if (!made || !pprof)
		return arena_error(arena, err);
	if (read_upload(input, &upload, err) < 0)
		return -1;
	sent = upload.parts[UPLOAD_PROFILE].content;
	if (sent.length == 0)
		return 0;
	if (read_config(input, &upload, &config, err) < 0 || unpack(input, sent, &plain, err) < 0)
		return -1;
	out->plain_bytes = plain.length;
	options.repair_zero_function_ids = is_dotnet(params->spy_name, &config);
	if (pprof_read(plain, &options, arena, pprof, err) < 0 ||
	    repair(input, &config, &pprof->profile, err) < 0 ||
	    ingest_params_labels(params, sample_type_config_metric(&config, &pprof->profile),
	                         params->name.app, arena, &made->labels, err) < 0)
		return -1;

	made->input = pprof;
	made->payload = sent;
	out->stage = FORMAT_STORING;
	out->profiles = made;
	out->count = 1;
	return 0;
}
