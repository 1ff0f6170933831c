#include "profile/merge_result.h"

#include "profile/function_tree.h"

static void add_value(struct merge_tables *tables, uint32_t stack, int64_t value)
{
	tables->stacks[stack].value =
		(int64_t)((uint64_t)tables->stacks[stack].value + (uint64_t)value);
}

/* The values of all stacks, which become 0. NULL: arena full. */
static int64_t *take_values(struct merge_tables *tables)
{
	int64_t *values = arena_array_raw(tables->arena, tables->stack_count, sizeof(*values));

	for (size_t i = 0; values && i < tables->stack_count; i++) {
		values[i] = tables->stacks[i].value;
		tables->stacks[i].value = 0;
	}
	return values;
}

/* The location with number 0 in its innermost line. */
static uint32_t without_line_number(struct merge_tables *tables, uint32_t id)
{
	const struct profile_location location = tables->locations[id];
	struct profile_line *lines;

	if (location.line_count == 0 || tables->lines[location.first_line].line == 0)
		return id;
	lines = arena_array_raw(tables->arena, location.line_count, sizeof(*lines));
	if (!lines)
		return MERGE_FULL;
	memcpy(lines, &tables->lines[location.first_line], location.line_count * sizeof(*lines));
	lines[0].line = 0;
	return merge_tables_location(tables, &location, lines);
}

/* The stack of the first `keep` locations of `stack`; path has room for them. */
static uint32_t leaf_side(struct merge_tables *tables, uint32_t stack,
                          const struct go_pgo_options *options, uint32_t *path)
{
	uint32_t count = 0;
	uint32_t node = 0;

	for (; stack != 0; stack = tables->stacks[stack].parent) {
		if (options->keep_locations > 0 && count == options->keep_locations)
			break;
		path[count++] = tables->stacks[stack].location;
	}
	if (options->aggregate_callees && count > 0)
		path[0] = without_line_number(tables, path[0]);
	if (count > 0 && path[0] == MERGE_FULL)
		return MERGE_FULL;
	while (count > 0 && node != MERGE_FULL)
		node = merge_tables_stack(tables, node, path[--count]);
	return node;
}

int merge_result_keep_leaves(struct merge_tables *tables, const struct go_pgo_options *options,
                             struct error *err)
{
	const size_t count = tables->stack_count;
	uint32_t *path = arena_array_raw(tables->arena, count, sizeof(*path)); /* the deepest */
	int64_t *values = take_values(tables);

	if (!path || !values)
		return arena_error(tables->arena, err);
	for (uint32_t i = 1; i < count; i++) {
		uint32_t kept;

		if (values[i] == 0)
			continue;
		kept = leaf_side(tables, i, options, path);
		if (kept == MERGE_FULL)
			return arena_error(tables->arena, err);
		add_value(tables, kept, values[i]);
	}
	return 0;
}

/* The node of a location's frames below `node`. FUNCTION_TREE_NONE: arena full. */
static uint32_t add_frames(const struct merge_tables *tables, struct function_tree *tree,
                           uint32_t node, const struct profile_location *location)
{
	struct str file = { NULL, 0 };
	struct str name;

	for (uint32_t i = location->line_count; i > 0 && node != FUNCTION_TREE_NONE; i--) {
		const uint32_t function = tables->lines[location->first_line + i - 1].function;

		node = function_tree_child(tree, node,
		                           tables->strings[tables->functions[function].name]);
	}
	if (location->line_count > 0)
		return node;
	if (location->mapping != PROFILE_NONE)
		file = tables->strings[tables->mappings[location->mapping].file];
	name = function_tree_bare_name(file, location->address, tree->arena);
	return name.data ? function_tree_child(tree, node, name) : FUNCTION_TREE_NONE;
}

/* The function tree of all stacks; nodes[stack] becomes the node of its leaf. NULL with *err
 * filled when the arena is full. */
static struct function_tree *make_tree(const struct merge_tables *tables, uint32_t *nodes,
                                       struct error *err)
{
	struct function_tree *tree = NULL;

	if (function_tree_new(tables->arena, &tree, err) < 0)
		return NULL;
	for (size_t i = 1; i < tables->stack_count; i++) {
		const struct merged_stack *stack = &tables->stacks[i];
		int64_t *self;

		nodes[i] = add_frames(tables, tree, nodes[stack->parent],
		                      &tables->locations[stack->location]);
		if (nodes[i] == FUNCTION_TREE_NONE) {
			arena_error(tables->arena, err);
			return NULL;
		}
		self = &tree->nodes[nodes[i]].self;
		*self = (int64_t)((uint64_t)*self + (uint64_t)stack->value);
	}
	return function_tree_finish(tree, err) < 0 ? NULL : tree;
}

static uint32_t other_location(struct merge_tables *tables)
{
	const uint32_t name = merge_tables_string(tables, STR("other"));
	const struct profile_function function = { .name = name, .system_name = name };
	const struct profile_location location = { .mapping = PROFILE_NONE, .line_count = 1 };
	struct profile_line line = { 0 };

	if (name == MERGE_FULL)
		return MERGE_FULL;
	line.function = merge_tables_function(tables, &function);
	return line.function == MERGE_FULL ? MERGE_FULL
	                                   : merge_tables_location(tables, &location, &line);
}

int merge_result_cut(struct merge_tables *tables, int64_t max_nodes, struct error *err)
{
	const size_t count = tables->stack_count;
	struct function_tree *tree;
	uint32_t *nodes = arena_array(tables->arena, count, sizeof(*nodes));
	uint32_t *targets = arena_array(tables->arena, count, sizeof(*targets));
	int64_t min_value;
	int64_t *values;
	uint32_t other;

	if (!nodes || !targets)
		return arena_error(tables->arena, err);
	tree = make_tree(tables, nodes, err);
	if (!tree || function_tree_min_value(tree, max_nodes, &min_value, err) < 0)
		return -1;
	if (min_value <= 0)
		return 0;
	other = other_location(tables);
	values = take_values(tables);
	if (other == MERGE_FULL || !values)
		return arena_error(tables->arena, err);
	for (uint32_t i = 1; i < count; i++) {
		const uint32_t parent = tables->stacks[i].parent;

		if (targets[parent] != parent) /* cut above */
			targets[i] = targets[parent];
		else if (tree->nodes[nodes[i]].total < min_value)
			targets[i] = merge_tables_stack(tables, parent, other);
		else
			targets[i] = i;
		if (targets[i] == MERGE_FULL)
			return arena_error(tables->arena, err);
		add_value(tables, targets[i], values[i]);
	}
	return 0;
}

/* Merged ids to ids of the result: + 1, 0 while nothing refers to it. */
struct writer {
	struct merge_tables *tables;
	struct profile *out;
	uint32_t *strings;
	uint32_t *functions;
	uint32_t *mappings;
	uint32_t *locations;
};

static uint32_t write_string(struct writer *writer, uint32_t id)
{
	if (!writer->strings[id]) {
		writer->out->strings[writer->out->string_count] = writer->tables->strings[id];
		writer->strings[id] = (uint32_t)++writer->out->string_count;
	}
	return writer->strings[id] - 1;
}

static uint32_t write_function(struct writer *writer, uint32_t id)
{
	const struct profile_function *from = &writer->tables->functions[id];
	struct profile *out = writer->out;

	if (!writer->functions[id]) {
		out->functions[out->function_count] = (struct profile_function){
			.name = write_string(writer, from->name),
			.system_name = write_string(writer, from->system_name),
			.file = write_string(writer, from->file),
			.start_line = from->start_line,
		};
		writer->functions[id] = (uint32_t)++out->function_count;
	}
	return writer->functions[id] - 1;
}

static uint32_t write_mapping(struct writer *writer, uint32_t id)
{
	struct profile *out = writer->out;
	struct profile_mapping mapping;

	if (id == PROFILE_NONE)
		return id;
	if (!writer->mappings[id]) {
		mapping = writer->tables->mappings[id];
		mapping.file = write_string(writer, mapping.file);
		mapping.build_id = write_string(writer, mapping.build_id);
		out->mappings[out->mapping_count] = mapping;
		writer->mappings[id] = (uint32_t)++out->mapping_count;
	}
	return writer->mappings[id] - 1;
}

static uint32_t write_location(struct writer *writer, uint32_t id)
{
	const struct profile_location *from = &writer->tables->locations[id];
	struct profile *out = writer->out;

	if (writer->locations[id])
		return writer->locations[id] - 1;
	out->locations[out->location_count] = (struct profile_location){
		.address = from->address,
		.mapping = write_mapping(writer, from->mapping),
		.first_line = (uint32_t)out->line_count,
		.line_count = from->line_count,
	};
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct profile_line *line = &writer->tables->lines[from->first_line + i];

		out->lines[out->line_count++] =
			(struct profile_line){ write_function(writer, line->function), line->line };
	}
	writer->locations[id] = (uint32_t)++out->location_count;
	return writer->locations[id] - 1;
}

/* Room for everything that the tables have. */
static int take_room(struct writer *writer, size_t frame_count, size_t sample_count,
                     struct error *err)
{
	const struct merge_tables *tables = writer->tables;
	struct arena *arena = tables->arena;
	struct profile *out = writer->out;

	writer->strings = arena_array(arena, tables->string_count, sizeof(uint32_t));
	writer->functions = arena_array(arena, tables->function_count, sizeof(uint32_t));
	writer->mappings = arena_array(arena, tables->mapping_count, sizeof(uint32_t));
	writer->locations = arena_array(arena, tables->location_count, sizeof(uint32_t));
	out->strings = arena_array_raw(arena, tables->string_count, sizeof(*out->strings));
	out->functions = arena_array_raw(arena, tables->function_count, sizeof(*out->functions));
	out->mappings = arena_array_raw(arena, tables->mapping_count, sizeof(*out->mappings));
	out->locations = arena_array_raw(arena, tables->location_count, sizeof(*out->locations));
	out->lines = arena_array_raw(arena, tables->line_count, sizeof(*out->lines));
	out->stacks = arena_array_raw(arena, frame_count, sizeof(*out->stacks));
	out->samples = arena_array(arena, sample_count, sizeof(*out->samples));
	out->values = arena_array_raw(arena, sample_count, sizeof(*out->values));
	out->sample_types = arena_array(arena, 1, sizeof(*out->sample_types));
	return arena_overflowed(arena) ? arena_error(arena, err) : 0;
}

static void write_header(struct writer *writer, const struct profile_merge_options *options,
                         const uint32_t names[4])
{
	const struct profile_type *type = options->type;
	struct profile *out = writer->out;

	write_string(writer, 0);
	out->sample_types[0].type = write_string(writer, names[0]);
	out->sample_types[0].unit = write_string(writer, names[1]);
	out->sample_type_count = 1;
	out->default_sample_type = out->sample_types[0].type;
	out->period_type.type = write_string(writer, names[2]);
	out->period_type.unit = write_string(writer, names[3]);
	out->has_period_type = true;
	out->period = 1;
	if (str_equals(type->name, "process_cpu"))
		out->period = 1000000000;
	else if (str_equals(type->name, "memory"))
		out->period = 524288;
	out->time_unix_ns = options->end_unix_ns;
}

static void write_samples(struct writer *writer)
{
	const struct merge_tables *tables = writer->tables;
	struct profile *out = writer->out;

	for (size_t i = 1; i < tables->stack_count; i++) {
		struct profile_sample *sample = &out->samples[out->sample_count];

		if (tables->stacks[i].value == 0)
			continue;
		sample->first_frame = (uint32_t)out->stack_length;
		for (size_t at = i; at != 0; at = tables->stacks[at].parent)
			out->stacks[out->stack_length++] =
				write_location(writer, tables->stacks[at].location);
		sample->depth = (uint32_t)(out->stack_length - sample->first_frame);
		out->values[out->sample_count++] = tables->stacks[i].value;
	}
}

/* How many frames and samples the result has. */
static int measure(const struct merge_tables *tables, size_t *out_frames, size_t *out_samples,
                   struct error *err)
{
	uint32_t *depths = arena_array(tables->arena, tables->stack_count, sizeof(*depths));

	if (!depths)
		return arena_error(tables->arena, err);
	for (size_t i = 1; i < tables->stack_count; i++) {
		depths[i] = depths[tables->stacks[i].parent] + 1;
		if (tables->stacks[i].value == 0)
			continue;
		*out_frames += depths[i];
		*out_samples += 1;
	}
	if (*out_frames > UINT32_MAX)
		return error_set(err, ERROR_TOO_LARGE, "the profile has more than 2^32 frames");
	return 0;
}

int merge_result_write(struct merge_tables *tables, const struct profile_merge_options *options,
                       struct profile *out, struct error *err)
{
	const struct str texts[4] = { options->type->sample_type, options->type->sample_unit,
		                      options->type->period_type, options->type->period_unit };
	struct profile profile = { .arena = tables->arena };
	struct writer writer = { .tables = tables, .out = &profile };
	uint32_t names[4];
	size_t frame_count = 0;
	size_t sample_count = 0;

	for (size_t i = 0; i < 4; i++) {
		names[i] = merge_tables_string(tables, texts[i]);
		if (names[i] == MERGE_FULL)
			return arena_error(tables->arena, err);
	}
	if (measure(tables, &frame_count, &sample_count, err) < 0 ||
	    take_room(&writer, frame_count, sample_count, err) < 0)
		return -1;
	write_header(&writer, options, names);
	write_samples(&writer);
	*out = profile;
	return 0;
}
