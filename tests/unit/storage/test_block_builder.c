/*
 * Blocks against a model: profiles of all kinds go in; heads, sums, cuts and rows that come
 * out are compared with what went in, added up naively.
 */
#include "block_model.h"
#include "storage/block_heads.h"
#include "storage/block_rows.h"
#include "storage/block_sums.h"
#include "storage/page.h"

static const struct scenario scenarios[] = {
	{ "cpu", 4, 60, 1000, 120, 2, { KIND_SMALL, KIND_TENFOLD }, 0, false },
	{ "memory",
	  3,
	  40,
	  50,
	  50,
	  5,
	  { KIND_SMALL, KIND_BY_STACK, KIND_GAUGE, KIND_CONSTANT, KIND_BY_GROUP },
	  0,
	  false },
	{ "any numbers", 2, 50, 200, 90, 3, { KIND_ANY, KIND_ANY, KIND_TENFOLD }, 0, true },
	{ "spans", 2, 30, 40, 30, 2, { KIND_SMALL, KIND_ANY }, 3, false },
	{ "one profile", 1, 1, 30, 30, 1, { KIND_SMALL }, 0, false },
	{ "one stack", 1, BLOCK_PROFILES_MAX, 1, 1, 1, { KIND_GAUGE }, 0, false },
	{ "a profile a group", BLOCK_PROFILES_MAX, 1, 3000, 6, 1, { KIND_SMALL }, 0, true },
	{ "no rows", 2, 5, 1, 0, 2, { KIND_ANY, KIND_ANY }, 0, false },
	{ "constants", 2, 100, 30, 30, 2, { KIND_CONSTANT, KIND_CONSTANT }, 0, false },
};

static struct block_bodies build(const struct model *model, struct budget *budget)
{
	struct block_builder *builder;
	struct block_bodies bodies;
	struct error err = { 0 };

	assert_int_equal(block_builder_new(model->scenario->series, budget, &builder, &err), 0);
	for (uint32_t i = 0; i < model->profile_count; i++) {
		struct arena *scratch = arena_new(ARENA_BYTES, NULL);
		struct sample_page samples;

		read_samples(model, &model->profiles[i], scratch, &samples);
		assert_true(block_builder_fits(builder, samples.row_count));
		assert_int_equal(block_builder_add(builder, &model->profiles[i].head, &samples,
		                                   scratch, &err),
		                 0);
		arena_free(scratch);
	}
	assert_int_equal(block_builder_profiles(builder), model->profile_count);
	assert_int_equal(block_builder_finish(builder, &bodies, &err), 0);
	block_builder_free(builder);
	return bodies;
}

static struct str opened(const struct strbuf *body, struct arena *arena)
{
	struct str payload;
	struct error err = { 0 };

	assert_int_equal(page_open(strbuf_view(body), arena, &payload, &err), 0);
	return payload;
}

/* ---- comparing ---- */

static void compare_heads(const struct model *model, const struct block_bodies *bodies,
                          struct arena *arena)
{
	struct block_heads heads;
	int64_t *seqs;
	int64_t *durations;
	int64_t *received;
	struct error err = { 0 };

	assert_int_equal(block_heads_decode(opened(&bodies->heads, arena), arena, &heads, &err), 0);
	assert_int_equal(heads.profile_count, model->profile_count);
	assert_int_equal(heads.group_count, model->scenario->groups);
	assert_int_equal(block_heads_seqs(&heads, arena, &seqs, &err), 0);
	assert_int_equal(block_heads_durations(&heads, arena, &durations, &err), 0);
	assert_int_equal(block_heads_received(&heads, arena, &received, &err), 0);
	for (uint32_t i = 0; i < model->profile_count; i++) {
		const struct profile_model *profile = &model->profiles[i];
		const struct uuid id = block_heads_id(&heads, i);

		assert_int_equal(heads.groups[profile->group_index], profile->head.group);
		assert_in_range(i, heads.firsts[profile->group_index],
		                heads.firsts[profile->group_index + 1] - 1);
		assert_true(heads.times[i] == profile->head.time_unix_ns);
		assert_true(seqs[i] == profile->head.seq);
		assert_true(durations[i] == profile->head.duration_ns);
		assert_true(received[i] == profile->head.received_s);
		assert_memory_equal(&id, &profile->head.id, sizeof(id));
	}
	for (uint32_t series = 0; series < model->scenario->series; series++) {
		int64_t *totals;

		assert_int_equal(block_heads_totals(&heads, series, arena, &totals, &err), 0);
		for (uint32_t i = 0; i < model->profile_count; i++)
			assert_true(totals[i] == model->profiles[i].totals[series]);
	}
}

static void compare_origins(const struct model *model, const struct block_bodies *bodies,
                            struct arena *arena)
{
	const struct hash128 *origins;
	struct error err = { 0 };
	bool any = false;

	for (uint32_t i = 0; i < model->profile_count; i++)
		any = any || !hash128_is_zero(model->profiles[i].head.origin);
	assert_int_equal(bodies->origins.length > 0, any);
	if (!any)
		return;
	assert_int_equal(block_origins_decode(opened(&bodies->origins, arena), model->profile_count,
	                                      arena, &origins, &err),
	                 0);
	for (uint32_t i = 0; i < model->profile_count; i++)
		assert_true(hash128_equal(origins[i], model->profiles[i].head.origin));
}

static void add_naively(const struct profile_model *profile, uint32_t series, int64_t *sums)
{
	for (uint32_t i = 0; i < profile->row_count; i++) {
		int64_t *sum = &sums[profile->rows[i].stack];

		*sum = (int64_t)((uint64_t)*sum + (uint64_t)profile->rows[i].values[series]);
	}
}

static void compare_sums(const struct model *model, const struct block_bodies *bodies,
                         struct arena *arena)
{
	struct accumulator accumulator = { 0 };
	struct block_sums sums;
	struct error err = { 0 };

	assert_int_equal(block_sums_decode(opened(&bodies->sums, arena), arena, &sums, &err), 0);
	assert_int_equal(accumulator_reserve(&accumulator, STACKS_MOST, &err), 0);
	for (uint32_t series = 0; series < model->scenario->series; series++)
		for (uint32_t group = 0; group < model->scenario->groups; group++) {
			int64_t expected[STACKS_MOST] = { 0 };

			for (uint32_t i = 0; i < model->scenario->profiles; i++)
				add_naively(&model->profiles[group * model->scenario->profiles + i],
				            series, expected);
			assert_int_equal(block_sums_add(&sums,
			                                &(struct block_group_list){ &group, 1 },
			                                series, arena, &accumulator, &err),
			                 0);
			assert_memory_equal(accumulator.sums, expected, sizeof(expected));
			memset(accumulator.sums, 0, sizeof(expected));
		}
	accumulator_fini(&accumulator);
}

/* Some spans of profiles: most of the time a few, at times many short ones. */
static size_t draw_spans(struct model *model, struct block_span *spans, size_t most)
{
	const uint32_t step = 1 + draw_below(model, 1 + model->profile_count / 3);
	uint32_t at = draw_below(model, step);
	size_t count = 0;

	while (count < most && at < model->profile_count) {
		const uint32_t left = model->profile_count - at;
		const uint32_t length = draw_below(model, (left < step ? left : step) + 1);

		spans[count++] = (struct block_span){ at, at + length };
		at += length + draw_below(model, step);
	}
	return count;
}

static void compare_cut(const struct model *model, const struct block_detail *detail,
                        const struct block_span *spans, size_t count, struct arena *arena)
{
	struct accumulator accumulator = { 0 };
	struct error err = { 0 };

	assert_int_equal(accumulator_reserve(&accumulator, STACKS_MOST, &err), 0);
	for (uint32_t series = 0; series < model->scenario->series; series++) {
		int64_t expected[STACKS_MOST] = { 0 };

		for (size_t i = 0; i < count; i++)
			for (uint32_t j = spans[i].first; j < spans[i].end; j++)
				add_naively(&model->profiles[j], series, expected);
		assert_int_equal(block_detail_add(detail, series, spans, count, arena, &accumulator,
		                                  &err),
		                 0);
		assert_memory_equal(accumulator.sums, expected, sizeof(expected));
		memset(accumulator.sums, 0, sizeof(expected));
	}
	accumulator_fini(&accumulator);
}

static void compare_row(const struct model *model, const struct block_rows *rows, uint32_t at,
                        const struct row *row)
{
	static const uint8_t none[TRACE_ID_SIZE];

	assert_int_equal(rows->stacks[at], row->stack);
	assert_true((rows->span_ids ? rows->span_ids[at] : 0) == row->span);
	assert_memory_equal(rows->trace_ids ? rows->trace_ids[at] : none, row->trace,
	                    sizeof(row->trace));
	for (uint32_t i = 0; i < model->scenario->series; i++)
		assert_true(rows->values[i][at] == row->values[i]);
}

static void compare_rows(const struct model *model, const struct block_detail *detail,
                         const struct block_span *spans, size_t count, struct arena *arena)
{
	static const uint32_t series[] = { 0, 1, 2, 3, 4 };
	struct block_rows rows;
	struct error err = { 0 };
	uint32_t number = 0;

	assert_int_equal(block_detail_rows(detail, spans, count, series, model->scenario->series,
	                                   arena, &rows, &err),
	                 0);
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = spans[i].first; j < spans[i].end; j++, number++) {
			const struct profile_model *profile = &model->profiles[j];
			const uint32_t first = rows.firsts[number];

			assert_int_equal(rows.firsts[number + 1] - first, profile->row_count);
			for (uint32_t k = 0; k < profile->row_count; k++)
				compare_row(model, &rows, first + k, &profile->rows[k]);
		}
	assert_int_equal(rows.profile_count, number);
}

static void compare_detail(struct model *model, const struct block_bodies *bodies,
                           struct arena *arena)
{
	const struct block_span all = { 0, model->profile_count };
	struct block_span spans[100];
	struct block_detail detail;
	struct error err = { 0 };

	assert_int_equal(block_detail_decode(opened(&bodies->detail, arena), arena, &detail, &err),
	                 0);
	compare_cut(model, &detail, &all, 1, arena);
	compare_rows(model, &detail, &all, 1, arena);
	for (int i = 0; i < 12; i++) {
		const size_t count = draw_spans(model, spans, ARRAY_LENGTH(spans));

		compare_cut(model, &detail, spans, count, arena);
		compare_rows(model, &detail, spans, count, arena);
	}
}

static void blocks_are_what_went_into_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(scenarios); i++) {
		struct model model = make_model(&scenarios[i]);
		struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct budget budget;
		struct block_bodies bodies;

		print_message("%s\n", scenarios[i].name);
		budget_init(&budget, ARENA_BYTES);
		bodies = build(&model, &budget);
		assert_int_equal(budget_used(&budget), 0);
		compare_heads(&model, &bodies, arena);
		compare_origins(&model, &bodies, arena);
		compare_sums(&model, &bodies, arena);
		compare_detail(&model, &bodies, arena);
		block_bodies_fini(&bodies);
		arena_free(arena);
		arena_free(model.arena);
	}
}

/* ---- limits ---- */

/* A page of so many rows, each of a stack of its own. */
static struct sample_page page_of(uint32_t rows, uint32_t series, struct arena *arena)
{
	const struct profile_model profile = {
		.row_count = rows,
		.rows = arena_array(arena, rows, sizeof(struct row)),
	};
	const struct scenario scenario = { .series = series };
	const struct model model = { .scenario = &scenario };
	struct sample_page page;

	for (uint32_t i = 0; i < rows; i++)
		profile.rows[i].stack = i;
	read_samples(&model, &profile, arena, &page);
	return page;
}

static int add(struct block_builder *builder, int64_t time_unix_ns, const struct sample_page *page,
               struct arena *arena, struct error *err)
{
	static const int64_t totals[SERIES_MOST];
	const struct block_profile profile = { .time_unix_ns = time_unix_ns, .totals = totals };

	return block_builder_add(builder, &profile, page, arena, err);
}

static void a_block_takes_no_more_profiles_than_it_may(void **state)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct sample_page page = page_of(1, 1, arena);
	struct block_builder *builder;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_builder_new(1, NULL, &builder, &err), 0);
	for (int64_t i = 0; i < BLOCK_PROFILES_MAX; i++)
		assert_int_equal(add(builder, i, &page, arena, &err), 0);
	assert_false(block_builder_fits(builder, 0));
	assert_int_equal(add(builder, BLOCK_PROFILES_MAX, &page, arena, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	block_builder_free(builder);
	arena_free(arena);
}

static void a_profile_of_any_size_fits_a_block_of_its_own(void **state)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct sample_page large = page_of(BLOCK_ROWS_MAX + 1, 1, arena);
	struct block_builder *builder;
	struct block_bodies bodies;
	struct block_detail detail;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_builder_new(1, NULL, &builder, &err), 0);
	assert_true(block_builder_fits(builder, large.row_count));
	assert_int_equal(add(builder, 0, &large, arena, &err), 0);
	assert_false(block_builder_fits(builder, 0));
	assert_int_equal(block_builder_finish(builder, &bodies, &err), 0);
	assert_int_equal(block_detail_decode(opened(&bodies.detail, arena), arena, &detail, &err),
	                 0);
	assert_int_equal(detail.row_count, BLOCK_ROWS_MAX + 1);
	block_bodies_fini(&bodies);
	block_builder_free(builder);
	arena_free(arena);
}

static void values_of_all_series_together_are_bounded(void **state)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct sample_page page = page_of(1, 5, arena);
	struct block_builder *builder;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_builder_new(5, NULL, &builder, &err), 0);
	assert_int_equal(add(builder, 0, &page, arena, &err), 0);
	assert_true(block_builder_fits(builder, BLOCK_VALUES_MAX / 5 - 1));
	assert_false(block_builder_fits(builder, BLOCK_VALUES_MAX / 5));
	block_builder_free(builder);
	arena_free(arena);
}

static void samples_of_other_series_are_refused(void **state)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct sample_page page = page_of(1, 2, arena);
	struct block_builder *builder;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_builder_new(3, NULL, &builder, &err), 0);
	assert_int_equal(add(builder, 0, &page, arena, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(block_builder_profiles(builder), 0);
	block_builder_free(builder);
	arena_free(arena);
}

/* Whatever the budget is, a block is built or refused; nothing stays taken. */
static void a_small_budget_refuses_in_peace(void **state)
{
	struct model model = make_model(&scenarios[0]);
	size_t refused = 0;
	size_t built = 0;

	(void)state;
	for (size_t limit = 1000; limit < (size_t)8 << 20; limit = limit * 5 / 4) {
		struct block_builder *builder;
		struct block_bodies bodies = { 0 };
		struct budget budget;
		struct error err = { 0 };
		int result = 0;

		budget_init(&budget, limit);
		assert_int_equal(block_builder_new(2, &budget, &builder, &err), 0);
		for (uint32_t i = 0; result == 0 && i < model.profile_count; i++) {
			struct arena *scratch = arena_new(ARENA_BYTES, NULL);
			struct sample_page samples;

			read_samples(&model, &model.profiles[i], scratch, &samples);
			result = block_builder_add(builder, &model.profiles[i].head, &samples,
			                           scratch, &err);
			arena_free(scratch);
		}
		if (result == 0)
			result = block_builder_finish(builder, &bodies, &err);
		if (result < 0)
			assert_int_equal(err.code, ERROR_UNAVAILABLE);
		refused += result < 0;
		built += result == 0;
		block_bodies_fini(&bodies);
		block_builder_free(builder);
		assert_int_equal(budget_used(&budget), 0);
	}
	assert_true(refused > 0 && built > 0);
	arena_free(model.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_what_went_into_them),
		cmocka_unit_test(a_block_takes_no_more_profiles_than_it_may),
		cmocka_unit_test(a_profile_of_any_size_fits_a_block_of_its_own),
		cmocka_unit_test(values_of_all_series_together_are_bounded),
		cmocka_unit_test(samples_of_other_series_are_refused),
		cmocka_unit_test(a_small_budget_refuses_in_peace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
