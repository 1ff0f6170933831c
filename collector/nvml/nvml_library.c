#include "collector/nvml/nvml_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME "libnvidia-ml.so.1"

/* Where it lies below the root of a machine. */
static const char *const host_folders[] = {
	"usr/lib/x86_64-linux-gnu",
	"usr/lib/aarch64-linux-gnu",
	"usr/lib64",
	"usr/local/nvidia/lib64",
	"run/nvidia/driver/usr/lib/x86_64-linux-gnu", /* of the operator's driver container */
	"run/nvidia/driver/usr/lib64",
	"home/kubernetes/bin/nvidia/lib64",
};

enum need {
	OPTIONAL,
	NEEDED,
};

static const struct {
	const char *symbol;
	enum need need;
	size_t offset;
} symbols[] = {
#define NVML_CALL(field, symbol, need, parameters) \
	{ symbol, need, offsetof(struct nvml_calls, field) },
#include "collector/nvml/nvml_calls.def"
#undef NVML_CALL
};

static const char *const list_names[NVML_LIST_COUNT] = {
	[NVML_LIST_COMPUTE] = "nvmlDeviceGetComputeRunningProcesses",
	[NVML_LIST_GRAPHICS] = "nvmlDeviceGetGraphicsRunningProcesses",
	[NVML_LIST_SHARED] = "nvmlDeviceGetMPSComputeRunningProcesses",
};

/* After a colon; "" for what nobody knows. */
static const char *result_text(int result)
{
	switch (result) {
	case NVML_NOT_SUPPORTED:
		return ": not supported";
	case NVML_NO_PERMISSION:
		return ": no permission";
	case NVML_NOT_FOUND:
		return ": not found";
	case NVML_DRIVER_NOT_LOADED:
		return ": the driver is not loaded";
	case NVML_GPU_IS_LOST:
		return ": the GPU is lost";
	case NVML_VERSION_MISMATCH:
		return ": the library is of another version than the driver in the kernel";
	default:
		return "";
	}
}

int nvml_result_error(const char *symbol, int result, struct error *err)
{
	return error_set(err, ERROR_UNAVAILABLE, "%s failed with %d%s", symbol, result,
	                 result_text(result));
}

/* ---- loading ---- */

static void *load_below(const char *root)
{
	char path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(host_folders) && !library; i++)
		if (snprintf(path, sizeof(path), "%s/%s/" NAME, root, host_folders[i]) <
		    (int)sizeof(path))
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library;
}

static int load(const char *path, const char *host_root, void **out, struct error *err)
{
	char why[256];

	*out = dlopen(path[0] ? path : NAME, RTLD_NOW | RTLD_LOCAL);
	if (*out)
		return 0;
	(void)snprintf(why, sizeof(why), "%s", dlerror()); /* NOLINT(concurrency-mt-unsafe) */
	if (!path[0] && host_root[0])
		*out = load_below(host_root);
	return *out ? 0 : error_set(err, ERROR_NOT_FOUND, "%s", why);
}

/* ---- functions ---- */

static int find_calls(void *library, struct nvml_calls *out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LENGTH(symbols); i++) {
		void *const found = dlsym(library, symbols[i].symbol);

		if (!found && symbols[i].need == NEEDED)
			return error_set(err, ERROR_UNAVAILABLE, NAME " has no %s",
			                 symbols[i].symbol);
		memcpy((char *)out + symbols[i].offset, &found, sizeof(found));
	}
	return 0;
}

static void find_lists(void *library, struct nvml_calls *out)
{
	static const char *const versions[] = { "_v3", "_v2", "" };
	char name[96];

	for (int i = 0; i < NVML_LIST_COUNT; i++) {
		void *found = NULL;

		for (size_t j = 0; j < ARRAY_LENGTH(versions) && !found; j++) {
			(void)snprintf(name, sizeof(name), "%s%s", list_names[i], versions[j]);
			found = dlsym(library, name);
		}
		memcpy(&out->lists[i], &found, sizeof(found));
	}
}

int nvml_library_open(const char *path, const char *host_root, struct nvml_calls *out,
                      struct error *err)
{
	void *library;
	int result;

	if (load(path, host_root, &library, err) < 0 || find_calls(library, out, err) < 0)
		return -1;
	find_lists(library, out);
	result = out->init();
	if (result == NVML_OK)
		return 0;
	return nvml_result_error("nvmlInit_v2", result, err);
}
