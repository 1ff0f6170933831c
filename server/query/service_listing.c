#include "server/query/service_listing.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "profile/intern.h"

#define NO_SERVICE UINT32_MAX

/* A type of a service. */
struct service_type {
	uint32_t service;
	struct str type;
};

struct listing {
	struct arena *arena;
	uint64_t secret; /* of all hashes */
	struct service_listing *out;
	struct intern services;
	size_t row_capacity;
	uint32_t *of_series; /* the service of a scan's series, or NO_SERVICE */
	size_t series_capacity;
	struct intern type_ids; /* (service, type) */
	struct service_type *types;
	size_t type_capacity;
};

/* ---- who a series is of ---- */

/* Allocations of GPU memory as other collectors tell them. */
static bool is_of_allocations(struct str id)
{
	struct profile_type type;
	struct error ignored;

	return profile_type_parse(id, &type, &ignored) == 0 &&
	       str_equals(type.sample_type, "malloc") && str_equals(type.sample_unit, "bytes");
}

static bool add_type(struct listing *listing, uint32_t service, struct str type)
{
	const struct hash128 hash = hash128_str(listing->secret, type);
	const uint64_t parts[] = { service, hash.low, hash.high };
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(listing->arena, listing->types, listing->type_ids.count,
	                listing->type_capacity))
		return false;
	id = intern_add(&listing->type_ids, listing->arena,
	                hash128(listing->secret, parts, sizeof(parts)), &is_new);
	if (id == INTERN_NONE)
		return false;
	if (!is_new)
		return true;
	listing->types[id] = (struct service_type){ service, arena_copy(listing->arena, type) };
	listing->out->rows[service].type_count++;
	return listing->types[id].type.data != NULL;
}

static bool begin_row(struct listing *listing, struct str name)
{
	struct service_listing *out = listing->out;
	struct service_row row = {
		.name = arena_copy(listing->arena, name),
		.first_ns = INT64_MAX,
		.last_ns = INT64_MIN,
		.profiles = arena_array(listing->arena, out->step_count, sizeof(int64_t)),
	};

	if (!row.name.data || !row.profiles ||
	    !ARENA_GROW(listing->arena, out->rows, out->count, listing->row_capacity))
		return false;
	out->rows[out->count++] = row;
	return true;
}

/* A series that is seen for the first time. NO_SERVICE: the arena is full. */
static uint32_t add_series(struct listing *listing, const struct label_set *labels)
{
	const struct str name = label_set_value(labels, STR("service_name"));
	const struct str type = label_set_value(labels, STR("__profile_type__"));
	struct service_row *row;
	bool is_new;
	const uint32_t service = intern_add(&listing->services, listing->arena,
	                                    hash128_str(listing->secret, name), &is_new);

	if (service == INTERN_NONE || (is_new && !begin_row(listing, name)) ||
	    !add_type(listing, service, type))
		return NO_SERVICE;
	row = &listing->out->rows[service];
	row->series++;
	row->is_gpu |= label_set_find(labels, STR("cuda_class")) || is_of_allocations(type);
	return service;
}

static uint32_t service_of(struct listing *listing, const struct store_point *point)
{
	while (point->series >= listing->series_capacity) {
		const size_t before = listing->series_capacity;

		if (!arena_grow(listing->arena, (void **)&listing->of_series,
		                sizeof(*listing->of_series), &listing->series_capacity))
			return NO_SERVICE;
		for (size_t i = before; i < listing->series_capacity; i++)
			listing->of_series[i] = NO_SERVICE;
	}
	if (listing->of_series[point->series] == NO_SERVICE)
		listing->of_series[point->series] = add_series(listing, point->labels);
	return listing->of_series[point->series];
}

/* ---- profiles ---- */

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct listing *listing = context;
	const uint32_t service = service_of(listing, point);
	const struct service_listing *out = listing->out;
	struct service_row *row;
	size_t step;

	if (service == NO_SERVICE)
		return arena_error(listing->arena, err);
	row = &out->rows[service];
	step = (size_t)((point->time_unix_ns / NS_PER_MS - out->start_ms) / out->step_ms);
	row->profiles[step < out->step_count ? step : out->step_count - 1]++;
	if (point->time_unix_ns < row->first_ns)
		row->first_ns = point->time_unix_ns;
	if (point->time_unix_ns > row->last_ns)
		row->last_ns = point->time_unix_ns;
	return 0;
}

/* ---- the list ---- */

static int compare_texts(const void *left, const void *right)
{
	return str_compare(*(const struct str *)left, *(const struct str *)right);
}

/* Gives each service the types that were told of it. */
static int take_types(struct listing *listing, struct error *err)
{
	struct service_listing *out = listing->out;
	struct str **ends = arena_array(listing->arena, out->count + 1, sizeof(struct str *));
	struct str *all =
		arena_array(listing->arena, listing->type_ids.count + (size_t)1, sizeof(*all));

	if (!ends || !all)
		return arena_error(listing->arena, err);
	for (size_t i = 0; i < out->count; i++) {
		out->rows[i].types = ends[i] = all;
		all += out->rows[i].type_count;
	}
	for (uint32_t i = 0; i < listing->type_ids.count; i++)
		*ends[listing->types[i].service]++ = listing->types[i].type;
	for (size_t i = 0; i < out->count; i++)
		qsort(ends[i] - out->rows[i].type_count, out->rows[i].type_count,
		      sizeof(struct str), compare_texts);
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct service_row *a = left;
	const struct service_row *b = right;

	if (a->is_gpu != b->is_gpu)
		return a->is_gpu ? -1 : 1;
	if (a->last_ns != b->last_ns)
		return a->last_ns > b->last_ns ? -1 : 1;
	return str_compare(a->name, b->name);
}

int service_listing_make(const struct read_query *query, size_t steps, struct service_listing *out,
                         struct error *err)
{
	const struct store_query question = read_query_store(query);
	const int64_t length_ms = query->end_ms - query->start_ms + 1;
	struct listing listing = { .arena = query->context.arena, .out = out };
	const struct uuid random = uuid_random();

	memcpy(&listing.secret, random.bytes, sizeof(listing.secret));
	*out = (struct service_listing){
		.start_ms = query->start_ms,
		.step_ms = (length_ms + (int64_t)steps - 1) / (int64_t)steps,
		.step_count = steps,
	};
	if (query->nothing)
		return 0;
	if (store_scan(query->context.store, &question, add_point, &listing, err) < 0 ||
	    take_types(&listing, err) < 0)
		return -1;
	if (out->count > 1)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_rows);
	return 0;
}
