/*
 * What the programs of the self-test say.
 *
 * Shape    fixed widths, no padding.
 */
#ifndef COLLECTOR_BPF_SELF_PROBE_SHARED_H
#define COLLECTOR_BPF_SELF_PROBE_SHARED_H

#ifndef __BPF__
#include <linux/types.h>
#endif

enum self_probe_place {
	SELF_PROBE_ENTRY = 1,
	SELF_PROBE_RETURN,
};

struct self_probe_hit {
	__u32 place; /* of self_probe_place */
	__u32 tgid;
	__u64 cookie;
	__u64 number; /* the argument, or the result */
	__u64 start_ns;
	__u64 stack_word; /* at the stack pointer */
};

#endif
