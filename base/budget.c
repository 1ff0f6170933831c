#include "base/budget.h"

#include <assert.h>

bool budget_take(struct budget *budget, size_t bytes)
{
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);

	do {
		if (bytes > budget->limit || used > budget->limit - bytes)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&budget->used, &used, used + bytes, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void budget_give(struct budget *budget, size_t bytes)
{
	const size_t before = atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);

	assert(before >= bytes);
	(void)before;
}
