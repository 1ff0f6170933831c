#include "collector/unwind/address_space.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/elf/architecture.h"
#include "collector/elf/perf_map.h"
#include "collector/unwind/maps_text.h"

struct address_space {
	struct module_cache *modules;
	struct process_view view;
	struct mapping_list mappings;
	int64_t read_ns;       /* when maps was read last; 0: never */
	int64_t read_until_ns; /* until when readings and mappings count, */
	int64_t map_until_ns;  /* ahead of now by no more than a burst */
	uint64_t opened;       /* modules, so far */
	bool is_stale;         /* mappings were passed over: what is known may be otherwise */
	struct perf_map *perf_map;
	int64_t perf_map_ns; /* when it was looked for or read last; 0: never */
};

struct address_space *address_space_new(struct module_cache *modules,
                                        const struct process_view *view)
{
	struct address_space *space = mem_zalloc(1, sizeof(*space));

	space->modules = modules;
	space->view = *view;
	return space;
}

void address_space_free(struct address_space *space)
{
	if (!space)
		return;
	mapping_list_fini(&space->mappings);
	perf_map_free(space->perf_map);
	process_view_close(&space->view);
	free(space);
}

static enum mapping_kind kind_of(struct str path)
{
	if (str_equals(path, "[uprobes]"))
		return MAPPING_RETURN_PROBES;
	if (str_equals(path, "[vdso]") || str_equals(path, "[vsyscall]"))
		return MAPPING_KERNEL;
	/* "//anon" is what MMAP2 records say of memory without a file */
	if (str_starts_with(path, STR("/")) && !str_equals(path, "//anon"))
		return MAPPING_FILE;
	return MAPPING_ANONYMOUS;
}

/* Memory that looks like a file: some compilers write code through a second mapping. */
static bool is_memory(struct str path)
{
	return str_starts_with(path, STR("/memfd:")) || str_starts_with(path, STR("/dev/zero")) ||
	       str_starts_with(path, STR("/SYSV"));
}

/* `held` is how many modules the space refers to so far. */
static void open_module(struct address_space *space, struct mapping *mapping,
                        const struct mapped_file *file, size_t held)
{
	struct module *module = NULL;
	struct error err;

	if (mapping->kind == MAPPING_FILE && held < module_cache_room(space->modules))
		(void)space->view.open_module(space->view.context, space->modules, file, &module,
		                              &err);
	else if (str_equals(file->path, "[vdso]"))
		(void)module_cache_open_vdso(space->modules, &module, &err);
	if (module && !module_bias(module, mapping->start, mapping->offset, &mapping->bias)) {
		module_unref(module);
		module = NULL;
	}
	mapping->module = module;
	space->opened += module != NULL;
	if (mapping->kind == MAPPING_FILE && !module && is_memory(file->path))
		mapping->kind = MAPPING_ANONYMOUS;
}

/* A mapping that was not there before; `list` is what there is so far. */
static struct mapping make_mapping(struct address_space *space, const struct mapped_file *file,
                                   const struct mapping_list *list)
{
	const bool fits = file->path.length + list->path_bytes <= ADDRESS_SPACE_PATHS_MAX;
	const struct str path = fits && file->path.data ? file->path : STR("");
	struct mapping mapping = {
		.start = file->start,
		.end = file->end,
		.offset = file->offset,
		.inode = file->inode,
		.kind = kind_of(file->path),
		.path = mem_strndup(path.data, path.length),
	};
	struct mapped_file opened = *file;

	opened.path = str_of(mapping.path);
	open_module(space, &mapping, &opened, list->modules);
	return mapping;
}

static bool is_same(const struct mapping *mapping, const struct maps_line *line)
{
	return mapping->start == line->start && mapping->end == line->end &&
	       mapping->offset == line->offset && mapping->inode == line->inode && mapping->path &&
	       str_equals(line->path, mapping->path);
}

/* The mapping of a line: as it was known, taken out of there, or a new one. */
static struct mapping take_or_make(struct address_space *space, const struct maps_line *line,
                                   const struct mapping_list *list)
{
	const size_t place = mapping_list_place(&space->mappings, line->start);
	const struct mapped_file file = {
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.inode = line->inode,
		.path = line->path,
	};

	if (place < space->mappings.count && is_same(&space->mappings.items[place], line)) {
		struct mapping *known = &space->mappings.items[place];
		const struct mapping taken = *known;

		known->module = NULL;
		known->path = NULL;
		return taken;
	}
	return make_mapping(space, &file, list);
}

void address_space_parse(struct address_space *space, struct str maps)
{
	struct mapping_list fresh = { 0 };
	struct maps_line line;
	uint64_t end = 0;

	while (fresh.count < ADDRESS_SPACE_MAPPINGS_MAX && maps_text_next(&maps, &line)) {
		struct mapping mapping;

		if (!line.is_executable || line.start < end)
			continue;
		end = line.end;
		mapping = take_or_make(space, &line, &fresh);
		mapping_list_append(&fresh, &mapping);
	}
	mapping_list_fini(&space->mappings);
	space->mappings = fresh;
}

static bool has_made_code(const struct address_space *space)
{
	for (size_t i = 0; i < space->mappings.count; i++)
		if (space->mappings.items[i].kind == MAPPING_ANONYMOUS)
			return true;
	return false;
}

/* Now, while the process lives: its file of names may be wanted later. */
static void open_perf_map(struct address_space *space)
{
	int descriptor;

	if (space->perf_map || !has_made_code(space))
		return;
	descriptor = space->view.open_perf_map(space->view.context);
	if (descriptor >= 0)
		space->perf_map = perf_map_new(descriptor);
}

/* Moves on the time until which something counts. */
static void use_up(int64_t *until_ns, int64_t now_ns, int64_t by_ns)
{
	*until_ns = (*until_ns > now_ns ? *until_ns : now_ns) + by_ns;
}

int address_space_read(struct address_space *space, struct error *err)
{
	const int64_t begun_ns = clock_mono_ns();
	struct strbuf maps;
	int result;

	strbuf_init(&maps, PROCESS_MAPS_MAX);
	result = space->view.read_maps(space->view.context, &maps, err);
	if (result == 0) {
		address_space_parse(space, strbuf_view(&maps));
		open_perf_map(space);
	}
	strbuf_fini(&maps);
	space->read_ns = clock_mono_ns();
	use_up(&space->read_until_ns, space->read_ns,
	       ADDRESS_SPACE_REREAD_COST * (space->read_ns - begun_ns));
	if (result == 0)
		space->is_stale = false;
	return result;
}

/* Whether some time has passed since a reading, and readings were not too dear of late. */
static bool may_read(const struct address_space *space)
{
	const int64_t now_ns = clock_mono_ns();

	return space->read_ns == 0 ||
	       (now_ns - space->read_ns >= ADDRESS_SPACE_REREAD_NS &&
	        space->read_until_ns - now_ns <= ADDRESS_SPACE_REREAD_BURST_NS);
}

void address_space_map(struct address_space *space, const struct mapped_file *file)
{
	const int64_t now_ns = clock_mono_ns();
	struct mapping mapping;

	/* one that is cut in two makes two more */
	if (file->start >= file->end || space->mappings.path_bytes > ADDRESS_SPACE_PATHS_MAX ||
	    space->mappings.count + 2 > ADDRESS_SPACE_MAPPINGS_MAX)
		return;
	if (space->map_until_ns - now_ns > ADDRESS_SPACE_MAP_BURST_NS) {
		space->is_stale = true;
		return;
	}
	use_up(&space->map_until_ns, now_ns, ADDRESS_SPACE_MAP_NS);
	mapping = make_mapping(space, file, &space->mappings);
	mapping_list_insert(&space->mappings, &mapping);
}

static struct mapping *find(const struct address_space *space, uint64_t address)
{
	const size_t place = mapping_list_place(&space->mappings, address);

	/* clang's analyzer forgets that a place below the count is one of the items */
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (place == space->mappings.count || space->mappings.items[place].start > address)
		return NULL;
	return &space->mappings.items[place];
}

const struct mapping *address_space_known(const struct address_space *space, uint64_t address)
{
	return find(space, address);
}

const struct mapping *address_space_find(struct address_space *space, uint64_t address)
{
	const struct mapping *mapping = find(space, address);
	struct error err;

	if ((mapping && !space->is_stale) || !may_read(space))
		return mapping;
	(void)address_space_read(space, &err);
	return find(space, address);
}

static enum trampoline_state trampoline_of(const uint8_t *code, size_t length)
{
	if (length >= PERF_TRAMPOLINE_BYTES &&
	    memcmp(code, PERF_TRAMPOLINE, PERF_TRAMPOLINE_BYTES) == 0)
		return TRAMPOLINE_ROOM;
	if (length >= PERF_TRAMPOLINE_PUSHES_BYTES &&
	    memcmp(code, PERF_TRAMPOLINE_PUSHES, PERF_TRAMPOLINE_PUSHES_BYTES) == 0)
		return TRAMPOLINE_PUSHES;
	return TRAMPOLINE_NO;
}

enum trampoline_state address_space_trampoline(struct address_space *space, uint64_t return_address)
{
	struct mapping *mapping = find(space, return_address);
	uint8_t code[PERF_TRAMPOLINE_BYTES];
	size_t length;

	if (!mapping || mapping->kind != MAPPING_ANONYMOUS)
		return TRAMPOLINE_NO;
	if (mapping->trampoline == TRAMPOLINE_NOT_ASKED) {
		length = address_space_memory(space, return_address - PERF_TRAMPOLINE_RETURN, code,
		                              sizeof(code));
		if (length == 0)
			return TRAMPOLINE_NO;
		mapping->trampoline = trampoline_of(code, length);
	}
	return mapping->trampoline;
}

struct perf_map *address_space_perf_map(struct address_space *space)
{
	const int64_t now = clock_mono_ns();
	struct error err;

	if (space->perf_map_ns != 0 && now - space->perf_map_ns < ADDRESS_SPACE_REREAD_NS)
		return space->perf_map;
	space->perf_map_ns = now;
	open_perf_map(space);
	if (space->perf_map)
		(void)perf_map_refresh(space->perf_map, &err);
	return space->perf_map;
}

const struct mapping *address_space_mappings(const struct address_space *space, size_t *out_count)
{
	*out_count = space->mappings.count;
	return space->mappings.items;
}

uint64_t address_space_opened(const struct address_space *space)
{
	return space->opened;
}

bool address_space_is_gone(const struct address_space *space)
{
	return space->view.is_gone && space->view.is_gone(space->view.context);
}

size_t address_space_memory(const struct address_space *space, uint64_t address, void *to,
                            size_t length)
{
	return space->view.read_memory(space->view.context, address, to, length);
}
