#include "collector/live/tick_clock.h"

/* The first multiple behind `now`. */
static int64_t next_multiple(const struct tick_clock *clock, int64_t now_unix_ns)
{
	return (now_unix_ns / clock->interval_ns + 1) * clock->interval_ns;
}

void tick_clock_init(struct tick_clock *clock, int64_t interval_ns, int64_t now_unix_ns)
{
	*clock = (struct tick_clock){ .interval_ns = interval_ns, .last_unix_ns = now_unix_ns };
	clock->next_unix_ns = next_multiple(clock, now_unix_ns);
}

int64_t tick_clock_wait(const struct tick_clock *clock, int64_t now_unix_ns)
{
	const int64_t wait_ns = clock->next_unix_ns - now_unix_ns;

	/* further away than an interval: the clock was set back */
	return wait_ns <= 0 || wait_ns > clock->interval_ns ? 0 : wait_ns;
}

static struct stack_profile_time tick_at(struct tick_clock *clock, int64_t unix_ns)
{
	const int64_t since_ns = unix_ns - clock->last_unix_ns;
	const struct stack_profile_time tick = {
		.unix_ns = unix_ns,
		.duration_ns = since_ns > 0 ? since_ns : clock->interval_ns,
	};

	clock->last_unix_ns = unix_ns;
	clock->next_unix_ns = next_multiple(clock, unix_ns);
	return tick;
}

struct stack_profile_time tick_clock_take(struct tick_clock *clock, int64_t now_unix_ns)
{
	return tick_at(clock, now_unix_ns / clock->interval_ns * clock->interval_ns);
}

struct stack_profile_time tick_clock_finish(struct tick_clock *clock, int64_t now_unix_ns)
{
	return tick_at(clock, now_unix_ns);
}
