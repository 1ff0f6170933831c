#include "collector/live/earlier_memory.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/identity/process_start.h"

struct earlier_memory {
	const char *proc;
	const struct device_books *devices;
	struct gpu_process_table *processes;
	uint64_t begun_ns;     /* whoever began behind it was watched from its beginning */
	int64_t asked_mono_ns; /* the last time; 0: never */
	int64_t until_mono_ns; /* the first picture comes by then, or too late; 0: it has come */
};

struct earlier_memory *earlier_memory_new(const char *proc, const struct device_books *devices,
                                          struct gpu_process_table *processes)
{
	struct earlier_memory *earlier = mem_zalloc(1, sizeof(*earlier));

	earlier->proc = proc;
	earlier->devices = devices;
	earlier->processes = processes;
	earlier->begun_ns = (uint64_t)clock_boot_ns();
	earlier->until_mono_ns = INT64_MAX;
	return earlier;
}

void earlier_memory_free(struct earlier_memory *earlier)
{
	free(earlier);
}

void earlier_memory_ask(struct earlier_memory *earlier)
{
	const size_t count = gpu_process_table_count(earlier->processes);

	if (earlier->asked_mono_ns == 0)
		earlier->until_mono_ns = clock_mono_ns() + EARLIER_SIGHT_NS;
	earlier->asked_mono_ns = clock_mono_ns();
	for (size_t i = 0; i < count; i++)
		gpu_account_watch_least(&gpu_process_table_at(earlier->processes, i)->account);
}

/* ---- the first picture ---- */

/* Whether it began before the collector did, by the kernel's own clock or by /proc. */
static bool is_earlier(const struct earlier_memory *earlier, uint32_t tgid, uint64_t *out_ns)
{
	return process_start_read(earlier->proc, tgid, out_ns) && *out_ns < earlier->begun_ns;
}

/* The process of a holder that was there before; NULL: it was not. */
static struct gpu_process *process_of(const struct earlier_memory *earlier, uint32_t tgid)
{
	struct gpu_process *process = gpu_process_table_running(earlier->processes, tgid);
	uint64_t start_ns;

	if (process)
		return process->start_ns < earlier->begun_ns ? process : NULL;
	return is_earlier(earlier, tgid, &start_ns)
	               ? gpu_process_table_adopt(earlier->processes, tgid, start_ns)
	               : NULL;
}

static void see_first(const struct earlier_memory *earlier, const struct gpu_process *process,
                      struct gpu_account *account)
{
	const wide_sum told = gpu_account_told_bytes(account);
	struct held_devices held;

	if (device_books_held(earlier->devices, process, &held) && held_devices_bytes(&held) > told)
		gpu_account_set_earlier(account, held_devices_bytes(&held) - told);
}

static void adopt_all(const struct earlier_memory *earlier, const struct device_picture *picture)
{
	for (size_t i = 0; i < picture->holder_count; i++) {
		const uint32_t tgid = picture->holders[i].tgid;
		struct gpu_process *process;

		if (i > 0 && picture->holders[i - 1].tgid == tgid) /* of another device */
			continue;
		process = process_of(earlier, tgid);
		if (process)
			see_first(earlier, process, &process->account);
	}
}

/* ---- later ones ---- */

/* What a process may hold beside what calls told of; false: it is not certain. */
static bool most_beside(const struct earlier_memory *earlier, const struct gpu_process *process,
                        wide_sum *out_bytes)
{
	const wide_sum least = process->account.least_live_bytes;
	struct held_devices held = { 0 };
	wide_sum bytes;

	if (process->account.books[CUDA_CLASS_MANAGED].live_blocks > 0 ||
	    (!device_books_held(earlier->devices, process, &held) &&
	     !device_books_is_free_of(earlier->devices, process)))
		return false;
	bytes = held_devices_bytes(&held);
	*out_bytes = bytes > least ? bytes - least : 0;
	return true;
}

static void shrink_all(const struct earlier_memory *earlier)
{
	const size_t count = gpu_process_table_count(earlier->processes);

	for (size_t i = 0; i < count; i++) {
		struct gpu_process *process = gpu_process_table_at(earlier->processes, i);
		struct gpu_account *account = &process->account;
		wide_sum most;

		if (account->earlier_bytes > 0 && most_beside(earlier, process, &most) &&
		    most < account->earlier_bytes)
			gpu_account_set_earlier(account, most);
	}
}

/* The kernel tells the end of those that have called the driver alone. */
static void end_adopted(const struct earlier_memory *earlier)
{
	const size_t count = gpu_process_table_count(earlier->processes);

	for (size_t i = 0; i < count; i++) {
		struct gpu_process *process = gpu_process_table_at(earlier->processes, i);
		uint64_t start_ns;

		if (process->is_adopted && process->end_mono_ns == 0 &&
		    (!process_start_read(earlier->proc, process->tgid, &start_ns) ||
		     start_ns != process->start_ns))
			gpu_process_end(process, clock_mono_ns());
	}
}

void earlier_memory_see(struct earlier_memory *earlier)
{
	const struct device_picture *picture = device_books_picture(earlier->devices);

	if (!earlier->proc)
		return;
	end_adopted(earlier);
	if (!picture || earlier->asked_mono_ns == 0 ||
	    picture->begun_mono_ns < earlier->asked_mono_ns ||
	    !device_picture_knows_holders(picture))
		return;
	if (clock_mono_ns() <= earlier->until_mono_ns)
		adopt_all(earlier, picture);
	else
		shrink_all(earlier);
	earlier->until_mono_ns = 0;
}
