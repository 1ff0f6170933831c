// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Numbers in the memory of the current process; 0 for what is not there. */
#ifndef COLLECTOR_BPF_PYTHON_USER_BPF_H
#define COLLECTOR_BPF_PYTHON_USER_BPF_H

static __always_inline __u64 user_u64(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline __u32 user_u32(__u64 address)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline __u8 user_u8(__u64 address)
{
	__u8 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

#endif
