#include "tests/collector/workload_driver.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void stop(const char *why)
{
	(void)fprintf(stderr, "workload: %s\n", why);
	(void)fflush(stdout);
	_exit(2);
}

void say_call(const char *kind, uint64_t address, uint64_t bytes, int result)
{
	(void)printf("{\"call\": \"%s\", \"address\": %" PRIu64 ", \"bytes\": %" PRIu64
	             ", \"result\": %d}\n",
	             kind, address, bytes, result);
}

void say_sums(const struct call_sums *sums)
{
	(void)printf("{\"pid\": %d, \"alloc_calls\": %" PRIu64 ", \"alloc_bytes\": %" PRIu64
	             ", \"alloc_failures\": %" PRIu64 ", \"free_calls\": %" PRIu64
	             ", \"free_failures\": %" PRIu64 "}\n",
	             (int)getpid(), sums->alloc_calls, sums->alloc_bytes, sums->alloc_failures,
	             sums->free_calls, sums->free_failures);
	(void)fflush(stdout);
}

void count_alloc(struct call_sums *to, uint64_t bytes, int result)
{
	if (result != STUB_SUCCESS) {
		to->alloc_failures++;
		return;
	}
	to->alloc_calls++;
	to->alloc_bytes += bytes;
}

void count_free(struct call_sums *to, int result)
{
	to->free_calls++;
	to->free_failures += result != STUB_SUCCESS;
}

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		stop(name);
	return found;
}

void workload_driver_load(struct workload_driver *driver, const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		stop("the driver cannot be loaded");
	*(void **)&driver->init = find(library, "cuInit");
	*(void **)&driver->alloc = find(library, "cuMemAlloc_v2");
	*(void **)&driver->free = find(library, "cuMemFree_v2");
	*(void **)&driver->alloc_async = find(library, "cuMemAllocAsync");
	*(void **)&driver->free_async = find(library, "cuMemFreeAsync");
	*(void **)&driver->alloc_managed = find(library, "cuMemAllocManaged");
	*(void **)&driver->host_alloc = find(library, "cuMemHostAlloc");
	*(void **)&driver->alloc_host = find(library, "cuMemAllocHost_v2");
	*(void **)&driver->alloc_from_pool = find(library, "cuMemAllocFromPoolAsync");
	*(void **)&driver->free_host = find(library, "cuMemFreeHost");
	driver->inside = find(library, "stub_inside");
}
