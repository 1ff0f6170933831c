#include "server/command/push_file.h"

#include "base/gzip.h"
#include "base/url.h"
#include "base/wire.h"
#include "profile/pprof.h"
#include "server/push/push_message.h"

#define PATH_MAX_BYTES   (size_t)(64 * 1024)
#define FIELD_TIME_NANOS 9 /* of a pprof message */

const char *push_format_name(enum push_format format)
{
	static const char *const names[] = {
		[PUSH_PPROF] = "pprof",
		[PUSH_JFR] = "JFR",
		[PUSH_SPEEDSCOPE] = "speedscope",
		[PUSH_FOLDED] = "folded stacks",
	};

	return names[format];
}

static bool contains(struct str text, const char *part)
{
	return str_find(text, str_of(part)) >= 0;
}

struct str push_metric_name(const struct str *types, size_t count, struct str path)
{
	for (size_t i = 0; i < count; i++)
		if (str_equals(types[i], "wall"))
			return STR("wall");
	for (size_t i = 0; i < count; i++) {
		if (str_equals(types[i], "cpu"))
			return STR("process_cpu");
		if (contains(types[i], "alloc_") || contains(types[i], "inuse_") ||
		    str_equals(types[i], "space") || str_equals(types[i], "objects"))
			return STR("memory");
		if (str_equals(types[i], "goroutine") || str_equals(types[i], "goroutines"))
			return STR("goroutine");
		/* Blocking and mutexes have the same sample types. */
		if (str_equals(types[i], "contentions"))
			return contains(path, "block") ? STR("block") : STR("mutex");
	}
	return count > 0 && types[count - 1].length > 0 ? types[count - 1] : STR("unknown");
}

/* The sample types of a pprof; false when the bytes are none. */
static bool read_types(struct str plain, struct str **out_types, size_t *out_count,
                       struct arena *arena)
{
	struct pprof_input input;
	struct error ignored = { 0 };

	if (pprof_read(plain, &(struct pprof_options){ .max_samples = 0 }, arena, &input,
	               &ignored) < 0)
		return false;

	const struct profile *profile = &input.profile;
	struct str *types = arena_array(arena, profile->sample_type_count + 1, sizeof(*types));

	/* Any short text may pass for a protobuf message of unknown fields. */
	if (!types || profile->sample_type_count == 0 || profile->string_count == 0)
		return false;
	for (size_t i = 0; i < profile->sample_type_count; i++)
		types[i] = profile_string(profile, profile->sample_types[i].type);
	*out_types = types;
	*out_count = profile->sample_type_count;
	return true;
}

/* ---- Push ---- */

/* With another time: of a field that is there twice, readers take the last. */
static void put_time(struct strbuf *out, struct str plain, int64_t unix_ns)
{
	strbuf_add_str(out, plain);
	wire_put_uint(out, FIELD_TIME_NANOS, (uint64_t)unix_ns);
}

/* The labels of the series: what the user gave, behind the name and the service. */
static struct label_set series_labels(struct str metric, const struct push_options *options,
                                      struct arena *arena)
{
	const struct label_set *given = options->labels;
	const size_t count = given->count + 2;
	struct label_set set = { .labels = arena_array(arena, count, sizeof(*set.labels)) };

	if (!set.labels)
		return set;
	if (!label_set_find(given, STR("__name__")))
		set.labels[set.count++] = (struct label){ STR("__name__"), metric };
	set.labels[set.count++] = (struct label){ STR("service_name"), options->service };
	for (size_t i = 0; i < given->count; i++)
		set.labels[set.count++] = given->labels[i];
	return set;
}

static int make_push(struct push_request *request, struct str bytes, struct str plain,
                     const struct push_options *options, struct str metric, struct arena *arena,
                     struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf changed;
	const struct label_set labels = series_labels(metric, options, arena);

	strbuf_init(&changed, PUSH_FILE_MAX + 64);
	if (labels.count == 0)
		return arena_error(arena, err);
	if (options->override_unix_ns != 0)
		put_time(&changed, plain, options->override_unix_ns);
	strbuf_add_text(&request->path, PUSH_MESSAGE_PATH);
	request->content_type = PUSH_MESSAGE_TYPE;
	push_message_add(&request->body, &labels,
	                 options->override_unix_ns != 0 ? strbuf_view(&changed) : bytes);
	return 0;
}

/* ---- /ingest ---- */

/* The name's grammar has no quoting: what would end a value early cannot be said. */
static int check_name_label(const struct label *label, struct error *err)
{
	if (str_index(label->value, ',') >= 0 || str_index(label->value, '}') >= 0)
		return error_set(
			err, ERROR_INVALID,
			"the value of label %.*s has a ',' or '}', which only pprof can carry",
			STR_ARGS(label->name));
	return 0;
}

static int make_name(const struct push_options *options, bool has_suffix, struct strbuf *out,
                     struct error *err)
{
	const struct label_set *labels = options->labels;

	strbuf_add_str(out, options->service);
	/*
	 * Of text formats the last part of the name is the type, so that it must be
	 * there.
	 */
	if (has_suffix) {
		strbuf_add_byte(out, '.');
		strbuf_add_str(out, options->suffix);
	}
	strbuf_add_byte(out, '{');
	for (size_t i = 0; i < labels->count; i++) {
		if (check_name_label(&labels->labels[i], err) < 0)
			return -1;
		strbuf_add_text(out, i > 0 ? "," : "");
		strbuf_add_str(out, labels->labels[i].name);
		strbuf_add_byte(out, '=');
		strbuf_add_str(out, labels->labels[i].value);
	}
	strbuf_add_byte(out, '}');
	return 0;
}

static int make_ingest(struct push_request *request, struct str bytes,
                       const struct push_options *options, struct error *err)
{
	static const char *const formats[] = {
		[PUSH_JFR] = "jfr",
		[PUSH_SPEEDSCOPE] = "speedscope",
		[PUSH_FOLDED] = "folded",
	};
	struct strbuf name;
	int result;

	strbuf_init(&name, PATH_MAX_BYTES);
	result = make_name(options, request->format != PUSH_JFR, &name, err);
	strbuf_add_text(&request->path, "/ingest?name=");
	url_encode(strbuf_view(&name), &request->path);
	strbuf_printf(&request->path, "&format=%s", formats[request->format]);
	if (options->sample_rate.length > 0) {
		strbuf_add_text(&request->path, "&sampleRate=");
		url_encode(options->sample_rate, &request->path);
	}
	request->content_type = "application/octet-stream";
	strbuf_add_str(&request->body, bytes);
	strbuf_fini(&name);
	return result;
}

static enum push_format format_of(struct str plain)
{
	if (str_starts_with(plain, STR("FLR\0")))
		return PUSH_JFR;
	if (str_starts_with(str_trim(str_first(plain, 64)), STR("{")))
		return PUSH_SPEEDSCOPE;
	return PUSH_FOLDED;
}

int push_request_init(struct push_request *request, struct str path, struct str bytes,
                      const struct push_options *options, struct arena *arena, struct error *err)
{
	struct str plain = bytes;
	struct str *types = NULL;
	size_t count = 0;

	*request = (struct push_request){ .format = PUSH_PPROF };
	strbuf_init(&request->path, PATH_MAX_BYTES);
	strbuf_init(&request->body, PUSH_FILE_MAX + PATH_MAX_BYTES);
	if (gzip_is(bytes) && gzip_inflate(bytes, PUSH_FILE_MAX, arena, &plain, err) < 0)
		return -1;
	if (read_types(plain, &types, &count, arena)) {
		if (make_push(request, bytes, plain, options, push_metric_name(types, count, path),
		              arena, err) < 0)
			return -1;
	} else {
		request->format = format_of(plain);
		if (make_ingest(request, plain, options, err) < 0)
			return -1;
	}
	if (strbuf_overflowed(&request->path) || strbuf_overflowed(&request->body))
		return error_set(err, ERROR_TOO_LARGE, "larger than %zu MiB with its labels",
		                 PUSH_FILE_MAX / 1024 / 1024);
	return 0;
}

void push_request_fini(struct push_request *request)
{
	strbuf_fini(&request->path);
	strbuf_fini(&request->body);
}
