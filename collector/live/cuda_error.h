/*
 * Results of driver calls, by name: the label cuda_error.
 *
 * Source   collector/live/cuda_error.def
 */
#pragma once

#include <stdint.h>

#define CUDA_ERROR_OUT_OF_MEMORY 2
#define CUDA_ERROR_UNKNOWN       999
#define CUDA_ERROR_TEXT          48

/* "CUDA_ERROR_OUT_OF_MEMORY", or "CUDA_ERROR_12345" of a number without a name. */
void cuda_error_name(int32_t result, char text[static CUDA_ERROR_TEXT]);
