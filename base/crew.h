/*
 * Threads that help whoever has work which several can do at once.
 *
 * Shape    a thread that asks for help begins at once, alone; those of the crew that have
 *          nothing to do join it. Nobody waits for a helper that has not come: with a busy
 *          crew the work is done by its owner. Threads are made when first needed.
 * Threads  any may ask, several at a time; a helper may not ask for help.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct crew;

/* At most so many helpers; 0: nobody ever comes. */
struct crew *crew_new(size_t helpers) __attribute__((returns_nonnull));

/* Nobody has work any more. NULL is fine. */
void crew_free(struct crew *crew);
DEFINE_FREEP(crew)

/* As many as the processors of this process, without the one that asks. */
size_t crew_default_size(void);

/*
 * Calls work(context) here and, at the same time, by up to `helpers` of the crew; returns
 * when the call here and all others that began have returned. `work` takes of what is to be
 * done until nothing is left, guarded by itself.
 */
void crew_share(struct crew *crew, size_t helpers, void (*work)(void *context), void *context);
