/* Rows, compared with those of libdw at addresses all over real files. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/collector/elf/elf_files.h"
#include "tests/unit/skip.h"

#define STRIDE 5 /* bytes between two addresses; no instruction's usual length */

struct comparison {
	size_t rows;
	size_t without;
	size_t expressions;
	size_t signals;
};

static bool is_plain_register(const Dwarf_Op *op, size_t count, uint64_t *reg, int64_t *number)
{
	if (count == 1 && op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*number = (int64_t)op->number;
		return true;
	}
	if (count == 1 && op->atom == DW_OP_bregx) {
		*reg = op->number;
		*number = (int64_t)op->number2;
		return true;
	}
	return false;
}

static void assert_same_cfa(Dwarf_Frame *frame, const struct unwind_row *row,
                            struct comparison *done)
{
	uint64_t reg;
	int64_t number;
	Dwarf_Op *ops;
	size_t count;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (is_plain_register(ops, count, &reg, &number)) {
		assert_false(row->cfa_is_expression);
		assert_int_equal(row->cfa_register, reg);
		assert_int_equal(row->cfa_number, number);
	} else {
		assert_true(row->cfa_is_expression);
		done->expressions++;
	}
}

/* {CFA [+ number] [is the value]}: an expression of the file begins with the CFA too. */
static bool is_cfa_and_number(const Dwarf_Op *ops, size_t count, int64_t *number)
{
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (ops[count - 1].atom == DW_OP_stack_value)
		count--;
	*number = count == 2 ? (int64_t)ops[1].number : 0;
	return count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst);
}

static void assert_same_rule(Dwarf_Frame *frame, int reg, const struct unwind_row *row)
{
	const enum register_rule rule = row->rules[reg];
	Dwarf_Op memory[3];
	int64_t number;
	Dwarf_Op *ops;
	size_t count;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &count), 0);
	if (count == 0 && !ops) {
		assert_int_equal(rule, RULE_SAME);
	} else if (count == 0) {
		/* libdw takes registers that calls do not keep as undefined by themselves */
		assert_true(rule == RULE_UNDEFINED || rule == RULE_SAME);
	} else if (reg == REGISTER_STACK_POINTER && rule == RULE_SAME) {
		assert_int_equal(ops[count - 1].atom, DW_OP_stack_value); /* it is the CFA */
	} else if (is_cfa_and_number(ops, count, &number)) {
		const bool is_value = ops[count - 1].atom == DW_OP_stack_value;

		assert_int_equal(rule, is_value ? RULE_VALUE_OFFSET : RULE_OFFSET);
		assert_int_equal(row->numbers[reg], number);
	} else if (count == 1 && ops[0].atom == DW_OP_regx) {
		assert_int_equal(rule, RULE_REGISTER);
		assert_int_equal(row->numbers[reg], ops[0].number);
	} else {
		assert_true(rule == RULE_EXPRESSION || rule == RULE_VALUE_EXPRESSION);
	}
}

static void compare_at(Dwarf_CFI *cfi, struct module *module, uint64_t address,
                       struct comparison *done)
{
	const struct unwind_row *row = module_row(module, address);
	Dwarf_Frame *frame = NULL;
	bool is_signal;

	if (dwarf_cfi_addrframe(cfi, address, &frame) != 0) {
		assert_null(row);
		done->without++;
		return;
	}
	assert_non_null(row);
	assert_true(dwarf_frame_info(frame, NULL, NULL, &is_signal) >= 0);
	assert_int_equal(row->is_signal, is_signal);
	assert_same_cfa(frame, row, done);
	for (int reg = 0; reg < REGISTER_COUNT; reg++)
		assert_same_rule(frame, reg, row);
	done->rows++;
	done->signals += is_signal;
	free(frame);
}

static struct comparison compare_file(const char *path, uint64_t stride)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	struct module *module = open_path(cache, path);
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct comparison done = { 0 };
	Elf *elf;
	Dwarf_CFI *cfi;

	assert_non_null(module);
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (uint32_t i = 0; i < module_image(module)->segment_count; i++) {
		const struct elf_segment *segment = &module_image(module)->segments[i];

		if (!(segment->flags & PF_X))
			continue;
		for (uint64_t at = 0; at < segment->file_size; at += stride)
			compare_at(cfi, module, segment->address + at, &done);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(descriptor);
	module_unref(module);
	return done;
}

static void rows_of_the_c_library_are_those_of_libdw(void **state)
{
	const struct comparison done = compare_file(libc_path(), STRIDE);

	(void)state;
	assert_true(done.rows > 100000);
	assert_true(done.expressions > 10); /* of its PLT */
	assert_true(done.signals > 0);      /* of the return from a handler */
}

static void rows_of_this_program_are_those_of_libdw(void **state)
{
	const struct comparison done = compare_file(own_path(), 1);

	(void)state;
	assert_true(done.rows > 10000);
	assert_true(done.without > 0);
}

static void rows_of_an_interpreter_are_those_of_libdw(void **state)
{
	const char *path = python_path();

	(void)state;
	if (!path) {
		SKIP_BECAUSE("no python3");
	}
	assert_true(compare_file(path, 53).rows > 10);
}

static void rows_of_the_kernels_code_have_a_signal_free_start(void **state)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	const struct unwind_row *row;
	struct module *module;
	struct error err = { 0 };
	uint64_t address;

	(void)state;
	assert_int_equal(module_cache_open_vdso(cache, &module, &err), 0);
	assert_true(module_export(module, "__vdso_clock_gettime", &address));
	row = module_row(module, address);
	assert_non_null(row);
	/* At a function's first instruction the return address lies at the stack pointer. */
	assert_int_equal(row->cfa_register, REGISTER_STACK_POINTER);
	assert_int_equal(row->cfa_number, ADDRESS_BYTES);
	assert_int_equal(row->rules[REGISTER_RETURN_ADDRESS], RULE_OFFSET);
	assert_int_equal(row->numbers[REGISTER_RETURN_ADDRESS], -ADDRESS_BYTES);
	module_unref(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_c_library_are_those_of_libdw),
		cmocka_unit_test(rows_of_this_program_are_those_of_libdw),
		cmocka_unit_test(rows_of_an_interpreter_are_those_of_libdw),
		cmocka_unit_test(rows_of_the_kernels_code_have_a_signal_free_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
