#include "server/routes/route.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/routes/handlers.h"

#define LABEL_MAX  96
#define ROOT_LABEL "root"
#define SLOT_COUNT 256 /* a power of two, several times the routes */

static struct route table[] = {
#define ROUTE(method, path, handler, role, flags) { method, path, handler, role, flags, NULL },
#include "server/routes/routes.def"
#undef ROUTE
};

_Static_assert(ARRAY_LENGTH(table) * 2 < SLOT_COUNT, "raise SLOT_COUNT");

/*
 * Made from the table when it is first asked, and never changed: process-wide by
 * nature.
 */
static char labels[ARRAY_LENGTH(table)][LABEL_MAX];
static uint8_t slots[SLOT_COUNT]; /* 1 + index, 0: empty */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static size_t slot_of(struct str path)
{
	uint32_t hash = 2166136261u; /* FNV-1a: the keys are ours, and few */

	for (size_t i = 0; i < path.length; i++)
		hash = (hash ^ (unsigned char)path.data[i]) * 16777619u;
	return (hash ^ hash >> 16) % SLOT_COUNT;
}

/*
 * As the reference labels routes: lower case, runs of other characters one '_',
 * trimmed. "_id" stands for the names of ROUTE_BELOW.
 */
static void make_label(const char *path, char label[static LABEL_MAX])
{
	size_t length = 0;

	for (const char *c = path; *c && length < LABEL_MAX - 1; c++) {
		if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
			label[length++] = *c;
		else if (*c >= 'A' && *c <= 'Z')
			label[length++] = (char)(*c + ('a' - 'A'));
		else if (length > 0 && label[length - 1] != '_')
			label[length++] = '_';
	}
	while (length > 0 && label[length - 1] == '_')
		length--;
	label[length] = '\0';
	if (length == 0)
		memcpy(label, ROOT_LABEL, sizeof(ROOT_LABEL));
}

static void prepare(void)
{
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
		size_t slot = slot_of(str_of(table[i].path));

		make_label(table[i].path, labels[i]);
		if (table[i].flags & ROUTE_BELOW)
			strncat(labels[i], "_id", LABEL_MAX - strlen(labels[i]) - 1);
		table[i].label = labels[i];
		while (slots[slot])
			slot = (slot + 1) % SLOT_COUNT;
		slots[slot] = (uint8_t)(i + 1);
	}
}

static const struct route *find_exactly(struct str path)
{
	for (size_t slot = slot_of(path); slots[slot]; slot = (slot + 1) % SLOT_COUNT) {
		const struct route *route = &table[slots[slot] - 1];

		if (str_equals(path, route->path))
			return route;
	}
	return NULL;
}

/* Whether a path lies below that of a route, or is a folder's without its slash. */
static bool is_below(const struct route *route, struct str path)
{
	const struct str top = str_of(route->path);

	return str_starts_with(path, top) ||
	       ((route->flags & ROUTE_FOLDER) && str_equal(path, str_first(top, top.length - 1)));
}

const struct route *route_find(struct str path)
{
	const struct route *route;

	(void)pthread_once(&prepared, prepare);
	route = find_exactly(path);
	if (route)
		return route->flags & ROUTE_BELOW ? NULL : route;
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if ((table[i].flags & (ROUTE_BELOW | ROUTE_FOLDER)) && is_below(&table[i], path))
			return &table[i];
	return NULL;
}

size_t route_count(void)
{
	return ARRAY_LENGTH(table);
}

const struct route *route_at(size_t index)
{
	assert(index < ARRAY_LENGTH(table));
	(void)pthread_once(&prepared, prepare);
	return &table[index];
}
