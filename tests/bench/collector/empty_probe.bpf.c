// SPDX-License-Identifier: GPL-2.0 OR MIT
/* An entry and a return probe that do nothing: what any pair of probes costs. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("uprobe")
int empty_entry(void *context)
{
	return 0;
}

SEC("uretprobe")
int empty_return(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
