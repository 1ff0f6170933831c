#include "server/command/terminal_watch.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define PICTURE_MAX (size_t)(64UL * 1024 * 1024)
#define KEYS_MAX    64 /* bytes read at once */

/* Set by SIGINT and SIGTERM: process-wide, as signals are. */
static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
	(void)number;
	asked_to_end = 1;
}

/* Standard input while keys are read one by one. */
struct keyboard {
	struct termios before;
	bool is_open;
};

static void keyboard_open(struct keyboard *keyboard)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &keyboard->before) < 0)
		return;
	raw = keyboard->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* signals stay */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	keyboard->is_open = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void keyboard_close(struct keyboard *keyboard)
{
	if (keyboard->is_open)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &keyboard->before);
	keyboard->is_open = false;
}

/* The key at keys[*at], arrows as letters; NUL for what is none. */
static char next_key(const char *keys, ssize_t count, ssize_t *at)
{
	const char key = keys[(*at)++];

	if (key != '\x1b')
		return key;
	if (*at + 1 >= count || keys[*at] != '[')
		return '\0';
	*at += 2;
	switch (keys[*at - 1]) {
	case 'A':
		return 'k';
	case 'B':
		return 'j';
	default:
		return '\0';
	}
}

/* Waits for keys, a signal, or the next picture's time. True: it is enough. */
static bool wait_for_key(const struct terminal_watch *watch, struct keyboard *keyboard)
{
	struct pollfd input = { .fd = keyboard->is_open ? STDIN_FILENO : -1, .events = POLLIN };
	char keys[KEYS_MAX];
	ssize_t count;

	if (poll(&input, 1, (int)(watch->every_ns / NS_PER_MS)) <= 0)
		return false;
	count = read(STDIN_FILENO, keys, sizeof(keys));
	if (count <= 0) {
		/* nobody types any more: pictures go on at their pace */
		keyboard_close(keyboard);
		return false;
	}
	for (ssize_t at = 0; at < count;) {
		const char key = next_key(keys, count, &at);

		if (key == 'q')
			return true;
		if (key != '\0' && watch->press)
			watch->press(watch->context, key);
	}
	return false;
}

static int draw(const struct terminal_watch *watch, struct error *err)
{
	const struct terminal terminal = terminal_of(stdout);
	struct error failure = { 0 };
	struct strbuf out;
	int result;

	strbuf_init(&out, PICTURE_MAX);
	strbuf_add_text(&out, "\x1b[H\x1b[J");
	if (watch->draw(watch->context, &terminal, &out, &failure) < 0) {
		terminal_escape(str_of(failure.message), &out);
		strbuf_add_text(&out, "\ntrying again ...\n");
	}
	result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result;
}

int terminal_watch_run(const struct terminal_watch *watch, struct error *err)
{
	const struct sigaction action = { .sa_handler = on_signal };
	CLEANUP(keyboard_close) struct keyboard keyboard = { .is_open = false };

	if (sigaction(SIGINT, &action, NULL) < 0 || sigaction(SIGTERM, &action, NULL) < 0)
		return error_set(err, ERROR_IO, "cannot watch signals");
	if (watch->press)
		keyboard_open(&keyboard);
	while (!asked_to_end) {
		if (draw(watch, err) < 0)
			return -1;
		if (wait_for_key(watch, &keyboard))
			break;
	}
	return 0;
}
