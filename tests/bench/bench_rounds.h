/*
 * What benchmarks of the way in share: the thread's CPU time, whole files, medians.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

#define BENCH_ROUNDS   7
#define BENCH_FILE_MAX ((size_t)8 << 20)

static inline double bench_cpu_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline struct str bench_read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *data = mem_zalloc(1, BENCH_FILE_MAX);
	size_t length;

	if (!file) {
		perror(path);
		exit(1);
	}
	length = fread(data, 1, BENCH_FILE_MAX, file);
	(void)fclose(file);
	return str_make(mem_resize(data, length + 1, 1), length);
}

/* Frees bytes that a view was made of. */
static inline void bench_free(struct str bytes)
{
	void *data;

	memcpy(&data, &bytes.data, sizeof(data));
	free(data);
}

static inline int bench_compare(const void *a, const void *b)
{
	const double left = *(const double *)a;
	const double right = *(const double *)b;

	return (left > right) - (left < right);
}

static inline double bench_median(double *numbers)
{
	qsort(numbers, BENCH_ROUNDS, sizeof(*numbers), bench_compare);
	return numbers[BENCH_ROUNDS / 2];
}
