#include "collector/watch/program_identity.h"

#include <stdio.h>
#include <sys/stat.h>

#include "collector/proc_file.h"

#define STAT_BYTES_MAX 4096

/* Of proc(5), counted from 1. */
#define FIELD_START_CODE  26
#define FIELD_START_STACK 28
#define FIELD_ARG_START   48

/* An address; false: it is hidden from us. */
static bool read_address(struct str stat, int field, __u64 *out)
{
	uint64_t value = 0;

	if (!str_to_u64(proc_stat_field(stat, field), UINT64_MAX, &value) || value == 0)
		return false;
	*out = value;
	return true;
}

int program_identity_parse(struct str stat, struct exec_identity *out, struct error *err)
{
	if (read_address(stat, FIELD_START_CODE, &out->start_code) &&
	    read_address(stat, FIELD_START_STACK, &out->start_stack) &&
	    read_address(stat, FIELD_ARG_START, &out->arg_start))
		return 0;
	return error_set(err, ERROR_NOT_FOUND, "its addresses are not told");
}

int program_identity_read(uint32_t tgid, struct exec_identity *out, struct error *err)
{
	struct exec_identity identity = { 0 };
	char buffer[STAT_BYTES_MAX];
	const struct str text = proc_file_of("/proc", tgid, "stat", buffer, sizeof(buffer));
	struct stat status;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	if (text.length == 0 || stat(path, &status) < 0)
		return error_set(err, ERROR_NOT_FOUND, "process %u has ended", tgid);
	if (program_identity_parse(text, &identity, err) < 0)
		return -1;
	identity.inode = status.st_ino;
	*out = identity;
	return 0;
}
