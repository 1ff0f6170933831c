/*
 * What processes held before they were watched, as far as devices count it: the stack
 * "[allocated before profiling started]".
 *
 * Shape    a process that runs when the collector begins may hold memory that no call told
 *          of. The first picture of devices says what each process holds; of one that had
 *          begun before, what the books do not have of it is from before: live, in one
 *          lump, never allocated. So it is also for a process that has called nobody since:
 *          it is adopted into the table.
 *          The lump has the context and the modules that were there, and what pools kept:
 *          devices do not tell them apart. It only shrinks: a device counts no less for a
 *          process than what it holds, so the lump is never more than what a later picture
 *          leaves for it beside the least that the books had since it was asked for. It
 *          goes with the process. What is not certain changes nothing: devices that do not
 *          say who holds memory of them, managed memory (which may lie on the host, and no
 *          device counts it there), a process that is suspended.
 *          After EARLIER_SIGHT_NS without a picture there is no lump: nobody could say
 *          what was there at the beginning.
 * Units    bytes; nanoseconds of the boot-time clock for starts, of the monotonic one else.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 4.3
 */
#pragma once

#include "base/cleanup.h"
#include "collector/live/device_books.h"

#define EARLIER_SIGHT_NS (INT64_C(60) * 1000000000) /* a guess: an init takes seconds */

struct earlier_memory;

/* All of them outlive it; `proc` NULL: events are of another machine, and nobody is seen. */
struct earlier_memory *earlier_memory_new(const char *proc, const struct device_books *devices,
                                          struct gpu_process_table *processes)
	__attribute__((returns_nonnull));
void earlier_memory_free(struct earlier_memory *earlier);
DEFINE_FREEP(earlier_memory)

/* Devices are about to be asked. */
void earlier_memory_ask(struct earlier_memory *earlier);

/*
 * All events that were sent by now are booked: takes what the picture says, if it was begun
 * since they were asked. Adopted processes that are no more end.
 */
void earlier_memory_see(struct earlier_memory *earlier);
