#include "collector/device_round.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/bpf/pid_namespace.h"

#define FRESH_TICKS 3 /* a picture that is older than these is none */

struct device_round {
	struct device_books *books;
	struct device_watch *watch;     /* NULL: nobody is asked */
	struct device_picture *picture; /* that was taken last */
	int64_t asked_mono_ns;          /* for a tick; 0: not yet */
	bool has_answer;                /* since then */
};

/* Ids of processes are ours for certain only in the first namespace. */
static enum nvml_pids pids_of_nvml(void)
{
	return pid_namespace_own() == 0 ? NVML_PIDS_OURS : NVML_PIDS_UNSURE;
}

struct device_round *device_round_open(const struct device_round_options *options)
{
	struct device_round *round = mem_zalloc(1, sizeof(*round));

	round->books = device_books_new(&(struct device_books_options){
		.proc = options->proc,
		.stale_ns = FRESH_TICKS * options->interval_ns,
	});
	if (!options->nvml)
		return round;
	round->picture = mem_zalloc(1, sizeof(*round->picture));
	round->watch = device_watch_open(&(struct device_watch_options){
		.path = options->nvml,
		.host_root = options->host_root ? options->host_root : "",
		.pids = pids_of_nvml(),
	});
	return round;
}

void device_round_close(struct device_round *round)
{
	if (!round)
		return;
	device_watch_close(round->watch);
	device_books_free(round->books);
	free(round->picture);
	free(round);
}

struct device_books *device_round_books(struct device_round *round)
{
	return round->books;
}

int device_round_descriptor(const struct device_round *round)
{
	return round->watch ? device_watch_descriptor(round->watch) : -1;
}

bool device_round_take(struct device_round *round)
{
	if (!round->watch || !device_watch_take(round->watch, round->picture))
		return false;
	round->has_answer = true;
	device_books_take(round->books, round->picture);
	return true;
}

enum device_trouble device_round_trouble(struct device_round *round, struct error *out)
{
	return round->watch ? device_watch_trouble(round->watch, out) : DEVICE_TROUBLE_NONE;
}

void device_round_ask(struct device_round *round)
{
	if (round->watch)
		(void)device_watch_ask(round->watch);
}

bool device_round_is_over(struct device_round *round)
{
	if (!round->watch)
		return true;
	if (round->asked_mono_ns == 0) {
		round->has_answer = false;
		if (!device_watch_ask(round->watch))
			return true;
		round->asked_mono_ns = clock_mono_ns();
	}
	return round->has_answer || clock_mono_ns() - round->asked_mono_ns >= DEVICE_WAIT_NS;
}

int64_t device_round_due_mono_ns(const struct device_round *round)
{
	return round->asked_mono_ns != 0 ? round->asked_mono_ns + DEVICE_WAIT_NS : INT64_MAX;
}

void device_round_finish(struct device_round *round)
{
	round->asked_mono_ns = 0;
}
