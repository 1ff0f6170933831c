/*
 * Locations of a request's dictionary, with their lines and mappings, as a profile's own.
 */
#include "formats/otlp_attribute.h"
#include "formats/otlp_symbols.h"
#include "formats/otlp_wire.h"

/* What a thing needs in pprof beside its numbers and texts, about. */
#define LINE_BYTES     6
#define LOCATION_BYTES 8
#define MAPPING_BYTES  14

#define BUILD_ID "process.executable.build_id.gnu"

#define ALL_KNOWN (PROFILE_HAS_FUNCTIONS | PROFILE_HAS_FILENAMES | PROFILE_HAS_LINE_NUMBERS)

/* ---- mappings ---- */

/* The build id among some attributes. */
static int find_build_id(struct otlp_symbols *symbols, const struct wire_field *field,
                         uint32_t *out, struct error *err)
{
	uint8_t room[VARINT_MAX];
	struct otlp_numbers numbers = otlp_numbers(field, room);

	while (numbers.at < numbers.end) {
		struct label attribute;
		struct str entry;
		uint64_t index;

		if (!varint_read(&numbers.at, numbers.end, &index))
			return otlp_malformed(err, "Mapping");
		if (otlp_dictionary_entry(symbols->dictionary, OTLP_ATTRIBUTES, index, &entry,
		                          err) < 0 ||
		    otlp_attribute_read(symbols->dictionary, entry, symbols->arena, &attribute,
		                        err) < 0)
			return -1;
		if (str_equals(attribute.name, BUILD_ID) && *out == 0 &&
		    otlp_symbols_text(symbols, attribute.value, out, err) < 0)
			return -1;
	}
	return 0;
}

static int read_mapping(struct otlp_symbols *symbols, struct str bytes, struct profile_mapping *out,
                        struct error *err)
{
	enum {
		START = 1,
		LIMIT = 2,
		OFFSET = 3,
		FILENAME = 4,
		ATTRIBUTES = 5
	};
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	uint64_t numbers[FILENAME + 1] = { 0 }; /* by field */
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number == ATTRIBUTES) {
			if (find_build_id(symbols, &field, &out->build_id, err) < 0)
				return -1;
			continue;
		}
		if (field.number > FILENAME)
			continue;
		if (field.type != WIRE_VARINT)
			return otlp_malformed(err, "Mapping");
		numbers[field.number] = field.value;
	}
	if (more < 0)
		return otlp_malformed(err, "Mapping");
	out->start = numbers[START];
	out->limit = numbers[LIMIT];
	out->offset = numbers[OFFSET];
	return otlp_symbols_string(symbols, numbers[FILENAME], &out->file, err);
}

static int add_mapping(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                       struct error *err)
{
	struct otlp_places *places = &symbols->places[OTLP_MAPPINGS];
	struct profile *profile = symbols->profile;
	/* until a location shows that something is not */
	struct profile_mapping mapping = { .flags = ALL_KNOWN };
	struct str bytes;

	*out = PROFILE_NONE;
	if (index == 0 && symbols->dictionary->tables[OTLP_MAPPINGS].count == 0)
		return 0;
	if (otlp_symbols_find(symbols, OTLP_MAPPINGS, index, out))
		return 0;
	if (otlp_dictionary_entry(symbols->dictionary, OTLP_MAPPINGS, index, &bytes, err) < 0 ||
	    read_mapping(symbols, bytes, &mapping, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, profile->mappings, profile->mapping_count,
	                symbols->mapping_capacity))
		return arena_error(symbols->arena, err);
	*out = (uint32_t)profile->mapping_count;
	profile->mappings[profile->mapping_count++] = mapping;
	symbols->encoded_bytes += MAPPING_BYTES + varint_length(mapping.start) +
	                          varint_length(mapping.limit) + varint_length(mapping.offset);
	otlp_place_set(places, index, *out);
	return 0;
}

/* ---- locations ---- */

static int add_line(struct otlp_symbols *symbols, struct str bytes, struct error *err)
{
	enum {
		FUNCTION = 1,
		LINE = 2,
		COLUMN = 3
	};
	struct profile *profile = symbols->profile;
	uint64_t numbers[COLUMN + 1] = { 0 };
	struct profile_line line;

	if (!otlp_read_numbers(bytes, COLUMN, numbers))
		return otlp_malformed(err, "Line");
	line.line = (int64_t)numbers[LINE];
	if (otlp_work_take(symbols->dictionary->work, 1, err) < 0 ||
	    otlp_symbols_function(symbols, numbers[FUNCTION], &line.function, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, profile->lines, profile->line_count,
	                symbols->line_capacity))
		return arena_error(symbols->arena, err);
	profile->lines[profile->line_count++] = line;
	symbols->encoded_bytes += LINE_BYTES + varint_length((uint64_t)line.line);
	return 0;
}

/* A location as it was sent. */
struct location_fields {
	uint64_t mapping;
	bool has_mapping;
	uint64_t address;
};

static int read_location(struct otlp_symbols *symbols, struct str bytes,
                         struct location_fields *out, struct error *err)
{
	enum {
		MAPPING = 1,
		ADDRESS = 2,
		LINES = 3
	};
	struct span in = otlp_span(bytes);
	struct span line;
	uint64_t key;
	bool good = true;

	while (good && in.at < in.end) {
		if (!read_number(&in, &key))
			return otlp_malformed(err, "Location");
		switch (key) {
		case KEY(MAPPING, WIRE_VARINT):
			good = read_number(&in, &out->mapping);
			out->has_mapping = true;
			break;
		case KEY(ADDRESS, WIRE_VARINT):
			good = read_number(&in, &out->address);
			break;
		case KEY(LINES, WIRE_BYTES):
			good = read_bytes(&in, &line);
			if (good &&
			    add_line(symbols, str_make(line.at, (size_t)(line.end - line.at)),
			             err) < 0)
				return -1;
			break;
		default:
			good = skip_field(&in, key, LINES);
		}
	}
	return good ? 0 : otlp_malformed(err, "Location");
}

/* Takes from a mapping what its location does not have. */
static void note_unknown(struct profile *profile, const struct profile_location *location)
{
	unsigned known = location->line_count > 0 ? ALL_KNOWN : 0;

	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		const struct profile_function *function = &profile->functions[line->function];

		if (function->name == 0)
			known &= ~(unsigned)PROFILE_HAS_FUNCTIONS;
		if (function->file == 0)
			known &= ~(unsigned)PROFILE_HAS_FILENAMES;
		if (line->line <= 0)
			known &= ~(unsigned)PROFILE_HAS_LINE_NUMBERS;
	}
	/* a location without lines: nothing of the mapping is known */
	profile->mappings[location->mapping].flags &= known;
}

static int make_location(struct otlp_symbols *symbols, struct str bytes,
                         struct profile_location *out, struct error *err)
{
	struct profile *profile = symbols->profile;
	struct location_fields fields = { .has_mapping = symbols->layout->has_null_entries };

	*out = (struct profile_location){ .first_line = (uint32_t)profile->line_count,
		                          .mapping = PROFILE_NONE };
	if (read_location(symbols, bytes, &fields, err) < 0 ||
	    (fields.has_mapping && add_mapping(symbols, fields.mapping, &out->mapping, err) < 0))
		return -1;
	out->address = fields.address;
	out->line_count = (uint32_t)profile->line_count - out->first_line;
	if (out->mapping != PROFILE_NONE)
		note_unknown(profile, out);
	return 0;
}

int otlp_symbols_location(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                          struct error *err)
{
	struct otlp_places *places = &symbols->places[OTLP_LOCATIONS];
	struct profile *profile = symbols->profile;
	struct profile_location location;
	struct str bytes;

	if (otlp_symbols_find(symbols, OTLP_LOCATIONS, index, out))
		return 0;
	if (otlp_dictionary_entry(symbols->dictionary, OTLP_LOCATIONS, index, &bytes, err) < 0 ||
	    make_location(symbols, bytes, &location, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, profile->locations, profile->location_count,
	                symbols->location_capacity))
		return arena_error(symbols->arena, err);
	*out = (uint32_t)profile->location_count;
	profile->locations[profile->location_count++] = location;
	symbols->encoded_bytes += LOCATION_BYTES + varint_length(location.address);
	otlp_place_set(places, index, *out);
	return 0;
}
