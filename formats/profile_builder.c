#include "formats/profile_builder.h"

#include "base/utf8.h"
#include "base/uuid.h"
#include "base/varint.h"

/* Strings that come before the frames' names. */
enum {
	STRING_EMPTY,
	STRING_TYPE,
	STRING_UNIT,
	STRING_PERIOD_TYPE,
	STRING_PERIOD_UNIT,
	FIRST_FRAME_STRING,
};

void profile_builder_init(struct profile_builder *builder, struct arena *arena,
                          const struct profile_builder_limits *limits)
{
	const struct uuid random = uuid_random();

	*builder = (struct profile_builder){
		.arena = arena,
		.limits = *limits,
	};
	memcpy(&builder->key, random.bytes, sizeof(builder->key));
}

static bool keep_name(struct profile_builder *builder, uint32_t id, struct str name)
{
	if (builder->names == PROFILE_BUILDER_COPIES)
		name = arena_copy(builder->arena, name);
	builder->frames[id] = name;
	return name.data || name.length == 0;
}

int profile_builder_named_frame(struct profile_builder *builder,
                                const struct profile_builder_name *name, uint32_t *out_id,
                                struct error *err)
{
	const size_t count = builder->frame_ids.count;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(builder->arena, builder->frames, count, builder->frame_capacity))
		return arena_error(builder->arena, err);
	id = intern_add(&builder->frame_ids, builder->arena, name->hash, &is_new);
	if (id == INTERN_NONE || (is_new && !keep_name(builder, id, name->text)))
		return arena_error(builder->arena, err);
	*out_id = id;
	return 0;
}

int profile_builder_frame(struct profile_builder *builder, struct str name, uint32_t *out_id,
                          struct error *err)
{
	const struct profile_builder_name hashed = profile_builder_name(builder->key, name);

	return profile_builder_named_frame(builder, &hashed, out_id, err);
}

bool profile_builder_is_full(const struct profile_builder *builder)
{
	const size_t depth = builder->path_length - builder->open;

	return builder->is_overfull ||
	       (builder->limits.max_depth > 0 && depth >= builder->limits.max_depth);
}

int profile_builder_push_frame(struct profile_builder *builder, uint32_t id, struct error *err)
{
	if (profile_builder_is_full(builder))
		return 0;
	if (builder->limits.max_frames > 0 && builder->pushed >= builder->limits.max_frames)
		return error_set(err, ERROR_TOO_LARGE, "the stacks have more than %zu frames",
		                 builder->limits.max_frames);
	if (builder->path_length >= UINT32_MAX ||
	    !ARENA_GROW(builder->arena, builder->path, builder->path_length,
	                builder->path_capacity))
		return arena_error(builder->arena, err);
	builder->path[builder->path_length++] = id;
	builder->pushed++;
	return 0;
}

int profile_builder_push(struct profile_builder *builder, struct str name, struct error *err)
{
	uint32_t id;

	if (profile_builder_is_full(builder))
		return 0;
	if (profile_builder_frame(builder, name, &id, err) < 0)
		return -1;
	return profile_builder_push_frame(builder, id, err);
}

int profile_builder_push_path(struct profile_builder *builder, struct str path, struct error *err)
{
	struct str frame;

	if (path.length == 0)
		return 0;
	if (path.data[path.length - 1] == ';')
		path.length--;
	while (!profile_builder_is_full(builder) && str_split(&path, ';', &frame))
		if (profile_builder_push(builder, frame, err) < 0)
			return -1;
	return 0;
}

static int keep_open_stack(struct profile_builder *builder, uint32_t id, struct error *err)
{
	if (builder->limits.max_stacks > 0 && id >= builder->limits.max_stacks) {
		builder->is_overfull = true;
		return 0;
	}
	if (!ARENA_GROW(builder->arena, builder->stacks, id, builder->stack_capacity) ||
	    !ARENA_GROW(builder->arena, builder->values, id, builder->value_capacity))
		return arena_error(builder->arena, err);
	builder->stacks[id] = (struct profile_builder_stack){
		.first_frame = (uint32_t)builder->open,
		.depth = (uint32_t)(builder->path_length - builder->open),
	};
	builder->values[id] = 0;
	builder->open = builder->path_length;
	return 0;
}

int profile_builder_add(struct profile_builder *builder, uint64_t value, struct error *err)
{
	const uint32_t nothing = 0;
	const uint32_t *frames = builder->path ? builder->path + builder->open : &nothing;
	const size_t bytes = (builder->path_length - builder->open) * sizeof(*frames);
	bool is_new;
	uint32_t id;

	if (builder->is_overfull)
		return 0;
	id = intern_add(&builder->stack_ids, builder->arena, hash128(builder->key, frames, bytes),
	                &is_new);
	if (id == INTERN_NONE)
		return arena_error(builder->arena, err);
	if (is_new && keep_open_stack(builder, id, err) < 0)
		return -1;
	builder->path_length = builder->open;
	if (!builder->is_overfull)
		builder->values[id] += value;
	return 0;
}

bool profile_builder_is_empty(const struct profile_builder *builder)
{
	return builder->stack_ids.count == 0;
}

bool profile_builder_is_utf8(const struct profile_builder *builder)
{
	for (size_t i = 0; i < builder->frame_ids.count; i++)
		if (!utf8_is_valid(builder->frames[i]))
			return false;
	return true;
}

static bool make_tables(const struct profile_builder *builder, struct profile *profile)
{
	struct arena *arena = builder->arena;
	const size_t frame_count = builder->frame_ids.count;

	profile->strings =
		arena_array_raw(arena, FIRST_FRAME_STRING + frame_count, sizeof(*profile->strings));
	profile->functions = arena_array_raw(arena, frame_count, sizeof(*profile->functions));
	profile->lines = arena_array_raw(arena, frame_count, sizeof(*profile->lines));
	profile->locations = arena_array_raw(arena, frame_count, sizeof(*profile->locations));
	profile->mappings = arena_array(arena, 1, sizeof(*profile->mappings));
	profile->sample_types = arena_array(arena, 1, sizeof(*profile->sample_types));
	if (arena_overflowed(arena))
		return false;

	for (uint32_t i = 0; i < frame_count; i++) {
		const uint32_t name = FIRST_FRAME_STRING + i;

		profile->strings[name] = builder->frames[i];
		profile->functions[i] =
			(struct profile_function){ .name = name, .system_name = name };
		profile->lines[i] = (struct profile_line){ .function = i };
		profile->locations[i] =
			(struct profile_location){ .first_line = i, .line_count = 1 };
	}
	profile->string_count = FIRST_FRAME_STRING + frame_count;
	profile->function_count = frame_count;
	profile->line_count = frame_count;
	profile->location_count = frame_count;
	profile->mapping_count = 1;
	return true;
}

static bool make_samples(const struct profile_builder *builder, uint64_t scale,
                         struct profile *profile)
{
	struct arena *arena = builder->arena;
	const size_t count = builder->stack_ids.count - builder->is_overfull;
	uint32_t at = 0;

	profile->samples = arena_array_raw(arena, count, sizeof(*profile->samples));
	profile->values = arena_array_raw(arena, count, sizeof(*profile->values));
	profile->stacks = arena_array_raw(arena, builder->open, sizeof(*profile->stacks));
	if (arena_overflowed(arena))
		return false;

	for (size_t i = 0; i < count; i++) {
		const struct profile_builder_stack stack = builder->stacks[i];

		profile->samples[i] =
			(struct profile_sample){ .first_frame = at, .depth = stack.depth };
		profile->values[i] = (int64_t)(builder->values[i] * scale);
		for (uint32_t frame = stack.depth; frame > 0; frame--)
			profile->stacks[at++] = builder->path[stack.first_frame + frame - 1];
	}
	profile->sample_count = count;
	profile->stack_length = at;
	return true;
}

static void name_types(const struct profile_builder_type *type, struct profile *profile)
{
	profile->strings[STRING_EMPTY] = STR("");
	profile->strings[STRING_TYPE] = str_of(type->type);
	profile->strings[STRING_UNIT] = str_of(type->unit);
	profile->strings[STRING_PERIOD_TYPE] = STR("");
	profile->strings[STRING_PERIOD_UNIT] = STR("");
	profile->sample_types[0] = (struct profile_value_type){ STRING_TYPE, STRING_UNIT };
	profile->sample_type_count = 1;
	if (!type->period_type)
		return;
	profile->strings[STRING_PERIOD_TYPE] = str_of(type->period_type);
	profile->strings[STRING_PERIOD_UNIT] = str_of(type->period_unit);
	profile->has_period_type = true;
	profile->period_type =
		(struct profile_value_type){ STRING_PERIOD_TYPE, STRING_PERIOD_UNIT };
	profile->period = type->period;
}

static size_t encoded_bytes(const struct profile *profile)
{
	size_t bytes = 0;

	for (size_t i = 0; i < profile->string_count; i++)
		bytes += 1 + varint_length(profile->strings[i].length) + profile->strings[i].length;
	/* function: id, name, system name; location: id, mapping, line with a function */
	for (size_t i = 0; i < profile->location_count; i++)
		bytes += 5 + varint_length(i + 1) + 2 * varint_length(i + FIRST_FRAME_STRING) + 8 +
		         2 * varint_length(i + 1);
	for (size_t i = 0; i < profile->sample_count; i++)
		bytes += 8 + varint_length((uint64_t)profile->values[i]);
	for (size_t i = 0; i < profile->stack_length; i++)
		bytes += varint_length((uint64_t)profile->stacks[i] + 1);
	return bytes;
}

int profile_builder_finish(const struct profile_builder *builder,
                           const struct profile_builder_type *type, struct pprof_input *out,
                           struct error *err)
{
	struct pprof_input input = { .profile = { .arena = builder->arena } };

	if (!make_tables(builder, &input.profile) ||
	    !make_samples(builder, type->scale, &input.profile))
		return arena_error(builder->arena, err);
	name_types(type, &input.profile);
	input.encoded_bytes = encoded_bytes(&input.profile);
	input.samples_sent = builder->stack_ids.count;
	*out = input;
	return 0;
}
