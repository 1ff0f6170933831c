/*
 * The rest of the driver's names: each a function of its own, so that no two share an address;
 * weak, so that those which do something win.
 */
#include "tests/collector/stub/stub_result.h"

#define UNSUPPORTED(name)                     \
	__attribute__((weak)) int name(void); \
	__attribute__((weak)) int name(void)  \
	{                                     \
		return STUB_NOT_SUPPORTED;    \
	}

#include "unsupported.def"
