#include "profile/profile.h"

struct str profile_basename(struct str file)
{
	const ptrdiff_t slash = str_last_index(file, '/');

	return slash < 0 ? file : str_skip(file, (size_t)slash + 1);
}
