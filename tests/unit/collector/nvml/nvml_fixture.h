/*
 * A library that says what a test has written down (tests/collector/stub/stub_nvml.c).
 */
#pragma once

#include "base/strbuf.h"
#include "collector/nvml/nvml_library.h"
#include "collector/nvml/nvml_reader.h"

struct nvml_fixture {
	char path[64]; /* of the file with what it says */
	struct nvml_calls calls;
	struct device_picture picture;
};

/* As cmocka wants them: *state is a struct nvml_fixture. */
int nvml_fixture_set_up(void **state);
int nvml_fixture_tear_down(void **state);

/* What it says from now on. */
void nvml_fixture_say(const struct nvml_fixture *fixture, const char *text);

/* Says that, opens the library, and reads all devices. */
void nvml_fixture_read(struct nvml_fixture *fixture, const char *text, enum nvml_pids pids);
