/* The memory of the stub's device. Threads: any. */
#pragma once

#include <stdint.h>

#include "tests/collector/stub/stub_result.h"

#define EXPORT __attribute__((visibility("default")))

/* What every memory function does first: the settings of the environment. */
void stub_begin(const char *function);

/* Of the context that is current in the thread; -1: there is none. */
int stub_current_device(void);

/* Gives out an address; STUB_OUT_OF_MEMORY when the device is full. */
int stub_allocate(uint64_t *address, uint64_t bytes);

/* The same, of 32 bits. */
int stub_allocate_narrow(uint32_t *address, uint64_t bytes);

/* STUB_INVALID_VALUE: nobody has it. */
int stub_release(uint64_t address);
