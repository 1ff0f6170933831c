#include "server/command/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *const styles[] = {
	[TERMINAL_PLAIN] = "",       [TERMINAL_BOLD] = "\x1b[1m",   [TERMINAL_DIM] = "\x1b[2m",
	[TERMINAL_RED] = "\x1b[31m", [TERMINAL_GREEN] = "\x1b[32m",
};

/* Read before any thread starts, as all of the command line. */
static const char *environment(const char *name)
{
	return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

struct terminal terminal_of(FILE *file)
{
	struct terminal terminal = { .file = file, .width = SIZE_MAX, .height = SIZE_MAX };
	struct winsize size = { 0 };
	const char *no_color = environment("NO_COLOR");
	const char *term = environment("TERM");

	terminal.is_terminal = isatty(fileno(file)) == 1;
	if (!terminal.is_terminal)
		return terminal;
	terminal.width = 80;
	terminal.height = 24;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
		terminal.width = size.ws_col;
		terminal.height = size.ws_row;
	}
	terminal.colours = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
	return terminal;
}

/* Takes one character off *rest and gives its safe form, at most 16 bytes. */
static size_t next_safe(struct str *rest, char text[static 16])
{
	uint32_t rune = 0;
	const int length = utf8_next(*rest, &rune);
	const size_t taken = length > 0 ? (size_t)length : 1;

	if (length <= 0 || rune < 0x20 || (rune >= 0x7f && rune < 0xa0)) {
		const int written = snprintf(text, 16, "\\x%02x",
		                             length <= 0 ? (unsigned char)rest->data[0] : rune);

		*rest = str_skip(*rest, taken);
		return (size_t)written;
	}
	memcpy(text, rest->data, taken);
	*rest = str_skip(*rest, taken);
	return taken;
}

void terminal_escape(struct str text, struct strbuf *out)
{
	char safe[16];

	while (text.length > 0) {
		const size_t length = next_safe(&text, safe);

		strbuf_add(out, safe, length);
	}
}

/* Columns of a safe form: an escape is its length, any other character one. */
static size_t columns_of(const char *safe, size_t length)
{
	return safe[0] == '\\' && length > 1 ? length : 1;
}

void terminal_escape_cut(struct str text, size_t width, struct strbuf *out)
{
	const struct str dots = STR("...");
	size_t columns = 0;
	char safe[16];

	for (struct str rest = text; rest.length > 0;)
		columns += columns_of(safe, next_safe(&rest, safe));
	if (columns <= width || width <= dots.length) {
		terminal_escape(text, out);
		return;
	}

	/* Both ends say something: the package in front, the method behind. */
	const size_t front = (width - dots.length) / 3;
	const size_t back = columns - (width - dots.length - front);
	size_t at = 0;
	bool is_cut = false;

	for (struct str rest = text; rest.length > 0;) {
		const size_t length = next_safe(&rest, safe);

		if (at >= front && at < back) {
			if (!is_cut)
				strbuf_add_str(out, dots);
			is_cut = true;
		} else {
			strbuf_add(out, safe, length);
		}
		at += columns_of(safe, length);
	}
}

void terminal_style(const struct terminal *terminal, enum terminal_style style, struct str text,
                    struct strbuf *out)
{
	if (terminal->colours && style != TERMINAL_PLAIN)
		strbuf_printf(out, "%s", styles[style]);
	strbuf_add_str(out, text);
	if (terminal->colours && style != TERMINAL_PLAIN)
		strbuf_add_text(out, "\x1b[0m");
}

void terminal_complain(const char *command, const char *message)
{
	struct strbuf line;

	strbuf_init(&line, 8192);
	terminal_escape(str_of(message), &line);
	(void)fprintf(stderr, "vramscope %s: %s\n", command, line.data);
	strbuf_fini(&line);
}

int terminal_show(const struct strbuf *out, struct error *err)
{
	if (strbuf_overflowed(out))
		return error_set(err, ERROR_TOO_LARGE, "the answer is larger than %zu MiB",
		                 out->limit / 1024 / 1024);
	if (fwrite(out->data, 1, out->length, stdout) != out->length || fflush(stdout))
		return error_set_errno(err, errno, "writing to standard output");
	return 0;
}

void terminal_progress(const struct terminal *terminal, const char *format, ...)
{
	va_list arguments;

	if (!terminal->is_terminal)
		return;
	(void)fputs("\r\x1b[K", terminal->file);
	if (format) {
		va_start(arguments, format);
		(void)vfprintf(terminal->file, format, arguments);
		va_end(arguments);
	}
	(void)fflush(terminal->file);
}
