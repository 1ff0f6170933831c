#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "profile/profile_type.h"
#include "server/options.h"

static int load(struct options **out, enum options_wish *out_wish, struct error *err,
                const char *const *arguments)
{
	char *argv[16] = { NULL };
	int argc = 1;
	int status;

	argv[0] = strdup("server");
	for (; arguments[argc - 1]; argc++)
		argv[argc] = strdup(arguments[argc - 1]);
	status = options_load(argc, argv, out, out_wish, err);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return status;
}

#define LOAD(out, wish, err, ...) load(out, wish, err, (const char *const[]){ __VA_ARGS__, NULL })

static void flags_have_one_or_two_dashes_and_both_forms(void **state)
{
	CLEANUP(options_freep) struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(LOAD(&options, &wish, &err, "-server.http-listen-port=1", "--log.level",
	                      "debug", "-auth.multitenancy-enabled",
	                      "--storage.allow-network-fs=true", "-memory.limit", "1GiB",
	                      "-storage.retention=7d", "-query.instant=sum",
	                      "-distributor.ingestion-rate-limit-mb=0.5", "-storage.path=a=b"),
	                 0);
	assert_int_equal(wish, OPTIONS_RUN);
	assert_int_equal(options->http_listen_port, 1);
	assert_int_equal(options->log_level, LOG_DEBUG);
	assert_true(options->multitenancy);
	assert_true(options->storage_allow_network_fs);
	assert_true(options->memory_limit == UINT64_C(1) << 30);
	assert_true(options->storage_retention_ns == 7 * 86400 * NS_PER_S);
	assert_int_equal(options->query_instant, PROFILE_MERGE_SUM);
	assert_true(options->ingestion_rate_bytes == 524288.0);
	assert_string_equal(options->storage_path, "a=b");
}

/* The issue's list, and ingest specification, 1.5. */
static void defaults_are_those_of_the_specification(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();

	(void)state;
	assert_string_equal(options->http_listen_address, "127.0.0.1");
	assert_int_equal(options->http_listen_port, 4040);
	assert_true(options->storage_retention_ns == 30 * 86400 * NS_PER_S);
	assert_true(options->memory_limit == UINT64_C(512) << 20);
	assert_int_equal(options->query_instant, PROFILE_MERGE_MEAN);
	assert_true(options->reject_older_than_ns == 3600 * NS_PER_S);
	assert_true(options->reject_newer_than_ns == 600 * NS_PER_S);
	assert_int_equal(options->max_label_name_length, 1024);
	assert_int_equal(options->max_label_value_length, 2048);
	assert_int_equal(options->max_label_names_per_series, 30);
	assert_int_equal(options->max_sessions_per_series, 0);
	assert_int_equal(options->max_profile_size_bytes, 4194304);
	assert_int_equal(options->max_samples, 16000);
	assert_int_equal(options->max_sample_labels, 100);
	assert_int_equal(options->max_depth, 1000);
	assert_int_equal(options->max_string_length, 65535);
	assert_true(options->ingestion_rate_bytes == 0);
	assert_true(options->ingestion_body_bytes == 256.0 * 1048576);
	assert_true(options->max_query_length_ns == 0);
	assert_int_equal(options->flamegraph_nodes_default, 8192);
	assert_int_equal(options->flamegraph_nodes_max, 1048576);
}

static void bad_flags_are_said(void **state)
{
	static const struct {
		const char *flag;
		const char *message;
	} cases[] = {
		{ "-server.http-listen-prot=1", "did you mean -server.http-listen-port?" },
		{ "-server.http-listen-port=65536", "not a port" },
		{ "-server.http-listen-port=", "not a port" },
		{ "-storage.retention=30", "not a duration" },
		{ "-storage.retention=1e9d", "not a duration" },
		{ "-storage.retention=99999y", "longer than" },
		{ "-memory.limit=lots", "not a size" },
		{ "-memory.limit=-1", "not a size" },
		{ "-memory.limit=99999999999TiB", "not a size" },
		{ "-auth.multitenancy-enabled=maybe", "neither true nor false" },
		{ "-log.level=loud", "debug|info|warn|error" },
		{ "-server.workers=-1", "not a whole number" },
		{ "-distributor.ingestion-rate-limit-mb=1.2.3", "not a number of MiB" },
		{ "-server.http-listen-port", "needs a value" },
		{ "-memory.limit=1KiB", "less than 16 MiB" },
		{ "-memory.limit=16777215", "less than 16 MiB" },
		{ "-storage.path=", "a folder is expected" },
		{ "word", "unexpected argument 'word'" },
		{ "-", "unexpected argument '-'" },
		{ "--=3", "unexpected argument" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct options *options = NULL;
		enum options_wish wish;
		struct error err = { 0 };

		assert_int_equal(LOAD(&options, &wish, &err, cases[i].flag), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.message, cases[i].message));
		assert_null(options);
	}
}

static void a_word_behind_a_bool_is_explained(void **state)
{
	struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(LOAD(&options, &wish, &err, "-auth.multitenancy-enabled", "false"), -1);
	assert_non_null(strstr(err.message, "-auth.multitenancy-enabled=false has a '='"));
}

static void help_lists_what_a_command_looks_at(void **state)
{
	static const struct {
		unsigned halves;
		const char *has;
		const char *lacks;
	} cases[] = {
		{ OPTION_OF_SERVER, "-storage.path ", "-collector.interval " },
		{ OPTION_OF_SERVER, "-log.level ", "-push.url " },
		{ OPTION_OF_COLLECTOR, "-collector.interval ", "-storage.path " },
		{ OPTION_OF_COLLECTOR, "-log.level ", "-validation.reject-older-than " },
		{ OPTION_OF_COLLECTOR, "-compat.service-name ", "-compat.profile-type-alias " },
		{ OPTION_OF_SERVER | OPTION_OF_COLLECTOR, "-storage.path ", "-nothing " },
		{ OPTION_OF_SERVER | OPTION_OF_COLLECTOR, "-collector.interval ", "-nothing " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf text;

		strbuf_init(&text, 1 << 20);
		options_print_help(cases[i].halves, OPTION_MORE, &text);
		assert_non_null(strstr(text.data, cases[i].has));
		assert_null(strstr(text.data, cases[i].lacks));
	}
}

static void what_is_hidden_is_told_only_when_it_is_set(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, (size_t)256 << 10);
	options_print_help(OPTION_OF_SERVER, OPTION_MORE, &text);
	options_print_docs(&text);
	options_print_yaml(options, OPTIONS_PRINT_ALL, &text);
	assert_null(strstr(text.data, "clock."));
	assert_null(strstr(text.data, "clock:"));
	assert_int_equal(options_set(options, option_find(STR("clock.factor")), STR("60"), &err),
	                 0);
	assert_true(options->clock_factor == 60);
	strbuf_reset(&text);
	options_print_yaml(options, OPTIONS_PRINT_CHANGED, &text);
	assert_string_equal(text.data, "clock:\n  factor: 60\n");
	assert_int_equal(
		options_set(options, option_find(STR("clock.start")), STR("4102444801"), &err), -1);
}

static void flags_without_meaning_are_listed(void **state)
{
	CLEANUP(options_freep) struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(LOAD(&options, &wish, &err, "-self-profiling.disable-push",
	                      "-memberlist.join", "host", "-target=all", "-storage.s3.bucket=b",
	                      "-server.http-listen-port=7"),
	                 0);
	assert_string_equal(options->ignored.data,
	                    "-self-profiling.disable-push -memberlist.join -storage.s3.bucket");
	assert_int_equal(options->http_listen_port, 7);
}

static void wishes_are_heard(void **state)
{
	static const struct {
		const char *flag;
		enum options_wish wish;
	} cases[] = {
		{ "-h", OPTIONS_HELP },
		{ "--help", OPTIONS_HELP },
		{ "-help-all", OPTIONS_HELP_ALL },
		{ "-version", OPTIONS_VERSION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(options_freep) struct options *options = NULL;
		enum options_wish wish;
		struct error err = { 0 };

		assert_int_equal(LOAD(&options, &wish, &err, cases[i].flag), 0);
		assert_int_equal(wish, cases[i].wish);
	}
}

static void durations_and_sizes_have_units(void **state)
{
	static const struct {
		struct str text;
		int64_t ns;
	} durations[] = {
		{ STR("0"), 0 },
		{ STR("15s"), 15 * NS_PER_S },
		{ STR("1h30m"), 5400 * NS_PER_S },
		{ STR("1.5h"), 5400 * NS_PER_S },
		{ STR("2w"), 14 * 86400 * NS_PER_S },
		{ STR("1y"), 365 * 86400 * NS_PER_S },
		{ STR("250ms"), 250 * NS_PER_MS },
		{ STR("3us"), 3 * NS_PER_US },
	};
	static const struct {
		struct str text;
		uint64_t bytes;
	} sizes[] = {
		{ STR("0"), 0 },
		{ STR("4096"), 4096 },
		{ STR("512MiB"), UINT64_C(512) << 20 },
		{ STR("512mib"), UINT64_C(512) << 20 },
		{ STR("10GB"), UINT64_C(10000000000) },
		{ STR("1.5GiB"), UINT64_C(3) << 29 },
	};
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(durations); i++) {
		int64_t ns = -1;

		assert_int_equal(option_parse_duration(durations[i].text, &ns, &err), 0);
		assert_true(ns == durations[i].ns);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		uint64_t bytes = 1;

		assert_int_equal(option_parse_bytes(sizes[i].text, &bytes, &err), 0);
		assert_true(bytes == sizes[i].bytes);
	}
}

static void a_file_has_sections_or_whole_names(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();
	struct error err = { 0 };

	(void)state;
	assert_int_equal(options_set_yaml(options,
	                                  STR("# comment\n"
	                                      "server:\n"
	                                      "  http_listen_port: 7\n"
	                                      "  path-prefix: '/p'\n"
	                                      "server.http_listen_address: \"::1\"\n"
	                                      "multitenancy_enabled: true\n"
	                                      "memberlist:\n  join: x\n"
	                                      "config: {file: ~}\n"),
	                                  "f.yaml", &err),
	                 0);
	assert_int_equal(options->http_listen_port, 7);
	assert_string_equal(options->path_prefix, "/p");
	assert_string_equal(options->http_listen_address, "::1");
	assert_true(options->multitenancy);
	assert_string_equal(options->config_file, "");
	assert_non_null(strstr(options->ignored.data, "memberlist.join"));
}

static void bad_files_are_said_with_their_line(void **state)
{
	static const struct {
		struct str text;
		const char *message;
	} cases[] = {
		{ STR("server:\n  http_listen_prot: 7\n"),
		  "f.yaml:2: unknown option server.http-listen-prot; did you mean "
		  "server.http-listen-port?" },
		{ STR("server:\nhttp_listen_port: 4040\n"),
		  "f.yaml:1: server is a section, not an option" },
		{ STR("\n\nlog:\n  level: loud\n"), "f.yaml:4: -log.level: 'loud' is not one of" },
		{ STR("log:\n  level: info\nlog.level: warn\n"),
		  "f.yaml:3: log.level is given twice" },
		{ STR("log: [a]\n"), "a list where a value is expected" },
		{ STR("a: &x 1\n"), "unknown option a" },
		{ STR("log:\n  level: *x\n"), "f.yaml:" },
		{ STR("just text\n"), "sections and options are expected" },
		{ STR("- a\n"), "a list" },
		{ STR("a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n"), "more than 8 sections" },
		{ STR("a: [\n"), "f.yaml:" },
		{ STR("\t: x"), "f.yaml:" },
		{ STR("? {a: b}\n: c\n"), "a section has no name" },
		{ STR("\xff\xfe"), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(options_freep) struct options *options = options_new();
		struct error err = { 0 };
		const int status = options_set_yaml(options, cases[i].text, "f.yaml", &err);

		if (cases[i].message[0]) {
			assert_int_equal(status, -1);
			assert_non_null(strstr(err.message, cases[i].message));
		}
	}
}

static void flags_win_over_the_file(void **state)
{
	CLEANUP(options_freep) struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };
	char path[] = "/tmp/vramscope-options-XXXXXX";
	char flag[64];
	const int fd = mkstemp(path);
	static const char text[] = "server:\n  http_listen_port: ${PORT_OF_A_TEST:-7}\n"
				   "log:\n  level: ${LEVEL_OF_A_TEST}\n";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(close(fd), 0);
	assert_int_equal(setenv("LEVEL_OF_A_TEST", "warn", 1), 0);
	(void)snprintf(flag, sizeof(flag), "-config.file=%s", path);
	assert_int_equal(LOAD(&options, &wish, &err, flag, "-config.expand-env", "-storage.path=x"),
	                 0);
	assert_int_equal(options->http_listen_port, 7);
	assert_int_equal(options->log_level, LOG_WARN);
	options_free(TAKE(options));
	assert_int_equal(LOAD(&options, &wish, &err, "-server.http-listen-port=8", flag,
	                      "-config.expand-env"),
	                 0);
	assert_int_equal(options->http_listen_port, 8);
	assert_int_equal(unlink(path), 0);
}

static void the_environment_is_expanded_as_asked(void **state)
{
	static const struct {
		struct str text;
		const char *expanded;
	} cases[] = {
		{ STR("a ${A_OF_A_TEST} b"), "a 1 b" },
		{ STR("${A_OF_A_TEST:-x}${B_OF_A_TEST:-y}${B_OF_A_TEST}"), "1y" },
		{ STR("$A_OF_A_TEST $ {} }"), "$A_OF_A_TEST $ {} }" },
		{ STR("${}${:-z}"), "z" },
	};

	(void)state;
	assert_int_equal(setenv("A_OF_A_TEST", "1", 1), 0);
	assert_int_equal(unsetenv("B_OF_A_TEST"), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf out;
		struct error err = { 0 };

		strbuf_init(&out, 1000);
		assert_int_equal(options_expand_env(cases[i].text, &out, &err), 0);
		assert_string_equal(out.data, cases[i].expanded);
	}
	{
		CLEANUP(strbuf_fini) struct strbuf out;
		struct error err = { 0 };

		strbuf_init(&out, 1000);
		assert_int_equal(options_expand_env(STR("${A"), &out, &err), -1);
	}
}

static void what_is_printed_reads_back(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();
	CLEANUP(options_freep) struct options *again = options_new();
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 100000);
	assert_int_equal(
		options_set(options, option_find(STR("storage.path")), STR("it's: #1"), &err), 0);
	assert_int_equal(options_set(options, option_find(STR("log.level")), STR("warn"), &err), 0);
	assert_int_equal(options_set(options, option_find(STR("server.path-prefix")),
	                             STR("a\n \"b\\\x01\x7f\xc3\xa4"), &err),
	                 0);
	options_print_yaml(options, OPTIONS_PRINT_ALL, &text);
	assert_int_equal(options_set_yaml(again, strbuf_view(&text), "printed", &err), 0);
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++)
		assert_string_equal(options->texts[i], again->texts[i]);

	strbuf_reset(&text);
	assert_int_equal(
		options_set(options, option_find(STR("server.path-prefix")), STR(""), &err), 0);
	options_print_yaml(options, OPTIONS_PRINT_CHANGED, &text);
	assert_string_equal(text.data, "storage:\n  path: 'it''s: #1'\nlog:\n  level: warn\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_have_one_or_two_dashes_and_both_forms),
		cmocka_unit_test(defaults_are_those_of_the_specification),
		cmocka_unit_test(bad_flags_are_said),
		cmocka_unit_test(a_word_behind_a_bool_is_explained),
		cmocka_unit_test(help_lists_what_a_command_looks_at),
		cmocka_unit_test(what_is_hidden_is_told_only_when_it_is_set),
		cmocka_unit_test(flags_without_meaning_are_listed),
		cmocka_unit_test(wishes_are_heard),
		cmocka_unit_test(durations_and_sizes_have_units),
		cmocka_unit_test(a_file_has_sections_or_whole_names),
		cmocka_unit_test(bad_files_are_said_with_their_line),
		cmocka_unit_test(flags_win_over_the_file),
		cmocka_unit_test(the_environment_is_expanded_as_asked),
		cmocka_unit_test(what_is_printed_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
