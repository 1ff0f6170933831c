#include "formats/otlp_symbols.h"

#include "formats/otlp_wire.h"

/* What a thing needs in pprof beside its numbers and texts, about. */
#define STRING_BYTES   1
#define FUNCTION_BYTES 9

/* ---- a profile's tables ---- */

int otlp_symbols_init(struct otlp_symbols *symbols, struct error *err)
{
	for (unsigned table = OTLP_NO_TABLE + 1; table < OTLP_TABLE_COUNT; table++) {
		struct otlp_places *places = &symbols->places[table];

		places->numbers = arena_array(symbols->arena,
		                              symbols->dictionary->tables[table].count,
		                              sizeof(*places->numbers));
		if (!places->numbers)
			return arena_error(symbols->arena, err);
		places->next = 1; /* 0 stands below every base */
	}
	return 0;
}

/* What a profile of that many bytes may need of `count` things. */
static size_t share(const struct otlp_symbols *symbols, size_t sent_bytes, size_t count)
{
	const double part = symbols->profile_bytes > sent_bytes
	                            ? (double)sent_bytes / (double)symbols->profile_bytes
	                            : 1;

	return 1 + (size_t)(part * (double)count);
}

static bool make_room(struct otlp_symbols *symbols, struct profile *profile, size_t sent_bytes)
{
	const struct otlp_entries *tables = symbols->dictionary->tables;
	const size_t locations = share(symbols, sent_bytes, tables[OTLP_LOCATIONS].count);
	struct arena *arena = symbols->arena;

	symbols->string_capacity = symbols->mapping_capacity = symbols->function_capacity = 0;
	symbols->line_capacity = symbols->location_capacity = symbols->frame_capacity = 0;
	symbols->run_capacity = 0;
	symbols->runs = NULL;
	/* the usual: a line a location, two bytes a frame */
	return ARENA_RESERVE(arena, profile->strings, 0,
	                     share(symbols, sent_bytes, tables[OTLP_STRINGS].count),
	                     symbols->string_capacity) &&
	       ARENA_RESERVE(arena, profile->functions, 0,
	                     share(symbols, sent_bytes, tables[OTLP_FUNCTIONS].count),
	                     symbols->function_capacity) &&
	       ARENA_RESERVE(arena, profile->lines, 0, locations, symbols->line_capacity) &&
	       ARENA_RESERVE(arena, profile->locations, 0, locations, symbols->location_capacity) &&
	       ARENA_RESERVE(arena, profile->stacks, 0,
	                     share(symbols, sent_bytes, tables[OTLP_STACKS].bytes / 2),
	                     symbols->frame_capacity) &&
	       ARENA_RESERVE(arena, symbols->runs, 0,
	                     share(symbols, sent_bytes, tables[OTLP_STACKS].count),
	                     symbols->run_capacity);
}

int otlp_symbols_begin(struct otlp_symbols *symbols, struct profile *profile, size_t sent_bytes,
                       struct error *err)
{
	for (unsigned table = OTLP_NO_TABLE + 1; table < OTLP_TABLE_COUNT; table++)
		symbols->places[table].base = symbols->places[table].next;
	profile->arena = symbols->arena;
	symbols->profile = profile;
	symbols->encoded_bytes = STRING_BYTES + 1;
	symbols->frame_bytes = 0;
	symbols->run_count = 0;
	if (!make_room(symbols, profile, sent_bytes))
		return arena_error(symbols->arena, err);
	profile->strings[profile->string_count++] = STR("");
	return 0;
}

static int full(const struct otlp_symbols *symbols, struct error *err)
{
	return arena_error(symbols->arena, err);
}

/* ---- strings ---- */

int otlp_symbols_text(struct otlp_symbols *symbols, struct str text, uint32_t *out,
                      struct error *err)
{
	struct profile *profile = symbols->profile;

	*out = 0;
	if (text.length == 0)
		return 0;
	if (otlp_work_take(symbols->dictionary->work, 1, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, profile->strings, profile->string_count,
	                symbols->string_capacity))
		return full(symbols, err);
	*out = (uint32_t)profile->string_count;
	profile->strings[profile->string_count++] = text;
	symbols->encoded_bytes += STRING_BYTES + varint_length(text.length) + text.length;
	return 0;
}

int otlp_symbols_string(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                        struct error *err)
{
	struct otlp_places *places = &symbols->places[OTLP_STRINGS];
	struct str text;

	if (otlp_symbols_find(symbols, OTLP_STRINGS, index, out))
		return 0;
	if (otlp_dictionary_string(symbols->dictionary, index, &text, err) < 0 ||
	    otlp_symbols_text(symbols, text, out, err) < 0)
		return -1;
	otlp_place_set(places, index, *out);
	return 0;
}

/* ---- functions ---- */

static int read_function(struct otlp_symbols *symbols, struct str bytes,
                         struct profile_function *out, struct error *err)
{
	enum {
		NAME = 1,
		SYSTEM_NAME = 2,
		FILENAME = 3,
		START_LINE = 4
	};
	uint64_t numbers[START_LINE + 1] = { 0 };

	if (!otlp_read_numbers(bytes, START_LINE, numbers))
		return otlp_malformed(err, "Function");
	out->start_line = (int64_t)numbers[START_LINE];
	return otlp_symbols_string(symbols, numbers[NAME], &out->name, err) < 0 ||
	                       otlp_symbols_string(symbols, numbers[SYSTEM_NAME], &out->system_name,
	                                           err) < 0
	               ? -1
	               : otlp_symbols_string(symbols, numbers[FILENAME], &out->file, err);
}

int otlp_symbols_function(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                          struct error *err)
{
	struct otlp_places *places = &symbols->places[OTLP_FUNCTIONS];
	struct profile *profile = symbols->profile;
	struct profile_function function = { 0 };
	struct str bytes;

	if (otlp_symbols_find(symbols, OTLP_FUNCTIONS, index, out))
		return 0;
	if (otlp_dictionary_entry(symbols->dictionary, OTLP_FUNCTIONS, index, &bytes, err) < 0 ||
	    read_function(symbols, bytes, &function, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, profile->functions, profile->function_count,
	                symbols->function_capacity))
		return full(symbols, err);
	*out = (uint32_t)profile->function_count;
	profile->functions[profile->function_count++] = function;
	symbols->encoded_bytes += FUNCTION_BYTES + varint_length(function.name);
	otlp_place_set(places, index, *out);
	return 0;
}

/* ---- stacks ---- */

/* Without the first numbers of a run that has more than `most`. */
static struct otlp_numbers last_numbers(struct otlp_numbers numbers, size_t most)
{
	const uint8_t *at = numbers.end;
	size_t count = 0;

	if (most == 0 || (size_t)(numbers.end - numbers.at) <= most)
		return numbers;
	while (at > numbers.at && count <= most)
		count += *--at < 0x80;
	if (count > most)
		numbers.at = at + 1; /* behind the end of the first number too many */
	return numbers;
}

/* A number as most indices are written, in one byte or two; others go the long way. */
static inline bool read_index(struct otlp_numbers *numbers, uint64_t *out)
{
	const uint8_t *at = numbers->at;

	if (numbers->end - at >= 2 && at[0] >= 0x80 && at[1] < 0x80) {
		*out = (uint64_t)at[1] << 7 | (at[0] & 0x7f);
		numbers->at = at + 2;
		return true;
	}
	return varint_read(&numbers->at, numbers->end, out);
}

static int add_frames(struct otlp_symbols *symbols, struct otlp_numbers numbers, struct error *err)
{
	const struct otlp_places *places = &symbols->places[OTLP_LOCATIONS];
	const uint64_t locations = symbols->dictionary->tables[OTLP_LOCATIONS].count;
	struct profile *profile = symbols->profile;
	const size_t first = profile->stack_length;
	size_t frame_bytes = 0;
	uint32_t *to;

	if (!ARENA_RESERVE(symbols->arena, profile->stacks, first,
	                   (size_t)(numbers.end - numbers.at), symbols->frame_capacity))
		return full(symbols, err);
	to = profile->stacks + first;
	while (numbers.at < numbers.end) {
		uint64_t index;
		uint32_t location;

		if (!read_index(&numbers, &index))
			return otlp_malformed(err, "Stack");
		if ((index >= locations || !otlp_place_find(places, index, &location)) &&
		    otlp_symbols_location(symbols, index, &location, err) < 0)
			return -1;
		*to++ = location;
		frame_bytes += location < 0x7f ? 1 : varint_length((uint64_t)location + 1);
	}
	profile->stack_length = (size_t)(to - profile->stacks);
	symbols->frame_bytes += frame_bytes;
	return otlp_work_take(symbols->dictionary->work, profile->stack_length - first, err);
}

int otlp_symbols_frames(struct otlp_symbols *symbols, const struct wire_field *field,
                        struct error *err)
{
	uint8_t room[VARINT_MAX];

	return add_frames(symbols, otlp_numbers(field, room), err);
}

/* Appends the frames of a stack that came. */
static int read_stack(struct otlp_symbols *symbols, struct str bytes, struct error *err)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		uint8_t room[VARINT_MAX];

		if (field.number != 1)
			continue;
		if (add_frames(symbols,
		               last_numbers(otlp_numbers(&field, room), symbols->max_depth),
		               err) < 0)
			return -1;
	}
	return more < 0 ? otlp_malformed(err, "Stack") : 0;
}

int otlp_symbols_stack(struct otlp_symbols *symbols, uint64_t index, struct otlp_run *out,
                       struct error *err)
{
	struct otlp_places *places = &symbols->places[OTLP_STACKS];
	const size_t first = symbols->profile->stack_length;
	const size_t bytes_before = symbols->frame_bytes;
	struct str bytes;
	uint32_t place;

	if (index >= symbols->dictionary->tables[OTLP_STACKS].count)
		return error_set(err, ERROR_INVALID, "invalid stack index: %lld", (long long)index);
	if (otlp_place_find(places, index, &place)) {
		*out = symbols->runs[place];
		return 0;
	}
	if (otlp_dictionary_entry(symbols->dictionary, OTLP_STACKS, index, &bytes, err) < 0 ||
	    read_stack(symbols, bytes, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, symbols->runs, symbols->run_count, symbols->run_capacity))
		return full(symbols, err);
	otlp_place_set(places, index, (uint32_t)symbols->run_count);
	*out = (struct otlp_run){
		.first_frame = (uint32_t)first,
		.depth = (uint32_t)(symbols->profile->stack_length - first),
		.encoded_bytes = (uint32_t)(symbols->frame_bytes - bytes_before),
	};
	symbols->runs[symbols->run_count++] = *out;
	return 0;
}
