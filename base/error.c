#include "base/error.h"

/* the functions themselves */
#undef error_set
#undef error_set_errno
#undef error_context

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Control characters would break the promise of one line. */
static void keep_one_line(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
	va_list args;

	err->code = code;
	va_start(args, format);
	(void)vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	keep_one_line(err->message);
	return -1;
}

static enum error_code code_of_errno(int number)
{
	switch (number) {
	case ENOSPC:
	case EDQUOT:
		return ERROR_NO_SPACE;
	case EMFILE:
	case ENFILE:
		return ERROR_UNAVAILABLE;
	default:
		return ERROR_IO;
	}
}

int error_set_errno(struct error *err, int number, const char *format, ...)
{
	const char *meaning = strerrordesc_np(number);
	va_list args;
	size_t length;

	err->code = code_of_errno(number);
	va_start(args, format);
	(void)vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	length = strlen(err->message);
	(void)snprintf(err->message + length, sizeof(err->message) - length, ": %s",
	               meaning ? meaning : "unknown error");
	keep_one_line(err->message);
	return -1;
}

int error_context(struct error *err, const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list args;
	size_t length;

	memcpy(message, err->message, sizeof(message));
	va_start(args, format);
	(void)vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	length = strlen(err->message);
	(void)snprintf(err->message + length, sizeof(err->message) - length, ": %s", message);
	keep_one_line(err->message);
	return -1;
}
