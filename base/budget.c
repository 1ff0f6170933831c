#include "base/budget.h"

#include <assert.h>

static bool take(struct budget *budget, size_t limit, size_t bytes)
{
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);

	do {
		if (bytes > limit || used > limit - bytes)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&budget->used, &used, used + bytes, memory_order_relaxed, memory_order_relaxed));
	return true;
}

bool budget_count(struct budget *share, size_t bytes)
{
	return take(share, share->whole->limit - budget_used(share->whole), bytes);
}

/* Up to as much as is left of the whole, once it is taken from there too. */
static bool take_share(struct budget *share, size_t bytes)
{
	if (!budget_take(share->whole, bytes))
		return false;
	if (budget_count(share, bytes))
		return true;
	budget_give(share->whole, bytes);
	return false;
}

bool budget_take(struct budget *budget, size_t bytes)
{
	return budget->whole ? take_share(budget, bytes) : take(budget, budget->limit, bytes);
}

void budget_uncount(struct budget *share, size_t bytes)
{
	const size_t before = atomic_fetch_sub_explicit(&share->used, bytes, memory_order_relaxed);

	assert(before >= bytes);
	(void)before;
}

void budget_give(struct budget *budget, size_t bytes)
{
	budget_uncount(budget, bytes);
	if (budget->whole)
		budget_give(budget->whole, bytes);
}
