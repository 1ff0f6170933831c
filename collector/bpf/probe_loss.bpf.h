// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Counts of what went otherwise than it should: probe_loss.def. */
#ifndef COLLECTOR_BPF_PROBE_LOSS_BPF_H
#define COLLECTOR_BPF_PROBE_LOSS_BPF_H

#include "collector/bpf/cuda_probe_shared.h"

__u64 probe_losses[PROBE_LOSS_COUNT]; /* user space maps and reads them */

static __always_inline void probe_loss_count(enum probe_loss loss)
{
	__sync_fetch_and_add(&probe_losses[loss], 1);
}

#endif
