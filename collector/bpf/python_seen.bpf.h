// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Code objects and types that were sent to user space.
 *
 * Shape    a table of hashes: no keys, no lists, no locks. A set is one cache line; its oldest
 *          entry makes room, and what it stood for is sent again. An entry is the upper part
 *          of the hash, SEEN, and a note of the one that put it there; the lower part of the
 *          hash is the number of its set.
 * Errors   two objects of one hash (62 bits) count as one. The hash begins with a number that
 *          no process knows, so none can make one up.
 * Threads  entries are written and read whole; of two writers one may lose its entry.
 */
#ifndef COLLECTOR_BPF_PYTHON_SEEN_BPF_H
#define COLLECTOR_BPF_PYTHON_SEEN_BPF_H

#define PYTHON_SEEN_SETS 16384
#define PYTHON_SEEN_WAYS 8
#define PYTHON_SEEN      0x8000ULL /* in each entry, so none is zero */
#define PYTHON_SEEN_NOTE 0x7fffULL
#define SEEN_HASH_PART   (~0ULL << 16)

const volatile __u64 python_seen_seed = 0; /* user space sets it */

struct python_seen_set {
	__u64 entries[PYTHON_SEEN_WAYS]; /* the newest first */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_SEEN_SETS);
	__type(key, __u32);
	__type(value, struct python_seen_set);
} python_seen SEC(".maps");

static __always_inline struct python_seen_set *python_seen_set_of(__u64 hash)
{
	const __u32 number = hash & (PYTHON_SEEN_SETS - 1);

	return bpf_map_lookup_elem(&python_seen, &number);
}

/* The entry of a hash, or 0. */
static __always_inline __u64 python_seen_find(__u64 hash)
{
	const struct python_seen_set *set = python_seen_set_of(hash);

	if (!set)
		return 0;
	for (__u32 i = 0; i < PYTHON_SEEN_WAYS; i++) {
		const __u64 entry = set->entries[i];

		if (((entry ^ hash) & SEEN_HASH_PART) == 0 && entry != 0)
			return entry;
	}
	return 0;
}

/* Keeps a hash with a note. */
static __always_inline void python_seen_add(__u64 hash, __u64 note)
{
	struct python_seen_set *set = python_seen_set_of(hash);

	if (!set)
		return;
	for (__u32 i = PYTHON_SEEN_WAYS - 1; i > 0; i--)
		set->entries[i] = set->entries[i - 1];
	set->entries[0] = (hash & SEEN_HASH_PART) | PYTHON_SEEN | (note & PYTHON_SEEN_NOTE);
}

#endif
