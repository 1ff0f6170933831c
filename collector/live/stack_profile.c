#include "collector/live/stack_profile.h"

#include <stdlib.h>

#include "base/mem.h"

#define SAMPLE_BYTES   24 /* of a sample without its stack, encoded; guesses, on the safe side */
#define FRAME_BYTES    3
#define LOCATION_BYTES 40
#define STRING_BYTES   4

void stack_profile_init(struct stack_profile *maker, const struct stack_table *table)
{
	*maker = (struct stack_profile){ .table = table };
}

void stack_profile_fini(struct stack_profile *maker)
{
	free(maker->strings);
	free(maker->frames);
	id_map_fini(&maker->mappings);
	*maker = (struct stack_profile){ 0 };
}

static struct stack_profile_place *fit(struct stack_profile_place *places, size_t *count,
                                       size_t wanted)
{
	if (wanted <= *count)
		return places;
	wanted = wanted > *count * 2 ? wanted : *count * 2;
	places = mem_resize(places, wanted, sizeof(*places));
	memset(places + *count, 0, (wanted - *count) * sizeof(*places));
	*count = wanted;
	return places;
}

/* Places for all that the table has now. */
static void fit_places(struct stack_profile *maker)
{
	maker->strings =
		fit(maker->strings, &maker->string_places, stack_table_string_count(maker->table));
	maker->frames =
		fit(maker->frames, &maker->frame_places, stack_table_frame_count(maker->table));
}

/* Appends one element; false when the arena is full. */
#define APPEND(maker, array, count, capacity, ...)                                             \
	(ARENA_GROW((maker)->profile->arena, (maker)->profile->array, (maker)->profile->count, \
	            (maker)->capacity) &&                                                      \
	 ((maker)->profile->array[(maker)->profile->count++] = __VA_ARGS__, true))

static bool put_text(struct stack_profile *maker, struct str text, uint32_t *out)
{
	*out = (uint32_t)maker->profile->string_count;
	maker->estimate += text.length + STRING_BYTES;
	return APPEND(maker, strings, string_count, string_capacity, text);
}

/* A string of the table; it lives as long as the table is not shrunk. */
static bool put_string(struct stack_profile *maker, uint32_t string, uint32_t *out)
{
	struct stack_profile_place *place = &maker->strings[string];

	if (place->profile != maker->number) {
		place->profile = maker->number;
		if (!put_text(maker, stack_table_string(maker->table, string), &place->index))
			return false;
	}
	*out = place->index;
	return true;
}

static bool put_mapping(struct stack_profile *maker, const struct stack_frame *frame, uint32_t *out)
{
	const uint32_t pair[] = { frame->module, frame->build_id };
	struct profile_mapping mapping = { 0 };
	bool is_new;

	*out = PROFILE_NONE;
	if (stack_table_string(maker->table, frame->module).length == 0)
		return true;
	*out = id_map_add(&maker->mappings, hash128(0, pair, sizeof(pair)), &is_new);
	if (!is_new)
		return true;
	return put_string(maker, frame->module, &mapping.file) &&
	       put_string(maker, frame->build_id, &mapping.build_id) &&
	       APPEND(maker, mappings, mapping_count, mapping_capacity, mapping);
}

static bool put_function(struct stack_profile *maker, const struct stack_frame *frame)
{
	struct profile_function function = { .start_line = frame->start_line };

	return put_string(maker, frame->name, &function.name) &&
	       put_string(maker, frame->system_name, &function.system_name) &&
	       put_string(maker, frame->file, &function.file) &&
	       APPEND(maker, functions, function_count, function_capacity, function);
}

/* One frame is one location, one line and one function. */
static bool put_frame(struct stack_profile *maker, uint32_t number, uint32_t *out)
{
	struct stack_profile_place *place = &maker->frames[number];
	const struct stack_frame *frame = stack_table_frame(maker->table, number);
	struct profile_location location = { .address = frame->address, .line_count = 1 };

	if (place->profile == maker->number) {
		*out = place->index;
		return true;
	}
	location.first_line = (uint32_t)maker->profile->line_count;
	*place = (struct stack_profile_place){ maker->number,
		                               (uint32_t)maker->profile->location_count };
	*out = place->index;
	maker->estimate += LOCATION_BYTES;
	return put_function(maker, frame) &&
	       APPEND(maker, lines, line_count, line_capacity,
	              (struct profile_line){ (uint32_t)maker->profile->function_count - 1,
	                                     frame->line }) &&
	       put_mapping(maker, frame, &location.mapping) &&
	       APPEND(maker, locations, location_count, location_capacity, location);
}

static bool put_value_type(struct stack_profile *maker, const struct stack_profile_type *type,
                           struct profile_value_type *out)
{
	return put_text(maker, str_of(type->type), &out->type) &&
	       put_text(maker, str_of(type->unit), &out->unit);
}

bool stack_profile_begin(struct stack_profile *maker, const struct stack_profile_kind *kind,
                         struct stack_profile_time time, struct arena *arena)
{
	struct stack_profile fresh = {
		.table = maker->table,
		.kind = kind,
		.number = maker->number + 1,
		.strings = maker->strings,
		.frames = maker->frames,
		.string_places = maker->string_places,
		.frame_places = maker->frame_places,
		.mappings = maker->mappings,
	};

	id_map_reset(&fresh.mappings);
	*maker = fresh;
	fit_places(maker);
	maker->profile = arena_alloc(arena, sizeof(*maker->profile));
	if (!maker->profile)
		return false;
	maker->profile->arena = arena;
	maker->profile->time_unix_ns = time.unix_ns;
	maker->profile->duration_ns = time.duration_ns;
	maker->profile->sample_types =
		arena_array(arena, kind->type_count, sizeof(*maker->profile->sample_types));
	maker->profile->sample_type_count = kind->type_count;
	/* string 0 of the table is the empty one, and so it is in the profile */
	if (!maker->profile->sample_types || !put_string(maker, 0, &(uint32_t){ 0 }))
		return false;
	for (size_t i = 0; i < kind->type_count; i++)
		if (!put_value_type(maker, &kind->types[i], &maker->profile->sample_types[i]))
			return false;
	maker->profile->has_period_type = kind->period.type != NULL;
	maker->profile->period = kind->period_value;
	return !kind->period.type ||
	       put_value_type(maker, &kind->period, &maker->profile->period_type);
}

bool stack_profile_add(struct stack_profile *maker, uint32_t stack, const int64_t *values)
{
	struct profile *profile = maker->profile;
	struct profile_sample sample = { .first_frame = (uint32_t)profile->stack_length };

	fit_places(maker);
	while (stack != STACK_NONE) {
		const struct stack_node *node = stack_table_node(maker->table, stack);
		uint32_t location;

		if (!put_frame(maker, node->frame, &location) ||
		    !APPEND(maker, stacks, stack_length, stack_capacity, location))
			return false;
		sample.depth++;
		stack = node->parent;
	}
	if (!APPEND(maker, samples, sample_count, sample_capacity, sample))
		return false;
	for (size_t i = 0; i < profile->sample_type_count; i++) {
		size_t count = (profile->sample_count - 1) * profile->sample_type_count + i;

		if (!ARENA_GROW(profile->arena, profile->values, count, maker->value_capacity))
			return false;
		profile->values[count] = values[i];
	}
	maker->estimate += SAMPLE_BYTES + sample.depth * FRAME_BYTES;
	return true;
}

bool stack_profile_is_full(const struct stack_profile *maker)
{
	return maker->profile->sample_count >= STACK_PROFILE_SAMPLES_MAX ||
	       maker->estimate >= STACK_PROFILE_BYTES_MAX;
}

const struct profile *stack_profile_finish(struct stack_profile *maker)
{
	struct profile *profile = maker->profile;

	maker->profile = NULL;
	return profile;
}
