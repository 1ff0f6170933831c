#include "collector/live/gpu_account_parts.h"

bool cuda_class_is_gpu(enum cuda_class memory_class)
{
	static const bool is_gpu[CUDA_CLASS_COUNT] = {
		[CUDA_CLASS_DEVICE] = true, [CUDA_CLASS_MANAGED] = true, [CUDA_CLASS_VMM] = true,
		[CUDA_CLASS_POOL] = true,   [CUDA_CLASS_ARRAY] = true,
	};

	return is_gpu[memory_class];
}

void account_allocate(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	move->sum->alloc_bytes += move->bytes;
	move->sum->alloc_objects += move->blocks;
	books->alloc_bytes += move->bytes;
	books->alloc_calls += move->blocks;
}

void account_raise(struct gpu_account *account, const struct movement *move, uint64_t time_ns)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes += move->bytes;
	move->sum->live_objects += move->blocks;
	books->live_bytes += move->bytes;
	books->live_blocks += move->blocks;
	if (!cuda_class_is_gpu(move->sum->memory_class))
		return;
	account->gpu_live_bytes += move->bytes;
	high_water_rise(&account->sums.high, account->gpu_live_bytes);
	if (account->gpu_live_bytes > account->gpu_peak_bytes) {
		account->gpu_peak_bytes = account->gpu_live_bytes;
		account->peak_time_ns = time_ns > 0 ? time_ns : account->peak_time_ns;
	}
}

void account_lower(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes -= move->bytes;
	move->sum->live_objects -= move->blocks;
	books->live_bytes -= move->bytes;
	books->live_blocks -= move->blocks;
	if (cuda_class_is_gpu(move->sum->memory_class))
		account->gpu_live_bytes -= move->bytes;
}

void account_count_freed(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	books->free_bytes += move->bytes;
	books->free_calls += move->blocks;
}

void account_count_implicit(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	books->implicit_bytes += move->bytes;
	books->implicit_calls += move->blocks;
}

struct movement account_movement_of(const struct gpu_account *account,
                                    const struct live_block *block)
{
	return (struct movement){ memory_sums_at(&account->sums, block->sum), block->bytes, 1 };
}

void account_return(struct gpu_account *account, const struct movement *move, uint64_t time_ns)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	books->free_bytes -= move->bytes;
	books->free_calls -= move->blocks;
	account_raise(account, move, time_ns);
}
