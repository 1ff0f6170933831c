// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The PyThreadState of the current thread.
 *
 * It is the thread's value of autoTSSkey; where that is not known, the one in the lists of
 * threads whose id is our thread pointer. To 3.11 the key keeps the thread's first state, in
 * sub-interpreters too: gilstate.tstate_current goes before it while it is ours, and the lists
 * when there are several interpreters. The TLS variable of 3.12 and later is no way: it is NULL
 * whenever the GIL is released, as around native calls.
 *
 * Source   unwinding specification 1.3
 */
#ifndef COLLECTOR_BPF_PYTHON_STATE_BPF_H
#define COLLECTOR_BPF_PYTHON_STATE_BPF_H

#include "collector/bpf/python_user.bpf.h"
#include "collector/python/python_description.h"

#define INTERPRETERS_SEARCHED 4 /* the newest ones */
#define THREADS_SEARCHED      128
#define THREAD_KEY_MAX        1024

/* What holds the innermost frame of a thread to 3.12; 0 where nothing does. */
static __always_inline __u64 cframe_of_state(const struct python_description *python, __u64 state)
{
	if (python->offsets.thread_cframe == PYTHON_OFFSET_NONE)
		return 0;
	return user_u64(state + python->offsets.thread_cframe);
}

static __always_inline __u64 frame_of_state(const struct python_description *python, __u64 state,
                                            __u64 cframe)
{
	if (python->offsets.thread_frame != PYTHON_OFFSET_NONE)
		return user_u64(state + python->offsets.thread_frame);
	return user_u64(cframe + python->offsets.cframe_frame);
}

/*
 * Whether the state is that of the thread, and has a frame: a thread may have a state in each
 * interpreter, and those that rest have none.
 */
__noinline int python_is_running(const struct python_description *python, __u64 state,
                                 __u64 thread_pointer)
{
	if (!python || user_u64(state + python->offsets.thread_id) != thread_pointer)
		return 0;
	return frame_of_state(python, state, cframe_of_state(python, state)) != 0;
}

/* The first such state in the lists of the newest interpreters. */
__noinline __u64 python_state_in_lists(const struct python_description *python,
                                       __u64 thread_pointer)
{
	__u64 interpreter;

	if (!python)
		return 0;
	interpreter = user_u64(python->runtime + python->offsets.runtime_interpreters);
	for (__u32 i = 0; i < INTERPRETERS_SEARCHED && interpreter; i++) {
		__u64 state = user_u64(interpreter + python->offsets.interpreter_threads);

		for (__u32 j = 0; j < THREADS_SEARCHED && state; j++) {
			if (python_is_running(python, state, thread_pointer))
				return state;
			state = user_u64(state + python->offsets.thread_next);
		}
		interpreter = user_u64(interpreter + python->offsets.interpreter_next);
	}
	return 0;
}

/* The thread's value of autoTSSkey: struct python_thread_data. */
static __always_inline __u64 python_state_of_key(const struct python_description *python,
                                                 __u64 thread_pointer)
{
	const struct python_thread_data *data = &python->thread_data;
	const __u32 bits = data->block_bits & 31;
	const __u32 key = user_u32(python->runtime + python->offsets.runtime_key + 4);
	const __u32 place = key & ~(~0U << bits);
	__u64 block;

	if (key >= THREAD_KEY_MAX)
		return 0;
	block = user_u64(thread_pointer + data->blocks + 8ULL * (key >> bits));
	return block ? user_u64(block + (__u64)data->entry * place + data->data) : 0;
}

static __always_inline int is_of_thread(const struct python_description *python, __u64 state,
                                        __u64 thread_pointer)
{
	return state && user_u64(state + python->offsets.thread_id) == thread_pointer;
}

/* To 3.11, where several interpreters need more than the key's value. */
static __always_inline __u64 python_state_of_current(const struct python_description *python,
                                                     __u64 thread_pointer)
{
	const struct python_offsets *offsets = &python->offsets;
	const __u64 state = user_u64(python->runtime + offsets->runtime_current);
	const __u64 newest = user_u64(python->runtime + offsets->runtime_interpreters);

	if (is_of_thread(python, state, thread_pointer))
		return state;
	if (newest && user_u64(newest + offsets->interpreter_next))
		return python_state_in_lists(python, thread_pointer);
	return 0;
}

static __always_inline __u64 python_state_of(const struct python_description *python,
                                             __u64 thread_pointer)
{
	__u64 state;

	if (python->offsets.runtime_current != PYTHON_OFFSET_NONE) {
		state = python_state_of_current(python, thread_pointer);
		if (state)
			return state;
	}
	if (python->flags & PYTHON_THREAD_DATA) {
		state = python_state_of_key(python, thread_pointer);
		/* A thread without a value never ran Python. */
		if (!state || is_of_thread(python, state, thread_pointer))
			return state;
	}
	return python_state_in_lists(python, thread_pointer);
}

#endif
