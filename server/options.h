/*
 * All options of the server, from flags, a YAML file and defaults.
 *
 * Shape    one struct with a field an option, made from server/options.def. Flags have
 *          one or two dashes, -name=value or -name value; a bool stands alone or before a
 *          '='. The
 *          file has the names cut at their dots into sections, with underscores. Flags
 *          win over the file.
 * Errors   ERROR_INVALID with the nearest known name; exit status 2 for the caller.
 * Threads  immutable after options_load().
 * Source   deployment specification, 8.4
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "server/option_value.h"

enum option_id {
#define OPTION(field, name, type, fallback, reload, level, help) OPTION_ID_##field,
#include "server/options.def"
#undef OPTION
	OPTION_COUNT_ALL
};

enum option_reload {
	OPTION_START,
	OPTION_RELOAD,
};

enum option_level {
	OPTION_COMMON,
	OPTION_MORE,
	OPTION_HIDDEN,
};

/* Who looks at an option, as bits: `run` is both. */
enum option_half {
	OPTION_OF_SERVER = 1,
	OPTION_OF_COLLECTOR = 2,
};

struct option {
	const char *name; /* "server.http-listen-port" */
	enum option_type type;
	size_t offset; /* of the field */
	const char *fallback;
	enum option_reload reload;
	enum option_level level;
	const char *help;
};

struct options {
#define OPTION(field, name, type, fallback, reload, level, help) OPTION_FIELD_##type field;
#include "server/options.def"
#undef OPTION
	char *texts[OPTION_COUNT_ALL]; /* as given, for printing; strings point here */
	bool given[OPTION_COUNT_ALL];  /* by a flag or the file */
	struct strbuf ignored;         /* names of flags without meaning here, or empty */
};

/* What the command line asks for. */
enum options_wish {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_HELP_ALL,
	OPTIONS_VERSION,
};

/* Reads flags (argv[0] is skipped) and the file that they name. */
int options_load(int argc, char **argv, struct options **out, enum options_wish *out_wish,
                 struct error *err);

/* Defaults only. */
struct options *options_new(void) __attribute__((returns_nonnull));
void options_free(struct options *options);
DEFINE_FREEP(options)

/* The option at an index, in the order of the table. */
const struct option *option_at(enum option_id id);

/* The option of that name (dashes and dots as in the table), or NULL. */
const struct option *option_find(struct str name);

/* Bits of enum option_half; which commands it is for. */
unsigned option_halves(const struct option *option);

/* Sets one option from text; an empty text is one. */
int options_set(struct options *options, const struct option *option, struct str text,
                struct error *err);

/*
 * Sets what the YAML text says; `name` is the file's name for messages. Options that are
 * given twice in the text are an error, as are unknown ones.
 */
int options_set_yaml(struct options *options, struct str text, const char *name, struct error *err);

/* Reads a file for options_set_yaml(). */
int options_set_file(struct options *options, const char *path, bool expand_env, struct error *err);

/* Appends `text` with ${VAR} and ${VAR:-default} replaced; an unknown VAR is empty. */
int options_expand_env(struct str text, struct strbuf *out, struct error *err);

/*
 * Whether a flag of Pyroscope has no meaning here and is passed over; *out_bool: takes
 * no value.
 */
bool options_ignores(struct str name, bool *out_bool);

/* ---- printing ---- */

/* Flags that any of the halves looks at, with their help: the common ones, or all. */
void options_print_help(unsigned halves, enum option_level level, struct strbuf *out);

enum options_print {
	OPTIONS_PRINT_ALL,
	OPTIONS_PRINT_CHANGED, /* only what is not at its default */
};

/* A configuration file with these values. */
void options_print_yaml(const struct options *options, enum options_print what, struct strbuf *out);

/* docs/options.md */
void options_print_docs(struct strbuf *out);
