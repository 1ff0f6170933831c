/*
 * Output of `perf script`, folded: what is sampled on Linux most.
 *
 * Shape    each event is a line with the command, its process and the event's name, and
 *          below it its frames, the leaf first; an empty line ends it:
 *
 *	python3  4242/4250 [000]  1234.567890:     250000 cpu-clock:pppH:
 *		    55d0c0f01234 _PyEval_EvalFrameDefault+0x12 (/usr/bin/python3.11)
 *		    7f0000001000 [unknown] (/usr/lib/libc.so.6)
 *
 *          becomes a line "python3;[libc.so.6];_PyEval_EvalFrameDefault 1". Offsets go;
 *          what has no name is the file in brackets; a ';' of a name becomes a ':'. Of
 *          several events in a file the first one's samples are taken, for a count of two
 *          kinds is a count of neither.
 * Errors   ERROR_INVALID when there is no event in it; arena_error().
 * Threads  none.
 * Source   perf-script(1)
 */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"

struct perf_script_counts {
	size_t samples;
	size_t other_samples; /* of other events: left out */
};

/* Appends the folded lines to `out`, which remembers when they did not fit. */
int perf_script_fold(struct str text, struct arena *arena, struct strbuf *out,
                     struct perf_script_counts *out_counts, struct error *err);
