/*
 * What went wrong, for the caller to act on and for a person to read.
 *
 * Shape    a plain struct, placed by the caller, filled by the callee, which
 *          returns -1 (or NULL) when it has filled it and leaves it alone when not.
 * Threads  none: a struct error belongs to one call.
 */
#pragma once

/*
 * Few, and each exists because some caller acts on it. The HTTP status and the
 * Connect code of each stand in one table in api/connect.c.
 */
enum error_code {
	ERROR_NONE = 0,
	ERROR_INVALID,         /* the caller sent malformed data */
	ERROR_UNAUTHENTICATED, /* who asks is not known */
	ERROR_FORBIDDEN,       /* who asks is known and may not */
	ERROR_NOT_FOUND,       /* a named thing does not exist */
	ERROR_EXISTS,          /* a newer or equal thing is there already */
	ERROR_TOO_LARGE,       /* a stated limit was exceeded */
	ERROR_RATE_LIMITED,    /* a tenant sends more than it may */
	ERROR_CANCELLED,       /* nobody waits for the answer any more */
	ERROR_TIMED_OUT,       /* the deadline passed */
	ERROR_UNIMPLEMENTED,   /* understood, and not offered */
	ERROR_UNAVAILABLE,     /* busy or stopping; worth another try */
	ERROR_NO_SPACE,        /* the disk is full */
	ERROR_CORRUPT,         /* bytes we stored do not read back */
	ERROR_IO,              /* the operating system refused */
	ERROR_CODE_COUNT
};

#define ERROR_MESSAGE_SIZE 512

struct error {
	enum error_code code;
	char message[ERROR_MESSAGE_SIZE]; /* one line, no newline, always NUL-terminated */
};

/* Fills *err. Returns -1, so that `return error_set(...)` reads as one step. */
int error_set(struct error *err, enum error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 3)));

/*
 * As error_set() with ERROR_IO (ERROR_NO_SPACE for ENOSPC and EDQUOT), and adds
 * what errno value `number` means. Returns -1.
 */
int error_set_errno(struct error *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 3)));

/* Puts "<context>: " before the message; the code stays. Returns -1. */
int error_context(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(1, 2)));

/* An analyzer does not look into error.c: it is told what they return. */
#ifdef __clang_analyzer__
#define error_set(...)       ((void)(error_set)(__VA_ARGS__), -1)
#define error_set_errno(...) ((void)(error_set_errno)(__VA_ARGS__), -1)
#define error_context(...)   ((void)(error_context)(__VA_ARGS__), -1)
#endif
