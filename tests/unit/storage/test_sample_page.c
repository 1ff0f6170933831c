#include "storage/page.h"
#include "storage/sample_page.h"
#include "tests/unit/storage/arena_fixture.h"

static struct str encode(const struct sample_columns *columns)
{
	struct strbuf out;

	strbuf_init(&out, (size_t)1 << 24);
	sample_page_encode(columns, &out);
	return arena_take_written(&out);
}

static const uint32_t stacks[] = { 900, 3, 70000, 3 };
static const int64_t count[] = { 1, 2, 3, 4 };
static const int64_t nanoseconds[] = { 10000000, 20000000, 30000000, 40000000 };
static const int64_t bytes[] = { 512, INT64_MAX, 0, 7 };
static const int64_t zeros[] = { 0, 0, 0, 0 };
static const int64_t *const values[] = { count, nanoseconds, bytes, zeros };
static const uint64_t spans[] = { 0, 0xabc, UINT64_MAX, 0xabc };
static const uint8_t traces[4][TRACE_ID_SIZE] = { { 9, 9 }, { 0 }, { 9, 9 }, { 1, [15] = 2 } };

static const struct sample_columns columns = { 4, 4, stacks, values, spans, traces };

static void rows_come_back_in_the_order_of_stacks(void **state)
{
	/* rows 1 and 3 are of stack 3, in the order they came */
	static const size_t order[] = { 1, 3, 0, 2 };
	struct sample_page page;
	struct error err = { 0 };
	uint64_t *span_ids;
	uint8_t(*trace_ids)[TRACE_ID_SIZE];

	(void)state;
	assert_int_equal(sample_page_decode(encode(&columns), arena, &page, &err), 0);
	assert_int_equal(page.row_count, 4);
	assert_int_equal(page.series_count, 4);
	assert_int_equal(sample_page_spans(&page, arena, &span_ids, &err), 0);
	assert_int_equal(sample_page_traces(&page, arena, &trace_ids, &err), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(page.stacks[i], stacks[order[i]]);
		assert_true(span_ids[i] == spans[order[i]]);
		assert_memory_equal(trace_ids[i], traces[order[i]], TRACE_ID_SIZE);
	}
	for (uint32_t series = 0; series < 4; series++) {
		int64_t *decoded;

		assert_int_equal(sample_page_values(&page, series, arena, &decoded, &err), 0);
		for (size_t i = 0; i < 4; i++)
			assert_true(decoded[i] == values[series][order[i]]);
	}
}

/* The sample body of docs/formats/store.md. */
static void the_documented_example_reads_as_it_says(void **state)
{
	static const char body[] = "\x00\x21\xe1\xc9\x98"
				   "\x02\x02\x00"
				   "\x02\x01\x01"
				   "\x03\x00\x04\x03"
				   "\x06\x02\x00\x80\xad\xe2\x04";
	struct sample_page page;
	struct error err = { 0 };
	struct str payload;
	int64_t *decoded;

	(void)state;
	assert_int_equal(page_open(str_make(body, sizeof(body) - 1), arena, &payload, &err), 0);
	assert_int_equal(sample_page_decode(payload, arena, &page, &err), 0);
	assert_int_equal(page.row_count, 2);
	assert_int_equal(page.stacks[0], 1);
	assert_int_equal(page.stacks[1], 2);
	assert_int_equal(sample_page_values(&page, 0, arena, &decoded, &err), 0);
	assert_int_equal(decoded[0], 4);
	assert_int_equal(decoded[1], 3);
	assert_int_equal(sample_page_values(&page, 1, arena, &decoded, &err), 0);
	assert_int_equal(decoded[0], 40000000);
	assert_int_equal(decoded[1], 30000000);
}

static void a_constant_multiple_costs_its_factor(void **state)
{
	const struct sample_columns one = { 4, 1, stacks, values, NULL, NULL };
	const struct sample_columns two = { 4, 2, stacks, values, NULL, NULL };

	(void)state;
	/* length, coding, series 0, and ten million in four bytes */
	assert_int_equal(encode(&two).length - encode(&one).length, 1 + 1 + 1 + 4);
}

static void a_profile_without_rows_is_one(void **state)
{
	const struct sample_columns none = { 0, 1, NULL, values, NULL, NULL };
	struct sample_page page;
	struct error err = { 0 };
	int64_t *decoded;

	(void)state;
	assert_int_equal(sample_page_decode(encode(&none), arena, &page, &err), 0);
	assert_int_equal(page.row_count, 0);
	assert_int_equal(sample_page_values(&page, 0, arena, &decoded, &err), 0);
}

/* Decodes all there is; 0 when all of it was well. */
static int decode_all(struct str payload, struct error *err)
{
	struct sample_page page;
	uint64_t *span_ids;
	uint8_t(*trace_ids)[TRACE_ID_SIZE];
	int64_t *decoded;

	if (sample_page_decode(payload, arena, &page, err) < 0 ||
	    sample_page_spans(&page, arena, &span_ids, err) < 0 ||
	    sample_page_traces(&page, arena, &trace_ids, err) < 0)
		return -1;
	for (uint32_t i = 0; i < page.series_count; i++)
		if (sample_page_values(&page, i, arena, &decoded, err) < 0)
			return -1;
	return 0;
}

static void cut_bytes_are_corrupt(void **state)
{
	const struct str whole = encode(&columns);

	(void)state;
	for (size_t length = 0; length < whole.length; length++) {
		struct error err = { 0 };

		assert_int_equal(decode_all(str_first(whole, length), &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void an_envelope_finds_every_flipped_bit(void **state)
{
	static char text[400];
	static const size_t lengths[] = { 0, 5, sizeof(text) };

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < 3; i++) {
		struct strbuf out;
		struct str raw;
		struct error err = { 0 };

		strbuf_init(&out, 4096);
		page_seal(str_make(text, lengths[i]), 1, &out);
		assert_int_equal(page_open(strbuf_view(&out), arena, &raw, &err), 0);
		assert_true(str_equal(raw, str_make(text, lengths[i])));
		for (size_t bit = 0; bit < out.length * 8; bit++) {
			out.data[bit / 8] = (char)(out.data[bit / 8] ^ 1 << bit % 8);
			if (page_open(strbuf_view(&out), arena, &raw, &err) == 0)
				assert_true(str_equal(raw, str_make(text, lengths[i])));
			out.data[bit / 8] = (char)(out.data[bit / 8] ^ 1 << bit % 8);
		}
		strbuf_fini(&out);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rows_come_back_in_the_order_of_stacks),
		TEST(the_documented_example_reads_as_it_says),
		TEST(a_constant_multiple_costs_its_factor),
		TEST(a_profile_without_rows_is_one),
		TEST(cut_bytes_are_corrupt),
		TEST(an_envelope_finds_every_flipped_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
