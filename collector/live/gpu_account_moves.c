#include "collector/live/gpu_account_parts.h"

bool cuda_class_is_gpu(enum cuda_class memory_class)
{
	static const bool is_gpu[CUDA_CLASS_COUNT] = {
		[CUDA_CLASS_DEVICE] = true, [CUDA_CLASS_MANAGED] = true, [CUDA_CLASS_VMM] = true,
		[CUDA_CLASS_POOL] = true,   [CUDA_CLASS_ARRAY] = true,
	};

	return is_gpu[memory_class];
}

/* The books that a sum counts in: those of all devices, and its own device's, if that is known. */
struct both_books {
	struct class_books *books[2];
	size_t count;
};

static struct both_books books_of(struct gpu_account *account, const struct memory_sum *sum)
{
	struct both_books both = { { &account->books[sum->memory_class] }, 1 };

	if (sum->device != 0)
		both.books[both.count++] =
			&account->ledgers[sum->device - 1]->books[sum->memory_class];
	return both;
}

void account_allocate(struct gpu_account *account, const struct movement *move)
{
	const struct both_books both = books_of(account, move->sum);

	move->sum->alloc_bytes += move->bytes;
	move->sum->alloc_objects += move->blocks;
	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->alloc_bytes += move->bytes;
		both.books[i]->alloc_calls += move->blocks;
	}
}

static void note_peak(struct gpu_account *account, uint64_t time_ns)
{
	high_water_rise(&account->sums.high, account->gpu_live_bytes);
	if (account->gpu_live_bytes <= account->gpu_peak_bytes)
		return;
	account->gpu_peak_bytes = account->gpu_live_bytes;
	account->peak_time_ns = time_ns > 0 ? time_ns : account->peak_time_ns;
}

void account_raise(struct gpu_account *account, const struct movement *move, uint64_t time_ns)
{
	const struct both_books both = books_of(account, move->sum);

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes += move->bytes;
	move->sum->live_objects += move->blocks;
	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->live_bytes += move->bytes;
		both.books[i]->live_blocks += move->blocks;
	}
	if (!cuda_class_is_gpu(move->sum->memory_class))
		return;
	account->gpu_live_bytes += move->bytes;
	note_peak(account, time_ns);
}

void account_lower(struct gpu_account *account, const struct movement *move)
{
	const struct both_books both = books_of(account, move->sum);

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes -= move->bytes;
	move->sum->live_objects -= move->blocks;
	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->live_bytes -= move->bytes;
		both.books[i]->live_blocks -= move->blocks;
	}
	if (!cuda_class_is_gpu(move->sum->memory_class))
		return;
	account->gpu_live_bytes -= move->bytes;
	if (gpu_account_told_bytes(account) < account->least_live_bytes)
		account->least_live_bytes = gpu_account_told_bytes(account);
}

void account_count_freed(struct gpu_account *account, const struct movement *move)
{
	const struct both_books both = books_of(account, move->sum);

	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->free_bytes += move->bytes;
		both.books[i]->free_calls += move->blocks;
	}
}

void account_count_implicit(struct gpu_account *account, const struct movement *move)
{
	const struct both_books both = books_of(account, move->sum);

	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->implicit_bytes += move->bytes;
		both.books[i]->implicit_calls += move->blocks;
	}
}

struct movement account_movement_of(const struct gpu_account *account,
                                    const struct live_block *block)
{
	return (struct movement){ memory_sums_at(&account->sums, block->sum), block->bytes, 1 };
}

void account_return(struct gpu_account *account, const struct movement *move, uint64_t time_ns)
{
	const struct both_books both = books_of(account, move->sum);

	for (size_t i = 0; i < both.count; i++) {
		both.books[i]->free_bytes -= move->bytes;
		both.books[i]->free_calls -= move->blocks;
	}
	account_raise(account, move, time_ns);
}
