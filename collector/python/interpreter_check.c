/*
 * The process runs on while it is read, so a state or a frame may be gone between two reads.
 * What does not fit then is tried again with other threads, and at last at a later event; only
 * what cannot be a matter of luck is refused.
 */
#include "collector/python/interpreter_check.h"

#include "base/cleanup.h"

#define INTERPRETERS_MAX 16
#define THREADS_MAX      256 /* of each that are looked at */
#define FRAMES_TRIED     8   /* of a thread, until one has a code object */
#define TRIES            3

#define READS_MAX       32768 /* of a process that leads us around: some 20 ms */
#define RUNTIME_SCANNED 8192  /* bytes of _PyRuntime in which a moved autoTSSkey is looked for */
#define SCAN_READS      64    /* as many reads does that cost */
#define KEY_MAX         1024  /* PTHREAD_KEYS_MAX */

struct checker {
	const struct interpreter_process *process;
	struct python_description *description;
	size_t reads;
	size_t states;        /* seen in the lists */
	size_t strangers;     /* of them, that belong to another interpreter */
	size_t frames;        /* that were there to look at */
	bool has_code;        /* one had a code object */
	bool has_thread_data; /* a thread's data led to its state */
};

/* 0 when it is not there, or when enough was read. */
static uint64_t pointer_at(struct checker *checker, uint64_t address)
{
	if (checker->reads >= READS_MAX)
		return 0;
	checker->reads++;
	return python_memory_u64(&checker->process->memory, address);
}

/* The thread's value of a key: struct python_thread_data. */
static uint64_t value_of_key(struct checker *checker, uint64_t thread_pointer, uint32_t key)
{
	const struct python_thread_data *data = &checker->description->thread_data;
	const uint32_t place = key & ~(~0U << data->block_bits);
	const uint64_t block =
		pointer_at(checker, thread_pointer + (uint64_t)(int64_t)data->blocks +
	                                    8ULL * (key >> data->block_bits));

	return block ? pointer_at(checker, block + (uint64_t)data->entry * place + data->data) : 0;
}

/* Tries the key where the tables have it, then wherever it may have moved to. */
static bool find_key(struct checker *checker, uint64_t thread_pointer, uint64_t state)
{
	const uint64_t runtime = checker->description->runtime;
	uint32_t *place = &checker->description->offsets.runtime_key;
	uint32_t words[RUNTIME_SCANNED / sizeof(uint32_t)];
	uint32_t pair[2]; /* of a Py_tss_t: is it in use, the key */

	if (python_memory_read(&checker->process->memory, runtime + *place, pair, sizeof(pair)) &&
	    pair[0] == 1 && pair[1] < KEY_MAX &&
	    value_of_key(checker, thread_pointer, pair[1]) == state)
		return true;
	if (checker->reads >= READS_MAX)
		return false;
	checker->reads += SCAN_READS;
	if (!python_memory_read(&checker->process->memory, runtime, words, sizeof(words)))
		return false;
	for (uint32_t i = 0; i + 1 < ARRAY_LENGTH(words); i++) {
		if (words[i] != 1 || words[i + 1] >= KEY_MAX ||
		    value_of_key(checker, thread_pointer, words[i + 1]) != state)
			continue;
		*place = i * (uint32_t)sizeof(uint32_t);
		return true;
	}
	return false;
}

/* Whether one of the state's innermost frames has a code object. */
static bool has_code(struct checker *checker, uint64_t state)
{
	const struct python_offsets *offsets = &checker->description->offsets;
	uint64_t frame;

	if (offsets->thread_frame != PYTHON_OFFSET_NONE)
		frame = pointer_at(checker, state + offsets->thread_frame);
	else
		frame = pointer_at(checker, pointer_at(checker, state + offsets->thread_cframe) +
		                                    offsets->cframe_frame);
	for (int i = 0; i < FRAMES_TRIED && frame; i++) {
		const uint64_t code = pointer_at(checker, frame + offsets->frame_code) &
		                      ~PYTHON_POINTER_TAGS;

		checker->frames++;
		if (code && pointer_at(checker, code + offsets->object_type) ==
		                    checker->description->code_type)
			return true;
		frame = pointer_at(checker, frame + offsets->frame_back);
	}
	return false;
}

static void check_state(struct checker *checker, uint64_t state, uint64_t interpreter)
{
	const struct python_offsets *offsets = &checker->description->offsets;
	const uint64_t thread_pointer = pointer_at(checker, state + offsets->thread_id);

	checker->states++;
	if (pointer_at(checker, state + offsets->thread_interpreter) != interpreter) {
		checker->strangers++;
		return;
	}
	if (!checker->has_code)
		checker->has_code = has_code(checker, state);
	if (!checker->has_thread_data && thread_pointer)
		checker->has_thread_data = find_key(checker, thread_pointer, state);
}

/* The newest interpreter comes first, and in it the newest thread. */
static void check_lists(struct checker *checker)
{
	const struct python_offsets *offsets = &checker->description->offsets;
	uint64_t interpreter =
		pointer_at(checker, checker->description->runtime + offsets->runtime_interpreters);

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		uint64_t state = pointer_at(checker, interpreter + offsets->interpreter_threads);

		for (int j = 0; j < THREADS_MAX && state; j++) {
			check_state(checker, state, interpreter);
			if (checker->has_code && checker->has_thread_data)
				return;
			state = pointer_at(checker, state + offsets->thread_next);
		}
		interpreter = pointer_at(checker, interpreter + offsets->interpreter_next);
	}
}

int interpreter_check(const struct interpreter_process *process,
                      struct python_description *description, struct error *err)
{
	struct checker checker = { .process = process, .description = description };

	for (int i = 0; i < TRIES && !(checker.has_code && checker.has_thread_data); i++)
		check_lists(&checker);
	if (checker.has_thread_data)
		description->flags |= PYTHON_THREAD_DATA;
	if (checker.has_code)
		return 0;
	if (checker.states == 0)
		return error_set(err, ERROR_UNAVAILABLE, "no thread has begun");
	if (checker.strangers == checker.states)
		return error_set(err, ERROR_INVALID,
		                 "its thread states are not where they should be");
	/*
	 * Nobody runs Python just now: a program that embeds it may call it for a moment at a
	 * time. A thread's own data led to its state, so states are what they should be; a
	 * frame whose code is none has no name.
	 */
	if (checker.frames == 0 && checker.has_thread_data)
		return 0;
	if (checker.frames == 0)
		return error_set(err, ERROR_UNAVAILABLE, "no thread has a frame");
	return error_set(err, ERROR_INVALID, "its frames have no code objects");
}
