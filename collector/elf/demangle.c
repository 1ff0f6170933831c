#include "collector/elf/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/cleanup.h"

/*
 * Rust names can refer to themselves and need libiberty's limit of depth. For C++ that limit
 * is one of length (1024 bytes), which names of templates pass every day; there ours counts.
 */
#define RUST_OPTIONS      (DMGL_PARAMS | DMGL_ANSI)
#define CPLUSPLUS_OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)

struct output {
	struct strbuf *to;
	size_t begun;
	jmp_buf enough;
};

/*
 * Called with pieces of the name. libiberty's two functions that call back keep all they
 * have on the stack, so one may leave them from here.
 */
static void take_piece(const char *piece, size_t length, void *context)
{
	struct output *output = context;

	if (length > DEMANGLE_OUTPUT_MAX - (output->to->length - output->begun))
		longjmp(output->enough, 1);
	strbuf_add(output->to, piece, length);
}

/* Cuts what was written since `begun` off again. */
static bool undo(struct output *output)
{
	output->to->length = output->begun;
	if (output->to->capacity > 0)
		output->to->data[output->begun] = '\0';
	return false;
}

static bool demangle_symbol(const char *name, struct output *output)
{
	if (setjmp(output->enough) != 0)
		return undo(output);
	if (rust_demangle_callback(name, RUST_OPTIONS, take_piece, output))
		return true;
	(void)undo(output);
	if (cplus_demangle_v3_callback(name, CPLUSPLUS_OPTIONS, take_piece, output))
		return true;
	return undo(output);
}

/* A suffix that a compiler has added: a dot, then letters or digits that say what. */
static bool is_clone_suffix(struct str suffix)
{
	static const struct str words[] = { STR("isra"),       STR("constprop"),  STR("part"),
		                            STR("cold"),       STR("lto_priv"),   STR("clone"),
		                            STR("llvm"),       STR("localalias"), STR("warm"),
		                            STR("hot"),        STR("resume"),     STR("destroy"),
		                            STR("lto"),        STR("unlikely"),   STR("cleanup"),
		                            STR("specialized") };

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (str_equal(suffix, words[i]))
			return true;
	for (size_t i = 0; i < suffix.length; i++)
		if (!isdigit((unsigned char)suffix.data[i]))
			return false;
	return suffix.length > 0;
}

static struct str without_suffixes(struct str name)
{
	for (;;) {
		const ptrdiff_t dot = str_last_index(name, '.');

		if (dot <= 0 || !is_clone_suffix(str_skip(name, (size_t)dot + 1)))
			return name;
		name = str_first(name, (size_t)dot);
	}
}

bool demangle(struct str name, struct strbuf *out)
{
	const struct str plt = STR("@plt");
	const bool is_plt = str_ends_with(name, plt);
	const ptrdiff_t at = str_index(name, '@');
	struct output output = { .to = out, .begun = out->length };
	struct str bare = at > 0 ? str_first(name, (size_t)at) : name;
	char text[DEMANGLE_INPUT_MAX + 1];

	bare = without_suffixes(bare);
	if (bare.length > 2 && bare.length <= DEMANGLE_INPUT_MAX && bare.data[0] == '_') {
		memcpy(text, bare.data, bare.length);
		text[bare.length] = '\0';
		if (!demangle_symbol(text, &output) && bare.length != name.length)
			strbuf_add_str(out, bare);
	} else if (bare.length != name.length) {
		strbuf_add_str(out, bare);
	}
	if (is_plt && out->length > output.begun)
		strbuf_add_text(out, " (plt)");
	return out->length > output.begun;
}
