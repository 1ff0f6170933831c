/*
 * A call tree, written in pre-order: frames with their own values.
 *
 * Shape    a format decoder (formats/format.h). Each node is
 *
 *	varint length, that many bytes of a name, varint self, varint children
 *
 *          and then its children. The first node is the root, whose name and value are
 *          ignored; so is what stands behind its last child. Equal stacks add up.
 * Units    a name is at most TREE_NAME_MAX bytes, a node has at most TREE_CHILDREN_MAX
 *          children, the stacks at most TREE_FRAMES_MAX frames together: a body can say
 *          much more of them than it weighs.
 * Errors   ERROR_INVALID for a tree that ends early or passes a limit of the format;
 *          ERROR_TOO_LARGE past TREE_FRAMES_MAX; those of text_profile_make().
 * Threads  none.
 * Source   ingest specification, 1.5 and 3.6
 */
#pragma once

#include "formats/format.h"

#define TREE_NAME_MAX     65535
#define TREE_CHILDREN_MAX 16000
#define TREE_FRAMES_MAX   ((size_t)32 << 20) /* a guess: 16,000 stacks of 1,000 are half of it */

int tree_decode(const struct format_input *input, struct format_output *out, struct error *err);
