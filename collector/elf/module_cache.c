#include "collector/elf/module_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "collector/elf/module_parts.h"
#include "collector/elf/module_skeleton.h"

#define VDSO_BYTES_MAX ((size_t)64 << 10)

/* Each takes one or two descriptors; half of all are for what else is opened. */
static size_t module_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 > MODULES_MAX)
		return MODULES_MAX;
	return files.rlim_cur / 4;
}

struct module_cache *module_cache_new(size_t symbol_limit_bytes)
{
	struct module_cache *cache = mem_zalloc(1, sizeof(*cache));

	cache->symbol_limit = symbol_limit_bytes;
	cache->limit = module_limit();
	cache->blocks = code_blocks_new();
	cache->rows = row_cache_new();
	return cache;
}

static struct module **identity_chain(struct module_cache *cache,
                                      const struct module_identity *identity)
{
	return &cache->by_identity[hash64(0, identity, sizeof(*identity)) % MODULE_CHAINS];
}

/* Files that may be one below several mounts. */
static struct module **inode_chain(struct module_cache *cache,
                                   const struct module_identity *identity)
{
	return &cache->by_inode[hash64(1, &identity->inode, sizeof(identity->inode)) %
	                        MODULE_CHAINS];
}

static void link_newest(struct module *module)
{
	struct module_cache *cache = module->cache;

	module->newer = NULL;
	module->older = cache->newest;
	if (cache->newest)
		cache->newest->newer = module;
	else
		cache->oldest = module;
	cache->newest = module;
}

static void unlink_use(struct module *module)
{
	struct module_cache *cache = module->cache;

	if (module->newer)
		module->newer->older = module->older;
	else
		cache->newest = module->older;
	if (module->older)
		module->older->newer = module->newer;
	else
		cache->oldest = module->newer;
}

void module_cache_touch(struct module *module)
{
	if (module->cache->newest == module)
		return;
	unlink_use(module);
	link_newest(module);
}

void module_cache_grow(struct module *module, size_t bytes)
{
	struct module_cache *cache = module->cache;

	cache->symbol_bytes += bytes;
	for (struct module *old = cache->oldest; old && cache->symbol_bytes > cache->symbol_limit;
	     old = old->newer) {
		if (old == module || old->symbols_state != MODULE_SYMBOLS_READ)
			continue;
		cache->symbol_bytes -= module_symbol_bytes(old);
		module_drop_symbols(old);
	}
}

static void free_module(struct module *module)
{
	if (module->symbols_state == MODULE_SYMBOLS_READ)
		module->cache->symbol_bytes -= module_symbol_bytes(module);
	module_drop_symbols(module);
	frame_table_fini(&module->frames);
	code_bytes_fini(&module->debug_bytes);
	code_bytes_fini(&module->bytes);
	free(module->path);
	free(module);
}

static void close_module(struct module *module)
{
	struct module_cache *cache = module->cache;
	struct module **at = identity_chain(cache, &module->identity);

	while (*at != module)
		at = &(*at)->next_by_identity;
	*at = module->next_by_identity;
	at = inode_chain(cache, &module->identity);
	while (*at != module)
		at = &(*at)->next_by_inode;
	*at = module->next_by_inode;
	unlink_use(module);
	cache->count--;
	free_module(module);
}

void module_cache_free(struct module_cache *cache)
{
	if (!cache)
		return;
	while (cache->newest)
		close_module(cache->newest);
	frame_buffers_fini(&cache->buffers);
	row_cache_free(cache->rows);
	code_blocks_free(cache->blocks);
	free(cache);
}

/* Closes the oldest that nobody refers to, where there are too many. */
static bool make_room(struct module_cache *cache)
{
	struct module *module = cache->oldest;

	if (cache->count < cache->limit)
		return true;
	if (cache->referenced == cache->count)
		return false;
	while (module->references > 0)
		module = module->newer;
	close_module(module);
	return true;
}

static struct module *find_identity(struct module_cache *cache,
                                    const struct module_identity *identity)
{
	struct module *module = *identity_chain(cache, identity);

	while (module && memcmp(&module->identity, identity, sizeof(*identity)) != 0)
		module = module->next_by_identity;
	return module;
}

static bool is_same_code(const struct elf_image *a, const struct elf_image *b)
{
	return a->build_id_length > 0 && a->build_id_length == b->build_id_length &&
	       memcmp(a->build_id, b->build_id, a->build_id_length) == 0;
}

/*
 * The same file below another mount. A build id is what its file says: whoever makes one that
 * says another's must not name that one's functions. The time of the last change of its inode
 * is not to be had at will.
 */
static struct module *find_mounted(struct module_cache *cache,
                                   const struct module_identity *identity,
                                   const struct elf_image *image)
{
	struct module *module = *inode_chain(cache, identity);
	struct module_identity other = *identity;

	for (; module; module = module->next_by_inode) {
		other.device = module->identity.device;
		if (memcmp(&module->identity, &other, sizeof(other)) == 0 &&
		    is_same_code(&module->image, image))
			return module;
	}
	return NULL;
}

static void write_build_id(struct module *module)
{
	const struct elf_image *image = &module->image;

	for (uint32_t i = 0; i < image->build_id_length; i++)
		(void)snprintf(module->build_id + (size_t)2 * i, 3, "%02x", image->build_id[i]);
}

static void insert(struct module *module)
{
	struct module_cache *cache = module->cache;
	struct module **chain = identity_chain(cache, &module->identity);

	module->next_by_identity = *chain;
	*chain = module;
	chain = inode_chain(cache, &module->identity);
	module->next_by_inode = *chain;
	*chain = module;
	link_newest(module);
	cache->count++;
}

static struct module *found(struct module *module)
{
	module_cache_touch(module);
	return module_ref(module);
}

/* A module of `bytes`, which are taken, also when it fails. */
static int make_module(struct module_cache *cache, struct code_bytes *bytes, struct str path,
                       const struct module_identity *identity, const struct file_opener *opener,
                       struct module **out, struct error *err)
{
	struct module *module = mem_zalloc(1, sizeof(*module));
	struct module *same;

	module->cache = cache;
	module->bytes = *bytes;
	if (elf_image_init(&module->image, &module->bytes, err) < 0) {
		free_module(module);
		return -1;
	}
	same = find_mounted(cache, identity, &module->image);
	if (same) {
		free_module(module);
		*out = found(same);
		return 0;
	}
	if (!make_room(cache)) {
		free_module(module);
		return error_set(err, ERROR_TOO_LARGE, "more than %zu files are mapped",
		                 cache->limit);
	}
	module->identity = *identity;
	module->path = mem_strndup(path.data, path.length);
	module->number = ++cache->last_number;
	write_build_id(module);
	frame_table_init(&module->frames, &module->image);
	if (module->image.symtab.table.size == 0 && module->bytes.blocks &&
	    !debug_file_find(&module->image, str_of(module->path), opener, cache->blocks,
	                     &module->debug_bytes, &module->debug_image))
		module->debug_image.bytes = NULL;
	insert(module);
	*out = module_ref(module);
	return 0;
}

int module_cache_open(struct module_cache *cache, int descriptor, struct str path,
                      const struct file_opener *opener, struct module **out, struct error *err)
{
	struct module_identity identity;
	struct code_bytes bytes;
	struct module *module;
	struct stat status;

	if (fstat(descriptor, &status) < 0 || !S_ISREG(status.st_mode)) {
		(void)close(descriptor);
		return error_set(err, ERROR_INVALID, "not a regular file");
	}
	identity = (struct module_identity){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.change_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec,
		.status_ns = status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec,
	};
	module = find_identity(cache, &identity);
	if (module) {
		(void)close(descriptor);
		*out = found(module);
		return 0;
	}
	code_bytes_init_file(&bytes, cache->blocks, descriptor, identity.size);
	return make_module(cache, &bytes, path, &identity, opener, out, err);
}

/* Bytes in memory are no file: their hash says what they are. */
static struct module_identity identity_of_bytes(struct str bytes)
{
	const struct hash128 hash = hash128_str(1, bytes);

	return (struct module_identity){
		.device = hash.low, .inode = hash.high, .size = bytes.length, .change_ns = -1
	};
}

int module_cache_open_bytes(struct module_cache *cache, struct str bytes, struct str path,
                            struct module **out, struct error *err)
{
	const struct module_identity identity = identity_of_bytes(bytes);
	struct module *module = find_identity(cache, &identity);
	struct code_bytes copy;

	if (module) {
		*out = found(module);
		return 0;
	}
	code_bytes_init_memory(&copy, mem_strndup(bytes.data, bytes.length), bytes.length);
	return make_module(cache, &copy, path, &identity, NULL, out, err);
}

int module_cache_open_skeleton(struct module_cache *cache, struct str skeleton, struct module **out,
                               struct error *err)
{
	const struct module_identity identity = identity_of_bytes(skeleton);
	struct module *module = find_identity(cache, &identity);
	struct module_skeleton parts = { 0 };
	struct error ignored;
	int result;

	if (module) {
		*out = found(module);
		return 0;
	}
	if (module_skeleton_read(skeleton, &parts, err) < 0)
		return -1;
	result = make_module(cache, &parts.file, str_of(parts.path), &identity, NULL, &module, err);
	parts.file = (struct code_bytes){ .descriptor = -1 }; /* taken */
	if (result == 0 && parts.debug.size > 0 && !module->debug_image.bytes) {
		module->debug_bytes = parts.debug;
		parts.debug = (struct code_bytes){ .descriptor = -1 };
		if (elf_image_init(&module->debug_image, &module->debug_bytes, &ignored) < 0)
			module->debug_image.bytes = NULL;
	}
	module_skeleton_fini(&parts);
	if (result == 0)
		*out = module;
	return result;
}

/* What the kernel maps is whole pages; the ELF header's section table is its end. */
int module_cache_open_vdso(struct module_cache *cache, struct module **out, struct error *err)
{
	const unsigned long address = getauxval(AT_SYSINFO_EHDR);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as a number */
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)address;
	size_t length;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, ERROR_NOT_FOUND, "the kernel maps no code of its own");
	length = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (length > VDSO_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "the kernel's code has %zu bytes", length);
	return module_cache_open_bytes(cache, str_make(header, length), STR("[vdso]"), out, err);
}

size_t module_cache_room(const struct module_cache *cache)
{
	return cache->limit - cache->referenced;
}

void module_cache_sizes(const struct module_cache *cache, struct module_cache_sizes *out)
{
	*out = (struct module_cache_sizes){ .modules = cache->count,
		                            .symbol_bytes = cache->symbol_bytes };
}
