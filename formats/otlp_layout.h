/*
 * The revisions of OTLP profiles in the wild, as data: which number a field has in each.
 *
 * Shape    a layout says for messages whose numbers have moved what each field number
 *          means. Where nothing moved (links, functions, lines, resources) the readers
 *          know the numbers themselves. 1.4 and 1.5 are one layout, as are 1.8 and 1.9,
 *          and 1.10 and 1.11.
 * Threads  any: constant.
 * Source   ingest specification, 5.2 and 5.3
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define OTLP_FIELDS 32 /* numbers from here on mean nothing in any layout */

/* What a field of a Profile is. */
enum otlp_profile_field {
	OTLP_PROFILE_OTHER,
	OTLP_PROFILE_SAMPLE_TYPE,
	OTLP_PROFILE_SAMPLE_TYPES, /* repeated: a sample has a value for each */
	OTLP_PROFILE_SAMPLE,
	OTLP_PROFILE_TIME,
	OTLP_PROFILE_DURATION,
	OTLP_PROFILE_PERIOD_TYPE,
	OTLP_PROFILE_PERIOD,
	OTLP_PROFILE_LOCATION_INDICES, /* which samples name a part of, before stacks had a table */
};

/* What a field of a Sample is. */
enum otlp_sample_field {
	OTLP_SAMPLE_OTHER,
	OTLP_SAMPLE_STACK,
	OTLP_SAMPLE_STACK_START, /* into the profile's location indices */
	OTLP_SAMPLE_STACK_LENGTH,
	OTLP_SAMPLE_VALUES,
	OTLP_SAMPLE_ATTRIBUTES,
	OTLP_SAMPLE_LINK,          /* 0: none */
	OTLP_SAMPLE_OPTIONAL_LINK, /* 0 is the first link */
	OTLP_SAMPLE_TIMES,         /* fixed64 */
	OTLP_SAMPLE_VARINT_TIMES,
};

/* The tables that indices lead into. */
enum otlp_table {
	OTLP_NO_TABLE,
	OTLP_MAPPINGS,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS,
	OTLP_TABLE_COUNT
};

enum otlp_revision {
	OTLP_1_5,
	OTLP_1_7,
	OTLP_1_9,
	OTLP_1_10,
	OTLP_REVISION_COUNT
};

/* Where the tables stand. */
enum otlp_tables_in {
	OTLP_TABLES_IN_REQUEST, /* one dictionary, field 2 of the request */
	OTLP_TABLES_IN_PROFILE, /* each Profile has its own */
};

struct otlp_layout {
	enum otlp_revision revision;
	const char *name; /* "1.10" */
	enum otlp_tables_in tables_in;
	/* entry 0 of each table means nothing, so an index that is left out is 0; before, it is none */
	bool has_null_entries;
	uint8_t tables[OTLP_FIELDS];  /* of enum otlp_table, by field of what holds them */
	uint8_t profile[OTLP_FIELDS]; /* of enum otlp_profile_field, by field of a Profile */
	uint8_t sample[OTLP_FIELDS];  /* of enum otlp_sample_field, by field of a Sample */
};

const struct otlp_layout *otlp_layout_of(enum otlp_revision revision);

/* What a field number means in a row of a layout; 0 when it means nothing. */
static inline unsigned otlp_meaning(const uint8_t row[static OTLP_FIELDS], uint32_t field)
{
	return field < OTLP_FIELDS ? row[field] : 0;
}
