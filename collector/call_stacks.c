#include "collector/call_stacks.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "collector/elf/module_cache.h"
#include "collector/python/interpreter.h"
#include "collector/unwind/address_space.h"
#include "collector/watch/library_file.h"

#define PROGRAMS_MAX      4096             /* as many as the programs in the kernel know */
#define DESCRIBE_PAUSE_NS (20 * NS_PER_MS) /* between two looks at an interpreter */

/* A process that is looked into. */
struct traced_process {
	uint32_t tgid;
	uint64_t start_ns; /* 0: no event has come yet */
	struct address_space *space;
	struct python_description python; /* version 0: none, or not known yet */
	int64_t describe_mono_ns;         /* not before that: the next look */
	uint64_t looked;                  /* at that many modules for an interpreter; 0: at none */
	unsigned sweeps;                  /* since it ended; 0: it has not */
};

struct call_stacks {
	struct call_stacks_options options;
	struct module_cache *modules;
	struct frame_names *names;
	struct code_names *code_names;

	struct traced_process **processes;
	size_t process_count;
	size_t process_capacity;
	struct id_map newest; /* by tgid: number + 1 of the newest process of that id */
	size_t *newest_numbers;
	size_t newest_capacity;

	struct id_map programs; /* by exec identity */
	struct python_description *descriptions;
	size_t description_capacity;

	struct call_stacks_counts counts;
	struct error trouble; /* with an interpreter, that was not told; code ERROR_NONE: none */
	struct native_stack native;
	struct frame frames[FRAMES_MAX];
};

struct call_stacks *call_stacks_new(const struct call_stacks_options *options)
{
	struct call_stacks *stacks = mem_zalloc(1, sizeof(*stacks));

	stacks->options = *options;
	stacks->modules = module_cache_new(options->symbol_cache_bytes);
	stacks->names = frame_names_new(FRAME_NAMES_BYTES_USUAL, options->unnamed);
	stacks->code_names = code_names_new(&(struct code_names_options){ 0 });
	return stacks;
}

static void free_process(struct traced_process *process)
{
	address_space_free(process->space);
	free(process);
}

void call_stacks_free(struct call_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->process_count; i++)
		free_process(stacks->processes[i]);
	free(stacks->processes);
	free(stacks->newest_numbers);
	id_map_fini(&stacks->newest);
	id_map_fini(&stacks->programs);
	free(stacks->descriptions);
	frame_names_free(stacks->names);
	code_names_free(stacks->code_names);
	module_cache_free(stacks->modules);
	free(stacks);
}

/* ---- processes ---- */

static struct hash128 key_of(uint32_t tgid)
{
	return hash128(0, &tgid, sizeof(tgid));
}

/* The newest process of an id, or NULL. */
static struct traced_process *newest_of(const struct call_stacks *stacks, uint32_t tgid)
{
	const uint32_t id = id_map_find(&stacks->newest, key_of(tgid));

	return id == ID_MAP_NONE ? NULL : stacks->processes[stacks->newest_numbers[id]];
}

static void append(struct call_stacks *stacks, struct traced_process *process)
{
	bool is_new;
	const uint32_t id = id_map_add(&stacks->newest, key_of(process->tgid), &is_new);

	if (stacks->process_count == stacks->process_capacity) {
		stacks->process_capacity = stacks->process_capacity ? stacks->process_capacity * 2
		                                                    : 16;
		stacks->processes = mem_resize(stacks->processes, stacks->process_capacity,
		                               sizeof(struct traced_process *));
	}
	if (id >= stacks->newest_capacity) {
		stacks->newest_capacity = stacks->newest_capacity ? stacks->newest_capacity * 2
		                                                  : 16;
		stacks->newest_numbers = mem_resize(stacks->newest_numbers, stacks->newest_capacity,
		                                    sizeof(*stacks->newest_numbers));
	}
	stacks->newest_numbers[id] = stacks->process_count;
	stacks->processes[stacks->process_count++] = process;
}

/* Looks into a process; NULL when it cannot be done. */
static struct traced_process *trace(struct call_stacks *stacks, uint32_t tgid, uint64_t start_ns)
{
	const struct event_source *source = stacks->options.source;
	struct traced_process *process;
	struct process_view view;
	struct error ignored = { 0 };

	if (stacks->process_count >= TRACED_PROCESSES_MAX) {
		stacks->counts.refused++;
		return NULL;
	}
	if (!source->open_process ||
	    source->open_process(source->context, tgid, &view, &ignored) < 0) {
		stacks->counts.gone++;
		return NULL;
	}
	process = mem_zalloc(1, sizeof(*process));
	process->tgid = tgid;
	process->start_ns = start_ns;
	process->space = address_space_new(stacks->modules, &view);
	/* what cannot be read now may be told: mappings come one by one too */
	(void)address_space_read(process->space, &ignored);
	append(stacks, process);
	return process;
}

/* The process of an event, looked into if it is a new one; NULL: it cannot be. */
static struct traced_process *process_of(struct call_stacks *stacks, const struct cuda_event *event)
{
	struct traced_process *process = newest_of(stacks, event->tgid);

	if (process && process->start_ns == 0 && process->sweeps == 0)
		process->start_ns = event->process_start_ns;
	if (process && process->start_ns == event->process_start_ns)
		return process;
	/* an older one of that id: events that were under way while the id was given anew */
	for (size_t i = stacks->process_count; process && i-- > 0;)
		if (stacks->processes[i]->tgid == event->tgid &&
		    stacks->processes[i]->start_ns == event->process_start_ns)
			return stacks->processes[i];
	return trace(stacks, event->tgid, event->process_start_ns);
}

/* It is the same process, with other files and another interpreter, or none. */
static void begin_program(struct call_stacks *stacks, struct traced_process *process)
{
	struct error ignored = { 0 };

	if (process->start_ns != 0)
		code_names_exit(stacks->code_names, process->tgid, process->start_ns);
	process->python.version = 0;
	process->describe_mono_ns = 0;
	process->looked = 0;
	(void)address_space_read(process->space, &ignored);
}

void call_stacks_execed(struct call_stacks *stacks, uint32_t tgid)
{
	struct traced_process *process = newest_of(stacks, tgid);

	if (process && process->sweeps == 0)
		begin_program(stacks, process);
}

/* One that has called the driver says by an event when its last thread ends. */
void call_stacks_exited(struct call_stacks *stacks, uint32_t tgid)
{
	struct traced_process *process = newest_of(stacks, tgid);

	if (process && process->start_ns == 0 && process->sweeps == 0)
		process->sweeps = 1;
}

void call_stacks_define(struct call_stacks *stacks, const struct code_definition *definition)
{
	code_names_define(stacks->code_names, definition, sizeof(*definition));
}

void call_stacks_end(struct call_stacks *stacks, uint32_t tgid, uint64_t start_ns)
{
	struct traced_process *process = newest_of(stacks, tgid);

	code_names_exit(stacks->code_names, tgid, start_ns);
	if (process && process->start_ns == start_ns && process->sweeps == 0)
		process->sweeps = 1;
}

void call_stacks_sweep(struct call_stacks *stacks)
{
	const size_t count = stacks->process_count;

	id_map_reset(&stacks->newest);
	stacks->process_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct traced_process *process = stacks->processes[i];

		/* one that never called says nothing at its end, and the record may be lost */
		if (process->start_ns == 0 && process->sweeps == 0 &&
		    address_space_is_gone(process->space))
			process->sweeps = 1;
		else if (process->sweeps > 0)
			process->sweeps++;
		if (process->sweeps > 2)
			free_process(process);
		else
			append(stacks, process);
	}
}

/* ---- interpreters ---- */

static uint32_t program_of(const struct call_stacks *stacks, const struct exec_identity *program)
{
	return id_map_find(&stacks->programs, hash128(0, program, sizeof(*program)));
}

static void keep_description(struct call_stacks *stacks, const struct exec_identity *program,
                             const struct python_description *description)
{
	const struct event_source *source = stacks->options.source;
	bool is_new;
	uint32_t id;

	/* processes have what they need of it; the others are looked into again */
	if (stacks->programs.count >= PROGRAMS_MAX)
		id_map_reset(&stacks->programs);
	id = id_map_add(&stacks->programs, hash128(0, program, sizeof(*program)), &is_new);
	if (stacks->programs.count > stacks->description_capacity) {
		stacks->description_capacity =
			stacks->description_capacity ? 2 * stacks->description_capacity : 16;
		stacks->descriptions = mem_resize(stacks->descriptions,
		                                  stacks->description_capacity,
		                                  sizeof(*stacks->descriptions));
	}
	stacks->descriptions[id] = *description;
	if (source->describe && description->version != 0)
		source->describe(source->context, program, description);
}

/* Looks for the interpreter of a program that nobody has looked into yet. */
static void find_interpreter(struct call_stacks *stacks, struct traced_process *process,
                             const struct exec_identity *program)
{
	static const struct python_description none;
	struct python_description description;
	struct error err = { 0 };

	if (clock_mono_ns() < process->describe_mono_ns)
		return;
	process->describe_mono_ns = clock_mono_ns() + DESCRIBE_PAUSE_NS;
	if (interpreter_describe_space(process->space, &description, &err) == 0) {
		keep_description(stacks, program, &description);
	} else if (err.code == ERROR_UNAVAILABLE) {
		return;
	} else {
		keep_description(stacks, program, &none);
		if (err.code == ERROR_INVALID)
			stacks->trouble = err;
	}
	process->looked = address_space_opened(process->space);
}

static void know_interpreter(struct call_stacks *stacks, struct traced_process *process,
                             const struct captured_stack *captured)
{
	const struct event_source *source = stacks->options.source;
	uint32_t id;

	if (process->python.version != 0) {
		/* the kernel side has forgotten it: there were too many others */
		if ((captured->flags & CAPTURED_PYTHON_UNKNOWN) && source->describe)
			source->describe(source->context, &captured->exec, &process->python);
		return;
	}
	id = program_of(stacks, &captured->exec);
	if (id != ID_MAP_NONE && process->looked == 0)
		process->looked = address_space_opened(process->space);
	/* a program may embed one, and load it behind its first calls */
	if (id == ID_MAP_NONE || process->looked != address_space_opened(process->space)) {
		find_interpreter(stacks, process, &captured->exec);
		id = program_of(stacks, &captured->exec);
	}
	if (id != ID_MAP_NONE)
		process->python = stacks->descriptions[id];
}

/*
 * A process that has a driver: its first calls may come in a row, and the kernel side must
 * know its interpreter by then to read its frames.
 */
static void expect_calls(struct call_stacks *stacks, uint32_t tgid)
{
	const struct event_source *source = stacks->options.source;
	const struct traced_process *process = trace(stacks, tgid, 0);
	struct python_description description;
	struct exec_identity program = { 0 };
	struct error ignored = { 0 };

	if (process && source->program &&
	    source->program(source->context, tgid, &program, &ignored) == 0 &&
	    program_of(stacks, &program) == ID_MAP_NONE &&
	    interpreter_describe_space(process->space, &description, &ignored) == 0)
		keep_description(stacks, &program, &description);
}

void call_stacks_mapped(struct call_stacks *stacks, uint32_t tgid, const struct mapped_file *file)
{
	struct traced_process *process = newest_of(stacks, tgid);

	if (process && process->sweeps == 0)
		address_space_map(process->space, file);
	else if (library_file_is_driver(file->path))
		expect_calls(stacks, tgid);
}

/* ---- stacks ---- */

/* What an event has captured, or NULL; never more bytes than there are. */
static const struct captured_stack *captured_of(const struct cuda_event *event, size_t size)
{
	const struct cuda_stack_event *whole = (const struct cuda_stack_event *)event;

	if (size < sizeof(*whole) || whole->stack.length > size - sizeof(*whole) ||
	    whole->stack.python_count > PYTHON_FRAMES_MAX ||
	    whole->stack.return_probe_count > RETURN_PROBES_MAX)
		return NULL;
	return &whole->stack;
}

/* What names a process' native frames: python_stack.h asks it. */
struct naming {
	struct frame_names *names;
	struct address_space *space;
};

static void name_frame(void *context, const struct native_frame *native, struct frame *out)
{
	const struct naming *naming = context;

	frame_names_get(naming->names, naming->space, native, out);
}

static bool name_end(void *context, const struct native_stack *stack, struct frame *out)
{
	const struct naming *naming = context;

	return frame_names_end(naming->names, naming->space, stack, out);
}

static void count_end(struct call_stacks *stacks, enum native_stack_end end)
{
	if (end == NATIVE_STACK_TRUNCATED || end == NATIVE_STACK_DEPTH)
		stacks->counts.truncated++;
	else if (end != NATIVE_STACK_COMPLETE)
		stacks->counts.broken++;
}

void call_stacks_prepare(struct call_stacks *stacks, const struct cuda_event *event, size_t size)
{
	const struct captured_stack *captured = captured_of(event, size);
	struct traced_process *process = process_of(stacks, event);

	if (process && captured)
		know_interpreter(stacks, process, captured);
}

struct frame_list call_stacks_make(struct call_stacks *stacks, const struct cuda_event *event,
                                   size_t size)
{
	const struct captured_stack *captured = captured_of(event, size);
	struct frame_list list = { .frames = stacks->frames };
	struct traced_process *process;
	struct python_memory memory;
	struct code_process code;
	struct naming naming;

	if (!captured || captured->length == 0)
		return list;
	process = process_of(stacks, event);
	if (!process)
		return list;
	know_interpreter(stacks, process, captured);
	native_stack_unwind(process->space, captured,
	                    ((const struct cuda_stack_event *)event)->bytes, &stacks->native);
	count_end(stacks, stacks->native.end);
	frame_names_begin(stacks->names);
	naming = (struct naming){ stacks->names, process->space };
	memory = python_memory_of_space(process->space);
	code = (struct code_process){
		.tgid = event->tgid,
		.start_ns = event->process_start_ns,
		.python = process->python.version != 0 ? &process->python : NULL,
		.memory = process->sweeps == 0 ? &memory : NULL,
	};
	python_stack_merge(stacks->code_names,
	                   &(struct native_namer){ name_frame, name_end, &naming },
	                   stacks->options.internals,
	                   &(struct python_stack_input){ &code, captured, &stacks->native }, &list);
	return list;
}

bool call_stacks_trouble(struct call_stacks *stacks, struct error *out)
{
	const bool is_new = stacks->trouble.code != ERROR_NONE;

	*out = stacks->trouble;
	stacks->trouble = (struct error){ .code = ERROR_NONE };
	return is_new;
}

void call_stacks_counts(const struct call_stacks *stacks, struct call_stacks_counts *out)
{
	struct module_cache_sizes sizes;
	struct code_names_counts code;

	module_cache_sizes(stacks->modules, &sizes);
	code_names_counts(stacks->code_names, &code);
	*out = stacks->counts;
	out->unnamed = code.unknown;
	out->processes = stacks->process_count;
	out->modules = sizes.modules;
	out->symbol_bytes = sizes.symbol_bytes;
}
