#include "tests/collector/own_driver.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/cuda_function.h"

#define OWN_TIME 1100000000

static int attach_own(void *context, int descriptor, void **out_link, size_t *out_functions,
                      struct error *err)
{
	struct own_probes *probes = context;
	struct stat status;

	assert_int_equal(fstat(descriptor, &status), 0);
	if (status.st_mtim.tv_sec != OWN_TIME)
		return error_set(err, ERROR_INVALID, "a file of somebody else");
	if (probes->real.attach(probes->real.context, descriptor, out_link, out_functions, err) <
	    0) {
		probes->refused++;
		return -1;
	}
	assert_int_equal(*out_functions, CUDA_FUNCTION_COMMON_COUNT);
	probes->attached++;
	return 0;
}

static void detach_own(void *context, void *link)
{
	struct own_probes *probes = context;

	probes->attached--;
	probes->real.detach(probes->real.context, link);
}

struct library_attacher own_probes_attacher(struct own_probes *probes)
{
	return (struct library_attacher){ attach_own, detach_own, probes };
}

void own_driver_mark(int file)
{
	const struct timespec times[2] = { { .tv_sec = OWN_TIME }, { .tv_sec = OWN_TIME } };

	if (futimens(file, times) < 0)
		abort();
}

void own_driver_copy(const char *to)
{
	const int from = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);
	const int file = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat status;

	if (from < 0 || file < 0 || fstat(from, &status) < 0 ||
	    sendfile(file, from, NULL, (size_t)status.st_size) != status.st_size)
		abort();
	own_driver_mark(file);
	(void)close(from);
	(void)close(file);
}
