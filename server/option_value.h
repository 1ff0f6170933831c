/*
 * The types of options: text in, value out.
 *
 * Shape    one entry a type: its name for help texts and a parser into the field's C
 *          type.
 * Errors   ERROR_INVALID, saying what is expected.
 * Threads  none.
 * Source   deployment specification, 8.4
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* The C type of a field, by the type's name in server/options.def. */
#define OPTION_FIELD_STRING    const char *
#define OPTION_FIELD_BOOL      bool
#define OPTION_FIELD_PORT      uint16_t
#define OPTION_FIELD_COUNT     uint64_t
#define OPTION_FIELD_BYTES     uint64_t
#define OPTION_FIELD_MEGABYTES double
#define OPTION_FIELD_DURATION  int64_t
#define OPTION_FIELD_TARGET    int
#define OPTION_FIELD_SYNC      int
#define OPTION_FIELD_LEVEL     int
#define OPTION_FIELD_FORMAT    int
#define OPTION_FIELD_MERGE     int
#define OPTION_FIELD_INTERNALS int
#define OPTION_FIELD_AUTOMATIC int
#define OPTION_FIELD_MALLOC    int
#define OPTION_FIELD_REVISION  int
#define OPTION_FIELD_ADMIN     int

enum option_type {
	OPTION_STRING,
	OPTION_BOOL,
	OPTION_PORT,
	OPTION_COUNT,
	OPTION_BYTES,
	OPTION_MEGABYTES,
	OPTION_DURATION,
	OPTION_TARGET, /* the following: one of a few words */
	OPTION_SYNC,
	OPTION_LEVEL,
	OPTION_FORMAT,
	OPTION_MERGE,
	OPTION_INTERNALS,
	OPTION_AUTOMATIC,
	OPTION_MALLOC,
	OPTION_REVISION,
	OPTION_ADMIN,
	OPTION_TYPE_COUNT
};

/*
 * "duration", "normal|full": what stands behind the flag in help texts; empty for a
 * flag.
 */
const char *option_type_name(enum option_type type);

/*
 * Writes the value of `text` to the field, whose C type is that of `type`. A STRING keeps
 * text.data.
 */
int option_value_parse(enum option_type type, struct str text, void *field, struct error *err);

/*
 * "15s", "1h30m", "7d": units ns us ms s m h d w y, also with fractions; "0" needs
 * none.
 */
int option_parse_duration(struct str text, int64_t *out_ns, struct error *err);

/* "512MiB", "10GB", "4096". */
int option_parse_bytes(struct str text, uint64_t *out_bytes, struct error *err);
