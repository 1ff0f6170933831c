#include "base/json.h"
#include "base/uuid.h"
#include "profile/ingest_run.h"

#define BUILD_ID_MAX (1 << 20) /* bytes of a build id with its source; labels are shorter */

/* ---- locations and mappings ---- */

static bool is_bad(const struct profile *profile, const struct profile_location *location)
{
	if (location->line_count == 0 && location->address == 0)
		return true;
	if (location->mapping >= profile->mapping_count && location->mapping != PROFILE_NONE)
		return true;
	for (uint32_t i = 0; i < location->line_count; i++)
		if (profile->lines[location->first_line + i].function >= profile->function_count)
			return true;
	return false;
}

/* Marks the locations whose samples are dropped. */
static int find_bad_locations(struct ingest_run *run, struct error *err)
{
	struct profile *profile = run->profile;

	for (size_t i = 0; i < profile->location_count; i++) {
		if (!is_bad(profile, &profile->locations[i]))
			continue;
		if (!run->bad_locations)
			run->bad_locations = arena_alloc(run->arena, profile->location_count);
		if (!run->bad_locations)
			return arena_error(run->arena, err);
		run->bad_locations[i] = 1;
	}
	return 0;
}

/* Where functions are known, addresses say nothing and differ from start to start. */
static void drop_addresses(struct profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++) {
		struct profile_location *location = &profile->locations[i];

		if (location->mapping < profile->mapping_count &&
		    (profile->mappings[location->mapping].flags & PROFILE_HAS_FUNCTIONS))
			location->address = 0;
	}
	for (size_t i = 0; i < profile->mapping_count; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];

		if (mapping->flags & PROFILE_HAS_FUNCTIONS)
			mapping->start = mapping->limit = mapping->offset = 0;
	}
}

/* ---- build ids ---- */

struct source {
	struct str repository;
	struct str git_ref;
	struct str root_path;
};

static void put_member(struct json_writer *writer, const char *key, struct str value)
{
	if (value.length == 0)
		return;
	json_key(writer, key);
	json_put_text(writer, value);
}

/* The build id and where its source lies, as one JSON text in the arena. */
static struct str source_text(const struct source *source, struct str build_id, struct arena *arena)
{
	struct json_writer writer;
	struct strbuf buf;
	struct str text;

	strbuf_init(&buf, BUILD_ID_MAX);
	json_writer_init(&writer, &buf);
	json_begin_map(&writer);
	put_member(&writer, "repository", source->repository);
	put_member(&writer, "git_ref", source->git_ref);
	put_member(&writer, "build_id", build_id);
	put_member(&writer, "root_path", source->root_path);
	json_end_map(&writer);
	text = arena_copy(arena, strbuf_view(&buf));
	strbuf_fini(&buf);
	return text;
}

static bool has_bare_location(const struct profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].mapping == PROFILE_NONE)
			return true;
	return false;
}

/* A mapping that knows nothing, for locations without one; it may have a source too. */
static bool add_empty_mapping(struct profile *profile)
{
	const size_t size = profile->mapping_count * sizeof(*profile->mappings);
	struct profile_mapping *grown = arena_resize(profile->arena, profile->mappings, size,
	                                             size + sizeof(*profile->mappings));

	if (!grown)
		return false;
	grown[profile->mapping_count] = (struct profile_mapping){ 0 };
	profile->mappings = grown;
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].mapping == PROFILE_NONE)
			profile->locations[i].mapping = (uint32_t)profile->mapping_count;
	profile->mapping_count++;
	return true;
}

static bool put_sources(struct profile *profile, const struct source *source)
{
	const size_t size = profile->string_count * sizeof(*profile->strings);
	struct str *strings =
		arena_resize(profile->arena, profile->strings, size,
	                     size + profile->mapping_count * sizeof(*profile->strings));

	if (!strings)
		return false;
	profile->strings = strings;
	for (size_t i = 0; i < profile->mapping_count; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];

		strings[profile->string_count] =
			source_text(source, strings[mapping->build_id], profile->arena);
		mapping->build_id = (uint32_t)profile->string_count++;
	}
	return !arena_overflowed(profile->arena);
}

/* Step F: mappings say where their source is, when the request's labels do. */
static int enrich_build_ids(struct ingest_run *run, struct error *err)
{
	const struct source source = {
		.repository = label_set_value(&run->labels, STR("service_repository")),
		.git_ref = label_set_value(&run->labels, STR("service_git_ref")),
		.root_path = label_set_value(&run->labels, STR("service_root_path")),
	};

	if (source.repository.length + source.git_ref.length + source.root_path.length == 0)
		return 0;
	if ((has_bare_location(run->profile) && !add_empty_mapping(run->profile)) ||
	    !put_sources(run->profile, &source))
		return arena_error(run->arena, err);
	return 0;
}

int ingest_repair(struct ingest_run *run, struct error *err)
{
	if (find_bad_locations(run, err) < 0)
		return -1;
	drop_addresses(run->profile);
	return enrich_build_ids(run, err);
}

/* ---- samples ---- */

/* Whether the values say anything: none is negative, one is positive. */
static bool has_value(const int64_t *values, size_t count)
{
	int64_t any = 0;

	for (size_t i = 0; i < count; i++)
		any |= values[i];
	return any > 0;
}

static bool has_good_stack(const struct ingest_run *run, const struct profile_sample *sample)
{
	const uint32_t *frames;
	uint32_t greatest = 0;

	if (sample->depth == 0)
		return true;
	frames = run->profile->stacks + sample->first_frame;
	for (uint32_t i = 0; i < sample->depth; i++)
		greatest = frames[i] > greatest ? frames[i] : greatest;
	if (greatest >= run->profile->location_count)
		return false;
	for (uint32_t i = 0; run->bad_locations && i < sample->depth; i++)
		if (run->bad_locations[frames[i]])
			return false;
	return true;
}

/* Whether the rows of both sets are rows of one series, span and trace. */
static bool sets_agree(const struct ingest_run *run, uint32_t a, uint32_t b)
{
	const struct ingest_set *left = &run->sets[a];
	const struct ingest_set *right = &run->sets[b];

	return a == b || (left->group == right->group && left->span_id == right->span_id &&
	                  memcmp(left->trace_id, right->trace_id, TRACE_ID_SIZE) == 0);
}

static bool row_is(const struct ingest_run *run, const struct ingest_row *row,
                   const struct profile_sample *sample, uint32_t set)
{
	const uint32_t *stacks = run->profile->stacks;

	return row->depth == sample->depth && sets_agree(run, row->set, set) &&
	       (sample->depth == 0 ||
	        memcmp(stacks + row->first_frame, stacks + sample->first_frame,
	               sample->depth * sizeof(*stacks)) == 0);
}

static uint64_t row_hash(const struct ingest_run *run, const struct profile_sample *sample,
                         uint32_t set, uint64_t key)
{
	const struct ingest_set *labels = &run->sets[set];
	uint64_t traces[2];

	memcpy(traces, labels->trace_id, sizeof(traces));
	key += labels->group + labels->span_id * UINT64_C(0x9e3779b97f4a7c15) +
	       (traces[0] ^ traces[1]) * UINT64_C(0xbf58476d1ce4e5b9);
	if (sample->depth == 0)
		return hash64(key, NULL, 0);
	return hash64(key, run->profile->stacks + sample->first_frame,
	              sample->depth * sizeof(*run->profile->stacks));
}

/* Adds the values of sample `from` to those of `to`; sums wrap. */
static void add_values(struct profile *profile, size_t to, size_t from)
{
	const size_t types = profile->sample_type_count;

	for (size_t i = 0; i < types; i++)
		profile->values[to * types + i] =
			(int64_t)((uint64_t)profile->values[to * types + i] +
		                  (uint64_t)profile->values[from * types + i]);
}

/* Makes sample `index` a row, or adds it to the one that it equals. */
static int add_row(struct ingest_run *run, struct number_map *rows, size_t index, struct error *err)
{
	const struct profile_sample *sample = &run->profile->samples[index];
	uint32_t set;

	if (ingest_find_set(run, index, &set, err) < 0)
		return -1;
	/*
	 * Another hash is tried when two contents share one: rows merge by content alone.
	 */
	for (uint64_t hash = row_hash(run, sample, set, rows->key);; hash++) {
		uint32_t *row = number_map_at(rows, hash);

		if (!row)
			return arena_error(run->arena, err);
		if (*row == NUMBER_MAP_NONE) {
			*row = (uint32_t)run->row_count;
			run->rows[run->row_count++] = (struct ingest_row){
				.first_frame = sample->first_frame,
				.depth = sample->depth,
				.set = set,
				.sample = (uint32_t)index,
			};
			return 0;
		}
		if (row_is(run, &run->rows[*row], sample, set)) {
			add_values(run->profile, run->rows[*row].sample, index);
			return 0;
		}
	}
}

int ingest_collect_rows(struct ingest_run *run, struct error *err)
{
	const struct profile *profile = run->profile;
	const size_t types = profile->sample_type_count;
	struct number_map rows;

	run->rows = arena_array_raw(run->arena, profile->sample_count, sizeof(*run->rows));
	if (!run->rows || !number_map_init(&rows, run->arena, profile->sample_count))
		return arena_error(run->arena, err);
	for (size_t i = 0; i < profile->sample_count; i++) {
		if (!has_value(profile->values + i * types, types) ||
		    !has_good_stack(run, &profile->samples[i]))
			continue;
		if (add_row(run, &rows, i, err) < 0)
			return -1;
	}
	return 0;
}
