#include "server/options.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "server/nearest.h"

#define MEMORY_LEAST    ((size_t)16 << 20)   /* arenas of a few requests; a guess */
#define CLOCK_START_MAX UINT64_C(4102444800) /* the year 2100 */
#define IGNORED_MAX     ((size_t)16 << 10)   /* bytes of the list of ignored flags; a guess */

static const struct option table[] = {
#define START  OPTION_START
#define RELOAD OPTION_RELOAD
#define COMMON OPTION_COMMON
#define MORE   OPTION_MORE
#define HIDDEN OPTION_HIDDEN
#define OPTION(field, name, type, fallback, reload, level, help) \
	{ name, OPTION_##type, offsetof(struct options, field), fallback, reload, level, help },
#include "server/options.def"
#undef OPTION
#undef START
#undef RELOAD
#undef COMMON
#undef MORE
#undef HIDDEN
};

const struct option *option_at(enum option_id id)
{
	assert(id < OPTION_COUNT_ALL);
	return &table[id];
}

const struct option *option_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (str_equals(name, table[i].name))
			return &table[i];
	return NULL;
}

/* Values that nothing could be done with. */
static int check_value(const struct options *options, const struct option *option,
                       struct error *err)
{
	switch (option - table) {
	case OPTION_ID_memory_limit:
		if (options->memory_limit >= MEMORY_LEAST)
			return 0;
		return error_set(err, ERROR_INVALID, "less than %zu MiB is not enough to answer",
		                 MEMORY_LEAST >> 20);
	case OPTION_ID_storage_path:
		if (options->storage_path[0])
			return 0;
		return error_set(err, ERROR_INVALID, "a folder is expected, not an empty path");
	case OPTION_ID_clock_start:
		if (options->clock_start <= CLOCK_START_MAX)
			return 0;
		return error_set(err, ERROR_INVALID, "at most %" PRIu64 " is expected",
		                 CLOCK_START_MAX);
	default:
		return 0;
	}
}

/* By the beginning of their names; the first row that fits. */
static const struct {
	const char *name;
	unsigned halves;
} halves[] = {
	{ "collector.", OPTION_OF_COLLECTOR },
	{ "compat.service-name", OPTION_OF_COLLECTOR },
	{ "config.", OPTION_OF_SERVER | OPTION_OF_COLLECTOR },
	{ "log.", OPTION_OF_SERVER | OPTION_OF_COLLECTOR },
	{ "metrics.listen", OPTION_OF_COLLECTOR },
	{ "push.", OPTION_OF_COLLECTOR },
	{ "", OPTION_OF_SERVER },
};

unsigned option_halves(const struct option *option)
{
	size_t i = 0;

	while (!str_starts_with(str_of(option->name), str_of(halves[i].name)))
		i++;
	return halves[i].halves;
}

int options_set(struct options *options, const struct option *option, struct str text,
                struct error *err)
{
	const size_t id = (size_t)(option - table);
	char *copy;

	if (memchr(text.length ? text.data : "", '\0', text.length))
		return error_set(err, ERROR_INVALID, "-%s: a NUL in the value", option->name);
	copy = mem_strndup(text.length ? text.data : "", text.length);
	if (option_value_parse(option->type, (struct str){ copy, text.length },
	                       (char *)options + option->offset, err) < 0 ||
	    check_value(options, option, err) < 0) {
		free(copy);
		return error_context(err, "-%s", option->name);
	}
	free(options->texts[id]);
	options->texts[id] = copy;
	options->given[id] = true;
	return 0;
}

struct options *options_new(void)
{
	struct options *options = mem_zalloc(1, sizeof(*options));
	struct error err = { 0 };

	strbuf_init(&options->ignored, IGNORED_MAX);
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
		const int status = options_set(options, &table[i], str_of(table[i].fallback), &err);

		assert(status == 0); /* a default of our own table */
		(void)status;
		options->given[i] = false;
	}
	return options;
}

void options_free(struct options *options)
{
	if (!options)
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		free(options->texts[i]);
	strbuf_fini(&options->ignored);
	free(options);
}

/* ---- flags ---- */

/* Flags of Pyroscope that have no meaning here; a trailing '*' stands for any ending. */
static const struct {
	const char *name;
	bool takes_no_value;
} ignored[] = {
	{ "self-profiling.disable-push", true },
	{ "self-profiling.use-k6-middleware", true },
	{ "self-profiling.*", false },
	{ "usage-stats.enabled", true },
	{ "usage-stats.*", false },
	{ "tracing.enabled", true },
	{ "tracing.*", false },
	{ "architecture.storage", false },
	{ "write-path", false },
	{ "enable-query-backend", true },
	{ "api.base-url", false },
	{ "log.color", true },
	{ "config.show_banner", true },
	{ "modules", true },
	{ "embedded-grafana.*", false },
	{ "runtime-config.*", false },
	{ "memberlist.*", false },
	{ "consul.*", false },
	{ "etcd.*", false },
	{ "distributor.ring.*", false },
	{ "distributor.replication-factor", false },
	{ "distributor.push.timeout", false },
	{ "distributor.health-check-ingesters", true },
	{ "distributor.zone-awareness-enabled", true },
	{ "ring.*", false },
	{ "ingester.*", false },
	{ "store-gateway.*", false },
	{ "compactor.*", false },
	{ "compaction-worker.*", false },
	{ "metastore.*", false },
	{ "segment-writer.*", false },
	{ "query-backend.*", false },
	{ "query-frontend.*", false },
	{ "query-scheduler.*", false },
	{ "querier.frontend-client.*", false },
	{ "querier.scheduler-address", false },
	{ "querier.query-store-after", false },
	{ "querier.split-queries-by-interval", false },
	{ "overrides-exporter.*", false },
	{ "symbolizer.*", false },
	{ "storage.backend", false },
	{ "storage.prefix", false },
	{ "storage.s3.*", false },
	{ "storage.gcs.*", false },
	{ "storage.azure.*", false },
	{ "storage.swift.*", false },
	{ "storage.cos.*", false },
	{ "storage.filesystem.*", false },
	{ "blocks-storage.*", false },
	{ "pyroscopedb.*", false },
	{ "tenant-settings.*", false },
	{ "adhoc-profiles.*", false },
	{ "server.grpc*", false },
	{ "server.register-instrumentation", true },
	{ "server.http-conn-limit", false },
	{ "server.http-listen-network", false },
	{ "server.log-*", true },
	{ "client.*", false },
};

bool options_ignores(struct str name, bool *out_bool)
{
	for (size_t i = 0; i < ARRAY_LENGTH(ignored); i++) {
		const struct str pattern = str_of(ignored[i].name);
		const bool any_ending = str_ends_with(pattern, STR("*"));

		if (any_ending ? !str_starts_with(name, str_first(pattern, pattern.length - 1))
		               : !str_equal(name, pattern))
			continue;
		*out_bool = ignored[i].takes_no_value;
		return true;
	}
	return false;
}

static int unknown_flag(struct str name, struct error *err)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		nearest_add(&nearest, table[i].name);
	if (nearest.name)
		return error_set(err, ERROR_INVALID, "unknown flag -%.*s; did you mean -%s?",
		                 STR_ARGS(str_first(name, 100)), nearest.name);
	return error_set(err, ERROR_INVALID,
	                 "unknown flag -%.*s; -help-all lists those that there are",
	                 STR_ARGS(str_first(name, 100)));
}

/* One flag of a command line: "-name", "--name", "-name=value". */
struct flag {
	struct str name;
	struct str value;
	bool has_value; /* behind a '=' */
};

static bool flag_read(const char *argument, struct flag *out)
{
	struct str text = str_of(argument);
	ptrdiff_t equals;

	if (!str_starts_with(text, STR("-")) || text.length < 2)
		return false;
	text = str_skip(text, str_starts_with(text, STR("--")) ? 2 : 1);
	equals = str_index(text, '=');
	*out = (struct flag){ .name = text };
	if (equals >= 0) {
		out->name = str_first(text, (size_t)equals);
		out->value = str_skip(text, (size_t)equals + 1);
		out->has_value = true;
	}
	return out->name.length > 0;
}

static bool flag_wish(struct str name, enum options_wish *out_wish)
{
	if (str_equals(name, "h") || str_equals(name, "help"))
		*out_wish = OPTIONS_HELP;
	else if (str_equals(name, "help-all"))
		*out_wish = OPTIONS_HELP_ALL;
	else if (str_equals(name, "version"))
		*out_wish = OPTIONS_VERSION;
	else
		return false;
	return true;
}

static void pass_over(struct options *options, const struct flag *flag, bool is_bool, int argc,
                      char **argv, int *index)
{
	if (options->ignored.length > 0)
		strbuf_add_text(&options->ignored, " ");
	strbuf_printf(&options->ignored, "-%.*s", STR_ARGS(flag->name));
	if (!flag->has_value && !is_bool && *index + 1 < argc && argv[*index + 1][0] != '-')
		(*index)++;
}

static int set_flag(struct options *options, const struct flag *flag, int argc, char **argv,
                    int *index, struct error *err)
{
	const struct option *option = option_find(flag->name);
	bool is_bool;

	if (!option && options_ignores(flag->name, &is_bool)) {
		pass_over(options, flag, is_bool, argc, argv, index);
		return 0;
	}
	if (!option)
		return unknown_flag(flag->name, err);
	if (flag->has_value)
		return options_set(options, option, flag->value, err);
	if (option->type == OPTION_BOOL)
		return options_set(options, option, STR("true"), err);
	if (*index + 1 >= argc)
		return error_set(err, ERROR_INVALID, "-%s needs a value", option->name);
	return options_set(options, option, str_of(argv[++*index]), err);
}

/* A word that is no flag; behind a bool it may have been meant for that. */
static int unexpected(char **argv, int index, struct error *err)
{
	const struct str word = str_first(str_of(argv[index]), 100);
	const struct option *before = NULL;
	struct flag flag;

	if (index > 1 && flag_read(argv[index - 1], &flag) && !flag.has_value)
		before = option_find(flag.name);
	if (before && before->type == OPTION_BOOL)
		return error_set(err, ERROR_INVALID,
		                 "unexpected argument '%.*s'; -%s=%.*s has a '='", STR_ARGS(word),
		                 before->name, STR_ARGS(word));
	return error_set(err, ERROR_INVALID, "unexpected argument '%.*s'", STR_ARGS(word));
}

static int set_flags(struct options *options, int argc, char **argv, enum options_wish *out_wish,
                     struct error *err)
{
	for (int i = 1; i < argc; i++) {
		struct flag flag;

		if (!flag_read(argv[i], &flag))
			return unexpected(argv, i, err);
		if (!flag.has_value && flag_wish(flag.name, out_wish))
			return 0;
		if (set_flag(options, &flag, argc, argv, &i, err) < 0)
			return -1;
	}
	return 0;
}

int options_load(int argc, char **argv, struct options **out, enum options_wish *out_wish,
                 struct error *err)
{
	CLEANUP(options_freep) struct options *options = options_new();
	enum options_wish wish = OPTIONS_RUN;

	/* once for the name of the file, and again over what the file says */
	if (set_flags(options, argc, argv, &wish, err) < 0)
		return -1;
	if (wish == OPTIONS_RUN && options->config_file[0]) {
		const char *path = options->config_file;

		strbuf_reset(&options->ignored);
		if (options_set_file(options, path, options->config_expand_env, err) < 0 ||
		    set_flags(options, argc, argv, &wish, err) < 0)
			return -1;
	}
	*out = TAKE(options);
	*out_wish = wish;
	return 0;
}
