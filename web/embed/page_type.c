#include "web/embed/page_type.h"

#include "base/cleanup.h"

const char *page_type_of(struct str path)
{
	static const struct {
		struct str ending;
		const char *type;
	} types[] = {
		{ { ".html", 5 }, "text/html; charset=utf-8" },
		{ { ".js", 3 }, "text/javascript; charset=utf-8" },
		{ { ".css", 4 }, "text/css; charset=utf-8" },
		{ { ".svg", 4 }, "image/svg+xml" },
		{ { ".png", 4 }, "image/png" },
		{ { ".ico", 4 }, "image/x-icon" },
		{ { ".json", 5 }, "application/json" },
		{ { ".txt", 4 }, "text/plain; charset=utf-8" },
		{ { ".webmanifest", 12 }, "application/manifest+json" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if (str_ends_with(path, types[i].ending))
			return types[i].type;
	return NULL;
}
