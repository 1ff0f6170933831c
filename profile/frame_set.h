/*
 * Frames, each once: what a flame graph of our own says of a place in a program beside its
 * name.
 *
 * Shape    frame 0 is the root, without a name. A frame is a name, a file and a kind; by
 *          line, also the line of the call that runs there. Of functions the line is chosen
 *          at the end: the one through which the most went, the smallest of equal ones.
 *          There are FRAME_SIDES sides, of a comparison; else only the left one is used.
 *          Bytes are copied: windows may go away.
 * Errors   FRAME_NONE, false: the arena is full.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "profile/intern.h"
#include "profile/profile.h"

#define FRAME_ROOT  0
#define FRAME_NONE  UINT32_MAX
#define FRAME_SIDES 2

enum frame_side {
	FRAME_LEFT, /* the only one, where nothing is compared */
	FRAME_RIGHT,
};

enum frame_detail {
	FRAME_BY_FUNCTION,
	FRAME_BY_LINE,
};

struct graph_frame {
	struct str name;
	struct str file;
	int64_t line; /* 0: not known */
	enum function_kind kind;
};

/* A line of a function, and what went through it. */
struct frame_line {
	uint32_t frame;
	int64_t line;
	int64_t weights[FRAME_SIDES];
};

struct frame_set {
	struct arena *arena;
	enum frame_detail detail;
	uint64_t secret;
	struct intern ids; /* id + 1: the root is none of them */
	struct graph_frame *frames;
	size_t count;
	size_t capacity;
	struct intern line_ids;
	struct frame_line *lines;
	size_t line_capacity;
};

int frame_set_new(struct arena *arena, enum frame_detail detail, struct frame_set **out,
                  struct error *err);

/* The number of a frame; its line counts by line only. */
uint32_t frame_set_add(struct frame_set *set, const struct graph_frame *frame);

/* Something went through a line of a frame. By line, and of line 0, there is nothing to choose. */
bool frame_set_weigh(struct frame_set *set, uint32_t frame, int64_t line, enum frame_side side,
                     int64_t weight);

/* Chooses the lines of functions: by the right side, where something went through there. */
int frame_set_choose_lines(struct frame_set *set, struct error *err);

/*
 * ranks[frame]: its place among all by the bytes of its name, then of its file, by kind and
 * line. In `arena`.
 */
int frame_set_rank(const struct frame_set *set, struct arena *arena, uint32_t **out_ranks,
                   struct error *err);

/* "python", "native", ... */
const char *frame_kind_name(enum function_kind kind);
