/* An expression from bytes over a small stack: it ends, and reads nothing but the copy. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/frame_expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t stack[64];
	uint64_t registers[REGISTER_COUNT];
	const struct stack_memory memory = { .base = 0x7000,
		                             .length = sizeof(stack),
		                             .bytes = stack };
	struct frame_expression expression = {
		.bytes = data, .length = size, .registers = registers, .memory = &memory
	};
	const uint64_t first = 0x7008;
	uint64_t values[2];
	bool computed;

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 7);
	for (uint64_t i = 0; i < REGISTER_COUNT; i++)
		registers[i] = 0x7000 + 8 * i;
	computed = frame_expression_compute(&expression, &first, &values[0]);
	assert(computed == frame_expression_compute(&expression, &first, &values[1]));
	assert(!computed || values[0] == values[1]);
	(void)frame_expression_compute(&expression, NULL, &values[0]);
	return 0;
}
