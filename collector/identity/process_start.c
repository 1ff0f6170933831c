#include "collector/identity/process_start.h"

#include "collector/proc_file.h"

#define STAT_BYTES  4096
#define FIELD_START 22

bool process_start_parse(struct str stat, uint64_t *out_ns)
{
	uint64_t ticks;

	if (!str_to_u64(proc_stat_field(stat, FIELD_START), UINT64_MAX / PROCESS_START_TICK_NS,
	                &ticks))
		return false;
	*out_ns = ticks * PROCESS_START_TICK_NS;
	return true;
}

bool process_start_read(const char *proc, uint32_t tgid, uint64_t *out_ns)
{
	char buffer[STAT_BYTES];

	return process_start_parse(proc_file_of(proc, tgid, "stat", buffer, sizeof(buffer)),
	                           out_ns);
}
