/*
 * A trie of any bytes: what comes out refers only to what is there, and adds up to what the
 * nodes say.
 */
#include "formats/tree_node.h"
#include "formats/trie.h"
#include "tests/fuzz/formats/name_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t total_of(struct str body)
{
	struct tree_node_reader nodes;
	struct tree_node node;
	uint64_t total = 0;
	struct error err = { 0 };

	tree_node_reader_init(&nodes, body, 0);
	while (tree_node_next(&nodes, &node, &err) > 0)
		total += node.value;
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(NAME_FORMATS_ARENA, NULL);
	const struct str body = str_make(data, size);
	struct format_output out;

	if (name_formats_decode(trie_decode, STR("app.alloc_objects"), body, arena, &out) < 0)
		return 0;
	if (out.count == 1 &&
	    out.profiles[0].input->samples_sent == out.profiles[0].input->profile.sample_count)
		assert(name_formats_total(&out) == total_of(body));
	return 0;
}
