#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "server/command.h"
#include "server/command/arguments.h"

#define WORDS_MAX 16

struct flags {
	char line[128];
	const char *query;
	struct argument_list labels;
	struct argument_list words;
	bool once;
};

/* Parses a line of words, which blanks part, with one flag of each kind. */
static enum arguments_end parse(struct flags *flags, bool takes_words, const char *line)
{
	const struct argument all[] = {
		{ "query", "q", ARGUMENT_TEXT, &flags->query, "Q", "the query" },
		{ "label", "l", ARGUMENT_LIST, &flags->labels, "L", "a label" },
		{ "once", NULL, ARGUMENT_SWITCH, &flags->once, NULL, "once" },
	};
	const struct arguments arguments = {
		.command = "test",
		.synopsis = "[OPTIONS]",
		.about = "About.\n",
		.all = all,
		.count = ARRAY_LENGTH(all),
		.words = takes_words ? &flags->words : NULL,
	};
	char *words[WORDS_MAX + 1] = { NULL };
	char *rest = NULL;
	int count = 0;

	*flags = (struct flags){ 0 };
	(void)snprintf(flags->line, sizeof(flags->line), "test %s", line);
	for (char *word = strtok_r(flags->line, " ", &rest); word && count < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	return arguments_parse(&arguments, count, words);
}

static void a_value_comes_behind_an_equals_sign_or_as_the_next_word(void **state)
{
	static const char *const lines[] = {
		"--query a", "--query=a", "-query a", "-q=a", "-q a", "-q b -q a",
	};
	struct flags flags;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		assert_int_equal(parse(&flags, false, lines[i]), ARGUMENTS_GO_ON);
		assert_string_equal(flags.query, "a");
	}
}

static void a_value_may_look_like_a_flag(void **state)
{
	struct flags flags;

	(void)state;
	assert_int_equal(parse(&flags, false, "--query -1h"), ARGUMENTS_GO_ON);
	assert_string_equal(flags.query, "-1h");
}

static void a_switch_takes_no_word(void **state)
{
	struct flags flags;

	(void)state;
	assert_int_equal(parse(&flags, true, "--once file"), ARGUMENTS_GO_ON);
	assert_true(flags.once);
	assert_int_equal(flags.words.count, 1);
	assert_int_equal(parse(&flags, true, "--once=false"), ARGUMENTS_GO_ON);
	assert_false(flags.once);
	assert_int_equal(parse(&flags, true, "--once=maybe"), ARGUMENTS_WRONG);
}

static void a_repeated_flag_collects(void **state)
{
	struct flags flags;

	(void)state;
	assert_int_equal(parse(&flags, false, "-l a=1 --label=b=2"), ARGUMENTS_GO_ON);
	assert_int_equal(flags.labels.count, 2);
	assert_string_equal(flags.labels.values[0], "a=1");
	assert_string_equal(flags.labels.values[1], "b=2");
}

static void two_dashes_end_the_flags_and_one_is_a_word(void **state)
{
	struct flags flags;

	(void)state;
	assert_int_equal(parse(&flags, true, "- -- --once"), ARGUMENTS_GO_ON);
	assert_false(flags.once);
	assert_int_equal(flags.words.count, 2);
	assert_string_equal(flags.words.values[0], "-");
	assert_string_equal(flags.words.values[1], "--once");
}

static void what_is_wrong_is_refused(void **state)
{
	static const char *const lines[] = { "--qery a", "--query", "word", "--" };
	struct flags flags;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(parse(&flags, false, lines[i]), ARGUMENTS_WRONG);
	assert_int_equal(parse(&flags, false, lines[3]), ARGUMENTS_GO_ON);
}

static void help_is_always_understood(void **state)
{
	struct flags flags;

	(void)state;
	assert_int_equal(parse(&flags, false, "-h"), ARGUMENTS_SHOWN);
	assert_int_equal(parse(&flags, false, "--help --nonsense"), ARGUMENTS_SHOWN);
}

/* What a command was made to say, and how far it came. */
struct errand {
	int understands;
	int returns;
	bool has_run;
};

static int understand(void *context, struct error *err)
{
	const struct errand *errand = context;

	return errand->understands == 0 ? 0 : error_set(err, ERROR_INVALID, "not understood");
}

static int run(void *context, struct error *err)
{
	struct errand *errand = context;

	errand->has_run = true;
	return errand->returns >= 0 ? errand->returns : error_set(err, ERROR_IO, "broken");
}

static void a_command_runs_once_it_is_understood(void **state)
{
	static const struct {
		const char *flag;
		struct errand errand;
		int status;
	} cases[] = {
		{ NULL, { 0, 0, true }, 0 },
		{ NULL, { 0, 3, true }, 3 },
		{ NULL, { 0, -1, true }, 1 },
		{ NULL, { -1, 0, false }, EXIT_USAGE },
		{ "--what", { 0, 0, false }, EXIT_USAGE },
		{ "-h", { 0, 3, false }, 0 },
	};
	const struct arguments arguments = { .command = "test", .synopsis = "", .about = "" };
	char name[] = "test";

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct errand errand = cases[i].errand;
		char flag[8] = "";
		char *argv[] = { name, flag, NULL };

		errand.has_run = false;
		if (cases[i].flag)
			(void)snprintf(flag, sizeof(flag), "%s", cases[i].flag);
		assert_int_equal(arguments_run(&arguments,
		                               &(struct command_work){ understand, run, &errand },
		                               cases[i].flag ? 2 : 1, argv),
		                 cases[i].status);
		assert_int_equal(errand.has_run, cases[i].errand.has_run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_comes_behind_an_equals_sign_or_as_the_next_word),
		cmocka_unit_test(a_value_may_look_like_a_flag),
		cmocka_unit_test(a_switch_takes_no_word),
		cmocka_unit_test(a_repeated_flag_collects),
		cmocka_unit_test(two_dashes_end_the_flags_and_one_is_a_word),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(help_is_always_understood),
		cmocka_unit_test(a_command_runs_once_it_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
