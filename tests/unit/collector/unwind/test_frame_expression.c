/* Expressions that linkers and libraries write, and operations by arithmetic. */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/unwind/frame_expression.h"

static uint64_t registers[REGISTER_COUNT];
static const uint8_t stack_bytes[16] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08, 0xff };
static const struct stack_memory memory = { 0x7000, sizeof(stack_bytes), stack_bytes };

static bool compute(const uint8_t *bytes, size_t length, const uint64_t *first, uint64_t *out)
{
	struct frame_expression expression = {
		.bytes = bytes, .length = length, .registers = registers, .memory = &memory
	};

	return frame_expression_compute(&expression, first, out);
}

/* rsp + 8 + ((rip & 15) >= 11 ? 8 : 0): what ld writes for the entries of a PLT. */
static void a_plt_knows_how_far_its_entry_has_come(void **state)
{
	static const uint8_t plt[] = { DW_OP_breg0 + 7, 8,         DW_OP_breg0 + 16, 0,
		                       DW_OP_lit15,     DW_OP_and, DW_OP_lit11,      DW_OP_ge,
		                       DW_OP_lit3,      DW_OP_shl, DW_OP_plus };
	uint64_t value;

	(void)state;
	registers[REGISTER_STACK_POINTER] = 0x7000;
	for (uint64_t at = 0; at < 16; at++) {
		registers[REGISTER_RETURN_ADDRESS] = 0x401020 + at;
		assert_true(compute(plt, sizeof(plt), NULL, &value));
		assert_int_equal(value, at >= 11 ? 0x7010 : 0x7008);
	}
}

static void operations_compute_what_dwarf_says(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t length;
		uint64_t expected;
	} cases[] = {
		{ { DW_OP_lit31 }, 1, 31 },
		{ { DW_OP_const1u, 0xff }, 2, 255 },
		{ { DW_OP_const1s, 0xff }, 2, UINT64_MAX },
		{ { DW_OP_const2u, 0x34, 0x12 }, 3, 0x1234 },
		{ { DW_OP_const2s, 0x00, 0x80 }, 3, (uint64_t)-32768 },
		{ { DW_OP_const4u, 1, 2, 3, 0x84 }, 5, 0x84030201 },
		{ { DW_OP_const4s, 0, 0, 0, 0x80 }, 5, (uint64_t)INT32_MIN },
		{ { DW_OP_const8u, 1, 0, 0, 0, 0, 0, 0, 0x80 }, 9, UINT64_C(0x8000000000000001) },
		{ { DW_OP_constu, 0xe5, 0x8e, 0x26 }, 4, 624485 },
		{ { DW_OP_consts, 0x80, 0x7f }, 3, (uint64_t)-128 },
		{ { DW_OP_lit3, DW_OP_lit5, DW_OP_minus }, 3, (uint64_t)-2 },
		{ { DW_OP_lit3, DW_OP_lit5, DW_OP_mul }, 3, 15 },
		{ { DW_OP_lit6, DW_OP_lit3, DW_OP_xor }, 3, 5 },
		{ { DW_OP_lit6, DW_OP_lit3, DW_OP_or }, 3, 7 },
		{ { DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl }, 4, 0 },
		{ { DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_shra }, 4, (uint64_t)-4 },
		{ { DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_shr }, 4, UINT64_C(0x3ffffffffffffffc) },
		{ { DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_lt }, 4, 1 },
		{ { DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_gt }, 4, 0 },
		{ { DW_OP_lit2, DW_OP_lit2, DW_OP_eq }, 3, 1 },
		{ { DW_OP_lit2, DW_OP_lit2, DW_OP_ne }, 3, 0 },
		{ { DW_OP_lit2, DW_OP_lit2, DW_OP_le }, 3, 1 },
		{ { DW_OP_const1s, 0xf0, DW_OP_abs }, 3, 16 },
		{ { DW_OP_lit7, DW_OP_neg }, 2, (uint64_t)-7 },
		{ { DW_OP_lit0, DW_OP_not }, 2, UINT64_MAX },
		{ { DW_OP_lit1, DW_OP_plus_uconst, 0x81, 1 }, 4, 130 },
		{ { DW_OP_lit1, DW_OP_lit2, DW_OP_swap }, 3, 1 },
		{ { DW_OP_lit1, DW_OP_lit2, DW_OP_over }, 3, 1 },
		{ { DW_OP_lit9, DW_OP_lit2, DW_OP_lit3, DW_OP_pick, 2 }, 5, 9 },
		{ { DW_OP_lit1, DW_OP_lit2, DW_OP_drop }, 3, 1 },
		{ { DW_OP_lit4, DW_OP_dup, DW_OP_plus }, 3, 8 },
		{ { DW_OP_const2u, 0x00, 0x70, DW_OP_deref }, 4, UINT64_C(0x0877665544332211) },
		{ { DW_OP_const2u, 0x01, 0x70, DW_OP_deref_size, 2 }, 5, 0x3322 },
		{ { DW_OP_lit1, DW_OP_skip, 1, 0, DW_OP_lit2 }, 5, 1 },
		{ { DW_OP_lit7, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit2 }, 6, 7 },
		{ { DW_OP_lit7, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit2 }, 6, 2 },
		{ { DW_OP_bregx, 7, 0x78 }, 3, 0x6ff8 },
	};
	uint64_t value;

	(void)state;
	registers[REGISTER_STACK_POINTER] = 0x7000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!compute(cases[i].bytes, cases[i].length, NULL, &value))
			fail_msg("case %zu", i);
		assert_int_equal(value, cases[i].expected);
	}
}

static void what_cannot_be_computed_fails(void **state)
{
	static const struct {
		uint8_t bytes[8];
		size_t length;
	} cases[] = {
		{ { 0 }, 0 },          /* nothing */
		{ { DW_OP_plus }, 1 }, /* nothing to add */
		{ { DW_OP_lit1, DW_OP_plus }, 2 },
		{ { DW_OP_const4u, 1 }, 2 },                       /* cut */
		{ { DW_OP_breg0 + 17, 0 }, 2 },                    /* a vector */
		{ { DW_OP_lit1, DW_OP_deref }, 2 },                /* not in the copy */
		{ { DW_OP_const2u, 0x09, 0x70, DW_OP_deref }, 4 }, /* not all of it */
		{ { DW_OP_const2u, 0x00, 0x70, DW_OP_deref_size, 9 }, 5 },
		{ { DW_OP_skip, 0xfd, 0xff }, 3 },             /* for ever */
		{ { DW_OP_lit1, DW_OP_skip, 0xfc, 0xff }, 4 }, /* for ever, and more each time */
		{ { DW_OP_skip, 0, 0x80 }, 3 },
		{ { DW_OP_lit1, DW_OP_pick, 1 }, 3 },
		{ { DW_OP_lit1, DW_OP_call4, 0, 0, 0, 0 }, 6 },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (compute(cases[i].bytes, cases[i].length, NULL, &value))
			fail_msg("case %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plt_knows_how_far_its_entry_has_come),
		cmocka_unit_test(operations_compute_what_dwarf_says),
		cmocka_unit_test(what_cannot_be_computed_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
