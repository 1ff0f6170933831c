#include "tests/unit/collector/nvml/nvml_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

int nvml_fixture_set_up(void **state)
{
	struct nvml_fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	int descriptor;

	(void)snprintf(fixture->path, sizeof(fixture->path), "/tmp/vramscope-nvml-XXXXXX");
	descriptor = mkstemp(fixture->path);
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread */
	assert_int_equal(setenv("STUB_NVML", fixture->path, 1), 0);
	*state = fixture;
	return 0;
}

int nvml_fixture_tear_down(void **state)
{
	struct nvml_fixture *fixture = *state;

	(void)unlink(fixture->path);
	free(fixture);
	return 0;
}

/* A new file in the place of the old one: who reads it meanwhile sees one of them. */
void nvml_fixture_say(const struct nvml_fixture *fixture, const char *text)
{
	char fresh[sizeof(fixture->path) + 4];
	FILE *file;

	(void)snprintf(fresh, sizeof(fresh), "%s.new", fixture->path);
	file = fopen(fresh, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, fixture->path), 0);
}

void nvml_fixture_read(struct nvml_fixture *fixture, const char *text, enum nvml_pids pids)
{
	struct error err;

	nvml_fixture_say(fixture, text);
	assert_int_equal(nvml_library_open(STUB_NVML_LIBRARY, "", &fixture->calls, &err), 0);
	assert_int_equal(nvml_reader_read(&fixture->calls, pids, &fixture->picture, &err), 0);
}
