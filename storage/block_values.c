#include "storage/block_values.h"

#include "base/wire.h"
#include "storage/sample_page.h"

#define BASES_TRIED 16 /* earlier series that may be a base: senders put relatives together */

/* ---- encoding ---- */

static bool is_multiple(enum block_coding coding)
{
	return coding == BLOCK_CODING_MULTIPLE || coding == BLOCK_CODING_MULTIPLE_BY_RUN;
}

static uint32_t run_first(const struct block_columns *columns, uint32_t run)
{
	return columns->firsts ? columns->firsts[run] : run;
}

/*
 * Whether a run's values are the base's times *factor, as the decoder will multiply. A
 * *factor of -1 is not known yet; it still is not when the base is 0 throughout.
 */
static bool run_is_multiple(const int64_t *values, const int64_t *base, uint32_t count,
                            int64_t *factor)
{
	for (uint32_t i = 0; i < count; i++) {
		if (*factor < 0 && base[i] != 0) {
			if (base[i] < 0 || values[i] < 0 || values[i] % base[i] != 0)
				return false;
			*factor = values[i] / base[i];
		}
		if ((uint64_t)values[i] !=
		    (uint64_t)base[i] * (uint64_t)(*factor < 0 ? 0 : *factor))
			return false;
	}
	return true;
}

/* Gives factors that are not known, of a base of 0 throughout, one that others have. */
static void fill_factors(int64_t *factors, uint32_t count)
{
	int64_t known = 0;

	for (uint32_t i = 0; i < count && known <= 0; i++)
		known = factors[i];
	for (uint32_t i = 0; i < count; i++)
		factors[i] = factors[i] < 0 ? known : factors[i];
}

/* Of which a multiple has a factor each. */
static uint32_t factor_count(enum block_coding coding, uint32_t key_count, uint32_t run_count)
{
	return coding == BLOCK_CODING_MULTIPLE ? key_count : run_count;
}

/* Whether a series is such a multiple of an earlier one. Fills the factors. */
static bool find_factors(const struct block_columns *columns, uint32_t series, uint32_t base,
                         enum block_coding coding, int64_t *factors)
{
	const int64_t *values = columns->values[series];
	const int64_t *bases = columns->values[base];
	const uint32_t count = factor_count(coding, columns->key_count, columns->run_count);

	for (uint32_t i = 0; i < count; i++)
		factors[i] = -1;
	for (uint32_t run = 0; run < columns->run_count; run++) {
		const uint32_t first = run_first(columns, run);
		const uint32_t place = coding == BLOCK_CODING_MULTIPLE ? columns->keys[run] : run;

		if (!run_is_multiple(values + first, bases + first,
		                     run_first(columns, run + 1) - first, &factors[place]))
			return false;
	}
	fill_factors(factors, count);
	return true;
}

/* Steps from row to row of each run; the first of a run is a step from 0. */
static void make_steps(const struct block_columns *columns, const int64_t *from, int64_t *to)
{
	for (uint32_t run = 0; run < columns->run_count; run++) {
		const uint32_t end = run_first(columns, run + 1);
		uint64_t last = 0;

		for (uint32_t i = run_first(columns, run); i < end; i++) {
			const uint64_t value = (uint64_t)from[i];

			to[i] = (int64_t)(value - last);
			last = value;
		}
	}
}

/* How one column will stand. */
struct choice {
	enum block_coding coding;
	uint32_t base;
	struct block_numbers_plan plan;
};

static void try_steps(const struct block_columns *columns, uint32_t series, int64_t *spare,
                      struct choice *choice)
{
	const int64_t *from = columns->values[series];

	/* steps of steps are for times; values of stacks have no second order */
	for (int coding = BLOCK_CODING_STEPS;
	     coding <= BLOCK_CODING_STEPS + (columns->key_count == 1); coding++) {
		struct block_numbers_plan plan;

		make_steps(columns, from, spare);
		plan = block_numbers_measure(spare, columns->row_count);
		if (plan.bits < choice->plan.bits)
			*choice = (struct choice){ (enum block_coding)coding, 0, plan };
		from = spare;
	}
}

/* A multiple of one earlier series. True when it costs nothing but one factor. */
static bool try_multiple(const struct block_columns *columns, uint32_t series, uint32_t base,
                         enum block_coding coding, int64_t *spare, struct choice *choice)
{
	struct block_numbers_plan plan;

	if (!find_factors(columns, series, base, coding, spare))
		return false;
	plan = block_numbers_measure(spare,
	                             factor_count(coding, columns->key_count, columns->run_count));
	if (plan.bits < choice->plan.bits)
		*choice = (struct choice){ coding, base, plan };
	return plan.bits == 0;
}

/* A multiple of one of the nearest earlier series that are none themselves. */
static bool try_multiples(const struct block_columns *columns, uint32_t series,
                          const bool *multiples, int64_t *spare, struct choice *choice)
{
	uint32_t tried = 0;

	for (uint32_t base = series; base-- > 0 && tried < BASES_TRIED;) {
		if (multiples[base])
			continue;
		tried++;
		if (try_multiple(columns, series, base, BLOCK_CODING_MULTIPLE, spare, choice))
			return true;
		if (columns->run_count > columns->key_count)
			(void)try_multiple(columns, series, base, BLOCK_CODING_MULTIPLE_BY_RUN,
			                   spare, choice);
	}
	return false;
}

static bool is_constant(const int64_t *values, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

static struct choice choose(const struct block_columns *columns, uint32_t series,
                            const bool *multiples, int64_t *spare)
{
	const int64_t *values = columns->values[series];
	struct choice choice = { BLOCK_CODING_NUMBERS, 0, { .bits = UINT64_MAX } };
	struct block_numbers_plan plan;

	if (!is_constant(values, columns->row_count) &&
	    try_multiples(columns, series, multiples, spare, &choice))
		return choice;
	plan = block_numbers_measure(values, columns->row_count);
	if (plan.bits <= choice.plan.bits)
		choice = (struct choice){ BLOCK_CODING_NUMBERS, 0, plan };
	if (columns->run_count < columns->row_count && choice.coding == BLOCK_CODING_NUMBERS &&
	    choice.plan.bits > 0)
		try_steps(columns, series, spare, &choice);
	return choice;
}

static void put_column(const struct block_columns *columns, uint32_t series,
                       const struct choice *choice, int64_t *spare, struct strbuf *out)
{
	const int64_t *numbers = columns->values[series];
	uint32_t count = columns->row_count;

	strbuf_add_byte(out, (char)choice->coding);
	if (is_multiple(choice->coding)) {
		wire_put_varint(out, choice->base);
		(void)find_factors(columns, series, choice->base, choice->coding, spare);
		numbers = spare;
		count = factor_count(choice->coding, columns->key_count, columns->run_count);
	} else if (choice->coding != BLOCK_CODING_NUMBERS) {
		make_steps(columns, numbers, spare);
		if (choice->coding == BLOCK_CODING_STEPS_OF_STEPS)
			make_steps(columns, spare, spare);
		numbers = spare;
	}
	block_numbers_encode(numbers, count, &choice->plan, out);
}

void block_values_encode(const struct block_columns *columns, int64_t *spare, struct strbuf *out)
{
	bool multiples[SAMPLE_SERIES_MAX] = { false };

	for (uint32_t series = 0; series < columns->series_count; series++) {
		const struct choice choice = choose(columns, series, multiples, spare);

		multiples[series] = is_multiple(choice.coding);
		put_column(columns, series, &choice, spare, out);
	}
}

void block_values_encode_one(const int64_t *values, uint32_t count, int64_t *spare,
                             struct strbuf *out)
{
	const uint32_t firsts[] = { 0, count };
	const uint32_t key = 0;
	const struct block_columns columns = {
		.row_count = count,
		.series_count = 1,
		.key_count = 1,
		.run_count = 1,
		.firsts = firsts,
		.keys = &key,
		.values = &values,
	};

	block_values_encode(&columns, spare, out);
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "values of a block are damaged: %s", what);
}

/* Whether the head of a column is one that may stand there. */
static bool decode_column(struct byte_cursor *cursor, const struct block_shape *shape,
                          uint32_t series, struct block_column *columns)
{
	struct block_column *column = &columns[series];
	const uint64_t coding = byte_cursor_number(cursor);
	uint64_t base = 0;
	uint32_t count = shape->row_count;

	if (coding > BLOCK_CODING_MULTIPLE_BY_RUN)
		return false;
	column->coding = (enum block_coding)coding;
	if (is_multiple(column->coding)) {
		base = byte_cursor_number(cursor);
		if (base >= series || is_multiple(columns[base].coding))
			return false;
		count = factor_count(column->coding, shape->key_count, shape->run_count);
	}
	column->base = (uint32_t)base;
	return block_numbers_decode(cursor, count, &column->numbers);
}

int block_values_decode(struct byte_cursor *cursor, const struct block_shape *shape,
                        struct arena *arena, struct block_values *out, struct error *err)
{
	struct block_column *columns;

	if (shape->series_count > SAMPLE_SERIES_MAX ||
	    shape->series_count > byte_cursor_left(cursor))
		return damaged(err, "more series than can be");
	columns = arena_array_raw(arena, shape->series_count, sizeof(*columns));
	if (!columns)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < shape->series_count; i++)
		if (!decode_column(cursor, shape, i, columns))
			return damaged(err, "a column");
	*out = (struct block_values){ *shape, columns };
	return 0;
}

int block_values_decode_one(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                            int64_t **out, struct error *err)
{
	const struct block_shape shape = { count, 1, 1, 1 };
	struct block_values values;
	struct block_series series;
	int64_t *all = arena_array_raw(arena, count, sizeof(*all));

	if (!all)
		return arena_error(arena, err);
	if (block_values_decode(cursor, &shape, arena, &values, err) < 0 ||
	    block_values_open(&values, 0, arena, &series, err) < 0)
		return -1;
	block_series_read(&series, 0, count, 0, 0, all);
	*out = all;
	return 0;
}

/* The factors of a multiple: one for all, or an array. */
static int open_factors(const struct block_column *column, struct arena *arena,
                        struct block_series *series, struct error *err)
{
	const size_t count = column->numbers.count;
	int64_t *factors;

	if (column->numbers.width == 0) {
		series->factor = (uint64_t)column->numbers.least;
		return 0;
	}
	factors = arena_array_raw(arena, count, sizeof(*factors));
	if (!factors)
		return arena_error(arena, err);
	block_numbers_read(&column->numbers, 0, count, factors);
	if (column->coding == BLOCK_CODING_MULTIPLE)
		series->by_key = factors;
	else
		series->by_run = factors;
	return 0;
}

int block_values_open(const struct block_values *values, uint32_t series, struct arena *arena,
                      struct block_series *out, struct error *err)
{
	const struct block_column *column;
	struct block_series opened = { .factor = 1 };

	if (series >= values->shape.series_count)
		return damaged(err, "a series that is not there");
	column = &values->columns[series];
	if (is_multiple(column->coding)) {
		if (open_factors(column, arena, &opened, err) < 0)
			return -1;
		column = &values->columns[column->base];
	}
	opened.coding = column->coding;
	opened.numbers = column->numbers;
	*out = opened;
	return 0;
}

/* Turns steps of a run into what they lead to. */
static void add_steps(int64_t *values, size_t count)
{
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		last += (uint64_t)values[i];
		values[i] = (int64_t)last;
	}
}

void block_series_read(const struct block_series *series, size_t first, size_t count, uint32_t key,
                       uint32_t run, int64_t *out)
{
	const uint64_t factor = block_series_factor(series, key, run);

	block_numbers_read(&series->numbers, first, count, out);
	if (series->coding != BLOCK_CODING_NUMBERS)
		add_steps(out, count);
	if (series->coding == BLOCK_CODING_STEPS_OF_STEPS)
		add_steps(out, count);
	if (factor != 1)
		for (size_t i = 0; i < count; i++)
			out[i] = (int64_t)((uint64_t)out[i] * factor);
}
