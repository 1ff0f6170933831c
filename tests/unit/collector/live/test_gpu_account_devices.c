/* Random calls on several devices, in contexts that come and go, beside a model that is plain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/gpu_account.h"
#include "tests/unit/collector/live/live_fixture.h"

#define BLOCKS   300
#define CONTEXTS 6
#define DEVICES  4
#define STREAMS  5
#define NOWHERE  (-1)

/* What a block is, by the rules of the driver. */
struct model_block {
	uint64_t bytes; /* 0: not live */
	uint64_t context;
	enum cuda_function_id freed_by;
	int device; /* or NOWHERE: it is not known */
	enum cuda_class memory_class;
};

struct model_context {
	uint64_t handle; /* 0: there is none */
	int device;
	bool is_told; /* where it is */
};

struct model {
	struct gpu_account account;
	struct model_block blocks[BLOCKS];
	struct model_context contexts[CONTEXTS];
	int streams[STREAMS]; /* the number of their context; NOWHERE: there is none */
	uint64_t next_handle;
	uint64_t alloc[DEVICES][CUDA_CLASS_COUNT];
	uint64_t freed[DEVICES][CUDA_CLASS_COUNT];
	uint64_t implicit[DEVICES][CUDA_CLASS_COUNT];
};

static int choose(int count)
{
	return rand() % count; /* NOLINT: the same sequence each time */
}

static void tell(struct model *model, enum cuda_function_id function, uint64_t address, int device,
                 uint64_t context)
{
	struct cuda_event event = alloc_event(address, 0);

	event.kind = CUDA_EVENT_DONE;
	event.function = (uint16_t)function;
	event.device = (uint16_t)(device + 1);
	event.context = context;
	event.flags = context ? CUDA_EVENT_CONTEXT_SEEN : 0;
	gpu_account_book(&model->account, &event, 0);
}

/* ---- contexts ---- */

/* One that was made, or one that is only met: its device is told later, or never. */
static void begin_context(struct model *model, struct model_context *context)
{
	*context = (struct model_context){ .handle = 0x1000 * ++model->next_handle,
		                           .device = choose(DEVICES),
		                           .is_told = choose(3) > 0 };
	if (context->is_told)
		tell(model, CU_CTX_CREATE_V2, context->handle, context->device, 0);
}

static void end_blocks(struct model *model, uint64_t handle)
{
	for (int i = 0; i < BLOCKS; i++) {
		struct model_block *block = &model->blocks[i];

		if (block->bytes == 0 || block->context != handle)
			continue;
		if (block->device != NOWHERE)
			model->implicit[block->device][block->memory_class] += block->bytes;
		block->bytes = 0;
	}
}

static void end_context(struct model *model, int number)
{
	struct model_context *context = &model->contexts[number];

	tell(model, CU_CTX_DESTROY_V2, context->handle, NOWHERE, 0);
	end_blocks(model, context->handle);
	context->handle = 0;
	for (int i = 0; i < STREAMS; i++)
		if (model->streams[i] == number)
			model->streams[i] = NOWHERE;
}

/* Who asks for the device of the current context tells it. */
static void learn(struct model *model, struct model_context *context)
{
	tell(model, CU_CTX_DEVICE, context->handle, context->device, 0);
	context->is_told = true;
}

static void change_context(struct model *model)
{
	const int number = choose(CONTEXTS);
	struct model_context *context = &model->contexts[number];

	if (context->handle == 0)
		begin_context(model, context);
	else if (context->is_told && choose(3) == 0)
		end_context(model, number);
	else if (!context->is_told && choose(4) == 0)
		learn(model, context);
}

/* ---- memory ---- */

static int device_of_context(const struct model *model, int number)
{
	return model->contexts[number].is_told ? model->contexts[number].device : NOWHERE;
}

static void book(struct model *model, int place, struct cuda_event event,
                 const struct model_block *block)
{
	event.address = (uint64_t)(place + 1) << 20;
	event.bytes = block->bytes;
	event.context = block->context;
	event.flags = block->context ? CUDA_EVENT_CONTEXT_SEEN : 0;
	gpu_account_book(&model->account, &event, 1000 + (uint32_t)choose(5));
	model->blocks[place] = *block;
	if (block->device != NOWHERE)
		model->alloc[block->device][block->memory_class] += block->bytes;
}

static void allocate(struct model *model, int place)
{
	const int number = choose(CONTEXTS);
	const int stream = choose(STREAMS);
	struct cuda_event event = alloc_event(0, 0);
	struct model_block block = { .bytes = (uint64_t)choose(9000) + 1,
		                     .context = model->contexts[number].handle,
		                     .freed_by = CU_MEM_FREE_V2,
		                     .device = device_of_context(model, number) };

	switch (choose(4)) {
	case 0: /* where its context is */
		event.function = CU_MEM_ALLOC_V2;
		block.memory_class = CUDA_CLASS_DEVICE;
		break;
	case 1: /* where its stream is */
		event.function = CU_MEM_ALLOC_ASYNC;
		block.memory_class = CUDA_CLASS_POOL;
		if (model->streams[stream] == NOWHERE)
			break;
		event.other = 0x100 + (uint64_t)stream;
		block.device = device_of_context(model, model->streams[stream]);
		break;
	case 2: /* where it says; of no context */
		event.function = CU_MEM_CREATE;
		block = (struct model_block){ .bytes = block.bytes,
			                      .freed_by = CU_MEM_RELEASE,
			                      .device = choose(DEVICES),
			                      .memory_class = CUDA_CLASS_VMM };
		event.device = (uint16_t)(block.device + 1);
		break;
	default: /* on any */
		event.function = CU_MEM_ALLOC_MANAGED;
		block.memory_class = CUDA_CLASS_MANAGED;
		block.device = NOWHERE;
		break;
	}
	if (block.context != 0 || block.memory_class == CUDA_CLASS_VMM)
		book(model, place, event, &block);
}

static void free_block(struct model *model, int place)
{
	struct model_block *block = &model->blocks[place];
	struct cuda_event event = free_event((uint64_t)(place + 1) << 20);

	event.function = (uint16_t)block->freed_by;
	gpu_account_book(&model->account, &event, 0);
	if (choose(5) == 0) { /* it fails: all is as it was */
		event.kind = CUDA_EVENT_FREE_UNDONE;
		event.result = 1;
		gpu_account_book(&model->account, &event, 0);
		return;
	}
	if (block->device != NOWHERE)
		model->freed[block->device][block->memory_class] += block->bytes;
	block->bytes = 0;
}

/* In the context that is chosen: then it is one of its own, told or not. */
static void make_stream(struct model *model)
{
	const int number = choose(CONTEXTS);
	const int stream = choose(STREAMS);

	if (model->contexts[number].handle == 0)
		return;
	tell(model, CU_STREAM_CREATE, 0x100 + (uint64_t)stream, NOWHERE,
	     model->contexts[number].handle);
	model->streams[stream] = number;
}

static void step(struct model *model)
{
	const int place = choose(BLOCKS);

	switch (choose(10)) {
	case 0:
		change_context(model);
		break;
	case 1:
		make_stream(model);
		break;
	default:
		if (model->blocks[place].bytes == 0)
			allocate(model, place);
		else
			free_block(model, place);
		break;
	}
}

/* ---- comparing ---- */

static uint64_t live_of(const struct model *model, int device, int memory_class)
{
	uint64_t sum = 0;

	for (int i = 0; i < BLOCKS; i++)
		if (model->blocks[i].device == device &&
		    (int)model->blocks[i].memory_class == memory_class)
			sum += model->blocks[i].bytes;
	return sum;
}

static void compare(const struct model *model)
{
	static const struct device_ledger nothing;

	gpu_account_check(&model->account);
	for (int i = 0; i < DEVICES; i++) {
		const struct device_ledger *ledger = model->account.ledgers[i];

		for (int j = 0; j < CUDA_CLASS_COUNT; j++) {
			const struct class_books *books = &(ledger ? ledger : &nothing)->books[j];

			assert_true(books->alloc_bytes == model->alloc[i][j]);
			assert_true(books->free_bytes == model->freed[i][j]);
			assert_true(books->implicit_bytes == model->implicit[i][j]);
			assert_true(books->live_bytes == live_of(model, i, j));
		}
	}
}

static void random_calls_keep_the_books_of_each_device(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct budget budget;

	(void)state;
	assert_non_null(model);
	srand(3); /* NOLINT */
	budget_init(&budget, 64 << 20);
	gpu_account_init(&model->account, &budget);
	tell(model, CU_DEVICE_COUNT, DEVICES, NOWHERE, 0);
	for (int i = 0; i < STREAMS; i++)
		model->streams[i] = NOWHERE;
	for (int i = 0; i < 60000; i++) {
		step(model);
		if (i % 500 != 0)
			continue;
		compare(model);
		gpu_account_sent(&model->account);
		gpu_account_rebuild(&model->account, NULL);
	}
	for (int i = 0; i < DEVICES; i++) {
		assert_true(model->implicit[i][CUDA_CLASS_DEVICE] > 0);
		assert_true(model->implicit[i][CUDA_CLASS_VMM] == 0);
	}
	gpu_account_close(&model->account);
	gpu_account_check(&model->account);
	for (int i = 0; i < DEVICES; i++)
		assert_true(model->account.ledgers[i]->books[CUDA_CLASS_DEVICE].live_bytes == 0);
	gpu_account_fini(&model->account);
	assert_int_equal(budget_used(&budget), 0);
	free(model);
}

/* A context whose device is learned late: blocks stay where they were known to be. */
static void a_block_keeps_its_device(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct model_block block = { .bytes = 100, .context = 0xa000, .device = NOWHERE };
	struct budget budget;

	(void)state;
	assert_non_null(model);
	budget_init(&budget, 1 << 20);
	gpu_account_init(&model->account, &budget);
	book(model, 1, alloc_event(0, 0), &block);
	assert_null(model->account.ledgers[2]);
	tell(model, CU_CTX_DEVICE, 0xa000, 2, 0);
	block.bytes = 7;
	block.device = 2;
	book(model, 2, alloc_event(0, 0), &block);
	compare(model);
	assert_true(model->account.ledgers[2]->books[CUDA_CLASS_DEVICE].live_bytes == 7);
	/* it is the primary context of that device: its end takes both */
	tell(model, CU_PRIMARY_RESET_V2, 0, 2, 0);
	end_blocks(model, 0xa000);
	compare(model);
	assert_true(model->account.gpu_live_bytes == 0);
	gpu_account_fini(&model->account);
	free(model);
}

/* Where a process counts itself a device, the blocks of no context there end with its primary. */
static void a_pool_says_where_it_is(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct cuda_event event = alloc_event(0, 0);
	struct model_block block = { .bytes = 50, .device = 1, .memory_class = CUDA_CLASS_POOL };
	struct budget budget;

	(void)state;
	assert_non_null(model);
	budget_init(&budget, 1 << 20);
	gpu_account_init(&model->account, &budget);
	tell(model, CU_DEVICE_COUNT, DEVICES, NOWHERE, 0);
	tell(model, CU_POOL_CREATE, 0x900, 1, 0);
	event.function = CU_MEM_ALLOC_FROM_POOL_ASYNC;
	event.other = 0x900;
	book(model, 1, event, &block);
	compare(model);
	tell(model, CU_POOL_DESTROY, 0x900, NOWHERE, 0);
	block.device = NOWHERE;
	book(model, 2, event, &block);
	compare(model);
	tell(model, CU_PRIMARY_RESET_V2, 0, 1, 0);
	assert_true(model->account.gpu_live_bytes == 50);
	assert_true(model->account.books[CUDA_CLASS_POOL].implicit_bytes == 50);
	gpu_account_check(&model->account);
	gpu_account_fini(&model->account);
	free(model);
}

#define MANY_BLOCKS 200000
#define MANY_ENDS   20000

/* To look at every block at each of these calls takes longer than a test may. */
static void contexts_that_end_all_the_time_are_not_followed(void **state)
{
	struct model model = { .next_handle = 0 };
	struct budget budget;
	struct gpu_account *account = &model.account;
	struct cuda_event inside = alloc_event(0x7000000000, 7);

	(void)state;
	budget_init(&budget, (size_t)256 << 20);
	gpu_account_init(account, &budget);
	for (uint64_t i = 1; i <= MANY_BLOCKS; i++) {
		const struct cuda_event event = alloc_event(i << 12, 10);

		gpu_account_book(account, &event, STACK_LOST);
	}
	tell(&model, CU_CTX_CREATE_V2, 0x1000, 0, 0);
	tell(&model, CU_CTX_CREATE_V2, 0x2000, 1, 0);
	inside.context = 0x2000;
	inside.flags = CUDA_EVENT_CONTEXT_SEEN;
	gpu_account_book(account, &inside, STACK_LOST);
	assert_int_equal(account->oddities.untracked_calls, 0);
	for (int i = 0; i < MANY_ENDS; i++) {
		tell(&model, CU_CTX_CREATE_V2, 0x3000, 1, 0);
		tell(&model, CU_CTX_DESTROY_V2, 0x3000, 0, 0);
	}
	/* two events pay for 2048 slots, and as many as there are blocks are more than that */
	assert_in_range(account->oddities.untracked_calls, MANY_ENDS / 2, MANY_ENDS - 1);
	gpu_account_check(account);
	/* whoever has paid is followed again */
	for (int i = 0; i < MANY_ENDS; i++)
		tell(&model, CU_DEVICE_COUNT, 2, 0, 0);
	assert_true(account->books[CUDA_CLASS_DEVICE].implicit_bytes == 0);
	tell(&model, CU_CTX_DESTROY_V2, 0x2000, 0, 0);
	assert_true(account->books[CUDA_CLASS_DEVICE].implicit_bytes == 7);
	gpu_account_check(account);
	gpu_account_fini(account);
	assert_int_equal(budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_calls_keep_the_books_of_each_device),
		cmocka_unit_test(a_block_keeps_its_device),
		cmocka_unit_test(a_pool_says_where_it_is),
		cmocka_unit_test(contexts_that_end_all_the_time_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
