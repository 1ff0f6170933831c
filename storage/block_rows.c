#include "storage/block_rows.h"

#include "storage/block_ids.h"

#define NOWHERE UINT32_MAX

/* What is being filled, and room for one stack. */
struct filler {
	const struct block_detail *detail;
	uint32_t profile_count; /* asked for */
	uint32_t *numbers;      /* of each profile of the block among those; or NOWHERE */
	uint32_t *firsts;       /* profile_count + 2: see count_rows() */
	uint32_t *stacks;       /* one a row */
	int64_t **values;
	struct block_series *series;
	size_t series_count;
	const uint8_t *span_ids; /* of all rows of the block, in its order; or NULL */
	const uint8_t *trace_ids;
	uint64_t *out_span_ids;
	uint8_t (*out_trace_ids)[TRACE_ID_SIZE];
	uint32_t *members; /* profiles of a stack, then where its rows go */
	int64_t *run;      /* its values */
};

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "detail of a block is damaged: %s", what);
}

static int number_profiles(struct filler *filler, const struct block_span *spans, size_t span_count,
                           struct arena *arena, struct error *err)
{
	const uint32_t count = filler->detail->profile_count;
	uint32_t last = 0;

	filler->numbers = arena_array_raw(arena, count, sizeof(*filler->numbers));
	if (!filler->numbers)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < count; i++)
		filler->numbers[i] = NOWHERE;
	for (size_t i = 0; i < span_count; i++) {
		if (spans[i].first < last || spans[i].end < spans[i].first || spans[i].end > count)
			return damaged(err, "spans of profiles that are not there");
		for (uint32_t j = spans[i].first; j < spans[i].end; j++)
			filler->numbers[j] = filler->profile_count++;
		last = spans[i].end;
	}
	return 0;
}

/*
 * Fills firsts so that firsts[i + 1] is where profile i begins: placing its rows moves it
 * to where the next one begins, and firsts is right then.
 */
static int count_rows(struct filler *filler, struct arena *arena, struct error *err)
{
	const struct block_detail *detail = filler->detail;
	uint32_t *firsts = arena_array(arena, (size_t)filler->profile_count + 2, sizeof(*firsts));

	if (!firsts)
		return arena_error(arena, err);
	for (uint32_t place = 0; place < detail->stack_count; place++) {
		const uint32_t count = block_presence_count(&detail->presence, place);

		block_presence_members(&detail->presence, place, filler->members);
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t number = filler->numbers[filler->members[i]];

			if (number != NOWHERE)
				firsts[number + 2]++;
		}
	}
	for (uint32_t i = 0; i < filler->profile_count; i++)
		firsts[i + 2] += firsts[i + 1];
	filler->firsts = firsts;
	return 0;
}

static int decode_ids(struct filler *filler, struct arena *arena, struct error *err)
{
	const struct block_detail *detail = filler->detail;
	uint8_t *ids;

	if (detail->spans.data) {
		if (block_ids_decode(detail->spans, sizeof(uint64_t), detail->row_count, arena,
		                     &ids, err) < 0)
			return -1;
		filler->span_ids = ids;
	}
	if (detail->traces.data) {
		if (block_ids_decode(detail->traces, TRACE_ID_SIZE, detail->row_count, arena, &ids,
		                     err) < 0)
			return -1;
		filler->trace_ids = ids;
	}
	return 0;
}

static int make_room(struct filler *filler, const uint32_t *series, struct arena *arena,
                     struct error *err)
{
	const size_t rows = filler->firsts[filler->profile_count + 1];

	filler->stacks = arena_array_raw(arena, rows, sizeof(*filler->stacks));
	filler->values = arena_array_raw(arena, filler->series_count, sizeof(*filler->values));
	filler->series = arena_array_raw(arena, filler->series_count, sizeof(*filler->series));
	filler->out_span_ids =
		arena_array_raw(arena, filler->span_ids ? rows : 0, sizeof(*filler->out_span_ids));
	filler->out_trace_ids = arena_array_raw(arena, filler->trace_ids ? rows : 0,
	                                        sizeof(*filler->out_trace_ids));
	if (!filler->stacks || !filler->values || !filler->series || !filler->out_span_ids ||
	    !filler->out_trace_ids)
		return arena_error(arena, err);
	for (size_t i = 0; i < filler->series_count; i++) {
		filler->values[i] = arena_array_raw(arena, rows, sizeof(int64_t));
		if (!filler->values[i])
			return arena_error(arena, err);
		if (block_values_open(&filler->detail->values, series[i], arena, &filler->series[i],
		                      err) < 0)
			return -1;
	}
	return 0;
}

/* Turns the profiles of a stack's rows into where the rows go. */
static void place_rows(struct filler *filler, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t number = filler->numbers[filler->members[i]];

		filler->members[i] = number == NOWHERE ? NOWHERE : filler->firsts[number + 1]++;
	}
}

static void fill_values(struct filler *filler, uint32_t place, uint32_t count)
{
	for (size_t i = 0; i < filler->series_count; i++) {
		block_detail_values(filler->detail, &filler->series[i], place, filler->run);
		for (uint32_t j = 0; j < count; j++)
			if (filler->members[j] != NOWHERE)
				filler->values[i][filler->members[j]] = filler->run[j];
	}
}

static void fill_ids(const uint8_t *ids, size_t size, const uint32_t *targets, uint32_t first,
                     uint32_t count, void *out)
{
	for (uint32_t i = 0; i < count; i++)
		if (targets[i] != NOWHERE)
			memcpy((uint8_t *)out + targets[i] * size, ids + (first + i) * size, size);
}

/* The rows of the stack at `index`, which stand at `place`. */
static void fill_stack(struct filler *filler, uint32_t index, uint32_t place)
{
	const struct block_detail *detail = filler->detail;
	const uint32_t first = detail->firsts[place];
	const uint32_t count = block_presence_count(&detail->presence, place);

	block_presence_members(&detail->presence, place, filler->members);
	place_rows(filler, count);
	for (uint32_t i = 0; i < count; i++)
		if (filler->members[i] != NOWHERE)
			filler->stacks[filler->members[i]] = detail->stacks[index];
	fill_values(filler, place, count);
	if (filler->span_ids)
		fill_ids(filler->span_ids, sizeof(uint64_t), filler->members, first, count,
		         filler->out_span_ids);
	if (filler->trace_ids)
		fill_ids(filler->trace_ids, TRACE_ID_SIZE, filler->members, first, count,
		         filler->out_trace_ids);
}

/* Stack by stack in the order of their ids, so that they ascend within each profile. */
static int fill_rows(struct filler *filler, struct arena *arena, struct error *err)
{
	const uint32_t count = filler->detail->stack_count;
	uint32_t *places = arena_array_raw(arena, count, sizeof(*places));

	if (!places)
		return arena_error(arena, err);
	for (uint32_t place = 0; place < count; place++)
		places[filler->detail->order[place]] = place;
	for (uint32_t index = 0; index < count; index++)
		fill_stack(filler, index, places[index]);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for are two lists */
int block_detail_rows(const struct block_detail *detail, const struct block_span *spans,
                      size_t span_count, const uint32_t *series, size_t series_count,
                      struct arena *arena, struct block_rows *out, struct error *err)
{
	const uint32_t longest = detail->stack_count > 0 ? detail->firsts[1] : 0;
	struct filler filler = {
		.detail = detail,
		.series_count = series_count,
		.members = arena_array_raw(arena, longest, sizeof(*filler.members)),
		.run = arena_array_raw(arena, longest, sizeof(*filler.run)),
	};

	if (!filler.members || !filler.run)
		return arena_error(arena, err);
	if (number_profiles(&filler, spans, span_count, arena, err) < 0 ||
	    count_rows(&filler, arena, err) < 0 || decode_ids(&filler, arena, err) < 0 ||
	    make_room(&filler, series, arena, err) < 0 || fill_rows(&filler, arena, err) < 0)
		return -1;
	*out = (struct block_rows){
		.profile_count = filler.profile_count,
		.firsts = filler.firsts,
		.stacks = filler.stacks,
		.values = filler.values,
		.span_ids = filler.span_ids ? filler.out_span_ids : NULL,
		.trace_ids = filler.trace_ids
		                     ? (const uint8_t(*)[TRACE_ID_SIZE])filler.out_trace_ids
		                     : NULL,
	};
	return 0;
}
