#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/live/gpu_process.h"
#include "tests/unit/collector/live/live_fixture.h"

static struct gpu_process_table *new_table(void)
{
	return gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc("/nowhere"),
		.memory_bytes = 16 << 20,
	});
}

static void a_process_is_an_id_and_a_start(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	struct cuda_event event = alloc_event(1, 1);
	struct gpu_process *first = gpu_process_table_get(table, &event);

	(void)state;
	assert_string_equal(first->identity.comm.text, "worker");
	assert_ptr_equal(gpu_process_table_get(table, &event), first);
	event.process_start_ns++; /* the id was used again */
	assert_ptr_not_equal(gpu_process_table_get(table, &event), first);
	assert_int_equal(gpu_process_table_count(table), 2);
	assert_ptr_equal(gpu_process_table_find(table, 100, 5), first);
	assert_null(gpu_process_table_find(table, 101, 5));
}

static void a_name_without_an_end_is_cut(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	struct cuda_event event = alloc_event(1, 1);

	(void)state;
	memset(event.comm, 'x', sizeof(event.comm));
	assert_int_equal(strlen(gpu_process_table_get(table, &event)->identity.comm.text),
	                 COMM_BYTES);
}

static void the_ended_are_forgotten_once_published(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *process = gpu_process_table_get(table, &event);
	struct gpu_process *other;

	(void)state;
	gpu_account_book(&process->account, &event, STACK_LOST);
	event.tgid++;
	other = gpu_process_table_get(table, &event);
	gpu_process_end(process, 2000);
	gpu_process_end(process, 9000); /* twice is once */
	assert_int_equal(process->end_mono_ns, 2000);
	assert_true(process->account.gpu_live_bytes == 0);
	gpu_process_table_forget(table, 3000);
	assert_int_equal(gpu_process_table_count(table), 2);
	process->is_published = true;
	gpu_process_table_forget(table, 2000);
	assert_int_equal(gpu_process_table_count(table), 2);
	gpu_process_table_forget(table, 2001);
	assert_int_equal(gpu_process_table_count(table), 1);
	assert_ptr_equal(gpu_process_table_find(table, event.tgid, 5), other);
	assert_null(gpu_process_table_find(table, 100, 5));
}

static void another_program_starts_with_nothing(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	const struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *process = gpu_process_table_get(table, &event);

	(void)state;
	gpu_account_book(&process->account, &event, STACK_LOST);
	gpu_account_sent(&process->account);
	process->told_peak_bytes = 100;
	assert_null(gpu_process_table_exec(table, process, 7000)); /* all was told before */
	assert_int_equal(gpu_process_table_count(table), 1);
	assert_true(process->account.books[CUDA_CLASS_DEVICE].implicit_bytes == 100);
	assert_int_equal(process->end_mono_ns, 0);
}

static void a_program_stays_for_its_peak_and_for_reports(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	const struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *process = gpu_process_table_get(table, &event);
	struct gpu_process *former;

	(void)state;
	gpu_account_book(&process->account, &event, STACK_LOST);
	gpu_account_sent(&process->account);
	former = gpu_process_table_exec(table, process, 7000);
	assert_non_null(former);
	assert_true(gpu_process_has_peak(former) && !gpu_process_has_peak(process));
	former->is_published = true;
	former->report_count = 1;
	gpu_process_table_forget(table, 2);
	assert_ptr_equal(gpu_process_table_find(table, 100, 7000), former);
	former->report_count = 0;
	gpu_process_table_forget(table, 2);
	assert_null(gpu_process_table_find(table, 100, 7000));
	process->report_count = 1; /* of a program that has done nothing since */
	former = gpu_process_table_exec(table, process, 8000);
	assert_non_null(former);
	assert_int_equal(former->report_count, 1);
	assert_int_equal(process->report_count, 0);
}

/* A name for each time that it is asked. */
static void name_anew(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	char text[16];

	(void)tgid;
	(void)comm;
	(void)snprintf(text, sizeof(text), "program%d", ++*(int *)context);
	assert_true(label_text_set(&out->comm, str_of(text)));
}

static void what_a_program_did_keeps_its_name(void **state)
{
	int programs = 0;
	CLEANUP(gpu_process_table_freep)
	struct gpu_process_table *table = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = { .identify = name_anew, .context = &programs },
		.memory_bytes = 16 << 20,
	});
	const struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *process = gpu_process_table_get(table, &event);
	struct kernel_counters counters = { .alloc_bytes = 100, .alloc_calls = 1 };
	const struct gpu_process *former;

	(void)state;
	gpu_account_book(&process->account, &event, STACK_LOST);
	gpu_process_table_exec(table, process, 7000);
	assert_ptr_equal(gpu_process_table_find(table, 100, 5), process);
	assert_string_equal(process->identity.comm.text, "program2");
	assert_true(process->account.books[CUDA_CLASS_DEVICE].alloc_bytes == 0);
	former = gpu_process_table_find(table, 100, 7000);
	assert_non_null(former);
	assert_true(former->is_former);
	assert_string_equal(former->identity.comm.text, "program1");
	assert_true(former->account.books[CUDA_CLASS_DEVICE].alloc_bytes == 100);
	assert_true(former->account.books[CUDA_CLASS_DEVICE].live_bytes == 0);
	gpu_account_check(&former->account);
	gpu_account_check(&process->account);
	/* what the kernel has counted of both is known by the one that goes on */
	gpu_account_reconcile(&process->account, CUDA_CLASS_DEVICE, &counters, RECONCILE_ENDED);
	assert_true(process->account.books[CUDA_CLASS_DEVICE].alloc_bytes == 0);
	/* it is gone behind the tick that tells of it */
	gpu_process_table_forget(table, 2);
	assert_int_equal(gpu_process_table_count(table), 2);
	gpu_process_table_find(table, 100, 7000)->is_published = true;
	gpu_process_table_forget(table, 2);
	assert_int_equal(gpu_process_table_count(table), 1);
	assert_ptr_equal(gpu_process_table_find(table, 100, 5), process);
}

static void programs_without_number_have_some_places(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	const struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *process = gpu_process_table_get(table, &event);

	(void)state;
	for (uint64_t i = 0; i < 2 * FORMER_PROGRAMS_MAX; i++) {
		gpu_account_book(&process->account, &event, STACK_LOST);
		gpu_process_table_exec(table, process, 7000 + i);
	}
	assert_int_equal(gpu_process_table_count(table), 1 + FORMER_PROGRAMS_MAX);
	assert_true(process->account.books[CUDA_CLASS_DEVICE].alloc_bytes ==
	            FORMER_PROGRAMS_MAX * 100);
}

/* Of a table that fills, those that have ended make room before their time. */
static void the_ended_make_room(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	struct cuda_event event = alloc_event(1, 100);

	(void)state;
	for (uint32_t i = 0; i < GPU_PROCESSES_MAX; i++) {
		struct gpu_process *process;

		event.tgid = 1000 + i;
		process = gpu_process_table_get(table, &event);
		assert_non_null(process);
		if (i == 0)
			continue;
		gpu_process_end(process, 5000);
		process->is_published = true;
	}
	gpu_process_table_forget(table, 1);
	assert_int_equal(gpu_process_table_count(table), 1);
	event.tgid = 1;
	assert_non_null(gpu_process_table_get(table, &event));
}

static void too_many_are_refused_and_counted(void **state)
{
	CLEANUP(gpu_process_table_freep) struct gpu_process_table *table = new_table();
	struct cuda_event event = alloc_event(1, 100);
	struct gpu_process_usage usage;

	(void)state;
	for (uint32_t i = 0; i < GPU_PROCESSES_MAX; i++) {
		event.tgid = 1000 + i;
		assert_non_null(gpu_process_table_get(table, &event));
	}
	event.tgid = 1;
	assert_null(gpu_process_table_get(table, &event));
	gpu_process_table_usage(table, &usage);
	assert_int_equal(usage.refused_events, 1);
	assert_int_equal(usage.running, GPU_PROCESSES_MAX);
}

/* ---- names that come late ---- */

static void name_late(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	(void)context;
	(void)tgid;
	(void)comm;
	*out = (struct process_identity){ .comm = { "late" }, .is_late = true };
	out->sight = mem_zalloc(1, sizeof(*out->sight));
}

/* Knows a process as soon as its id stands in *context. */
static bool name_at_last(void *context, uint32_t tgid, struct process_identity *identity)
{
	if (*(const uint32_t *)context != tgid)
		return false;
	identity->labels[IDENTITY_POD] = (struct label_text){ "llm-0" };
	process_identity_fini(identity);
	return true;
}

static void a_name_that_is_late_is_waited_for_so_long(void **state)
{
	uint32_t known = 0;
	CLEANUP(gpu_process_table_freep)
	struct gpu_process_table *table = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = { name_late, name_at_last, &known },
		.memory_bytes = 16 << 20,
	});
	struct cuda_event event = alloc_event(1, 100);
	struct gpu_process *first = gpu_process_table_get(table, &event);
	struct gpu_process_usage usage;
	struct gpu_process *second;

	(void)state;
	event.tgid++;
	second = gpu_process_table_get(table, &event);
	assert_true(first->identity.is_late && second->identity.is_late);
	gpu_process_table_settle(table, second->seen_mono_ns);
	assert_true(first->identity.is_late && second->identity.is_late);
	known = first->tgid;
	gpu_process_table_settle(table, second->seen_mono_ns + IDENTITY_WAIT_NS - 1);
	assert_false(first->identity.is_late);
	assert_string_equal(first->identity.labels[IDENTITY_POD].text, "llm-0");
	assert_true(second->identity.is_late);
	gpu_process_table_settle(table, second->seen_mono_ns + IDENTITY_WAIT_NS);
	assert_false(second->identity.is_late);
	assert_null(second->identity.sight);
	assert_string_equal(second->identity.comm.text, "late");
	gpu_process_table_usage(table, &usage);
	assert_int_equal(usage.unnamed, 1);
	/* another program has another name to wait for; the last tick waits for none */
	gpu_process_table_exec(table, second, 7000);
	assert_true(second->identity.is_late);
	gpu_process_table_settle(table, INT64_MAX);
	assert_false(second->identity.is_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_an_id_and_a_start),
		cmocka_unit_test(a_name_without_an_end_is_cut),
		cmocka_unit_test(the_ended_are_forgotten_once_published),
		cmocka_unit_test(another_program_starts_with_nothing),
		cmocka_unit_test(a_program_stays_for_its_peak_and_for_reports),
		cmocka_unit_test(what_a_program_did_keeps_its_name),
		cmocka_unit_test(programs_without_number_have_some_places),
		cmocka_unit_test(the_ended_make_room),
		cmocka_unit_test(too_many_are_refused_and_counted),
		cmocka_unit_test(a_name_that_is_late_is_waited_for_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
