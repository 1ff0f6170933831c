#include "server/version.h"

const char *version_text(void)
{
	return VRAMSCOPE_VERSION;
}

const char *version_revision(void)
{
	return VRAMSCOPE_REVISION;
}

const char *version_branch(void)
{
	return VRAMSCOPE_BRANCH;
}

const char *version_compiler(void)
{
#ifdef __clang__
	return "clang " __clang_version__;
#else
	return "gcc " __VERSION__;
#endif
}
