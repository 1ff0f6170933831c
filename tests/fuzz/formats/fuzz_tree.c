/*
 * A tree of any bytes: what comes out refers only to what is there, and adds up to what the
 * nodes say.
 */
#include "formats/tree.h"
#include "formats/tree_node.h"
#include "tests/fuzz/formats/name_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the nodes up to the last one of the root; the root's own value does not count. */
static uint64_t total_of(struct str body)
{
	struct tree_node_reader nodes;
	struct tree_node node;
	uint64_t missing = 1;
	uint64_t total = 0;
	struct error err = { 0 };
	bool is_root = true;

	tree_node_reader_init(&nodes, body, TREE_NAME_MAX);
	while (missing > 0 && tree_node_next(&nodes, &node, &err) > 0) {
		missing += node.child_count - 1;
		total += is_root ? 0 : node.value;
		is_root = false;
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(NAME_FORMATS_ARENA, NULL);
	const struct str body = str_make(data, size);
	struct format_output out;

	if (name_formats_decode(tree_decode, STR("app.alloc_objects"), body, arena, &out) < 0)
		return 0;
	if (out.count == 1 &&
	    out.profiles[0].input->samples_sent == out.profiles[0].input->profile.sample_count)
		assert(name_formats_total(&out) == total_of(body));
	return 0;
}
