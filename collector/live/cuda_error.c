#include "collector/live/cuda_error.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"

static const struct {
	int32_t number;
	const char *name;
} errors[] = {
#define CUDA_ERROR(number, name) { number, name },
#include "collector/live/cuda_error.def"
#undef CUDA_ERROR
};

void cuda_error_name(int32_t result, char text[static CUDA_ERROR_TEXT])
{
	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		if (errors[i].number == result) {
			(void)snprintf(text, CUDA_ERROR_TEXT, "%s", errors[i].name);
			return;
		}
	}
	(void)snprintf(text, CUDA_ERROR_TEXT, "CUDA_ERROR_%" PRId32, result);
}
