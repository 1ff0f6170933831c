#include "storage/trusted_time.h"

void trusted_time_init(struct trusted_time *time, int64_t last_unix_ns, int64_t boot_ns)
{
	*time = (struct trusted_time){ .offset_ns = last_unix_ns - boot_ns };
}

int64_t trusted_time_now(struct trusted_time *time, int64_t unix_ns, int64_t boot_ns)
{
	const bool was_ahead = time->is_ahead;

	time->is_ahead = unix_ns - boot_ns - time->offset_ns > TRUSTED_TIME_JUMP_NS;
	if (time->is_ahead && !was_ahead)
		time->ahead_since_boot_ns = boot_ns;
	if (time->is_ahead && boot_ns - time->ahead_since_boot_ns < TRUSTED_TIME_SETTLE_NS)
		return boot_ns + time->offset_ns;
	time->is_ahead = false;
	time->offset_ns = unix_ns - boot_ns;
	return unix_ns;
}
