#include "formats/otlp_services.h"

#include "base/uuid.h"
#include "formats/otlp_attribute.h"
#include "formats/otlp_wire.h"

/* What is known of an attribute of the dictionary; from FIRST_SERVICE on, its service. */
enum {
	NOT_LOOKED_AT,
	NO_SERVICE,
	FIRST_SERVICE,
};

static int full(const struct otlp_services *services, struct error *err)
{
	return arena_error(services->arena, err);
}

/* 1 when some attribute of the dictionary names a service, else 0; -1. */
static int find_name(const struct otlp_dictionary *dictionary, struct error *err)
{
	for (uint32_t i = 0; i < dictionary->tables[OTLP_ATTRIBUTES].count; i++) {
		struct str entry;
		struct str key;

		if (otlp_dictionary_entry(dictionary, OTLP_ATTRIBUTES, i, &entry, err) < 0 ||
		    otlp_attribute_key(dictionary, entry, &key, err) < 0)
			return -1;
		if (str_equals(key, OTLP_SERVICE_NAME))
			return 1;
	}
	return 0;
}

int otlp_services_init(struct otlp_services *services, struct error *err)
{
	const struct otlp_dictionary *dictionary = services->dictionary;
	const struct uuid random = uuid_random();
	const int found = find_name(dictionary, err);

	if (found < 0)
		return -1;
	services->is_named = found > 0;
	if (!services->is_named)
		return 0;
	memcpy(&services->key, random.bytes, sizeof(services->key));
	services->kinds = arena_array(services->arena, dictionary->tables[OTLP_ATTRIBUTES].count,
	                              sizeof(*services->kinds));
	return services->kinds ? 0 : full(services, err);
}

/* ---- whose a sample is ---- */

static int name_id(struct otlp_services *services, struct str name, uint32_t *out,
                   struct error *err)
{
	bool is_new;

	if (!ARENA_GROW(services->arena, services->names, services->ids.count,
	                services->name_capacity))
		return full(services, err);
	*out = intern_add(&services->ids, services->arena, hash128_str(services->key, name),
	                  &is_new);
	if (*out == INTERN_NONE)
		return full(services, err);
	if (is_new)
		services->names[*out] = (struct otlp_service_name){ .text = name };
	return 0;
}

static int look_at_attribute(struct otlp_services *services, uint64_t index, uint32_t *out,
                             struct error *err)
{
	struct label attribute;
	struct str entry;
	uint32_t id = 0;

	if (otlp_dictionary_entry(services->dictionary, OTLP_ATTRIBUTES, index, &entry, err) < 0)
		return -1;
	*out = services->kinds[index];
	if (*out != NOT_LOOKED_AT)
		return 0;
	if (otlp_attribute_read(services->dictionary, entry, services->arena, &attribute, err) < 0)
		return -1;
	*out = NO_SERVICE;
	if (str_equals(attribute.name, OTLP_SERVICE_NAME)) {
		if (name_id(services, attribute.value, &id, err) < 0)
			return -1;
		*out = FIRST_SERVICE + id;
	}
	services->kinds[index] = *out;
	return 0;
}

/* The kind of the first of some attributes that names a service, or NO_SERVICE. */
static int look_at_attributes(struct otlp_services *services, const struct wire_field *field,
                              uint32_t *out, struct error *err)
{
	uint8_t room[VARINT_MAX];
	struct otlp_numbers numbers = otlp_numbers(field, room);

	*out = NO_SERVICE;
	while (numbers.at < numbers.end && *out == NO_SERVICE) {
		uint64_t index;

		if (!varint_read(&numbers.at, numbers.end, &index))
			return otlp_malformed(err, "Sample");
		if (look_at_attribute(services, index, out, err) < 0)
			return -1;
	}
	return 0;
}

static int find_id(struct otlp_services *services, struct str message, uint32_t *out,
                   struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	uint32_t kind = NO_SERVICE;
	int more;

	while (kind == NO_SERVICE && (more = wire_next(&reader, &field)) != 0) {
		if (more < 0)
			return otlp_malformed(err, "Sample");
		if (otlp_meaning(services->layout->sample, field.number) ==
		            OTLP_SAMPLE_ATTRIBUTES &&
		    look_at_attributes(services, &field, &kind, err) < 0)
			return -1;
	}
	if (kind == NO_SERVICE)
		return name_id(services, STR(""), out, err);
	*out = kind - FIRST_SERVICE;
	return 0;
}

/* The place of a service among those of the profile; it comes in when it is new there. */
static int find_service(struct otlp_services *services, uint32_t id, uint32_t *out,
                        struct error *err)
{
	struct otlp_service_name *name = &services->names[id];

	if (name->place < services->count && services->services[name->place].id == id) {
		*out = name->place;
		return 0;
	}
	if (!ARENA_GROW(services->arena, services->services, services->count, services->capacity))
		return full(services, err);
	*out = name->place = (uint32_t)services->count;
	services->services[services->count++] =
		(struct otlp_service){ .name = name->text, .id = id };
	return 0;
}

/* ---- the samples of each ---- */

static int add_samples(struct otlp_services *services, struct str message, struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field = { 0 };
	const uint8_t *start = reader.at;
	int more;

	for (; (more = wire_next(&reader, &field)) > 0; start = reader.at) {
		uint32_t id = 0;
		uint32_t place = 0;

		if (otlp_meaning(services->layout->profile, field.number) != OTLP_PROFILE_SAMPLE ||
		    field.type != WIRE_BYTES)
			continue;
		if (find_id(services, field.bytes, &id, err) < 0 ||
		    find_service(services, id, &place, err) < 0)
			return -1;
		services->places[services->sample_count] =
			otlp_place_of(services->dictionary->message, start);
		services->owners[services->sample_count++] = place;
		services->services[place].count++;
	}
	return more < 0 ? otlp_malformed(err, "Profile") : 0;
}

/* Sorts the samples by service; those of one stay in their order. */
static void sort_samples(struct otlp_services *services)
{
	size_t at = 0;

	for (size_t i = 0; i < services->count; i++) {
		services->services[i].samples = services->sorted + at;
		at += services->services[i].count;
		services->services[i].count = 0;
	}
	for (size_t i = 0; i < services->sample_count; i++) {
		struct otlp_service *service = &services->services[services->owners[i]];
		const size_t first = (size_t)(service->samples - services->sorted);

		services->sorted[first + service->count++] = services->places[i];
	}
}

int otlp_services_split(struct otlp_services *services, const struct otlp_profile *profile,
                        struct error *err)
{
	struct arena *arena = services->arena;
	const size_t samples = profile->sample_count;

	services->count = services->sample_count = 0;
	if (!ARENA_RESERVE(arena, services->places, 0, samples, services->place_capacity) ||
	    !ARENA_RESERVE(arena, services->owners, 0, samples, services->owner_capacity) ||
	    !ARENA_RESERVE(arena, services->sorted, 0, samples, services->sorted_capacity))
		return full(services, err);
	if (add_samples(services, profile->message, err) < 0)
		return -1;
	sort_samples(services);
	return 0;
}
