#include "formats/jfr_layout.h"

#define LOOKS_MAX (1 << 24) /* so that sizes of values fit their counters */

enum step_kind {
	STEP_NUMBERS,
	STEP_BYTES,
	STEP_STRING,
	STEP_ARRAY,
	/* arrays in the making: `layout` is the class of their values */
	STEP_KEYS,
	STEP_VALUES,
};

/* The classes that have no fields because everybody knows them. */
static const struct base_class {
	const char *name;
	enum step_kind kind;
	uint8_t width;
	bool is_signed_int;
} base_classes[] = {
	{ "int", STEP_NUMBERS, 4, true },
	{ "long", STEP_NUMBERS, 8, false },
	{ "short", STEP_NUMBERS, 2, false },
	{ "char", STEP_NUMBERS, 2, false },
	{ "byte", STEP_BYTES, 1, false },
	{ "boolean", STEP_BYTES, 1, false },
	{ "float", STEP_BYTES, 4, false },
	{ "double", STEP_BYTES, 8, false },
	{ "java.lang.String", STEP_STRING, 1, false },
};

static const struct base_class key_class = { "", STEP_NUMBERS, 8, false };

/* A layout in the making. */
struct maker {
	struct jfr_layouts *layouts;
	const struct jfr_wanted *wanted;
	size_t wanted_count;
	uint32_t layout;
};

static const struct base_class *base_class_of(const struct jfr_class *class)
{
	for (size_t i = 0; i < ARRAY_LENGTH(base_classes); i++)
		if (str_equals(class->name, base_classes[i].name))
			return &base_classes[i];
	return NULL;
}

int jfr_layouts_init(struct jfr_layouts *layouts, const struct jfr_metadata *metadata,
                     const struct jfr_chunk *chunk, struct arena *arena, struct error *err)
{
	*layouts = (struct jfr_layouts){
		.arena = arena,
		.metadata = metadata,
		.fixed = chunk->fixed,
		.looks_left = chunk->size < LOOKS_MAX ? chunk->size : LOOKS_MAX,
		.key = JFR_LAYOUT_NONE,
		.by_class =
			arena_array_raw(arena, metadata->class_count, sizeof(*layouts->by_class)),
	};
	if (!layouts->by_class)
		return arena_error(arena, err);
	for (size_t i = 0; i < metadata->class_count; i++)
		layouts->by_class[i] = JFR_LAYOUT_NONE;
	return 0;
}

static int new_layout(struct jfr_layouts *layouts, uint32_t *out, struct error *err)
{
	if (!ARENA_GROW(layouts->arena, layouts->layouts, layouts->layout_count,
	                layouts->layout_capacity))
		return arena_error(layouts->arena, err);
	*out = (uint32_t)layouts->layout_count;
	layouts->layouts[layouts->layout_count++] =
		(struct jfr_layout){ .first_step = (uint32_t)layouts->step_count };
	return 0;
}

static bool same_run(const struct jfr_step *a, const struct jfr_step *b)
{
	return a->kind == b->kind && a->slot == b->slot && a->slot == JFR_SLOTS_MAX &&
	       a->width == b->width && a->kind <= STEP_BYTES;
}

/* Appends a step, or lengthens the last one when both only skip the same. */
static int add_step(const struct maker *maker, const struct jfr_step *step, struct error *err)
{
	struct jfr_layouts *layouts = maker->layouts;
	struct jfr_layout *layout = &layouts->layouts[maker->layout];

	layout->least_bytes += step->kind == STEP_BYTES ? step->count : 1;
	layout->number_count += step->kind == STEP_NUMBERS;
	if (layout->step_count > 0 && same_run(&layouts->steps[layouts->step_count - 1], step)) {
		layouts->steps[layouts->step_count - 1].count += step->count;
		return 0;
	}
	if (layout->step_count == JFR_STEPS_MAX)
		return error_set(err, ERROR_INVALID, "JFR: a type has more than %d fields",
		                 JFR_STEPS_MAX);
	if (!ARENA_GROW(layouts->arena, layouts->steps, layouts->step_count,
	                layouts->step_capacity))
		return arena_error(layouts->arena, err);
	layouts->steps[layouts->step_count++] = *step;
	layout->step_count++;
	if (step->slot != JFR_SLOTS_MAX)
		layout->peek_count = layout->step_count;
	return 0;
}

/* Fixed numbers that nobody wants are as many bytes. */
static int add_base(const struct maker *maker, const struct base_class *base, uint8_t slot,
                    struct error *err)
{
	struct jfr_step step = {
		.kind = (uint8_t)base->kind,
		.slot = slot,
		.width = base->width,
		.is_signed_int = base->is_signed_int,
		.count = base->kind == STEP_BYTES ? base->width : 1,
	};

	if (step.kind == STEP_NUMBERS && maker->layouts->fixed && slot == JFR_SLOTS_MAX) {
		step.kind = STEP_BYTES;
		step.count = base->width;
	}
	if (step.kind == STEP_BYTES)
		step.width = 1;
	if (step.kind == STEP_NUMBERS && !maker->layouts->fixed)
		step.width = 0; /* so that numbers of all widths are skipped together */
	return add_step(maker, &step, err);
}

/* ---- fields ---- */

static bool kind_fits(const struct jfr_field *field, const struct base_class *base,
                      enum jfr_wanted_kind kind)
{
	if (field->is_array || field->is_pooled)
		return kind == (field->is_array ? JFR_WANT_ARRAY : JFR_WANT_KEY);
	return base && ((base->kind == STEP_NUMBERS && kind == JFR_WANT_NUMBER) ||
	                (base->kind == STEP_STRING && kind == JFR_WANT_STRING));
}

/* The slot of a field, when it is one of the class itself and what is wanted. */
static uint8_t slot_of(const struct maker *maker, const struct jfr_field *field,
                       const struct base_class *base)
{
	for (size_t i = 0; i < maker->wanted_count; i++)
		if (str_equals(field->name, maker->wanted[i].name) &&
		    kind_fits(field, base, maker->wanted[i].kind))
			return (uint8_t)i;
	return JFR_SLOTS_MAX;
}

static int add_array(const struct maker *maker, const struct jfr_field *field, uint8_t slot,
                     struct error *err)
{
	const struct jfr_step step = {
		.kind = field->is_pooled ? STEP_KEYS : STEP_VALUES,
		.slot = slot,
		.layout = field->class,
	};

	return add_step(maker, &step, err);
}

/*
 * The steps of a class' fields; classes that stand inside are gone through in their place.
 * The way to the current class is a list of places, so that depth is bounded.
 */
static int add_fields(const struct maker *maker, uint32_t class, struct error *err)
{
	struct jfr_layouts *layouts = maker->layouts;
	const struct jfr_metadata *metadata = layouts->metadata;
	struct {
		uint32_t class;
		uint32_t next;
	} way[JFR_INLINE_MAX] = { { .class = class } };
	size_t depth = 1;

	while (depth > 0) {
		const struct jfr_class *at = &metadata->classes[way[depth - 1].class];
		const struct jfr_field *field;
		const struct base_class *base = NULL;
		uint8_t slot = JFR_SLOTS_MAX;
		int status = 0;

		if (way[depth - 1].next == at->field_count) {
			depth--;
			continue;
		}
		if (layouts->looks_left-- == 0)
			return error_set(err, ERROR_INVALID,
			                 "JFR: types stand in each other "
			                 "without end");
		field = &metadata->fields[at->first_field + way[depth - 1].next++];
		if (field->class == PROFILE_NONE && !field->is_pooled)
			return error_set(err, ERROR_INVALID,
			                 "JFR: the field %.*s of %.*s has the class %u, which is "
			                 "described nowhere",
			                 STR_ARGS(str_first(field->name, 64)),
			                 STR_ARGS(str_first(at->name, 64)), field->class_id);
		if (!field->is_pooled)
			base = base_class_of(&metadata->classes[field->class]);
		if (depth == 1)
			slot = slot_of(maker, field, base);
		if (field->is_array) {
			status = add_array(maker, field, slot, err);
		} else if (field->is_pooled || base) {
			status = add_base(maker, base ? base : &key_class, slot, err);
		} else if (depth == JFR_INLINE_MAX) {
			return error_set(err, ERROR_INVALID,
			                 "JFR: types stand in each other more than %d deep",
			                 JFR_INLINE_MAX);
		} else {
			way[depth].class = field->class;
			way[depth++].next = 0;
		}
		if (status < 0)
			return -1;
	}
	return 0;
}

/* ---- layouts ---- */

static int make_one(struct jfr_layouts *layouts, uint32_t class, const struct jfr_wanted *wanted,
                    size_t count, uint32_t *out, struct error *err)
{
	struct maker maker = { layouts, wanted, count, 0 };
	const struct base_class *base = base_class_of(&layouts->metadata->classes[class]);
	uint8_t slot = JFR_SLOTS_MAX;

	if (new_layout(layouts, &maker.layout, err) < 0)
		return -1;
	*out = maker.layout;
	if (!base)
		return add_fields(&maker, class, err);
	/* A value of a base class is its own first wanted field. */
	if (count > 0 && base->kind == STEP_STRING && wanted[0].kind == JFR_WANT_STRING)
		slot = 0;
	return add_base(&maker, base, slot, err);
}

static int key_layout(struct jfr_layouts *layouts, uint32_t *out, struct error *err)
{
	struct maker maker = { .layouts = layouts };

	if (layouts->key == JFR_LAYOUT_NONE) {
		if (new_layout(layouts, &maker.layout, err) < 0 ||
		    add_base(&maker, &key_class, JFR_SLOTS_MAX, err) < 0)
			return -1;
		layouts->key = maker.layout;
	}
	*out = layouts->key;
	return 0;
}

static int plain_layout(struct jfr_layouts *layouts, uint32_t class, uint32_t *out,
                        struct error *err)
{
	uint32_t made = layouts->by_class[class];

	if (made == JFR_LAYOUT_NONE) {
		if (make_one(layouts, class, NULL, 0, &made, err) < 0)
			return -1;
		layouts->by_class[class] = made;
	}
	*out = made;
	return 0;
}

/* Gives the arrays among the steps from `first` on their layouts, which may add steps. */
static int link_arrays(struct jfr_layouts *layouts, size_t first, struct error *err)
{
	for (size_t i = first; i < layouts->step_count; i++) {
		const struct jfr_step step = layouts->steps[i];
		uint32_t layout;

		if (step.kind < STEP_KEYS)
			continue;
		if ((step.kind == STEP_KEYS ? key_layout(layouts, &layout, err)
		                            : plain_layout(layouts, step.layout, &layout, err)) < 0)
			return -1;
		layouts->steps[i].kind = STEP_ARRAY;
		layouts->steps[i].layout = layout;
	}
	return 0;
}

int jfr_layout_make(struct jfr_layouts *layouts, uint32_t class, const struct jfr_wanted *wanted,
                    size_t count, uint32_t *out, struct error *err)
{
	const size_t first = layouts->step_count;

	if ((count > 0 ? make_one(layouts, class, wanted, count, out, err)
	               : plain_layout(layouts, class, out, err)) < 0)
		return -1;
	return link_arrays(layouts, first, err);
}

/* ---- reading ---- */

static bool read_value(const struct jfr_layouts *layouts, uint32_t layout,
                       struct jfr_reader *reader, const uint8_t *base, uint64_t *slots,
                       unsigned depth);

static bool skip_array(const struct jfr_layouts *layouts, uint32_t layout,
                       struct jfr_reader *reader, unsigned depth)
{
	const size_t least = layouts->layouts[layout].least_bytes;
	uint64_t count;

	if (!jfr_read_count(reader, least, &count) || depth == JFR_ARRAY_DEPTH_MAX)
		return false;
	if (jfr_layout_is_numbers(layouts, layout))
		return jfr_skip_compressed(reader, count * least);
	for (; least > 0 && count > 0; count--)
		if (!read_value(layouts, layout, reader, NULL, NULL, depth + 1))
			return false;
	return true;
}

static inline bool read_numbers(const struct jfr_step *step, struct jfr_reader *reader,
                                uint64_t *slots)
{
	uint64_t number;

	if (!slots || step->slot == JFR_SLOTS_MAX)
		return reader->fixed ? jfr_skip(reader, (size_t)step->width * step->count)
		                     : jfr_skip_compressed(reader, step->count);
	if (!jfr_read_number(reader, step->width, &number))
		return false;
	slots[step->slot] = step->is_signed_int ? (uint64_t)(int32_t)(uint32_t)number : number;
	return true;
}

static inline bool read_step(const struct jfr_layouts *layouts, const struct jfr_step *step,
                             struct jfr_reader *reader, const uint8_t *base, uint64_t *slots,
                             unsigned depth)
{
	if (step->kind >= STEP_STRING && slots && step->slot != JFR_SLOTS_MAX)
		slots[step->slot] = (uint64_t)(reader->at - base);
	switch ((enum step_kind)step->kind) {
	case STEP_NUMBERS:
		return read_numbers(step, reader, slots);
	case STEP_BYTES:
		return jfr_skip(reader, step->count);
	case STEP_STRING:
		return jfr_skip_text(reader);
	case STEP_ARRAY:
		return skip_array(layouts, step->layout, reader, depth);
	case STEP_KEYS:
	case STEP_VALUES: /* linked when it was made */
		break;
	}
	return false;
}

static bool read_value(const struct jfr_layouts *layouts, uint32_t layout,
                       struct jfr_reader *reader, const uint8_t *base, uint64_t *slots,
                       unsigned depth)
{
	const struct jfr_layout *shape = &layouts->layouts[layout];

	for (uint32_t i = 0; i < shape->step_count; i++)
		if (!read_step(layouts, &layouts->steps[shape->first_step + i], reader, base, slots,
		               depth))
			return false;
	return true;
}

void jfr_layout_peek(const struct jfr_layouts *layouts, uint32_t layout, struct jfr_reader reader,
                     const uint8_t *base, uint64_t *slots)
{
	const struct jfr_layout *shape = &layouts->layouts[layout];

	for (uint32_t i = 0; i < shape->peek_count; i++) {
		const struct jfr_step *step = &layouts->steps[shape->first_step + i];

		if (i + 1 == shape->peek_count && step->kind >= STEP_STRING)
			slots[step->slot] = (uint64_t)(reader.at - base);
		else if (!read_step(layouts, step, &reader, base, slots, 0))
			return;
	}
}

bool jfr_layout_read(const struct jfr_layouts *layouts, uint32_t layout, struct jfr_reader *reader,
                     const uint8_t *base, uint64_t *slots)
{
	return read_value(layouts, layout, reader, base, slots, 0);
}
