/*
 * One decoded profile: the currency between formats, pipeline and store.
 *
 * Shape    flat arrays in the request's arena; everything refers to everything by index.
 *          Bytes of strings are views into the request's body. String 0 is "". A stack is
 *          a run of `stacks`, leaf first. Values are sample-major:
 *          values[sample * sample_type_count + type].
 * Units    times are Unix nanoseconds; values are in the unit of their sample type.
 * Threads  none: it belongs to its request.
 * Source   ingest specification, 2.1
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define PROFILE_NONE UINT32_MAX /* an index of nothing: a location without mapping */

struct profile_value_type {
	uint32_t type; /* string */
	uint32_t unit; /* string */
};

enum profile_mapping_flag {
	PROFILE_HAS_FUNCTIONS = 1 << 0,
	PROFILE_HAS_FILENAMES = 1 << 1,
	PROFILE_HAS_LINE_NUMBERS = 1 << 2,
	PROFILE_HAS_INLINE_FRAMES = 1 << 3,
};

struct profile_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t file;     /* string */
	uint32_t build_id; /* string */
	uint32_t flags;    /* of profile_mapping_flag */
};

/* Where a frame comes from: for colours, legends and folding. */
enum function_kind {
	FUNCTION_OTHER = 0, /* not known */
	FUNCTION_NATIVE,
	FUNCTION_PYTHON,
	FUNCTION_INTERPRETER, /* the Python interpreter's own C code */
	FUNCTION_CUDA,        /* the CUDA driver and runtime */
	FUNCTION_KERNEL,      /* the operating system's kernel */
};

struct profile_function {
	uint32_t name;        /* string */
	uint32_t system_name; /* string */
	uint32_t file;        /* string */
	int64_t start_line;
};

struct profile_line {
	uint32_t function; /* index */
	int64_t line;
};

struct profile_location {
	uint64_t address;
	uint32_t mapping;    /* index or PROFILE_NONE */
	uint32_t first_line; /* into lines: innermost inlined call first */
	uint32_t line_count; /* 0: not symbolised */
};

/* A string label of a sample. */
struct profile_label {
	uint32_t key;   /* string */
	uint32_t value; /* string */
};

struct profile_sample {
	uint32_t first_frame; /* into stacks: location indices, leaf first */
	uint32_t depth;
	uint32_t first_label; /* into labels */
	uint32_t label_count;
};

struct profile {
	struct arena *arena;

	struct str *strings;
	struct profile_value_type *sample_types;
	struct profile_mapping *mappings;
	struct profile_function *functions;
	struct profile_line *lines;
	struct profile_location *locations;
	uint32_t *stacks;
	struct profile_label *labels;
	struct profile_sample *samples;
	int64_t *values;

	size_t string_count;
	size_t sample_type_count;
	size_t mapping_count;
	size_t function_count;
	size_t line_count;
	size_t location_count;
	size_t stack_length;
	size_t label_count;
	size_t sample_count;

	struct profile_value_type period_type; /* both 0: none */
	bool has_period_type;
	int64_t period;
	int64_t time_unix_ns; /* 0: not said */
	int64_t duration_ns;
	uint32_t default_sample_type; /* string */
};

static inline struct str profile_string(const struct profile *profile, uint32_t index)
{
	return profile->strings[index];
}

/* The last part of a mapping's file name; empty when it has none. */
struct str profile_basename(struct str file);

/*
 * The kind of a frame by what is known of it: its function's file and its mapping's file.
 * The files "<interpreter>" and "<python>" are what the collector gives frames without one,
 * so that their kinds outlive the way through pprof.
 */
enum function_kind function_kind_of(struct str function_name, struct str function_file,
                                    struct str mapping_file);
