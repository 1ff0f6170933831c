/*
 * A radix tree of folded stacks, written in pre-order: what older senders keep in memory.
 *
 * Shape    a format decoder (formats/format.h). Each node is
 *
 *	varint length, that many bytes of a key, varint value, varint children
 *
 *          and then its children. A key is what stands in the nodes from the root down,
 *          one behind the other, and is a folded stack: nodes may end within a frame or a
 *          character. Nodes with a value count, leaves or not. The body may end behind
 *          any node, even where children are missing.
 * Units    the keys of all nodes with a value are at most TRIE_KEYS_MAX bytes together:
 *          a body can say much more of them than it weighs.
 * Errors   ERROR_INVALID for a node that is cut or has a bad number; ERROR_TOO_LARGE past
 *          the limit; those of text_profile_make().
 * Threads  none.
 * Source   ingest specification, 3.6
 */
#pragma once

#include "formats/format.h"

/* a guess: 16,000 stacks, which is what a profile may have, of 16 KiB each */
#define TRIE_KEYS_MAX ((size_t)256 << 20)

int trie_decode(const struct format_input *input, struct format_output *out, struct error *err);
