/*
 * What a module is made of: for module.c and module_cache.c alone.
 *
 * Invariants
 *   1. a module is in one chain of each table and in the list of use, from making to freeing;
 *   2. `referenced` is the number of modules that have a reference;
 *   3. `symbol_bytes` of the cache is the sum over its modules' tables and unpacked data.
 */
#pragma once

#include "collector/elf/frame_table.h"
#include "collector/elf/module_cache.h"
#include "collector/elf/row_cache.h"
#include "collector/elf/symbol_index.h"

#define MODULE_CHAINS 1024

/* Which file it is. */
struct module_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t change_ns; /* mtime */
	int64_t status_ns; /* ctime */
};

enum module_symbols_state {
	MODULE_SYMBOLS_UNREAD,
	MODULE_SYMBOLS_READ,
	MODULE_SYMBOLS_NONE, /* there are none, or they cannot be had */
};

struct module {
	struct module_cache *cache;
	uint32_t number; /* of rows */
	uint32_t references;
	struct module *newer; /* list of use */
	struct module *older;
	struct module *next_by_identity;
	struct module *next_by_inode;

	struct module_identity identity;
	char *path;
	char build_id[2 * ELF_BUILD_ID_MAX + 1];
	struct code_bytes bytes;
	struct elf_image image;
	struct frame_table frames;

	enum module_symbols_state symbols_state;
	struct symbol_index symbols;
	struct code_bytes unpacked; /* .gnu_debugdata */
	struct code_bytes debug_bytes;
	struct elf_image debug_image; /* bytes is NULL: no separate file */
	char trouble[ERROR_MESSAGE_SIZE];
};

struct module_cache {
	size_t symbol_limit;
	size_t symbol_bytes;
	size_t count;
	size_t limit;
	size_t referenced; /* of `count` */
	uint32_t last_number;
	struct module *newest;
	struct module *oldest;
	struct module *by_identity[MODULE_CHAINS];
	struct module *by_inode[MODULE_CHAINS];
	struct code_blocks *blocks;
	struct row_cache *rows;
	struct frame_buffers buffers;
};

/* Used now: it goes to the front of the list. */
void module_cache_touch(struct module *module);

/* Counts the symbols that `module` has just read, and makes room for them. */
void module_cache_grow(struct module *module, size_t bytes);

/* Bytes of the symbols that a module holds in memory. */
size_t module_symbol_bytes(const struct module *module);

/* Back to the state before symbols were asked for. */
void module_drop_symbols(struct module *module);
