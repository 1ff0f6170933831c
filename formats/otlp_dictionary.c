#include "formats/otlp_dictionary.h"

#include "formats/otlp_wire.h"

/* One run over the tables: the first counts, the second notes where entries stand. */
struct run {
	const struct otlp_layout *layout;
	struct otlp_dictionary *dictionary;
	size_t counts[OTLP_TABLE_COUNT];
};

static int count_entries(void *context, struct str bytes, struct error *err)
{
	struct run *run = context;
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		const unsigned table = otlp_meaning(run->layout->tables, field.number);

		if (table != OTLP_NO_TABLE && field.type != WIRE_BYTES)
			return otlp_malformed(err, "ProfilesDictionary");
		run->counts[table]++;
		if (table != OTLP_NO_TABLE)
			run->dictionary->tables[table].bytes += field.bytes.length;
	}
	return more < 0 ? otlp_malformed(err, "ProfilesDictionary") : 0;
}

static int note_entries(void *context, struct str bytes, struct error *err)
{
	struct run *run = context;
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;

	(void)err;
	for (;;) {
		const uint8_t *start = reader.at;
		struct otlp_entries *entries;
		unsigned table;

		if (wire_next(&reader, &field) <= 0)
			return 0; /* count_entries() saw that all of it is well formed */
		table = otlp_meaning(run->layout->tables, field.number);
		if (table == OTLP_NO_TABLE)
			continue;
		entries = &run->dictionary->tables[table];
		entries->places[entries->count++] = otlp_place_of(run->dictionary->message, start);
	}
}

static int allocate(const struct run *run, struct arena *arena, struct error *err)
{
	for (unsigned table = OTLP_NO_TABLE + 1; table < OTLP_TABLE_COUNT; table++) {
		struct otlp_entries *entries = &run->dictionary->tables[table];

		entries->places = arena_array_raw(arena, run->counts[table], sizeof(uint32_t));
		if (!entries->places) {
			(void)arena_error(arena, err);
			return -1;
		}
	}
	return 0;
}

static int check_size(struct str message, struct error *err)
{
	if (message.length <= OTLP_MESSAGE_MAX)
		return 0;
	return error_set(err, ERROR_TOO_LARGE, "an export request of %zu bytes; limit %u",
	                 message.length, OTLP_MESSAGE_MAX);
}

int otlp_dictionary_read(const struct otlp_layout *layout, struct str message, uint32_t number,
                         struct otlp_work *work, struct arena *arena, struct otlp_dictionary *out,
                         struct error *err)
{
	static const char *const name = "ExportProfilesServiceRequest";
	struct otlp_dictionary dictionary = { .message = message, .work = work };
	struct run run = { .layout = layout, .dictionary = &dictionary };

	if (check_size(message, err) < 0 ||
	    otlp_each(message, number, name, count_entries, &run, err) < 0 ||
	    allocate(&run, arena, err) < 0 ||
	    otlp_each(message, number, name, note_entries, &run, err) < 0)
		return -1;
	*out = dictionary;
	return 0;
}

int otlp_dictionary_read_own(const struct otlp_layout *layout, struct str message,
                             struct str profile, struct otlp_work *work, struct arena *arena,
                             struct otlp_dictionary *out, struct error *err)
{
	struct otlp_dictionary dictionary = { .message = message, .work = work };
	struct run run = { .layout = layout, .dictionary = &dictionary };

	if (check_size(message, err) < 0 || count_entries(&run, profile, err) < 0 ||
	    allocate(&run, arena, err) < 0 || note_entries(&run, profile, err) < 0)
		return -1;
	*out = dictionary;
	return 0;
}

int otlp_dictionary_entry(const struct otlp_dictionary *dictionary, enum otlp_table table,
                          uint64_t index, struct str *out, struct error *err)
{
	static const char *const names[OTLP_TABLE_COUNT] = {
		[OTLP_MAPPINGS] = "mapping",   [OTLP_LOCATIONS] = "location",
		[OTLP_FUNCTIONS] = "function", [OTLP_LINKS] = "link",
		[OTLP_STRINGS] = "string",     [OTLP_ATTRIBUTES] = "attribute",
		[OTLP_STACKS] = "stack",
	};
	const struct otlp_entries *entries = &dictionary->tables[table];

	if (index >= entries->count)
		return error_set(err, ERROR_INVALID,
		                 "invalid %s index: %lld; the table has %u entries", names[table],
		                 (long long)index, entries->count);
	*out = otlp_message_at(dictionary->message, entries->places[index]);
	return otlp_work_read(dictionary->work, out->length, err);
}
