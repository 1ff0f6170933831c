/* Nodes of graphs that allocate: the address is known at once, the memory comes at a launch. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "tests/collector/stub/stub_memory.h"

#define NODE_ALLOC      10
#define NODE_UNION      16
#define ALLOC_BYTES_AT  104
#define ALLOC_RESULT_AT 112
#define GRAPH_BASE      UINT64_C(0x600000000000)

int cuGraphAddMemAllocNode(void **node, void *graph, const void *dependencies, size_t count,
                           void *parameters);
int cuGraphAddMemFreeNode(void **node, void *graph, const void *dependencies, size_t count,
                          uint64_t address);
int cuGraphAddNode(void **node, void *graph, const void *dependencies, size_t count,
                   void *parameters);
int cuGraphAddNode_v2(void **node, void *graph, const void *dependencies, const void *edges,
                      size_t count, void *parameters);

static void give_address(char *parameters)
{
	static _Atomic uint64_t next = GRAPH_BASE;
	uint64_t bytes;
	uint64_t address;

	memcpy(&bytes, parameters + ALLOC_BYTES_AT, sizeof(bytes));
	address = atomic_fetch_add_explicit(&next, bytes, memory_order_relaxed);
	memcpy(parameters + ALLOC_RESULT_AT, &address, sizeof(address));
}

EXPORT int cuGraphAddMemAllocNode(void **node, void *graph, const void *dependencies, size_t count,
                                  void *parameters)
{
	(void)graph;
	(void)dependencies;
	(void)count;
	stub_begin("cuGraphAddMemAllocNode");
	*node = parameters;
	give_address(parameters);
	return STUB_SUCCESS;
}

EXPORT int cuGraphAddMemFreeNode(void **node, void *graph, const void *dependencies, size_t count,
                                 uint64_t address)
{
	(void)graph;
	(void)dependencies;
	(void)count;
	stub_begin("cuGraphAddMemFreeNode");
	*node = NULL;
	return address ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

static int add_node(void **node, char *parameters)
{
	uint32_t kind;

	memcpy(&kind, parameters, sizeof(kind));
	*node = parameters;
	if (kind == NODE_ALLOC)
		give_address(parameters + NODE_UNION);
	return STUB_SUCCESS;
}

EXPORT int cuGraphAddNode(void **node, void *graph, const void *dependencies, size_t count,
                          void *parameters)
{
	(void)graph;
	(void)dependencies;
	(void)count;
	stub_begin("cuGraphAddNode");
	return add_node(node, parameters);
}

EXPORT int cuGraphAddNode_v2(void **node, void *graph, const void *dependencies, const void *edges,
                             size_t count, void *parameters)
{
	(void)graph;
	(void)dependencies;
	(void)edges;
	(void)count;
	stub_begin("cuGraphAddNode_v2");
	return add_node(node, parameters);
}
