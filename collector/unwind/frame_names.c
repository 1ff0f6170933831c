#include "collector/unwind/frame_names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "collector/elf/demangle.h"
#include "collector/elf/module.h"
#include "collector/elf/perf_map.h"
#include "collector/elf/symbol_index.h"
#include "collector/unwind/address_space.h"

#define DELETED   STR(" (deleted)")
#define ELLIPSIS  "\xe2\x80\xa6"
#define NAMES_MAX 65536 /* kept at once */

struct frame_names {
	enum frame_unnamed unnamed;
	size_t limit;
	struct arena *arena;
	struct id_map places; /* {module, address, path} to an index of kept */
	struct frame *kept;
	size_t kept_capacity;
	struct strbuf readable;
	char text[SYMBOL_NAME_MAX + 1];
};

struct frame_names *frame_names_new(size_t limit_bytes, enum frame_unnamed unnamed)
{
	struct frame_names *names = mem_zalloc(1, sizeof(*names));

	names->unnamed = unnamed;
	names->limit = limit_bytes;
	/* One event's names come on top of what may be kept. */
	names->arena = arena_new(limit_bytes + FRAMES_MAX * (size_t)FRAME_NAME_MAX * 2, NULL);
	strbuf_init(&names->readable, DEMANGLE_OUTPUT_MAX);
	return names;
}

void frame_names_free(struct frame_names *names)
{
	if (!names)
		return;
	arena_free(names->arena);
	id_map_fini(&names->places);
	free(names->kept);
	strbuf_fini(&names->readable);
	free(names);
}

void frame_names_begin(struct frame_names *names)
{
	if (arena_used(names->arena) <= names->limit && names->places.count < NAMES_MAX)
		return;
	arena_reset(names->arena);
	id_map_reset(&names->places);
}

/* At most FRAME_NAME_MAX bytes, cut between characters. */
static struct str shortened(struct arena *arena, struct str text)
{
	size_t length = FRAME_NAME_MAX - strlen(ELLIPSIS);

	if (text.length <= FRAME_NAME_MAX)
		return text;
	while (length > 0 && ((unsigned char)text.data[length] & 0xc0) == 0x80)
		length--;
	return arena_printf(arena, "%.*s" ELLIPSIS, (int)length, text.data);
}

/* A copy that is fit to be shown: control characters become U+FFFD. Empty when full. */
static struct str fit(struct frame_names *names, struct str raw)
{
	struct str text = utf8_repair(names->arena, raw);
	struct strbuf shown;
	uint32_t rune;
	int length;

	strbuf_init(&shown, 4 * (raw.length + 1));
	for (struct str rest = text; (length = utf8_next(rest, &rune)) > 0;
	     rest = str_skip(rest, (size_t)length)) {
		if (rune < 0x20 || (rune >= 0x7f && rune < 0xa0))
			strbuf_add_text(&shown, "\xef\xbf\xbd");
		else
			strbuf_add(&shown, rest.data, (size_t)length);
	}
	text = shortened(names->arena, strbuf_view(&shown));
	text = arena_copy(names->arena, text);
	strbuf_fini(&shown);
	return text.data ? text : STR("");
}

static struct str path_of(const struct mapping *mapping)
{
	struct str path = str_of(mapping->path);

	if (str_ends_with(path, DELETED))
		path.length -= DELETED.length;
	return path;
}

/* "libc.so.6+0x1234", as a view into the arena. */
static struct str place_name(struct frame_names *names, struct str path, uint64_t address)
{
	const struct str base = str_skip(path, (size_t)(str_last_index(path, '/') + 1));
	struct str text;

	if (names->unnamed == FRAME_UNNAMED_ADDRESS)
		return arena_printf(names->arena, "0x%" PRIx64, address);
	text = arena_printf(names->arena, "%.*s+0x%" PRIx64, STR_ARGS(base), address);
	return text.data ? fit(names, text) : STR("");
}

static void set_kind(struct frame *frame)
{
	if (function_kind_of(frame->name, STR(""), frame->module) == FUNCTION_CUDA)
		frame->kind = FUNCTION_CUDA;
}

static void name_place(struct frame_names *names, struct module *module, uint64_t address,
                       struct str path, struct frame *out)
{
	uint64_t start;
	const struct str raw = module_symbol(module, address, names->text, &start);

	*out = (struct frame){
		.kind = FUNCTION_NATIVE,
		.module = fit(names, path),
		.build_id = arena_copy(names->arena, module_build_id(module)),
		.address = address,
	};
	strbuf_reset(&names->readable);
	if (demangle(raw, &names->readable)) {
		out->name = fit(names, strbuf_view(&names->readable));
		out->system_name = fit(names, raw);
	} else if (raw.length > 0) {
		out->name = fit(names, raw);
	}
	if (out->name.length == 0)
		out->name = place_name(names, path, address);
	set_kind(out);
}

/* A frame in a module, named once. */
static void name_in_module(struct frame_names *names, const struct native_frame *native,
                           struct str path, struct frame *out)
{
	const uint64_t place[3] = { module_number(native->module), native->address,
		                    hash64(0, path.data, path.length) };
	bool is_new;
	const uint32_t id = id_map_add(&names->places, hash128(0, place, sizeof(place)), &is_new);

	if (id >= names->kept_capacity) {
		names->kept_capacity = names->kept_capacity ? 2 * names->kept_capacity : 256;
		names->kept = mem_resize(names->kept, names->kept_capacity, sizeof(*names->kept));
	}
	if (is_new)
		name_place(names, native->module, native->address, path, &names->kept[id]);
	*out = names->kept[id];
}

static uint64_t file_offset(const struct mapping *mapping, uint64_t address)
{
	return address - mapping->start + mapping->offset;
}

/* Of a file that could not be read as code: its offset stands for the address. */
static void name_in_file(struct frame_names *names, const struct mapping *mapping, uint64_t address,
                         struct frame *out)
{
	const struct str path = path_of(mapping);

	out->module = fit(names, path);
	out->name = place_name(names, path, file_offset(mapping, address));
	set_kind(out);
}

static void name_made_code(struct frame_names *names, struct address_space *space, uint64_t address,
                           struct frame *out)
{
	const struct perf_map *map = address_space_perf_map(space);
	uint64_t start;
	struct str name = STR("");

	if (map)
		name = perf_map_find(map, address, names->text, &start);
	if (name.length > 0)
		out->name = fit(names, name);
	if (out->name.length == 0)
		out->name = STR("[jit]");
}

void frame_names_get(struct frame_names *names, struct address_space *space,
                     const struct native_frame *native, struct frame *out)
{
	const struct mapping *mapping = address_space_known(space, native->lookup);

	*out = (struct frame){ .kind = FUNCTION_NATIVE };
	if (native->module)
		name_in_module(names, native,
		               mapping && mapping->module == native->module
		                       ? path_of(mapping)
		                       : module_path(native->module),
		               out);
	else if (mapping && mapping->kind == MAPPING_FILE)
		name_in_file(names, mapping, native->lookup, out);
	else if (mapping)
		name_made_code(names, space, native->lookup, out);
	else
		out->name = arena_printf(names->arena, "0x%" PRIx64, native->lookup);
	if (out->name.length == 0)
		out->name = STR("[no name]"); /* the arena is full */
}

/* "[unwind failed at libx.so+0x12]", by the outermost frame. */
static struct str failure_name(struct frame_names *names, struct address_space *space,
                               const struct native_stack *stack)
{
	const struct native_frame *last = &stack->frames[stack->count - 1];
	const struct mapping *mapping = address_space_known(space, last->lookup);
	uint64_t address = last->address;
	struct str base = STR("");
	struct str text;

	if (mapping && !last->module)
		address = file_offset(mapping, last->lookup);
	if (mapping && mapping->kind == MAPPING_FILE) {
		base = path_of(mapping);
		base = str_skip(base, (size_t)(str_last_index(base, '/') + 1));
	}
	if (base.length == 0)
		text = arena_printf(names->arena, "[unwind failed at %s]",
		                    mapping ? "code made at run time" : "an unknown address");
	else
		text = arena_printf(names->arena, "[unwind failed at %.*s+0x%" PRIx64 "]",
		                    STR_ARGS(base), address);
	return text.data ? fit(names, text) : STR("[unwind failed]");
}

bool frame_names_end(struct frame_names *names, struct address_space *space,
                     const struct native_stack *stack, struct frame *out)
{
	struct str name;

	switch (stack->end) {
	case NATIVE_STACK_COMPLETE:
		return false;
	case NATIVE_STACK_TRUNCATED:
	case NATIVE_STACK_DEPTH:
		name = STR("[stack truncated]");
		break;
	case NATIVE_STACK_RETURN_PROBE:
		name = STR("[return probe]");
		break;
	case NATIVE_STACK_NO_RULE:
	case NATIVE_STACK_NO_MAPPING:
	case NATIVE_STACK_BROKEN:
	default:
		name = stack->count > 0 ? failure_name(names, space, stack)
		                        : STR("[unwind failed]");
		break;
	}
	*out = (struct frame){ .kind = FUNCTION_NATIVE, .name = name };
	return true;
}
