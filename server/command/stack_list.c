#include "server/command/stack_list.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "profile/function_tree.h"
#include "profile/intern.h"

#define STACK_TEXT_MAX (size_t)(1UL * 1024 * 1024) /* bytes of one stack's names */
#define JOINT          " > "

struct stack_builder {
	const struct profile *profile;
	struct arena *arena;
	struct strbuf text; /* of the stack at hand */
	struct intern texts;
	struct stack_row *rows;
	size_t capacity;
};

static void add_name(struct stack_builder *builder, struct str name)
{
	if (builder->text.length > 0)
		strbuf_add_text(&builder->text, JOINT);
	strbuf_add_str(&builder->text, name);
}

static struct str mapping_file(const struct profile *profile,
                               const struct profile_location *location)
{
	if (location->mapping == PROFILE_NONE)
		return STR("");
	return profile_string(profile, profile->mappings[location->mapping].file);
}

/* The names of a location, outermost call first. */
static int add_location(struct stack_builder *builder, uint32_t index, struct error *err)
{
	const struct profile *profile = builder->profile;
	const struct profile_location *location = &profile->locations[index];
	const struct str file = mapping_file(profile, location);

	if (location->line_count == 0) {
		const struct str name =
			function_tree_bare_name(file, location->address, builder->arena);

		if (!name.data)
			return arena_error(builder->arena, err);
		add_name(builder, name);
	}
	for (uint32_t i = location->line_count; i-- > 0;) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		const struct profile_function *function = &profile->functions[line->function];
		const struct str name = profile_string(profile, function->name);

		if (function_kind_of(name, profile_string(profile, function->file), file) !=
		    FUNCTION_INTERPRETER)
			add_name(builder, name);
	}
	return 0;
}

static int add_sample(struct stack_builder *builder, const struct profile_sample *sample,
                      int64_t value, struct error *err)
{
	uint32_t row;
	bool is_new;

	strbuf_reset(&builder->text);
	for (uint32_t i = sample->depth; i-- > 0;)
		if (add_location(builder, builder->profile->stacks[sample->first_frame + i], err) <
		    0)
			return -1;
	row = intern_add(&builder->texts, builder->arena,
	                 hash128_str(0, strbuf_view(&builder->text)), &is_new);
	if (row == INTERN_NONE)
		return arena_error(builder->arena, err);
	if (is_new) {
		if (!ARENA_GROW(builder->arena, builder->rows, row, builder->capacity))
			return arena_error(builder->arena, err);
		builder->rows[row] =
			(struct stack_row){ arena_copy(builder->arena, strbuf_view(&builder->text)),
			                    0 };
		if (!builder->rows[row].text.data)
			return arena_error(builder->arena, err);
	}
	builder->rows[row].value += value;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct stack_row *a = left;
	const struct stack_row *b = right;
	const int order = (b->value > a->value) - (b->value < a->value);

	return order ? order : str_compare(a->text, b->text);
}

static int add_samples(struct stack_builder *builder, size_t sample_type, int64_t *total,
                       struct error *err)
{
	const struct profile *profile = builder->profile;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const int64_t value = profile->values[i * profile->sample_type_count + sample_type];

		if (value <= 0)
			continue;
		if (add_sample(builder, &profile->samples[i], value, err) < 0)
			return -1;
		*total += value;
	}
	return 0;
}

int stack_list_make(const struct profile *profile, size_t sample_type, struct arena *arena,
                    struct stack_list *out, struct error *err)
{
	struct stack_builder builder = { .profile = profile, .arena = arena };
	int result = 0;

	*out = (struct stack_list){ 0 };
	strbuf_init(&builder.text, STACK_TEXT_MAX);
	if (sample_type < profile->sample_type_count)
		result = add_samples(&builder, sample_type, &out->total, err);
	strbuf_fini(&builder.text);
	if (result < 0)
		return -1;
	if (builder.texts.count > 1)
		qsort(builder.rows, builder.texts.count, sizeof(*builder.rows), compare_rows);
	out->rows = builder.rows;
	out->count = builder.texts.count;
	return 0;
}
