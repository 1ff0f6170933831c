/*
 * vramscope push: files into a server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "formats/text_profile.h"
#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/push_file.h"
#include "server/command/server_client.h"
#include "server/command/terminal.h"
#include "server/nearest.h"

#define PUSH_LABELS_MAX 64
#define SAMPLE_RATE_MAX 1000000000 /* a sample a nanosecond */
#define TYPES_TEXT_MAX  1024
#define PUSH_ANSWER_MAX (size_t)(1024 * 1024)
#define PUSH_ARENA_MAX  (size_t)(4UL * 1024 * 1024 * 1024)

static const char about[] =
	"FILE is told by its content, gzip or not: pprof, a JFR recording, a speedscope file, folded stacks\n"
	"(\"main;work 42\" a line, as of py-spy's raw format and async-profiler's collapsed), output of\n"
	"`perf script`, a trie or a tree; - is standard input. A server refuses profiles that are older than\n"
	"an hour unless it is told otherwise: --override-timestamp makes them new.\n"
	"\n"
	"  vramscope push cpu.pb.gz --service shop --override-timestamp\n"
	"  vramscope push stacks.folded --service shop --type cpu --sample-rate 97 --label env=prod\n"
	"  perf script | vramscope push - --service shop --sample-rate 99\n";

struct push_flags {
	struct argument_list files;
	struct argument_list labels;
	const char *service;
	const char *type;
	const char *sample_rate;
	const char *url;
	const char *tenant;
	bool override_timestamp;
};

struct push_run {
	struct push_flags flags;
	struct label labels[PUSH_LABELS_MAX];
	struct label_set set; /* of them */
};

/* Names that every place where labels are asked for takes. */
static bool is_label_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		const char c = name.data[i];
		const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!is_letter && (i == 0 || ((c < '0' || c > '9') && c != '.')))
			return false;
	}
	return name.length > 0;
}

static int check_label(const struct label *label, const struct label_set *before, struct error *err)
{
	if (!is_label_name(label->name))
		return error_set(err, ERROR_INVALID,
		                 "--label %.*s: a name has letters, digits, '_' and '.', and "
		                 "begins with no digit",
		                 STR_ARGS(label->name));
	if (str_equals(label->name, "service_name"))
		return error_set(err, ERROR_INVALID,
		                 "--label service_name: --service says that one");
	for (size_t i = 0; i < before->count; i++)
		if (str_equal(before->labels[i].name, label->name))
			return error_set(err, ERROR_INVALID, "--label %.*s is there twice",
			                 STR_ARGS(label->name));
	return 0;
}

/* NAME=VALUE of each --label into `out`, which has room for PUSH_LABELS_MAX. */
static int understand_labels(const struct argument_list *texts, struct label_set *out,
                             struct error *err)
{
	if (texts->count > PUSH_LABELS_MAX)
		return error_set(err, ERROR_INVALID, "more than %d labels", PUSH_LABELS_MAX);
	for (size_t i = 0; i < texts->count; i++) {
		const struct str text = str_of(texts->values[i]);
		const ptrdiff_t equals = str_index(text, '=');
		struct label label;

		if (equals < 0)
			return error_set(err, ERROR_INVALID, "--label is NAME=VALUE, not '%.*s'",
			                 STR_ARGS(text));
		label = (struct label){
			.name = str_first(text, (size_t)equals),
			.value = str_skip(text, (size_t)equals + 1),
		};
		if (check_label(&label, out, err) < 0)
			return -1;
		out->labels[out->count++] = label;
	}
	return 0;
}

static int check_sample_rate(const char *text, struct error *err)
{
	uint64_t rate = 0;

	if (text && (!str_to_u64(str_of(text), SAMPLE_RATE_MAX, &rate) || rate == 0))
		return error_set(err, ERROR_INVALID,
		                 "--sample-rate '%s' is no number of Hz from 1 to %d", text,
		                 SAMPLE_RATE_MAX);
	return 0;
}

/* All that there are, for a person who guessed. */
static int refuse_type(const char *type, const char *near, struct error *err)
{
	struct strbuf list;

	if (near)
		return error_set(err, ERROR_INVALID, "--type %s is not known; did you mean %s?",
		                 type, near);
	strbuf_init(&list, TYPES_TEXT_MAX);
	for (size_t i = 0; text_type_suffix(i); i++)
		strbuf_printf(&list, "%s%s", i > 0 ? ", " : "", text_type_suffix(i));
	(void)error_set(err, ERROR_INVALID, "--type %s is none of %s", type, list.data);
	strbuf_fini(&list);
	return -1;
}

static int check_type(const char *type, struct error *err)
{
	struct nearest nearest;

	if (!type)
		return 0;
	nearest_init(&nearest, str_of(type));
	for (size_t i = 0; text_type_suffix(i); i++) {
		if (strcmp(text_type_suffix(i), type) == 0)
			return 0;
		nearest_add(&nearest, text_type_suffix(i));
	}
	return refuse_type(type, nearest.name, err);
}

/* Everything that must be right before anything is sent. */
static int understand(void *context, struct error *err)
{
	struct push_run *run = context;

	if (run->flags.files.count == 0)
		return error_set(err, ERROR_INVALID, "which FILE?");
	if (!run->flags.service || !*run->flags.service)
		return error_set(err, ERROR_INVALID, "--service NAME is missing");
	run->set.labels = run->labels;
	if (understand_labels(&run->flags.labels, &run->set, err) < 0 ||
	    check_type(run->flags.type, err) < 0 ||
	    check_sample_rate(run->flags.sample_rate, err) < 0)
		return -1;
	label_set_sort(&run->set);
	return 0;
}

static int read_file(const char *path, struct strbuf *out, struct error *err)
{
	const bool is_named = strcmp(path, "-") != 0;
	const int descriptor = is_named ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int result;

	if (descriptor < 0)
		return error_set_errno(err, errno, "opening");
	result = strbuf_read(out, descriptor);
	if (result < 0)
		(void)error_set_errno(err, errno, "reading");
	else if (strbuf_overflowed(out))
		result = error_set(err, ERROR_TOO_LARGE, "larger than %zu MiB",
		                   PUSH_FILE_MAX / 1024 / 1024);
	if (is_named)
		(void)close(descriptor);
	return result;
}

/* What a person should know of a file that was sent all the same. */
static void say_note(const char *path, struct str note)
{
	struct error text = { 0 };

	if (note.length == 0)
		return;
	(void)error_set(&text, ERROR_INVALID, "%s: %.*s", path, STR_ARGS(note));
	terminal_complain("push", text.message);
}

static int push_file(struct server_client *client, const char *path,
                     const struct push_options *options, const char **out_taken_for,
                     struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(PUSH_ARENA_MAX, NULL);
	struct push_request request = { 0 };
	struct strbuf bytes;
	struct strbuf answer;
	int result;

	strbuf_init(&bytes, PUSH_FILE_MAX);
	strbuf_init(&answer, PUSH_ANSWER_MAX);
	result = read_file(path, &bytes, err);
	if (result == 0 && bytes.length == 0)
		result = error_set(err, ERROR_INVALID, "the file is empty");
	if (result == 0)
		result = push_request_init(&request, str_of(path), strbuf_view(&bytes), options,
		                           arena, err);
	*out_taken_for = request.taken_for;
	if (result == 0) {
		result = server_client_post(client, request.path.data, request.content_type,
		                            strbuf_view(&request.body), &answer, err);
		say_note(path, request.note);
	}
	if (request.body.limit > 0)
		push_request_fini(&request);
	strbuf_fini(&answer);
	strbuf_fini(&bytes);
	return result;
}

/* The exit status. */
static int push_all(struct server_client *client, const struct argument_list *files,
                    const struct push_options *options)
{
	const struct terminal progress = terminal_of(stderr);
	size_t failed = 0;

	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->values[i];
		const char *taken_for = NULL;
		struct error err = { 0 };

		terminal_progress(&progress, "%zu of %zu: %s", i + 1, files->count, path);
		if (push_file(client, path, options, &taken_for, &err) == 0) {
			terminal_progress(&progress, NULL);
			(void)printf("%s: %s, stored as service %.*s\n", path, taken_for,
			             STR_ARGS(options->service));
			continue;
		}
		terminal_progress(&progress, NULL);
		if (taken_for)
			(void)error_context(&err, "%s, taken for %s", path, taken_for);
		else
			(void)error_context(&err, "%s", path);
		terminal_complain("push", err.message);
		if (strstr(err.message, "outside of ingestion window"))
			(void)fputs("--override-timestamp makes it new.\n", stderr);
		failed++;
	}
	return failed > 0 || fflush(stdout) ? 1 : 0;
}

static int push(void *context, struct error *err)
{
	CLEANUP(server_client_freep) struct server_client *client = NULL;
	const struct push_run *run = context;
	const struct push_flags *flags = &run->flags;
	const struct push_options options = {
		.service = str_of(flags->service),
		.labels = &run->set,
		.suffix = str_of(flags->type ? flags->type : ""),
		.sample_rate = flags->sample_rate ? str_of(flags->sample_rate)
		                                  : (struct str){ NULL, 0 },
		.override_unix_ns = flags->override_timestamp ? clock_unix_ns() : 0,
	};

	if (server_client_open(flags->url, flags->tenant, &client, err) < 0)
		return -1;
	return push_all(client, &flags->files, &options);
}

int command_push(int argc, char **argv)
{
	struct push_run run = { 0 };
	struct push_flags *flags = &run.flags;
	const struct argument all[] = {
		{ "service", "s", ARGUMENT_TEXT, &flags->service, "NAME",
		  "service_name of the profiles" },
		{ "label", "l", ARGUMENT_LIST, &flags->labels, "NAME=VALUE",
		  "one more label; may be repeated" },
		{ "override-timestamp", NULL, ARGUMENT_SWITCH, &flags->override_timestamp, NULL,
		  "as if taken now" },
		{ "type", "t", ARGUMENT_TEXT, &flags->type, "TYPE",
		  "what stacks count: cpu, wall, inuse_space, ...; a wrong one lists all (cpu; of speedscope by unit)" },
		{ "sample-rate", NULL, ARGUMENT_TEXT, &flags->sample_rate, "HZ",
		  "of stacks of cpu and wall (100)" },
		{ "url", NULL, ARGUMENT_TEXT, &flags->url, "URL",
		  "server to send to (VRAMSCOPE_URL, else http://127.0.0.1:4040)" },
		{ "tenant", NULL, ARGUMENT_TEXT, &flags->tenant, "NAME",
		  "tenant to send as (VRAMSCOPE_TENANT)" },
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "FILE... --service NAME [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
		.words = &flags->files,
	};

	return arguments_run(&arguments, &(struct command_work){ understand, push, &run }, argc,
	                     argv);
}
