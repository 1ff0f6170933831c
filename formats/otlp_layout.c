#include "formats/otlp_layout.h"

static const struct otlp_layout layouts[OTLP_REVISION_COUNT] = {
	[OTLP_1_5] = {
		.revision = OTLP_1_5,
		.name = "1.5",
		.tables_in = OTLP_TABLES_IN_PROFILE,
		.tables = { [3] = OTLP_MAPPINGS, [4] = OTLP_LOCATIONS, [6] = OTLP_FUNCTIONS,
		            [7] = OTLP_ATTRIBUTES, [9] = OTLP_LINKS, [10] = OTLP_STRINGS },
		.profile = { [1] = OTLP_PROFILE_SAMPLE_TYPES, [2] = OTLP_PROFILE_SAMPLE,
		             [5] = OTLP_PROFILE_LOCATION_INDICES, [11] = OTLP_PROFILE_TIME,
		             [12] = OTLP_PROFILE_DURATION, [13] = OTLP_PROFILE_PERIOD_TYPE,
		             [14] = OTLP_PROFILE_PERIOD },
		.sample = { [1] = OTLP_SAMPLE_STACK_START, [2] = OTLP_SAMPLE_STACK_LENGTH,
		            [3] = OTLP_SAMPLE_VALUES, [4] = OTLP_SAMPLE_ATTRIBUTES,
		            [5] = OTLP_SAMPLE_OPTIONAL_LINK, [6] = OTLP_SAMPLE_VARINT_TIMES },
	},
	[OTLP_1_7] = {
		.revision = OTLP_1_7,
		.name = "1.7",
		.tables = { [1] = OTLP_MAPPINGS, [2] = OTLP_LOCATIONS, [3] = OTLP_FUNCTIONS,
		            [4] = OTLP_LINKS, [5] = OTLP_STRINGS, [6] = OTLP_ATTRIBUTES },
		.profile = { [1] = OTLP_PROFILE_SAMPLE_TYPES, [2] = OTLP_PROFILE_SAMPLE,
		             [3] = OTLP_PROFILE_LOCATION_INDICES, [4] = OTLP_PROFILE_TIME,
		             [5] = OTLP_PROFILE_DURATION, [6] = OTLP_PROFILE_PERIOD_TYPE,
		             [7] = OTLP_PROFILE_PERIOD },
		.sample = { [1] = OTLP_SAMPLE_STACK_START, [2] = OTLP_SAMPLE_STACK_LENGTH,
		            [3] = OTLP_SAMPLE_VALUES, [4] = OTLP_SAMPLE_ATTRIBUTES,
		            [5] = OTLP_SAMPLE_OPTIONAL_LINK, [6] = OTLP_SAMPLE_VARINT_TIMES },
	},
	[OTLP_1_9] = {
		.revision = OTLP_1_9,
		.name = "1.9",
		.has_null_entries = true,
		.tables = { [1] = OTLP_MAPPINGS, [2] = OTLP_LOCATIONS, [3] = OTLP_FUNCTIONS,
		            [4] = OTLP_LINKS, [5] = OTLP_STRINGS, [6] = OTLP_ATTRIBUTES,
		            [7] = OTLP_STACKS },
		.profile = { [1] = OTLP_PROFILE_SAMPLE_TYPE, [2] = OTLP_PROFILE_SAMPLE,
		             [3] = OTLP_PROFILE_TIME, [4] = OTLP_PROFILE_DURATION,
		             [5] = OTLP_PROFILE_PERIOD_TYPE, [6] = OTLP_PROFILE_PERIOD },
		.sample = { [1] = OTLP_SAMPLE_STACK, [2] = OTLP_SAMPLE_VALUES,
		            [3] = OTLP_SAMPLE_ATTRIBUTES, [4] = OTLP_SAMPLE_LINK,
		            [5] = OTLP_SAMPLE_TIMES },
	},
	[OTLP_1_10] = {
		.revision = OTLP_1_10,
		.name = "1.10",
		.has_null_entries = true,
		.tables = { [1] = OTLP_MAPPINGS, [2] = OTLP_LOCATIONS, [3] = OTLP_FUNCTIONS,
		            [4] = OTLP_LINKS, [5] = OTLP_STRINGS, [6] = OTLP_ATTRIBUTES,
		            [7] = OTLP_STACKS },
		.profile = { [1] = OTLP_PROFILE_SAMPLE_TYPE, [2] = OTLP_PROFILE_SAMPLE,
		             [3] = OTLP_PROFILE_TIME, [4] = OTLP_PROFILE_DURATION,
		             [5] = OTLP_PROFILE_PERIOD_TYPE, [6] = OTLP_PROFILE_PERIOD },
		.sample = { [1] = OTLP_SAMPLE_STACK, [2] = OTLP_SAMPLE_ATTRIBUTES,
		            [3] = OTLP_SAMPLE_LINK, [4] = OTLP_SAMPLE_VALUES,
		            [5] = OTLP_SAMPLE_TIMES },
	},
};

const struct otlp_layout *otlp_layout_of(enum otlp_revision revision)
{
	return &layouts[revision];
}
