#include "fake_store.h"

#include <assert.h>
#include <string.h>

#include "profile/stack_paths.h"

#define LABELS_MAX 16
#define FRAMES_MAX 512

/* Labels of a profile; views into its text. */
struct fake_labels {
	struct label items[LABELS_MAX];
	struct label_set set;
};

static void labels_of(const struct fake_profile *profile, struct fake_labels *out)
{
	struct str rest = str_of(profile->labels);
	struct str pair;

	out->set = (struct label_set){ .labels = out->items };
	while (str_split(&rest, ',', &pair)) {
		const ptrdiff_t equals = str_index(pair, '=');

		assert(equals > 0 && out->set.count < LABELS_MAX);
		out->items[out->set.count].name = str_first(pair, (size_t)equals);
		out->items[out->set.count++].value = str_skip(pair, (size_t)equals + 1);
	}
	label_set_sort(&out->set);
}

static bool matches(const struct store_query *query, const struct fake_profile *profile,
                    struct fake_labels *labels)
{
	labels_of(profile, labels);
	return profile->time_unix_ns >= query->range.start_unix_ns &&
	       profile->time_unix_ns <= query->range.end_unix_ns &&
	       selector_matches(query->selector, &labels->set);
}

/* The first profile with the same labels: a number for the series. */
static uint32_t series_of(const struct fake_store *fake, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(fake->profiles[i].labels, fake->profiles[index].labels) == 0)
			return (uint32_t)i;
	return (uint32_t)index;
}

static int fake_series(struct store *store, const struct store_query *query,
                       store_series_visitor visit, void *context, struct error *err)
{
	const struct fake_store *fake = (const struct fake_store *)store;
	bool seen[FRAMES_MAX] = { false };
	struct fake_labels labels;

	for (size_t i = 0; i < fake->count; i++) {
		const uint32_t series = series_of(fake, i);

		if (!matches(query, &fake->profiles[i], &labels) || seen[series])
			continue;
		seen[series] = true;
		if (visit(context, &labels.set, err) < 0)
			return -1;
	}
	return 0;
}

struct fake_texts {
	struct str name; /* of values; no data: names are asked for */
	store_text_visitor visit;
	void *context;
};

static int fake_text(void *context, const struct label_set *labels, struct error *err)
{
	const struct fake_texts *texts = context;

	for (size_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->labels[i];

		if (texts->name.data && !str_equal(label->name, texts->name))
			continue;
		if (texts->visit(texts->context, texts->name.data ? label->value : label->name,
		                 err) < 0)
			return -1;
	}
	return 0;
}

static int fake_label_names(struct store *store, const struct store_query *query,
                            store_text_visitor visit, void *context, struct error *err)
{
	struct fake_texts texts = { .visit = visit, .context = context };

	return fake_series(store, query, fake_text, &texts, err);
}

static int fake_label_values(struct store *store, const struct store_query *query, struct str name,
                             store_text_visitor visit, void *context, struct error *err)
{
	struct fake_texts texts = { name, visit, context };

	return fake_series(store, query, fake_text, &texts, err);
}

static int fake_scan(struct store *store, const struct store_query *query,
                     store_point_visitor visit, void *context, struct error *err)
{
	struct fake_store *fake = (struct fake_store *)store;
	static const struct uuid id = { { 0 } };
	struct fake_labels labels;

	fake->scans++;
	for (size_t i = 0; i < fake->count; i++) {
		const struct store_point point = {
			.series = series_of(fake, i),
			.labels = &labels.set,
			.time_unix_ns = fake->profiles[i].time_unix_ns,
			.total = fake->profiles[i].total,
			.profile_id = &id,
		};

		if (matches(query, &fake->profiles[i], &labels) && visit(context, &point, err) < 0)
			return -1;
	}
	return 0;
}

/* Symbols in which profile i has function i, and stack i + 1 of one frame. */
struct fake_symbols {
	struct str strings[FRAMES_MAX + 1];
	struct symbol_function functions[FRAMES_MAX];
	struct symbol_line lines[FRAMES_MAX];
	struct symbol_location locations[FRAMES_MAX];
	struct symbol_stack stacks[FRAMES_MAX + 1];
	struct str *string_chunks[1];
	struct symbol_function *function_chunks[1];
	struct symbol_line *line_chunks[1];
	struct symbol_location *location_chunks[1];
	struct symbol_stack *stack_chunks[1];
	struct symbols symbols;
};

static void symbols_of(const struct fake_store *fake, struct fake_symbols *out)
{
	const uint32_t count = (uint32_t)fake->count;

	memset(out, 0, sizeof(*out));
	out->strings[0] = STR("");
	for (uint32_t i = 0; i < count; i++) {
		out->strings[i + 1] = str_of(fake->profiles[i].frame);
		out->functions[i].name = i + 1;
		out->lines[i].function = i;
		out->locations[i] = (struct symbol_location){ .mapping = PROFILE_NONE,
			                                      .first_line = i,
			                                      .line_count = 1 };
		out->stacks[i + 1] = (struct symbol_stack){ 0, i };
	}
	out->string_chunks[0] = out->strings;
	out->function_chunks[0] = out->functions;
	out->line_chunks[0] = out->lines;
	out->location_chunks[0] = out->locations;
	out->stack_chunks[0] = out->stacks;
	out->symbols = (struct symbols){
		.strings = out->string_chunks,
		.functions = out->function_chunks,
		.locations = out->location_chunks,
		.lines = out->line_chunks,
		.stacks = out->stack_chunks,
		.string_count = count + 1,
		.function_count = count,
		.location_count = count,
		.line_count = count,
		.stack_count = count + 1,
	};
}

/* Whether a profile belongs to `part`. */
static bool in_part(const struct store_parts *parts, uint32_t part,
                    const struct fake_profile *profile, const struct label_set *labels)
{
	if (!parts)
		return true;
	if (parts->part_of(parts->context, labels) != part)
		return false;
	return !parts->ranges || (profile->time_unix_ns >= parts->ranges[part].start_unix_ns &&
	                          profile->time_unix_ns <= parts->ranges[part].end_unix_ns);
}

static int fake_merge(struct store *store, const struct store_query *query,
                      const struct store_parts *parts, store_sums_visitor visit, void *context,
                      struct error *err)
{
	struct fake_store *fake = (struct fake_store *)store;
	const uint32_t part_count = parts ? (uint32_t)parts->count : 1;
	struct fake_symbols symbols;

	fake->merges++;
	symbols_of(fake, &symbols);
	for (uint32_t part = 0; part < part_count; part++) {
		uint32_t stacks[FRAMES_MAX];
		int64_t sums[FRAMES_MAX];
		struct stack_sums result = { &symbols.symbols, part, stacks, sums, 0 };
		struct fake_labels labels;

		for (size_t i = 0; i < fake->count; i++) {
			const struct fake_profile *profile = &fake->profiles[i];

			if (!matches(query, profile, &labels) || profile->total == 0 ||
			    !in_part(parts, part, profile, &labels.set))
				continue;
			stacks[result.count] = (uint32_t)i + 1;
			sums[result.count++] = profile->total;
		}
		if (result.count > 0 && visit(context, &result, err) < 0)
			return -1;
	}
	return 0;
}

/* Sums on their way to paths. */
struct fake_paths {
	struct path_table *table;
	store_paths_visitor visit;
	void *context;
};

static int fake_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	const struct fake_paths *paths = context;
	struct arena *arena = arena_new((size_t)1 << 20, NULL);
	struct stack_paths *own = stack_paths_new(paths->table);
	struct path_sums by_path;
	int result = stack_paths_of_sums(own, paths->table, sums, arena, &by_path, err);

	if (result == 0)
		result = paths->visit(paths->context, &by_path, err);
	stack_paths_release(own);
	arena_free(arena);
	return result;
}

static int fake_merge_paths(struct store *store, const struct store_query *query,
                            const struct store_parts *parts, store_paths_visitor visit,
                            void *context, struct error *err)
{
	struct fake_paths paths = { path_table_new(1, NULL), visit, context };
	const int result = fake_merge(store, query, parts, fake_sums, &paths, err);

	path_table_release(paths.table);
	return result;
}

static int fake_scan_samples(struct store *store, const struct store_query *query,
                             store_samples_visitor visit, void *context, struct error *err)
{
	struct fake_store *fake = (struct fake_store *)store;
	struct fake_symbols symbols;
	struct fake_labels labels;

	fake->scans++;
	symbols_of(fake, &symbols);
	for (size_t i = 0; i < fake->count; i++) {
		const uint32_t stack = (uint32_t)i + 1;
		const struct store_samples samples = {
			.series = series_of(fake, i),
			.labels = &labels.set,
			.time_unix_ns = fake->profiles[i].time_unix_ns,
			.symbols = &symbols.symbols,
			.stacks = &stack,
			.values = &fake->profiles[i].total,
			.count = fake->profiles[i].total != 0,
		};

		if (matches(query, &fake->profiles[i], &labels) &&
		    visit(context, &samples, err) < 0)
			return -1;
	}
	return 0;
}

static int fake_stats(struct store *store, struct str tenant, struct store_stats *out,
                      struct error *err)
{
	const struct fake_store *fake = (const struct fake_store *)store;

	(void)tenant;
	(void)err;
	*out = (struct store_stats){ .any = fake->count > 0 };
	for (size_t i = 0; i < fake->count; i++) {
		const int64_t time_ns = fake->profiles[i].time_unix_ns;

		if (i == 0 || time_ns < out->oldest_unix_ns)
			out->oldest_unix_ns = time_ns;
		if (i == 0 || time_ns > out->newest_unix_ns)
			out->newest_unix_ns = time_ns;
	}
	return 0;
}

static const struct store_operations operations = {
	.series = fake_series,
	.label_names = fake_label_names,
	.label_values = fake_label_values,
	.scan = fake_scan,
	.scan_samples = fake_scan_samples,
	.merge = fake_merge,
	.merge_paths = fake_merge_paths,
	.stats = fake_stats,
};

void fake_store_init(struct fake_store *fake, const struct fake_profile *profiles, size_t count)
{
	assert(count <= FRAMES_MAX);
	*fake = (struct fake_store){
		.store = { &operations },
		.profiles = profiles,
		.count = count,
	};
}
