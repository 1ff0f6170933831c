#include "formats/otlp_json_fields.h"

/* ---- the table ---- */

#define OWN(name, kind, number)                                     \
	{                                                           \
		name, OTLP_JSON_##kind, OTLP_JSON_OWN, number, NULL \
	}
#define MESSAGE(name, number, fields)                                  \
	{                                                              \
		name, OTLP_JSON_MESSAGE, OTLP_JSON_OWN, number, fields \
	}
#define TABLE(name, kind, table, fields)                                   \
	{                                                                  \
		name, OTLP_JSON_##kind, OTLP_JSON_OF_TABLES, table, fields \
	}
#define PROFILE(name, kind, meaning, fields)                                  \
	{                                                                     \
		name, OTLP_JSON_##kind, OTLP_JSON_OF_PROFILE, meaning, fields \
	}
#define SAMPLE(name, kind, meaning)                                        \
	{                                                                  \
		name, OTLP_JSON_##kind, OTLP_JSON_OF_SAMPLE, meaning, NULL \
	}
#define END                                                    \
	{                                                      \
		NULL, OTLP_JSON_NUMBER, OTLP_JSON_OWN, 0, NULL \
	}

/* clang-format off */
static const struct otlp_json_field value[5];

static const struct otlp_json_field list[] = {
	MESSAGE("values", 1, value),
	END
};

static const struct otlp_json_field value[5] = {
	OWN("stringValue", TEXT, 1),
	OWN("intValue", NUMBER, 3),
	MESSAGE("arrayValue", 5, list),
	OWN("stringValueStrindex", NUMBER, 8),
	END
};

static const struct otlp_json_field attribute[] = {
	OWN("key", TEXT, 1),
	MESSAGE("value", 2, value),
	OWN("keyStrindex", NUMBER, 3),
	END
};

/* of the dictionary: before 1.8 the key is a text */
static const struct otlp_json_field table_attribute[] = {
	OWN("keyStrindex", NUMBER, 1),
	OWN("key", TEXT, 1),
	MESSAGE("value", 2, value),
	END
};

static const struct otlp_json_field mapping[] = {
	OWN("memoryStart", NUMBER, 1),
	OWN("memoryLimit", NUMBER, 2),
	OWN("fileOffset", NUMBER, 3),
	OWN("filenameStrindex", NUMBER, 4),
	OWN("attributeIndices", NUMBER, 5),
	END
};

static const struct otlp_json_field line[] = {
	OWN("functionIndex", NUMBER, 1),
	OWN("line", NUMBER, 2),
	END
};

static const struct otlp_json_field location[] = {
	OWN("mappingIndex", NUMBER, 1),
	OWN("address", NUMBER, 2),
	MESSAGE("lines", 3, line),
	MESSAGE("line", 3, line),
	END
};

static const struct otlp_json_field function[] = {
	OWN("nameStrindex", NUMBER, 1),
	OWN("systemNameStrindex", NUMBER, 2),
	OWN("filenameStrindex", NUMBER, 3),
	OWN("startLine", NUMBER, 4),
	END
};

static const struct otlp_json_field span_link[] = {
	OWN("traceId", ID, 1),
	OWN("spanId", ID, 2),
	END
};

static const struct otlp_json_field stack[] = {
	OWN("locationIndices", NUMBER, 1),
	END
};

#define TABLES                                                                  \
	TABLE("mappingTable", MESSAGE, OTLP_MAPPINGS, mapping),                 \
	TABLE("locationTable", MESSAGE, OTLP_LOCATIONS, location),              \
	TABLE("functionTable", MESSAGE, OTLP_FUNCTIONS, function),              \
	TABLE("linkTable", MESSAGE, OTLP_LINKS, span_link),                     \
	TABLE("stringTable", TEXT, OTLP_STRINGS, NULL),                         \
	TABLE("attributeTable", MESSAGE, OTLP_ATTRIBUTES, table_attribute),     \
	TABLE("stackTable", MESSAGE, OTLP_STACKS, stack)

static const struct otlp_json_field dictionary[] = {
	TABLES,
	END
};

static const struct otlp_json_field value_type[] = {
	OWN("typeStrindex", NUMBER, 1),
	OWN("unitStrindex", NUMBER, 2),
	END
};

static const struct otlp_json_field sample[] = {
	SAMPLE("stackIndex", NUMBER, OTLP_SAMPLE_STACK),
	SAMPLE("locationsStartIndex", NUMBER, OTLP_SAMPLE_STACK_START),
	SAMPLE("locationsLength", NUMBER, OTLP_SAMPLE_STACK_LENGTH),
	SAMPLE("values", NUMBER, OTLP_SAMPLE_VALUES),
	SAMPLE("value", NUMBER, OTLP_SAMPLE_VALUES),
	SAMPLE("attributeIndices", NUMBER, OTLP_SAMPLE_ATTRIBUTES),
	SAMPLE("linkIndex", NUMBER, OTLP_SAMPLE_LINK),
	SAMPLE("linkIndex", NUMBER, OTLP_SAMPLE_OPTIONAL_LINK),
	SAMPLE("timestampsUnixNano", FIXED64, OTLP_SAMPLE_TIMES),
	SAMPLE("timestampsUnixNano", NUMBER, OTLP_SAMPLE_VARINT_TIMES),
	END
};

static const struct otlp_json_field profile[] = {
	PROFILE("sampleType", MESSAGE, OTLP_PROFILE_SAMPLE_TYPE, value_type),
	PROFILE("sampleType", MESSAGE, OTLP_PROFILE_SAMPLE_TYPES, value_type),
	PROFILE("samples", MESSAGE, OTLP_PROFILE_SAMPLE, sample),
	PROFILE("sample", MESSAGE, OTLP_PROFILE_SAMPLE, sample),
	PROFILE("timeUnixNano", FIXED64, OTLP_PROFILE_TIME, NULL),
	PROFILE("timeNanos", NUMBER, OTLP_PROFILE_TIME, NULL),
	PROFILE("durationNano", NUMBER, OTLP_PROFILE_DURATION, NULL),
	PROFILE("durationNanos", NUMBER, OTLP_PROFILE_DURATION, NULL),
	PROFILE("periodType", MESSAGE, OTLP_PROFILE_PERIOD_TYPE, value_type),
	PROFILE("period", NUMBER, OTLP_PROFILE_PERIOD, NULL),
	PROFILE("locationIndices", NUMBER, OTLP_PROFILE_LOCATION_INDICES, NULL),
	TABLES,
	END
};

static const struct otlp_json_field scope[] = {
	MESSAGE("attributes", 3, attribute),
	END
};

static const struct otlp_json_field scope_profiles[] = {
	MESSAGE("scope", 1, scope),
	MESSAGE("profiles", 2, profile),
	END
};

static const struct otlp_json_field resource[] = {
	MESSAGE("attributes", 1, attribute),
	END
};

static const struct otlp_json_field resource_profiles[] = {
	MESSAGE("resource", 1, resource),
	MESSAGE("scopeProfiles", 2, scope_profiles),
	END
};

const struct otlp_json_field otlp_json_request[] = {
	MESSAGE("resourceProfiles", 1, resource_profiles),
	MESSAGE("dictionary", 2, dictionary),
	END
};
/* clang-format on */

/* ---- look-ups ---- */

static uint32_t find_meaning(const uint8_t row[static OTLP_FIELDS], unsigned meaning)
{
	for (uint32_t number = 1; number < OTLP_FIELDS; number++)
		if (row[number] == meaning)
			return number;
	return 0;
}

uint32_t otlp_json_number(const struct otlp_json_field *field, const struct otlp_layout *layout)
{
	switch (field->numbering) {
	case OTLP_JSON_OF_TABLES:
		return find_meaning(layout->tables, field->number);
	case OTLP_JSON_OF_PROFILE:
		return find_meaning(layout->profile, field->number);
	case OTLP_JSON_OF_SAMPLE:
		return find_meaning(layout->sample, field->number);
	default:
		return field->number;
	}
}

bool otlp_json_name_is(struct str key, const char *name)
{
	size_t at = 0;

	for (; *name; name++) {
		const char wanted = *name;
		const bool is_capital = wanted >= 'A' && wanted <= 'Z';

		if (is_capital && at + 1 < key.length && key.data[at] == '_' &&
		    key.data[at + 1] == (wanted | 0x20)) {
			at += 2;
			continue;
		}
		if (at == key.length || key.data[at] != wanted)
			return false;
		at++;
	}
	return at == key.length;
}
