/*
 * Memory that many share: the one number `memory.limit`, and parts of it.
 *
 * Shape    a counter with a limit. Arenas, queues and caches take from it before
 *          they allocate and give back when they free.
 * Units    bytes.
 * Errors   budget_take() says false; the caller turns that into ERROR_UNAVAILABLE.
 * Threads  any; the counter is atomic with relaxed order.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
	size_t limit;
	_Atomic size_t used;
	struct budget *whole; /* that it is a share of, or NULL */
};

static inline void budget_init(struct budget *budget, size_t limit)
{
	budget->limit = limit;
	budget->whole = NULL;
	atomic_init(&budget->used, 0);
}

/*
 * One of many shares of a whole, which outlives it. A share may take as much as is left of
 * the whole: one alone gets half, of two each gets a third, and whoever comes later always
 * finds something.
 */
static inline void budget_init_share(struct budget *budget, struct budget *whole)
{
	budget_init(budget, whole->limit);
	budget->whole = whole;
}

/* True when `bytes` more fitted below the limit; then they count as used, of the whole too. */
bool budget_take(struct budget *budget, size_t bytes);

void budget_give(struct budget *budget, size_t bytes);

/*
 * The same for bytes that the whole of a share has counted already, since somebody else took
 * them from there: they count in the share alone.
 */
bool budget_count(struct budget *share, size_t bytes);
void budget_uncount(struct budget *share, size_t bytes);

static inline size_t budget_used(const struct budget *budget)
{
	return atomic_load_explicit(&budget->used, memory_order_relaxed);
}
