#include "collector/live/suspension.h"

#include "collector/identity/process_number.h"
#include "collector/live/gpu_process.h"

/* After a call of a role. */
static const struct {
	enum cuda_role role;
	enum suspension becomes;
} steps[] = {
	{ CUDA_ROLE_PROCESS_LOCK, SUSPENSION_LOCKED },
	{ CUDA_ROLE_PROCESS_CHECKPOINT, SUSPENSION_CHECKPOINTED },
	{ CUDA_ROLE_PROCESS_RESTORE, SUSPENSION_LOCKED },
	{ CUDA_ROLE_PROCESS_UNLOCK, SUSPENSION_NONE },
};

const char *suspension_name(enum suspension suspension)
{
	static const char *const names[] = {
		[SUSPENSION_NONE] = "",
		[SUSPENSION_LOCKED] = "locked",
		[SUSPENSION_CHECKPOINTED] = "checkpointed",
	};

	return names[suspension];
}

/* The step of an event, or NULL. */
static const enum suspension *step_of(const struct cuda_event *event)
{
	for (size_t i = 0; i < ARRAY_LENGTH(steps); i++)
		if (steps[i].role == cuda_function(event->function)->role)
			return &steps[i].becomes;
	return NULL;
}

bool suspension_is_of(const struct cuda_event *event)
{
	return event->kind == CUDA_EVENT_DONE && step_of(event) != NULL;
}

/* The process that runs and has that number in that namespace. */
static struct gpu_process *find(const struct gpu_process_table *processes, const char *proc,
                                uint64_t pid_namespace, uint32_t number)
{
	const size_t count = gpu_process_table_count(processes);

	if (!proc || process_number_is_ours(proc, pid_namespace))
		return gpu_process_table_running(processes, number);
	for (size_t i = 0; i < count; i++) {
		struct gpu_process *process = gpu_process_table_at(processes, i);

		if (process->end_mono_ns == 0 &&
		    process_number_is(proc, process->tgid, pid_namespace, number))
			return process;
	}
	return NULL;
}

/* Whether the caller may be who it says that it is: root, or the same user. */
static bool may_suspend(const char *proc, const struct cuda_event *event,
                        const struct gpu_process *process)
{
	uint32_t uid;

	return !proc || event->bytes == 0 ||
	       (process_sight_read_uid(proc, process->tgid, &uid) && uid == event->bytes);
}

void suspension_see(struct gpu_process_table *processes, const char *proc,
                    const struct cuda_event *event)
{
	const enum suspension *becomes = step_of(event);
	struct gpu_process *process = find(processes, proc, event->address, (uint32_t)event->other);

	if (process && becomes && may_suspend(proc, event, process))
		process->suspension = *becomes;
}
