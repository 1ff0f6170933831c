/*
 * Two passes. The first finds the run that each native frame is, by its marker; from it comes
 * which module the interpreter is, and where the outermost run ends. The second writes frames.
 *
 * 3.8 and 3.9 have no markers: there every Python frame is a run, and a run is a native frame
 * with the name of the evaluation loop.
 */
#include "collector/python/python_stack.h"

#include "collector/python/named_code.h"

#define LOOP_NAME "_PyEval_EvalFrameDefault"

#define NO_RUN UINT16_MAX

struct merge {
	struct code_names *names;
	const struct native_namer *namer;
	enum python_internals internals;
	const struct python_stack_input *input;
	struct frame_list *out;
	uint16_t runs[NATIVE_FRAMES_MAX]; /* which Python frame is the last of the frame's run */
	size_t outermost;                 /* native frames inward of it may be the interpreter's */
	const struct module *interpreter; /* NULL: not known */
	uint32_t python_count;
	uint32_t next_python;
};

static struct frame *append(struct merge *merge)
{
	struct frame *frame;

	if (merge->out->count == FRAMES_MAX)
		return NULL;
	frame = &merge->out->frames[merge->out->count++];
	*frame = (struct frame){ 0 };
	return frame;
}

/* A frame that stands for something else. */
static void append_mark(struct merge *merge, struct str name, struct str file,
                        enum function_kind kind)
{
	struct frame *frame = append(merge);

	if (!frame)
		return;
	frame->name = name;
	frame->file = file;
	frame->kind = kind;
}

/* The last frame of the run that begins at `first`: its entry, or the last there is. */
static uint32_t run_end(const struct merge *merge, uint32_t first)
{
	const struct python_frame *frames = merge->input->captured->python;
	uint32_t last = first;

	while (last + 1 < merge->python_count && !(frames[last].flags & PYTHON_FRAME_ENTRY))
		last++;
	return last;
}

/* Whether the native frame is the evaluation loop, by its name. */
static bool is_loop_by_name(const struct merge *merge, const struct native_frame *native)
{
	struct frame frame = { 0 };
	struct str name;

	merge->namer->name(merge->namer->context, native, &frame);
	name = frame.system_name.length > 0 ? frame.system_name : frame.name;
	return str_equals(name, LOOP_NAME) || str_starts_with(name, STR(LOOP_NAME "."));
}

static bool is_run(const struct merge *merge, const struct native_frame *native,
                   const struct python_frame *entry)
{
	if (entry->marker == 0)
		return entry->flags & PYTHON_FRAME_ENTRY && is_loop_by_name(merge, native);
	return entry->marker >= native->stack_pointer && entry->marker < native->frame_end;
}

static void find_runs(struct merge *merge)
{
	const struct native_stack *native = merge->input->native;
	const struct python_frame *python = merge->input->captured->python;
	uint32_t next = 0;

	for (size_t i = 0; i < native->count; i++) {
		merge->runs[i] = NO_RUN;
		if (next == merge->python_count)
			continue;

		const uint32_t last = run_end(merge, next);

		if (!is_run(merge, &native->frames[i], &python[last]))
			continue;
		merge->runs[i] = (uint16_t)last;
		merge->outermost = i;
		merge->interpreter = native->frames[i].module;
		next = last + 1;
	}
	/* Loops that belong to Python frames which were not read are the interpreter's too. */
	if (merge->interpreter && merge->input->captured->flags & CAPTURED_PYTHON_TRUNCATED)
		merge->outermost = native->count;
}

static void append_python(struct merge *merge, const struct python_frame *python)
{
	struct code_name name;
	struct frame *frame = append(merge);

	if (!frame)
		return;
	code_names_find(merge->names, merge->input->process, python, &name);
	frame->name = name.name;
	frame->file = name.file;
	frame->line = name.line;
	frame->start_line = name.first_line;
	frame->kind = FUNCTION_PYTHON;
	/* In 3.12 the shim is a code object, and that is its name; elsewhere it has none. */
	if (python->flags & PYTHON_FRAME_SHIM && name.version == PYTHON_VERSION(3, 12))
		append_mark(merge, STR(PYTHON_SHIM_NAME), STR(PYTHON_SHIM_FILE), FUNCTION_PYTHON);
}

/* The frames up to the one with index `last`. */
static void append_pythons(struct merge *merge, uint32_t last)
{
	const struct captured_stack *captured = merge->input->captured;

	while (merge->next_python <= last)
		append_python(merge, &captured->python[merge->next_python++]);
	if (merge->next_python == merge->python_count &&
	    captured->flags & CAPTURED_PYTHON_TRUNCATED)
		append_mark(merge, STR(PYTHON_TRUNCATED_NAME), STR(PYTHON_UNKNOWN_FILE),
		            FUNCTION_PYTHON);
}

/* The interpreter's own code between Python frames; what started it is ordinary. */
static bool is_internal(const struct merge *merge, size_t index)
{
	const struct native_frame *native = &merge->input->native->frames[index];

	return merge->runs[index] != NO_RUN ||
	       (merge->interpreter && native->module == merge->interpreter &&
	        index < merge->outermost);
}

static void append_native(struct merge *merge, size_t index)
{
	const struct native_frame *native = &merge->input->native->frames[index];
	const bool internal = is_internal(merge, index);
	struct frame *frame;

	if (native->is_trampoline || (internal && merge->internals == PYTHON_INTERNALS_DROP))
		return;
	frame = append(merge);
	if (!frame)
		return;
	merge->namer->name(merge->namer->context, native, frame);
	if (!internal)
		return;
	frame->kind = FUNCTION_INTERPRETER;
	if (frame->file.length == 0)
		frame->file = STR(INTERPRETER_FILE);
}

static void append_rest(struct merge *merge)
{
	const struct native_stack *native = merge->input->native;
	struct frame end;

	if (merge->next_python < merge->python_count) {
		if (native->end != NATIVE_STACK_COMPLETE)
			append_mark(merge, STR(NATIVE_MISSING_NAME), STR(""), FUNCTION_OTHER);
		append_pythons(merge, merge->python_count - 1);
		return;
	}
	if (merge->namer->end(merge->namer->context, native, &end)) {
		struct frame *frame = append(merge);

		if (frame)
			*frame = end;
	}
}

void python_stack_merge(struct code_names *names, const struct native_namer *namer,
                        enum python_internals internals, const struct python_stack_input *input,
                        struct frame_list *out)
{
	const uint32_t count = input->captured->python_count;
	struct merge merge = {
		.names = names,
		.namer = namer,
		.internals = internals,
		.input = input,
		.out = out,
		.python_count = count < PYTHON_FRAMES_MAX ? count : PYTHON_FRAMES_MAX,
	};

	out->count = 0;
	code_names_begin(names, input->process->tgid, input->process->start_ns);
	find_runs(&merge);
	for (size_t i = 0; i < input->native->count; i++) {
		if (merge.runs[i] != NO_RUN)
			append_pythons(&merge, merge.runs[i]);
		append_native(&merge, i);
	}
	append_rest(&merge);
}
