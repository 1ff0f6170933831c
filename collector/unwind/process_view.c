#include "collector/unwind/process_view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/regular_file.h"

#define DELETED STR(" (deleted)")

/* A descriptor of /proc/PID belongs to that process alone: after its end nothing opens. */
struct live_process {
	int folder;
	int memory;        /* -1: not opened yet */
	uint64_t inner_id; /* its id in its own namespace */
};

static int read_maps(void *context, struct strbuf *out, struct error *err)
{
	const struct live_process *process = context;
	const size_t before = out->length;
	const int descriptor = openat(process->folder, "maps", O_RDONLY | O_CLOEXEC);
	int result;

	if (descriptor < 0)
		return error_set(err, ERROR_NOT_FOUND, "maps cannot be opened");
	result = strbuf_read(out, descriptor); /* what is beyond the limit is left */
	(void)close(descriptor);
	if (result < 0 || out->length == before)
		return error_set(err, ERROR_NOT_FOUND, "maps cannot be read");
	return 0;
}

/* Opens a file by the path that the process sees; links cannot lead out of its root. */
static int open_in_root(void *context, const char *path)
{
	const struct live_process *process = context;
	const int root = openat(process->folder, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int descriptor;

	if (root < 0)
		return -1;
	descriptor = regular_file_open(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	(void)close(root);
	return descriptor;
}

static int open_mapping(const struct live_process *process, const struct mapped_file *file)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)file->start,
	               (unsigned long long)file->end);
	return regular_file_open(process->folder, name, 0);
}

/* By its path, where the mapping itself may not be opened. It must be the same file. */
static int open_path(struct live_process *process, const struct mapped_file *file)
{
	struct stat status;
	int descriptor;

	if (file->path.length == 0 || file->path.data[0] != '/' ||
	    str_ends_with(file->path, DELETED))
		return -1;
	descriptor = open_in_root(process, file->path.data);
	if (descriptor < 0)
		return -1;
	if (file->build_id.length > 0 ||
	    (fstat(descriptor, &status) == 0 && status.st_ino == file->inode))
		return descriptor;
	(void)close(descriptor);
	return -1;
}

static int open_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                       struct module **out, struct error *err)
{
	const struct file_opener opener = { open_in_root, context };
	struct module *module;
	int descriptor = open_mapping(context, file);

	if (descriptor < 0)
		descriptor = open_path(context, file);
	if (descriptor < 0)
		return error_set(err, ERROR_NOT_FOUND, "the mapped file cannot be opened");
	if (module_cache_open(modules, descriptor, file->path, &opener, &module, err) < 0)
		return -1;
	if (file->build_id.length > 0 && !str_equal(module_build_id(module), file->build_id)) {
		module_unref(module);
		return error_set(err, ERROR_NOT_FOUND, "another file lies at its path now");
	}
	*out = module;
	return 0;
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t length)
{
	struct live_process *process = context;
	ssize_t got;

	if (process->memory < 0)
		process->memory = openat(process->folder, "mem", O_RDONLY | O_CLOEXEC);
	if (process->memory < 0)
		return 0;
	got = pread(process->memory, to, length, (off_t)address);
	return got > 0 ? (size_t)got : 0;
}

static int open_perf_map(void *context)
{
	const struct live_process *process = context;
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/perf-%llu.map",
	               (unsigned long long)process->inner_id);
	return open_in_root(context, path);
}

/* Its folder is that of the process for ever, and empty behind its end. */
static bool is_gone(void *context)
{
	const struct live_process *process = context;

	return faccessat(process->folder, "maps", F_OK, 0) < 0 &&
	       (errno == ENOENT || errno == ESRCH);
}

static void close_process(void *context)
{
	struct live_process *process = context;

	(void)close(process->folder);
	if (process->memory >= 0)
		(void)close(process->memory);
	free(process);
}

/* "NSpid:\t1234\t7": the last is its id in the innermost namespace. */
static void read_inner_id(struct live_process *process)
{
	const int descriptor = openat(process->folder, "status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	struct str rest;
	struct str line;
	ssize_t got;

	if (descriptor < 0)
		return;
	got = read(descriptor, text, sizeof(text)); /* of /proc: never interrupted */
	(void)close(descriptor);
	rest = str_make(text, got > 0 ? (size_t)got : 0);
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts_with(line, STR("NSpid:")))
			continue;
		line = str_skip(line, (size_t)(str_last_index(line, '\t') + 1));
		(void)str_to_u64(line, UINT32_MAX, &process->inner_id);
	}
}

int process_view_open(pid_t pid, struct process_view *out, struct error *err)
{
	struct live_process *process;
	char path[32];
	int folder;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)pid);
	process = mem_zalloc(1, sizeof(*process));
	process->folder = folder;
	process->memory = -1;
	process->inner_id = (uint64_t)pid;
	read_inner_id(process);
	*out = (struct process_view){
		.read_maps = read_maps,
		.open_module = open_module,
		.read_memory = read_memory,
		.open_perf_map = open_perf_map,
		.close = close_process,
		.context = process,
		.is_gone = is_gone,
	};
	return 0;
}
