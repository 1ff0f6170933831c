/*
 * vramscope top --gpu: the processes that hold GPU memory, and where one of them got it.
 *
 * Shape    one picture a call: the list of processes (api/gpu/processes) and, over the
 *          read API, the stacks of the selected one at its newest tick.
 * Errors   ERROR_NOT_FOUND for a pid that the list does not have; those of asking.
 * Threads  none.
 * Source   docs/api/gpu.md
 */
#pragma once

#include "server/command/profile_source.h"
#include "server/command/server_client.h"
#include "server/command/terminal.h"

struct gpu_top_options {
	const struct profile_source_options *source; /* a server */
	struct str selector;                         /* "{...}" */
	const char *pid;                             /* NULL: the first, or by keys */
	int64_t last_ns;                             /* of rates and failures */
	size_t limit;                                /* rows; 0: what fits, or all */
};

struct gpu_top;

int gpu_top_open(const struct gpu_top_options *options, struct gpu_top **out, struct error *err);
void gpu_top_close(struct gpu_top *top);

static inline void gpu_top_closep(struct gpu_top **top)
{
	gpu_top_close(*top);
}

/* `context` is a struct gpu_top: as struct terminal_watch wants it. */
int gpu_top_draw(void *context, const struct terminal *terminal, struct strbuf *out,
                 struct error *err);

/* j and k: the next process and the one before. */
void gpu_top_press(void *context, char key);
