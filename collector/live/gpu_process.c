#include "collector/live/gpu_process.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "collector/identity/process_start.h"

struct gpu_process_table {
	struct gpu_process_table_options options;
	struct budget budget;
	struct id_map ids; /* by tgid and start; its numbers are those of `all` */
	struct gpu_process **all;
	size_t capacity;
	uint64_t refused_events;
	uint64_t unnamed;
	size_t former_programs;
	size_t adopted;                    /* of which no event has come */
	struct account_oddities forgotten; /* of processes that are gone */
};

struct gpu_process_table *gpu_process_table_new(const struct gpu_process_table_options *options)
{
	struct gpu_process_table *table = mem_zalloc(1, sizeof(*table));

	table->options = *options;
	budget_init(&table->budget, options->memory_bytes);
	return table;
}

static void add_oddities(struct account_oddities *to, const struct account_oddities *from)
{
	to->unknown_frees += from->unknown_frees;
	to->missed_frees += from->missed_frees;
	to->untracked_calls += from->untracked_calls;
	to->failed_calls += from->failed_calls;
	to->lost_calls += from->lost_calls;
	to->unstacked_bytes += from->unstacked_bytes;
}

static void free_process(struct gpu_process *process)
{
	gpu_account_fini(&process->account);
	process_identity_fini(&process->identity);
	free(process->share);
	free(process->gpus);
	free(process);
}

void gpu_process_table_free(struct gpu_process_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->ids.count; i++)
		free_process(table->all[i]);
	free(table->all);
	id_map_fini(&table->ids);
	free(table);
}

static struct hash128 key_of(uint32_t tgid, uint64_t start_ns)
{
	const uint64_t pair[] = { tgid, start_ns };

	return hash128(0, pair, sizeof(pair)); /* the kernel chooses both */
}

static void append(struct gpu_process_table *table, struct gpu_process *process)
{
	bool is_new;
	const uint32_t id =
		id_map_add(&table->ids, key_of(process->tgid, process->start_ns), &is_new);

	assert(is_new);
	if (id == table->capacity) {
		table->capacity = table->capacity ? table->capacity * 2 : 16;
		table->all = mem_resize(table->all, table->capacity, sizeof(struct gpu_process *));
	}
	table->all[id] = process;
}

/* comm as the kernel has it: perhaps without a NUL. */
static void read_identity(const struct gpu_process_table *table, struct gpu_process *process,
                          const char comm[COMM_BYTES])
{
	char text[COMM_BYTES + 1] = "";

	memcpy(text, comm, COMM_BYTES);
	(void)snprintf(process->gpu, sizeof(process->gpu), "%s", DEVICE_UNKNOWN);
	free(process->gpus);
	process->gpus = NULL;
	process_identity_fini(&process->identity);
	table->options.namer.identify(table->options.namer.context, process->tgid, text,
	                              &process->identity);
	if (process->identity.is_late)
		process->seen_mono_ns = clock_mono_ns();
}

struct gpu_process *gpu_process_table_find(struct gpu_process_table *table, uint32_t tgid,
                                           uint64_t start_ns)
{
	const uint32_t id = id_map_find(&table->ids, key_of(tgid, start_ns));

	return id == ID_MAP_NONE ? NULL : table->all[id];
}

/* Each process may have as much as is left for all: none takes what others need. */
static void open_account(struct gpu_process_table *table, struct gpu_process *process)
{
	process->share = mem_zalloc(1, sizeof(*process->share));
	budget_init_share(process->share, &table->budget);
	gpu_account_init(&process->account, process->share);
}

static struct gpu_process *add(struct gpu_process_table *table, const struct cuda_event *event)
{
	struct gpu_process *process;

	if (table->ids.count >= GPU_PROCESSES_MAX) {
		table->refused_events++;
		return NULL;
	}
	process = mem_zalloc(1, sizeof(*process));
	process->tgid = event->tgid;
	process->start_ns = event->process_start_ns;
	process->first_ns = event->time_ns;
	read_identity(table, process, event->comm);
	open_account(table, process);
	append(table, process);
	return process;
}

/* All of them, in their order, under their starts as they are now. */
static void make_ids(struct gpu_process_table *table)
{
	const uint32_t count = table->ids.count;

	id_map_reset(&table->ids);
	for (uint32_t i = 0; i < count; i++)
		append(table, table->all[i]);
}

/* An adopted one, by its first event; NULL: it is none of them. */
static struct gpu_process *recognize(struct gpu_process_table *table,
                                     const struct cuda_event *event)
{
	struct gpu_process *process =
		table->adopted == 0
			? NULL
			: gpu_process_table_find(table, event->tgid,
	                                         process_start_shown(event->process_start_ns));

	if (!process || !process->is_adopted || process->end_mono_ns != 0)
		return NULL;
	process->is_adopted = false;
	process->start_ns = event->process_start_ns;
	process->first_ns = event->time_ns;
	table->adopted--;
	make_ids(table); /* once for each that was there when the collector began */
	return process;
}

struct gpu_process *gpu_process_table_get(struct gpu_process_table *table,
                                          const struct cuda_event *event)
{
	struct gpu_process *process =
		gpu_process_table_find(table, event->tgid, event->process_start_ns);

	if (!process || process->is_adopted)
		process = recognize(table, event);
	return process ? process : add(table, event);
}

struct gpu_process *gpu_process_table_adopt(struct gpu_process_table *table, uint32_t tgid,
                                            uint64_t start_ns)
{
	struct gpu_process *process =
		add(table, &(struct cuda_event){ .tgid = tgid, .process_start_ns = start_ns });

	if (!process)
		return NULL;
	process->is_adopted = true;
	table->adopted++;
	return process;
}

struct gpu_process *gpu_process_table_running(const struct gpu_process_table *table, uint32_t tgid)
{
	for (uint32_t i = table->ids.count; i-- > 0;)
		if (table->all[i]->tgid == tgid && table->all[i]->end_mono_ns == 0)
			return table->all[i];
	return NULL;
}

struct budget *gpu_process_table_budget(struct gpu_process_table *table)
{
	return &table->budget;
}

size_t gpu_process_table_count(const struct gpu_process_table *table)
{
	return table->ids.count;
}

struct gpu_process *gpu_process_table_at(const struct gpu_process_table *table, size_t index)
{
	assert(index < table->ids.count);
	return table->all[index];
}

const char *gpu_process_device(const struct gpu_process *process, uint16_t device)
{
	const bool is_named = device > 0 && process->gpus && process->gpus[device - 1][0];

	return is_named ? process->gpus[device - 1] : process->gpu;
}

void gpu_process_end(struct gpu_process *process, int64_t now_mono_ns)
{
	if (process->end_mono_ns != 0)
		return;
	process->end_mono_ns = now_mono_ns > 0 ? now_mono_ns : 1;
	gpu_account_close(&process->account);
}

bool gpu_process_has_peak(const struct gpu_process *process)
{
	const struct high_water *high = &process->account.sums.high;

	return high->bytes != 0 && high->bytes != process->told_peak_bytes;
}

/* Whether there is something that the next tick would tell, or a report that waits. */
static bool has_news(const struct gpu_process *process)
{
	const struct gpu_account *account = &process->account;

	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++)
		if (memory_sums_at(&account->sums, i)->alloc_objects > 0)
			return true;
	return account->failure_count > 0 || process->report_count > 0 ||
	       gpu_process_has_peak(process);
}

/*
 * The program that a process has left: its books and its name, under a start that no process
 * has. What the kernel counts goes on.
 */
static struct gpu_process *leave_program(struct gpu_process_table *table,
                                         struct gpu_process *process, uint64_t time_ns)
{
	struct gpu_process *former = mem_zalloc(1, sizeof(*former));

	*former = *process;
	former->start_ns = time_ns;
	former->is_former = true;
	former->is_settled = true;
	former->has_counters = false;
	former->end_mono_ns = 1; /* long ago: nothing is to be seen of it behind its tick */
	append(table, former);
	table->former_programs++;
	process->identity = (struct process_identity){ 0 };
	process->gpus = NULL;
	open_account(table, process);
	memcpy(process->account.counted, former->account.counted, sizeof(process->account.counted));
	memcpy(process->account.deficit, former->account.deficit, sizeof(process->account.deficit));
	memset(process->shown_free_bytes, 0, sizeof(process->shown_free_bytes));
	memset(process->shown_free_calls, 0, sizeof(process->shown_free_calls));
	process->told_peak_bytes = 0;
	process->first_ns = time_ns;
	return former;
}

void gpu_process_renumber(struct gpu_process *process, const uint32_t *stack_numbers)
{
	gpu_account_rebuild(&process->account, stack_numbers);
	memset(process->captured, 0, sizeof(process->captured));
	process->stack_bytes = 0;
}

struct gpu_process *gpu_process_table_exec(struct gpu_process_table *table,
                                           struct gpu_process *process, uint64_t time_ns)
{
	static const char no_comm[COMM_BYTES];
	struct gpu_process *former = NULL;

	gpu_account_close(&process->account);
	memset(process->captured, 0, sizeof(process->captured));
	if (has_news(process) && table->former_programs < FORMER_PROGRAMS_MAX &&
	    table->ids.count < GPU_PROCESSES_MAX &&
	    !gpu_process_table_find(table, process->tgid, time_ns))
		former = leave_program(table, process, time_ns);
	process->report_count = 0;
	process->suspension = SUSPENSION_NONE;
	process->account.told = (struct told_devices){ 0 };
	read_identity(table, process, no_comm);
	return former;
}

void gpu_process_table_settle(struct gpu_process_table *table, int64_t now_mono_ns)
{
	const struct process_namer *namer = &table->options.namer;

	for (uint32_t i = 0; i < table->ids.count; i++) {
		struct gpu_process *process = table->all[i];
		struct process_identity *identity = &process->identity;

		if (!identity->is_late || namer->settle(namer->context, process->tgid, identity) ||
		    now_mono_ns - process->seen_mono_ns < IDENTITY_WAIT_NS)
			continue;
		process_identity_fini(identity);
		table->unnamed++;
	}
}

void gpu_process_table_forget(struct gpu_process_table *table, int64_t before_mono_ns)
{
	const uint32_t count = table->ids.count;

	/* thousands that ended a moment ago must not keep out those that come */
	if (count > GPU_PROCESSES_MAX / 2)
		before_mono_ns = INT64_MAX;
	id_map_reset(&table->ids);
	for (uint32_t i = 0; i < count; i++) {
		struct gpu_process *process = table->all[i];

		if (process->end_mono_ns == 0 || process->end_mono_ns >= before_mono_ns ||
		    !process->is_published || process->report_count > 0) {
			append(table, process);
			continue;
		}
		table->former_programs -= process->is_former;
		table->adopted -= process->is_adopted;
		add_oddities(&table->forgotten, &process->account.oddities);
		free_process(process);
	}
}

void gpu_process_table_usage(const struct gpu_process_table *table, struct gpu_process_usage *out)
{
	*out = (struct gpu_process_usage){
		.memory_bytes = budget_used(&table->budget),
		.refused_events = table->refused_events,
		.unnamed = table->unnamed,
		.oddities = table->forgotten,
	};
	for (uint32_t i = 0; i < table->ids.count; i++) {
		out->running += table->all[i]->end_mono_ns == 0;
		add_oddities(&out->oddities, &table->all[i]->account.oddities);
	}
}
