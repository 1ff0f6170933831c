#include "profile/ingest_run.h"
#include "profile/profile_type.h"

#define ADDED_LABELS 6 /* that a series has beside those of its group */

/* The labels that tell the series of one sample type, sorted. */
struct type_labels {
	struct label labels[ADDED_LABELS];
};

/* ---- labels ---- */

static struct profile_type type_of(const struct profile *profile, const struct label_set *group,
                                   size_t index)
{
	const struct profile_value_type *type = &profile->sample_types[index];
	const struct str *name = label_set_find(group, STR("__name__"));
	struct profile_type id = {
		.name = name ? *name : STR(""),
		.sample_type = profile_string(profile, type->type),
		.sample_unit = profile_string(profile, type->unit),
		.period_type = STR(""),
		.period_unit = STR(""),
	};

	if (profile->has_period_type) {
		id.period_type = profile_string(profile, profile->period_type.type);
		id.period_unit = profile_string(profile, profile->period_type.unit);
	}
	return id;
}

static int make_type_labels(struct ingest_run *run, const struct label_set *group, size_t index,
                            struct type_labels *out, struct error *err)
{
	const struct str *service_name = label_set_find(group, STR("service_name"));
	const struct profile_type id = type_of(run->profile, group, index);
	const struct str id_text = profile_type_id(&id, run->arena);

	if (!id_text.data)
		return arena_error(run->arena, err);
	*out = (struct type_labels){ {
		{ STR("__period_type__"), id.period_type },
		{ STR("__period_unit__"), id.period_unit },
		{ STR("__profile_type__"), id_text },
		{ STR("__service_name__"), service_name ? *service_name : STR("") },
		{ STR("__type__"), id.sample_type },
		{ STR("__unit__"), id.sample_unit },
	} };
	return 0;
}

static bool is_transient(struct str name)
{
	return str_equals(name, "__delta__") || str_equals(name, "__order__");
}

/* Joins both sets; what is added wins, and is left out when it is empty. */
static int join_labels(struct ingest_run *run, const struct label_set *group,
                       const struct type_labels *added, struct label_set *out, struct error *err)
{
	struct label_set set = { 0 };
	size_t next = 0;

	set.labels = arena_array_raw(run->arena, group->count + ADDED_LABELS, sizeof(*set.labels));
	if (!set.labels)
		return arena_error(run->arena, err);
	for (size_t i = 0; i <= group->count; i++) {
		const struct label *own = i < group->count ? &group->labels[i] : NULL;
		bool replaced = false;

		for (; next < ADDED_LABELS; next++) {
			const struct label *label = &added->labels[next];
			const int order = own ? str_compare(label->name, own->name) : -1;

			if (order > 0)
				break;
			replaced |= order == 0 && label->value.length > 0;
			if (label->value.length > 0)
				set.labels[set.count++] = *label;
		}
		if (own && !replaced && !is_transient(own->name))
			set.labels[set.count++] = *own;
	}
	*out = set;
	return 0;
}

/* ---- values ---- */

static int64_t *row_values(const struct ingest_run *run, const struct ingest_row *row)
{
	return run->profile->values + row->sample * run->profile->sample_type_count;
}

/* Sums may have wrapped: what is not positive then does not count. */
static bool clamp_values(int64_t *values, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		values[i] = values[i] > 0 ? values[i] : 0;
		any |= values[i] > 0;
	}
	return any;
}

/*
 * A sample type that is there twice is one series: the values of the later ones move to
 * the first.
 */
static int fold_equal_types(struct ingest_run *run, struct error *err)
{
	const struct profile *profile = run->profile;
	struct number_map types;

	if (profile->sample_type_count < 2)
		return 0;
	if (!number_map_init(&types, run->arena, profile->sample_type_count))
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < profile->sample_type_count; i++) {
		const struct str type = profile_string(profile, profile->sample_types[i].type);
		const struct str unit = profile_string(profile, profile->sample_types[i].unit);
		const uint64_t hash =
			hash64(hash64(types.key, type.data, type.length), unit.data, unit.length);
		uint32_t *first = number_map_at(&types, hash);

		if (!first)
			return arena_error(run->arena, err);
		if (*first == NUMBER_MAP_NONE)
			*first = i;
		for (size_t j = 0; *first != i && j < run->row_count; j++) {
			int64_t *values = row_values(run, &run->rows[j]);

			values[*first] = (int64_t)((uint64_t)values[*first] + (uint64_t)values[i]);
			values[i] = 0;
		}
	}
	return 0;
}

/* ---- groups ---- */

/* Drops rows without a positive value and sorts the rest by group, in their order. */
static int sort_rows(struct ingest_run *run, struct error *err)
{
	const size_t types = run->profile->sample_type_count;
	uint32_t *next = arena_array(run->arena, run->group_count + 1, sizeof(*next));
	struct ingest_row *sorted = arena_array_raw(run->arena, run->row_count, sizeof(*sorted));
	size_t kept = 0;

	if (!next || !sorted)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < run->row_count; i++) {
		const struct ingest_row row = run->rows[i];

		if (!clamp_values(row_values(run, &row), types))
			continue;
		run->rows[kept++] = row;
		run->groups[run->sets[row.set].group].row_count++;
	}
	run->row_count = kept;
	for (size_t i = 0; i < run->group_count; i++)
		next[i + 1] = next[i] + run->groups[i].row_count;
	for (size_t i = 0; i < run->row_count; i++)
		sorted[next[run->sets[run->rows[i].set].group]++] = run->rows[i];
	run->rows = sorted;
	return 0;
}

/* Appends the series of a sample type with a value for each row of `out`. */
static int put_series(struct ingest_run *run, const struct label_set *labels, size_t type,
                      const int64_t *values, struct series_profile *out, struct error *err)
{
	struct stored_series *series = &out->series[out->series_count];
	struct type_labels added = { 0 };
	uint64_t total = 0;

	for (size_t i = 0; i < out->row_count; i++)
		total += (uint64_t)values[i];
	if (make_type_labels(run, labels, type, &added, err) < 0 ||
	    join_labels(run, labels, &added, &series->labels, err) < 0)
		return -1;
	series->values = values;
	series->total = (int64_t)total;
	out->series_count++;
	return 0;
}

static int add_series(struct ingest_run *run, const struct ingest_group *group,
                      const struct ingest_row *rows, size_t type, struct series_profile *out,
                      struct error *err)
{
	bool any = false;
	int64_t *values;

	for (size_t i = 0; i < group->row_count && !any; i++)
		any = row_values(run, &rows[i])[type] > 0;
	if (!any)
		return 0;
	values = arena_array_raw(run->arena, group->row_count, sizeof(*values));
	if (!values)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < group->row_count; i++)
		values[i] = row_values(run, &rows[i])[type];
	return put_series(run, &group->labels, type, values, out, err);
}

/* Spans and traces stand beside the rows only where a row has one. */
static int add_spans(struct ingest_run *run, const struct ingest_row *rows, size_t count,
                     struct series_profile *out, struct error *err)
{
	static const uint8_t no_trace[TRACE_ID_SIZE];
	uint64_t *spans = NULL;
	uint8_t(*traces)[TRACE_ID_SIZE] = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct ingest_set *set = &run->sets[rows[i].set];
		const bool has_trace = memcmp(set->trace_id, no_trace, TRACE_ID_SIZE) != 0;

		if (set->span_id != 0 && !spans)
			spans = arena_array(run->arena, count, sizeof(*spans));
		if (has_trace && !traces)
			traces = arena_array(run->arena, count, sizeof(*traces));
		if ((set->span_id != 0 && !spans) || (has_trace && !traces))
			return arena_error(run->arena, err);
		if (set->span_id != 0)
			spans[i] = set->span_id;
		if (has_trace)
			memcpy(traces[i], set->trace_id, TRACE_ID_SIZE);
	}
	out->span_ids = spans;
	out->trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])traces;
	return 0;
}

/* Two uploads of one profile have one origin; without a time of its own it has none. */
static struct hash128 origin_of(const struct ingest_run *run, const struct label_set *labels,
                                struct hash128 payload)
{
	struct hash128 parts[4];

	if (run->sent_unix_ns == 0)
		return (struct hash128){ 0, 0 };
	parts[0] = label_set_fingerprint(labels, 0);
	parts[1] = hash128_str(0, run->request->sender_id);
	parts[2] = payload;
	parts[3] = (struct hash128){ (uint64_t)run->sent_unix_ns, 0 };
	return hash128(0, parts, sizeof(parts));
}

static void begin_profile(const struct ingest_run *run, const struct label_set *labels,
                          struct hash128 payload, struct series_profile *out)
{
	out->profile = run->profile;
	out->time_unix_ns = run->profile->time_unix_ns;
	out->duration_ns = run->profile->duration_ns > 0 ? run->profile->duration_ns : 0;
	out->id = uuid_random();
	out->origin = origin_of(run, labels, payload);
}

static int make_profile(struct ingest_run *run, const struct ingest_group *group,
                        const struct ingest_row *rows, struct hash128 payload,
                        struct series_profile *out, struct error *err)
{
	const struct profile *profile = run->profile;
	struct stored_row *stored = arena_array_raw(run->arena, group->row_count, sizeof(*stored));

	out->series = arena_array(run->arena, profile->sample_type_count, sizeof(*out->series));
	if (!stored || !out->series)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < group->row_count; i++)
		stored[i] = (struct stored_row){ rows[i].first_frame, rows[i].depth };
	begin_profile(run, &group->labels, payload, out);
	out->rows = stored;
	out->row_count = group->row_count;
	for (size_t i = 0; i < profile->sample_type_count; i++)
		if (add_series(run, group, rows, i, out, err) < 0)
			return -1;
	return add_spans(run, rows, group->row_count, out, err);
}

/* ---- ticks ---- */

/*
 * Whether it says that a gauge was looked at and is zero: it has types of gauges alone and
 * no sample at all. Of deltas nothing is nothing.
 */
static bool is_tick(const struct ingest_run *run, const struct label_set *labels)
{
	const struct profile *profile = run->profile;

	if (profile->sample_count > 0 || run->request->input->samples_sent > 0)
		return false;
	for (size_t i = 0; i < profile->sample_type_count; i++) {
		const struct profile_type type = type_of(profile, labels, i);

		if (!profile_type_is_instant(&type))
			return false;
	}
	return true;
}

/* One row without a stack, of zeros: means over time must know that there was a tick. */
static int make_tick(struct ingest_run *run, struct hash128 payload, struct ingest_result *out,
                     struct error *err)
{
	const struct label_set none = { 0 };
	struct series_profile *tick;
	struct stored_row *row;
	struct label_set labels;
	int64_t *zero;

	if (!is_tick(run, &run->labels))
		return 0;
	tick = arena_alloc(run->arena, sizeof(*tick));
	row = arena_alloc(run->arena, sizeof(*row));
	zero = arena_alloc(run->arena, sizeof(*zero));
	if (!tick || !row || !zero)
		return arena_error(run->arena, err);
	if (ingest_join_labels(run, &none, &labels, err) < 0)
		return -1;
	begin_profile(run, &labels, payload, tick);
	tick->rows = row;
	tick->row_count = 1;
	tick->series =
		arena_array(run->arena, run->profile->sample_type_count, sizeof(*tick->series));
	if (!tick->series)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < run->profile->sample_type_count; i++)
		if (put_series(run, &labels, i, zero, tick, err) < 0)
			return -1;
	out->profiles = tick;
	out->count = 1;
	return 0;
}

int ingest_make_series(struct ingest_run *run, struct ingest_result *out, struct error *err)
{
	const struct ingest_row *rows;
	struct series_profile *profiles;
	struct hash128 payload = { 0, 0 };
	size_t count = 0;

	if (run->sent_unix_ns != 0)
		payload = hash128_str(0, run->request->payload);
	if (run->row_count == 0)
		return make_tick(run, payload, out, err);
	if (fold_equal_types(run, err) < 0 || sort_rows(run, err) < 0)
		return -1;
	profiles = arena_array(run->arena, run->group_count, sizeof(*profiles));
	if (!profiles)
		return arena_error(run->arena, err);
	rows = run->rows;
	for (size_t i = 0; i < run->group_count; i++) {
		const struct ingest_group *group = &run->groups[i];

		if (group->row_count == 0)
			continue;
		if (make_profile(run, group, rows, payload, &profiles[count], err) < 0)
			return -1;
		rows += group->row_count;
		count++;
	}
	out->profiles = profiles;
	out->count = count;
	return 0;
}
