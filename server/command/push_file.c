#include "server/command/push_file.h"

#include "base/gzip.h"
#include "base/url.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "formats/content.h"
#include "formats/perf_script.h"
#include "profile/pprof.h"
#include "server/push/push_message.h"

#define PATH_MAX_BYTES   (size_t)(64 * 1024)
#define FIELD_TIME_NANOS 9 /* of a pprof message */
#define NOTHING_KNOWN                                                                 \
	"nothing that is known: a pprof, a JFR recording, a speedscope file, folded " \
	"stacks (\"main;work 42\" a line), output of perf script, a trie or a tree "  \
	"is expected"

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

	if (!types)
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

/* What a file is on /ingest. */
static const struct push_format {
	enum content_kind kind;
	const char *parameter;
	const char *suffix; /* of the name, when the user says none; NULL: it has none */
} formats[] = {
	{ CONTENT_FOLDED, "folded", "cpu" }, { CONTENT_PERF_SCRIPT, "folded", "cpu" },
	{ CONTENT_TRIE, "trie", "cpu" },     { CONTENT_TREE, "tree", "cpu" },
	{ CONTENT_JFR, "jfr", NULL },        { CONTENT_SPEEDSCOPE, "speedscope", "" },
};

/*
 * The name up to its labels. Of text formats its last part is the type, and must be there
 * when the service has dots. Of speedscope files the unit says it; the service is a label
 * then, since a server puts the unit of several profiles behind the whole name.
 */
static void put_app(const struct push_options *options, const struct push_format *format,
                    struct strbuf *out)
{
	const struct str suffix = options->suffix.length > 0
	                                  ? options->suffix
	                                  : str_of(format->suffix ? format->suffix : "");

	if (format->kind != CONTENT_SPEEDSCOPE) {
		strbuf_add_str(out, options->service);
	} else {
		for (size_t i = 0; i < options->service.length; i++)
			strbuf_add(out,
			           options->service.data[i] == '.' ? "_"
			                                           : &options->service.data[i],
			           1);
	}
	if (format->suffix && suffix.length > 0) {
		strbuf_add_byte(out, '.');
		strbuf_add_str(out, suffix);
	}
}

static void put_label(struct strbuf *out, struct str name, struct str value)
{
	strbuf_add_text(out, str_ends_with(strbuf_view(out), STR("{")) ? "" : ",");
	strbuf_add_str(out, name);
	strbuf_add_byte(out, '=');
	strbuf_add_str(out, value);
}

static int make_name(const struct push_options *options, const struct push_format *format,
                     struct strbuf *out, struct error *err)
{
	const struct label_set *labels = options->labels;

	put_app(options, format, out);
	strbuf_add_byte(out, '{');
	if (format->kind == CONTENT_SPEEDSCOPE)
		put_label(out, STR("service_name"), options->service);
	for (size_t i = 0; i < labels->count; i++) {
		if (check_name_label(&labels->labels[i], err) < 0)
			return -1;
		put_label(out, labels->labels[i].name, labels->labels[i].value);
	}
	strbuf_add_byte(out, '}');
	return 0;
}

static int put_body(struct push_request *request, const struct push_format *format,
                    struct str plain, struct arena *arena, struct error *err)
{
	struct perf_script_counts counts;

	if (format->kind == CONTENT_PERF_SCRIPT)
		return perf_script_fold(plain, arena, &request->body, &counts, err);
	strbuf_add_str(&request->body, plain);
	return 0;
}

static int make_ingest(struct push_request *request, const struct push_format *format,
                       struct str plain, const struct push_options *options, struct arena *arena,
                       struct error *err)
{
	struct strbuf name;
	int result;

	strbuf_init(&name, PATH_MAX_BYTES);
	result = make_name(options, format, &name, err);
	strbuf_add_text(&request->path, "/ingest?name=");
	url_encode(strbuf_view(&name), &request->path);
	strbuf_printf(&request->path, "&format=%s", format->parameter);
	if (options->sample_rate.length > 0) {
		strbuf_add_text(&request->path, "&sampleRate=");
		url_encode(options->sample_rate, &request->path);
	}
	request->content_type = "application/octet-stream";
	strbuf_fini(&name);
	return result < 0 ? -1 : put_body(request, format, plain, arena, err);
}

/* ---- folded stacks ---- */

/* Says which lines the server passes over, since nothing in them is a count. */
static int check_lines(struct str plain, struct arena *arena, struct push_request *request,
                       struct error *err)
{
	size_t number = 0;
	size_t good = 0;
	size_t bad = 0;
	size_t first_bad = 0;
	struct str line;

	while (plain.length > 0 && str_split(&plain, '\n', &line)) {
		number++;
		if (str_trim(line).length == 0)
			continue;
		if (content_is_folded_line(str_trim(line))) {
			good++;
		} else if (bad++ == 0) {
			first_bad = number;
		}
	}
	if (good == 0)
		return error_set(err, ERROR_INVALID, NOTHING_KNOWN);
	if (bad > 0) {
		request->note = arena_printf(arena,
		                             "%zu of %zu lines, the first of them line %zu, do not "
		                             "end with a count and are left out",
		                             bad, bad + good, first_bad);
		if (!request->note.data)
			return arena_error(arena, err);
	}
	return 0;
}

/* Bytes that are no text have no lines. */
static int check_folded(struct str plain, struct arena *arena, struct push_request *request,
                        struct error *err)
{
	if (!utf8_is_valid(plain) || str_index(plain, '\0') >= 0)
		return error_set(err, ERROR_INVALID, NOTHING_KNOWN);
	return check_lines(plain, arena, request, err);
}

/* ---- either ---- */

static const struct push_format *format_of(const struct content *content)
{
	for (size_t i = 0; content && i < ARRAY_LENGTH(formats); i++)
		if (formats[i].kind == content->kind)
			return &formats[i];
	return NULL;
}

static int make_request(struct push_request *request, struct str path, struct str bytes,
                        struct str plain, const struct push_options *options, struct arena *arena,
                        struct error *err)
{
	const struct content *content = content_of(plain, arena);
	const struct push_format *format = format_of(content);
	struct str *types;
	size_t count;

	request->taken_for = content ? content->name : NULL;
	if (!content && check_folded(plain, arena, request, err) < 0)
		return -1;
	if (!content)
		request->taken_for = "folded stacks";
	if (content && content->kind == CONTENT_PPROF && read_types(plain, &types, &count, arena)) {
		if (options->suffix.length > 0 || options->sample_rate.length > 0)
			request->note =
				STR("a pprof says itself what it counts: --type and --sample-rate "
			            "are not looked at");
		return make_push(request, bytes, plain, options,
		                 push_metric_name(types, count, path), arena, err);
	}
	if (content && !format)
		return error_set(err, ERROR_INVALID, "%s", content->advice);
	if (content && content->kind == CONTENT_FOLDED &&
	    check_lines(plain, arena, request, err) < 0)
		return -1;
	return make_ingest(request, format ? format : &formats[0], plain, options, arena, err);
}

int push_request_init(struct push_request *request, struct str path, struct str bytes,
                      const struct push_options *options, struct arena *arena, struct error *err)
{
	struct str plain = bytes;

	*request = (struct push_request){ .taken_for = "a gzip file" };
	strbuf_init(&request->path, PATH_MAX_BYTES);
	strbuf_init(&request->body, PUSH_FILE_MAX + PATH_MAX_BYTES);
	if (gzip_is(bytes) && gzip_inflate(bytes, PUSH_FILE_MAX, arena, &plain, err) < 0)
		return -1;
	if (make_request(request, path, bytes, plain, options, arena, err) < 0)
		return -1;
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
