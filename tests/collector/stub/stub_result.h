/* Results of driver functions, numbered as in cuda.h. */
#pragma once

enum stub_result {
	STUB_SUCCESS = 0,
	STUB_INVALID_VALUE = 1,
	STUB_OUT_OF_MEMORY = 2,
	STUB_INVALID_CONTEXT = 201,
	STUB_NOT_FOUND = 500,
	STUB_NOT_SUPPORTED = 801,
};
