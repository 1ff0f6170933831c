#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/physical_memory.h"

#define PIECE 0x200000ULL /* what is mapped at a time */
#define BASE  0x300000000ULL

/* Who is told what was freed: the embedding account is this. */
struct owner {
	struct physical_memory memory;
	struct budget budget;
	uint64_t freed_bytes;
	uint32_t freed_blocks;
	uint32_t last_sum;
};

static void note_freed(struct physical_memory *memory, const struct physical_block *block)
{
	struct owner *owner = (void *)((char *)memory - offsetof(struct owner, memory));

	owner->freed_bytes += block->bytes;
	owner->freed_blocks++;
	owner->last_sum = block->sum;
}

static int set_up(void **state)
{
	struct owner *owner = calloc(1, sizeof(*owner));

	budget_init(&owner->budget, 1 << 20);
	physical_memory_init(&owner->memory, &owner->budget, note_freed);
	*state = owner;
	return 0;
}

static int tear_down(void **state)
{
	struct owner *owner = *state;
	int leaked;

	physical_memory_fini(&owner->memory);
	leaked = budget_used(&owner->budget) != 0;
	free(owner);
	return leaked;
}

static void memory_lives_as_long_as_a_reference_or_a_mapping(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	assert_true(physical_memory_add(memory, 7, 100, 3));
	assert_true(physical_memory_map(memory, BASE, PIECE, 7));
	assert_true(physical_memory_release(memory, 7));
	assert_false(physical_memory_release(memory, 7)); /* the handle is gone */
	assert_int_equal(owner->freed_blocks, 0);
	physical_memory_check(memory);
	physical_memory_unmap(memory, 1, BASE, PIECE);
	assert_int_equal(owner->freed_blocks, 0); /* until it has ended */
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_bytes, 100);
	assert_int_equal(owner->last_sum, 3);
	/* the other way round */
	assert_true(physical_memory_add(memory, 7, 50, 4));
	assert_true(physical_memory_map(memory, BASE, PIECE, 7));
	physical_memory_unmap(memory, 1, BASE, PIECE);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_blocks, 1);
	assert_true(physical_memory_release(memory, 7));
	assert_int_equal(owner->freed_bytes, 150);
	physical_memory_check(memory);
}

/* Pieces of 1, 2, 4... bytes side by side, which nothing but their mappings holds. */
static void map_pieces(struct physical_memory *memory, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		assert_true(physical_memory_add(memory, 100 + i, 1 << i, 0));
		assert_true(physical_memory_map(memory, BASE + i * PIECE, PIECE, 100 + i));
		assert_true(physical_memory_release(memory, 100 + i));
	}
}

static void one_unmapping_takes_all_that_lies_in_it(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	map_pieces(memory, 6);
	physical_memory_unmap(memory, 1, BASE + PIECE, 3 * PIECE);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_bytes, 2 + 4 + 8);
	/* with a hole where a mapping was not seen; what reaches out of it stays */
	physical_memory_unmap(memory, 1, BASE - PIECE, 6 * PIECE + PIECE / 2);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_bytes, 1 + 2 + 4 + 8 + 16);
	/* as far as addresses go */
	physical_memory_unmap(memory, 1, 0, UINT64_MAX);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_bytes, 63);
	physical_memory_check(memory);
}

static void an_unmapping_that_fails_leaves_everything(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	for (uint64_t i = 0; i < 2; i++) {
		assert_true(physical_memory_add(memory, 100 + i, 10, 0));
		assert_true(physical_memory_map(memory, BASE + i * PIECE, PIECE, 100 + i));
		assert_true(physical_memory_release(memory, 100 + i));
	}
	physical_memory_unmap(memory, 1, BASE, 4 * PIECE);
	physical_memory_unmap(memory, 2, BASE, 4 * PIECE); /* another thread, at the same time */
	physical_memory_unmapped(memory, 1, UNMAP_FAILED);
	physical_memory_unmapped(memory, 2, UNMAP_FAILED);
	assert_int_equal(owner->freed_blocks, 0);
	physical_memory_check(memory);
	physical_memory_unmap(memory, 2, BASE, 2 * PIECE);
	physical_memory_unmapped(memory, 2, UNMAP_DONE);
	assert_int_equal(owner->freed_blocks, 2);
}

static void an_address_that_is_given_out_meanwhile_is_the_new_one(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	assert_true(physical_memory_add(memory, 1, 10, 0));
	assert_true(physical_memory_map(memory, BASE, PIECE, 1));
	assert_true(physical_memory_release(memory, 1));
	physical_memory_unmap(memory, 1, BASE, PIECE);
	assert_true(physical_memory_add(memory, 1, 20, 0)); /* the handle is used again, too */
	assert_true(physical_memory_map(memory, BASE, PIECE, 1));
	physical_memory_unmapped(memory, 1, UNMAP_FAILED); /* no driver does that, a liar may */
	assert_int_equal(owner->freed_bytes, 10);
	/* mapped over what was never unmapped: that was not seen */
	assert_true(physical_memory_add(memory, 2, 30, 0));
	assert_true(physical_memory_release(memory, 1));
	assert_true(physical_memory_map(memory, BASE, PIECE, 2));
	assert_int_equal(owner->freed_bytes, 30);
	physical_memory_check(memory);
}

/* Two threads unmap and map side by side: what is told in between is the other one's. */
static void what_is_mapped_meanwhile_stays(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	for (uint64_t i = 0; i < 3; i++)
		assert_true(physical_memory_add(memory, 1 + i, 10 << i, 0));
	assert_true(physical_memory_map(memory, BASE, PIECE, 1));
	assert_true(physical_memory_unmap(memory, 1, BASE, 3 * PIECE));
	assert_true(physical_memory_map(memory, BASE + PIECE, PIECE, 2));
	for (uint64_t i = 0; i < 3; i++)
		assert_true(physical_memory_release(memory, 1 + i));
	assert_int_equal(owner->freed_bytes, 40); /* the third is mapped nowhere */
	assert_true(physical_memory_unmapped(memory, 1, UNMAP_DONE));
	assert_int_equal(owner->freed_bytes, 50);
	assert_true(physical_memory_unmap(memory, 1, BASE, 3 * PIECE));
	assert_true(physical_memory_unmapped(memory, 1, UNMAP_DONE));
	assert_int_equal(owner->freed_bytes, 70);
	physical_memory_check(memory);
}

static void a_mapping_ends_those_that_it_lies_over(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	map_pieces(memory, 4);
	assert_true(physical_memory_add(memory, 7, 100, 0));
	/* from within the second into the third */
	assert_true(physical_memory_map(memory, BASE + PIECE + 1, PIECE, 7));
	assert_int_equal(owner->freed_bytes, 2 + 4);
	physical_memory_check(memory);
	/* up to the last address */
	assert_true(physical_memory_map(memory, BASE, UINT64_MAX, 7));
	assert_int_equal(owner->freed_bytes, 1 + 2 + 4 + 8);
	assert_false(physical_memory_map(memory, UINT64_MAX, PIECE, 7));
	physical_memory_check(memory);
}

static void who_takes_the_place_of_a_thread_says_that_it_has_unmapped(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	for (uint64_t i = 0; i < 2; i++) {
		assert_true(physical_memory_add(memory, 100 + i, 10, 0));
		assert_true(physical_memory_map(memory, BASE + i * PIECE, PIECE, 100 + i));
		assert_true(physical_memory_release(memory, 100 + i));
	}
	assert_true(physical_memory_unmap(memory, 1, BASE, PIECE));
	assert_true(physical_memory_unmap(memory, 1 + UNMAPPINGS_MAX, BASE + PIECE, PIECE));
	assert_int_equal(owner->freed_blocks, 1);
	assert_true(physical_memory_unmapped(memory, 1, UNMAP_DONE));
	assert_false(physical_memory_unmapped(memory, 1, UNMAP_FAILED)); /* it is gone already */
	assert_true(physical_memory_unmapped(memory, 1 + UNMAPPINGS_MAX, UNMAP_FAILED));
	assert_int_equal(owner->freed_blocks, 1);
	physical_memory_check(memory);
}

/* ---- what a workload may make us do ---- */

#define MANY_MAPPINGS 200000
#define MANY_CALLS    20000

static void map_many(struct owner *owner)
{
	owner->budget.limit = (size_t)256 << 20;
	assert_true(physical_memory_add(&owner->memory, 7, 100, 3));
	for (uint64_t i = 0; i < MANY_MAPPINGS; i++)
		assert_true(physical_memory_map(&owner->memory, BASE + 2 * i * PIECE, PIECE, 7));
	assert_true(physical_memory_release(&owner->memory, 7));
}

/* To look at every mapping at each of these calls takes longer than a test may. */
static void no_call_looks_at_all_mappings(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;
	size_t used;

	map_many(owner);
	used = budget_used(&owner->budget);
	for (uint32_t i = 0; i < MANY_CALLS; i++) {
		const uint64_t place = BASE + 2 * i * PIECE;

		/* nothing is mapped there */
		assert_true(physical_memory_unmap(memory, 1, place + PIECE, PIECE));
		assert_true(physical_memory_unmapped(memory, 1, UNMAP_DONE));
		/* everything is, and it fails */
		assert_true(physical_memory_unmap(memory, 1, 0, UINT64_MAX));
		assert_true(physical_memory_unmapped(memory, 1, UNMAP_FAILED));
		/* within a mapping, and beside all */
		assert_true(physical_memory_retain(memory, 9, place + 1));
		assert_false(physical_memory_retain(memory, 10, place + PIECE));
		assert_true(physical_memory_release(memory, 9));
	}
	assert_int_equal(budget_used(&owner->budget), used);
	/* threads of which the end is never told */
	for (uint32_t i = 0; i < MANY_CALLS; i++)
		assert_true(physical_memory_unmap(memory, 100 + i, BASE + 2 * i * PIECE, PIECE));
	assert_int_equal(budget_used(&owner->budget), used);
	assert_int_equal(owner->freed_blocks, 0);
	physical_memory_check(memory);
	/* the one that waits ends with what takes its place */
	for (uint32_t i = 0; i < UNMAPPINGS_MAX; i++)
		assert_true(physical_memory_unmap(memory, i, 0, UINT64_MAX));
	assert_true(physical_memory_unmapped(memory, 0, UNMAP_DONE));
	assert_int_equal(owner->freed_bytes, 100);
	assert_int_equal(budget_used(&owner->budget) < used, true);
}

static void what_is_mapped_meanwhile_is_not_looked_at_without_end(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	assert_true(physical_memory_unmap(memory, 1, 0, UINT64_MAX));
	assert_true(physical_memory_unmap(memory, 2, BASE, 2 * UNMAPPING_NEWER_MAX * PIECE));
	map_many(owner);
	assert_false(physical_memory_unmapped(memory, 1, UNMAP_DONE));
	assert_true(physical_memory_unmapped(memory, 2, UNMAP_DONE)); /* half of them are holes */
	assert_int_equal(memory->mappings.count, MANY_MAPPINGS);
}

static void a_handle_can_be_had_from_an_address(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;

	assert_true(physical_memory_add(memory, 1, 10, 0));
	assert_true(physical_memory_map(memory, BASE, PIECE, 1));
	assert_true(physical_memory_release(memory, 1));
	assert_true(physical_memory_retain(memory, 5, BASE + 4096)); /* another value is as good */
	physical_memory_unmap(memory, 1, BASE, PIECE);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_blocks, 0);
	assert_false(physical_memory_release(memory, 1));
	assert_true(physical_memory_release(memory, 5));
	assert_int_equal(owner->freed_bytes, 10);
	assert_false(physical_memory_retain(memory, 9, BASE)); /* nothing is mapped there */
}

static void a_release_that_failed_is_undone(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;
	uint32_t number;

	assert_true(physical_memory_add(memory, 1, 10, 0));
	assert_true(physical_memory_map(memory, BASE, PIECE, 1));
	number = physical_memory_number(memory, physical_memory_find(memory, 1));
	assert_true(physical_memory_release(memory, 1));
	assert_true(physical_memory_restore(memory, 1, number));
	physical_memory_unmap(memory, 1, BASE, PIECE);
	physical_memory_unmapped(memory, 1, UNMAP_DONE);
	assert_int_equal(owner->freed_blocks, 0);
	assert_true(physical_memory_release(memory, 1));
	assert_int_equal(owner->freed_blocks, 1);
	assert_false(physical_memory_restore(memory, 1, number)); /* the block is gone */
	assert_false(physical_memory_restore(memory, 1, 12345));
}

static void without_room_nothing_is_half_there(void **state)
{
	struct owner *owner = *state;
	struct physical_memory *memory = &owner->memory;
	uint64_t count = 0;

	owner->budget.limit = 20000;
	while (physical_memory_add(memory, 1000 + count, 1, 0))
		count++;
	assert_true(count > 50);
	physical_memory_check(memory);
	while (physical_memory_map(memory, BASE + count * PIECE, PIECE, 1000))
		count++;
	physical_memory_check(memory);
	physical_memory_fini(memory);
	assert_int_equal(budget_used(&owner->budget), 0);
}

/* ---- random sequences against a plain model of cuda.h's words ---- */

#define MODEL_BLOCKS    12
#define MODEL_PIECES    30
#define MODEL_SEQUENCES 20000

struct model {
	int references[MODEL_BLOCKS];
	int mapped[MODEL_PIECES]; /* 1 + the block */
};

static bool model_lives(const struct model *model, int block)
{
	bool lives = model->references[block] > 0;

	for (int i = 0; i < MODEL_PIECES; i++)
		lives |= model->mapped[i] == block + 1;
	return lives;
}

static int model_count(const struct model *model)
{
	int count = 0;

	for (int i = 0; i < MODEL_BLOCKS; i++)
		count += model_lives(model, i);
	return count;
}

static void unmap_pieces(struct model *model, struct physical_memory *memory)
{
	const int first = rand() % MODEL_PIECES;               /* NOLINT */
	const int count = 1 + rand() % (MODEL_PIECES - first); /* NOLINT */
	const bool fails = rand() % 3 == 0;                    /* NOLINT */

	physical_memory_unmap(memory, 1, BASE + (uint64_t)first * PIECE, (uint64_t)count * PIECE);
	physical_memory_unmapped(memory, 1, fails ? UNMAP_FAILED : UNMAP_DONE);
	for (int i = first; i < first + count && !fails; i++)
		model->mapped[i] = 0;
}

static void step(struct model *model, struct physical_memory *memory)
{
	const int block = rand() % MODEL_BLOCKS; /* NOLINT */
	const int piece = rand() % MODEL_PIECES; /* NOLINT */
	const uint64_t handle = 1 + (uint64_t)block;
	const uint64_t address = BASE + (uint64_t)piece * PIECE;

	switch (rand() % 5) { /* NOLINT */
	case 0:
		if (model_lives(model, block))
			break; /* a driver gives a handle out again when it is nobody's */
		assert_true(physical_memory_add(memory, handle, 1, (uint32_t)block));
		model->references[block] = 1;
		break;
	case 1:
		assert_int_equal(physical_memory_release(memory, handle),
		                 model->references[block] > 0);
		model->references[block] -= model->references[block] > 0;
		break;
	case 2:
		if (model->references[block] == 0 || model->mapped[piece] != 0)
			break;
		assert_true(physical_memory_map(memory, address, PIECE, handle));
		model->mapped[piece] = block + 1;
		break;
	case 3:
		if (model->mapped[piece] == 0)
			break;
		assert_true(physical_memory_retain(memory, (uint64_t)model->mapped[piece],
		                                   address + 1));
		model->references[model->mapped[piece] - 1]++;
		break;
	default:
		unmap_pieces(model, memory);
		break;
	}
}

static void random_calls_leave_what_a_plain_model_has(void **state)
{
	struct owner *owner = *state;
	struct model model = { 0 };

	srand(11); /* NOLINT: the same sequence each time */
	for (int i = 0; i < MODEL_SEQUENCES; i++) {
		size_t cursor = 0;
		int live = 0;

		step(&model, &owner->memory);
		while (physical_memory_next(&owner->memory, &cursor))
			live++;
		assert_int_equal(live, model_count(&model));
		if (i % 100 == 0)
			physical_memory_check(&owner->memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(memory_lives_as_long_as_a_reference_or_a_mapping),
		TEST(one_unmapping_takes_all_that_lies_in_it),
		TEST(an_unmapping_that_fails_leaves_everything),
		TEST(an_address_that_is_given_out_meanwhile_is_the_new_one),
		TEST(what_is_mapped_meanwhile_stays),
		TEST(a_mapping_ends_those_that_it_lies_over),
		TEST(who_takes_the_place_of_a_thread_says_that_it_has_unmapped),
		TEST(no_call_looks_at_all_mappings),
		TEST(what_is_mapped_meanwhile_is_not_looked_at_without_end),
		TEST(a_handle_can_be_had_from_an_address),
		TEST(a_release_that_failed_is_undone),
		TEST(without_room_nothing_is_half_there),
		TEST(random_calls_leave_what_a_plain_model_has),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
