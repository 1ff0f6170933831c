/*
 * bench_native_stack [FILE] : what a stack of this program costs to unwind and to name, warm and cold; and what the
 * symbols of FILE (a large library) cost in time and memory. Processor time; medians of 15 rounds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/elf/symbol_index.h"
#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"
#include "collector/unwind/native_stack.h"
#include "tests/unit/collector/unwind/call_path.h"
#include "tests/unit/collector/unwind/self_capture.h"

#define ROUNDS  15
#define REPEATS 20000

struct subject {
	struct module_cache *modules;
	struct address_space *space;
	struct frame_names *names;
	struct native_stack stack;
};

static int compare(const void *a, const void *b)
{
	const double *first = a;
	const double *second = b;

	return (*first > *second) - (*first < *second);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static void unwind(struct subject *subject)
{
	native_stack_unwind(subject->space, &self_capture.stack, self_capture.bytes,
	                    &subject->stack);
}

static void name_all(struct subject *subject)
{
	struct frame frame;

	frame_names_begin(subject->names);
	for (size_t i = 0; i < subject->stack.count; i++)
		frame_names_get(subject->names, subject->space, &subject->stack.frames[i], &frame);
}

/* Of this thread, so that other work on the machine does not count. */
static int64_t cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static double measure(struct subject *subject, void (*step)(struct subject *))
{
	double rounds[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		const int64_t start = cpu_ns();

		for (int i = 0; i < REPEATS; i++)
			step(subject);
		rounds[round] = (double)(cpu_ns() - start) / REPEATS;
	}
	return median(rounds);
}

static double once(struct subject *subject, void (*step)(struct subject *))
{
	const int64_t start = cpu_ns();

	step(subject);
	return (double)(cpu_ns() - start);
}

static void measure_symbols(struct module_cache *modules, const char *path)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	char text[SYMBOL_NAME_MAX + 1];
	struct module_cache_sizes sizes;
	struct module *module;
	struct error err;
	uint64_t at;
	uint64_t name_at = 0;
	int64_t start = cpu_ns();
	int64_t opened;

	if (descriptor < 0 ||
	    module_cache_open(modules, descriptor, str_of(path), NULL, &module, &err) < 0)
		return;
	opened = cpu_ns() - start;
	start = cpu_ns();
	(void)module_symbol(module, module_image(module)->base, text, &name_at);
	printf("%s: opened in %.0f us, symbols read in %.1f ms", path, (double)opened / 1e3,
	       (double)(cpu_ns() - start) / 1e6);
	module_cache_sizes(modules, &sizes);
	printf(", %.1f MiB %s\n", (double)sizes.symbol_bytes / (1 << 20), module_trouble(module));
	for (uint32_t i = 0; i < module_image(module)->segment_count; i++) {
		const struct elf_segment *segment = &module_image(module)->segments[i];
		const uint64_t stride = segment->file_size / 100000 + 1;
		size_t count = 0;

		if (!(segment->flags & PF_X))
			continue;
		start = cpu_ns();
		for (at = 0; at < segment->file_size; at += stride, count++)
			(void)module_row(module, segment->address + at);
		printf("%zu rows, each for the first time: %.2f us\n", count,
		       (double)(cpu_ns() - start) / 1e3 / (double)count);
	}
	module_unref(module);
}

int main(int count, char **arguments)
{
	static struct subject subject;
	struct process_view view;
	struct error err;

	subject.modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	subject.names = frame_names_new(FRAME_NAMES_BYTES_USUAL, FRAME_UNNAMED_MODULE);
	if (process_view_open(getpid(), &view, &err) < 0)
		return 1;
	subject.space = address_space_new(subject.modules, &view);
	(void)o2_path(10);
	printf("first stack: unwound in %.0f us", once(&subject, unwind) / 1e3);
	printf(", named in %.0f us\n", once(&subject, name_all) / 1e3);
	printf("later ones, %zu frames: unwound in %.2f us", subject.stack.count,
	       measure(&subject, unwind) / 1e3);
	printf(", named in %.2f us\n", measure(&subject, name_all) / 1e3);
	for (int i = 1; i < count; i++)
		measure_symbols(subject.modules, arguments[i]);
	frame_names_free(subject.names);
	address_space_free(subject.space);
	module_cache_free(subject.modules);
	return 0;
}
