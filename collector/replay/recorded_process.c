#include "collector/replay/recorded_process.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "collector/replay/recorded_identity.h"

/* One answer; the newest to its question. */
struct answer {
	char *bytes;
	size_t length;
};

/* All answers by their question: kind, process or file, address. */
struct recorded_processes {
	struct id_map questions;
	struct answer *answers;
	size_t capacity;
	size_t bytes;
};

struct recorded_view {
	struct recorded_processes *processes;
	uint32_t tgid;
};

bool recorded_processes_answer(enum recording_kind kind)
{
	return kind >= RECORDING_IDENTITY;
}

/* ---- questions ---- */

static struct hash128 question_of(enum recording_kind kind, uint32_t tgid, uint64_t address)
{
	const uint64_t parts[3] = { (uint64_t)kind, tgid, address };

	return hash128(0, parts, sizeof(parts));
}

/* A file is the same for all processes. */
static struct hash128 module_question(uint64_t inode, struct str path)
{
	return hash128_str(inode ^ RECORDING_MODULE, path);
}

static const struct answer *find(const struct recorded_processes *processes,
                                 struct hash128 question)
{
	const uint32_t id = id_map_find(&processes->questions, question);

	return id == ID_MAP_NONE ? NULL : &processes->answers[id];
}

static void keep(struct recorded_processes *processes, struct hash128 question, struct str bytes)
{
	struct answer *answer;
	bool is_new;
	uint32_t id;

	if (processes->bytes + bytes.length > RECORDED_BYTES_MAX)
		return;
	id = id_map_add(&processes->questions, question, &is_new);
	if (id >= processes->capacity) {
		processes->capacity = processes->capacity ? processes->capacity * 2 : 64;
		processes->answers = mem_resize(processes->answers, processes->capacity,
		                                sizeof(*processes->answers));
	}
	answer = &processes->answers[id];
	if (is_new)
		*answer = (struct answer){ 0 };
	processes->bytes += bytes.length - answer->length;
	free(answer->bytes);
	answer->bytes = mem_strndup(bytes.data, bytes.length);
	answer->length = bytes.length;
}

/* ---- answers of a recording ---- */

int recorded_file_decode(struct str bytes, struct mapped_file *out, struct str *out_rest,
                         struct error *err)
{
	struct recording_file wire;
	struct str head;
	struct str path;
	struct str build_id;

	if (!str_take(&bytes, sizeof(wire), &head))
		return error_set(err, ERROR_CORRUPT, "a file of %zu bytes in a recording",
		                 bytes.length);
	memcpy(&wire, head.data, sizeof(wire));
	if (!str_take(&bytes, wire.path_length, &path) ||
	    !str_take(&bytes, wire.build_id_length, &build_id))
		return error_set(err, ERROR_CORRUPT,
		                 "a file in a recording with texts of %u and %u "
		                 "bytes, which are not there",
		                 wire.path_length, wire.build_id_length);
	*out = (struct mapped_file){ .start = wire.start,
		                     .end = wire.end,
		                     .offset = wire.offset,
		                     .inode = wire.inode,
		                     .path = path,
		                     .build_id = build_id };
	*out_rest = bytes;
	return 0;
}

static int take_module(struct recorded_processes *processes, struct str bytes, struct error *err)
{
	struct mapped_file file = { 0 };
	struct str skeleton = { 0 };

	if (recorded_file_decode(bytes, &file, &skeleton, err) < 0)
		return -1;
	keep(processes, module_question(file.inode, file.path), skeleton);
	return 0;
}

static int take_memory(struct recorded_processes *processes, uint32_t tgid, struct str bytes,
                       struct error *err)
{
	uint64_t address;
	struct str head;

	if (!str_take(&bytes, sizeof(address), &head))
		return error_set(err, ERROR_CORRUPT, "memory of %zu bytes in a recording",
		                 bytes.length);
	memcpy(&address, head.data, sizeof(address));
	keep(processes, question_of(RECORDING_MEMORY, tgid, address), bytes);
	return 0;
}

int recorded_processes_take(struct recorded_processes *processes,
                            const struct recording_record *record, struct error *err)
{
	switch (record->kind) {
	case RECORDING_MODULE:
		return take_module(processes, record->bytes, err);
	case RECORDING_MEMORY:
		return take_memory(processes, record->tgid, record->bytes, err);
	case RECORDING_IDENTITY:
		if (record->bytes.length < RECORDED_NAMES_BYTES)
			return error_set(err, ERROR_CORRUPT,
			                 "an identity of %zu bytes in a recording, expected %d",
			                 record->bytes.length, RECORDED_NAMES_BYTES);
		break;
	default:
		break;
	}
	keep(processes, question_of(record->kind, record->tgid, 0), record->bytes);
	return 0;
}

/* ---- views ---- */

static const struct answer *ask(const struct recorded_view *view, enum recording_kind kind,
                                uint64_t address)
{
	return find(view->processes, question_of(kind, view->tgid, address));
}

static int not_recorded(const char *what, struct error *err)
{
	return error_set(err, ERROR_NOT_FOUND, "%s: not recorded", what);
}

static int read_maps(void *context, struct strbuf *out, struct error *err)
{
	const struct answer *answer = ask(context, RECORDING_MAPS, 0);

	if (!answer)
		return not_recorded("maps", err);
	strbuf_add(out, answer->bytes, answer->length);
	return 0;
}

static int open_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                       struct module **out, struct error *err)
{
	const struct recorded_view *view = context;
	const struct answer *answer =
		find(view->processes, module_question(file->inode, file->path));

	if (!answer)
		return not_recorded("a file of code", err);
	return module_cache_open_skeleton(modules, str_make(answer->bytes, answer->length), out,
	                                  err);
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t length)
{
	const struct answer *answer = ask(context, RECORDING_MEMORY, address);
	const size_t got = !answer ? 0 : answer->length < length ? answer->length : length;

	if (got > 0)
		memcpy(to, answer->bytes, got);
	return got;
}

static int open_perf_map(void *context)
{
	const struct answer *answer = ask(context, RECORDING_PERF_MAP, 0);
	int descriptor;

	if (!answer)
		return -1;
	descriptor = memfd_create("perf map", MFD_CLOEXEC);
	if (descriptor >= 0 &&
	    write(descriptor, answer->bytes, answer->length) != (ssize_t)answer->length) {
		(void)close(descriptor);
		return -1;
	}
	return descriptor;
}

int recorded_processes_view(struct recorded_processes *processes, uint32_t tgid,
                            struct process_view *out, struct error *err)
{
	struct recorded_view *view;

	if (!find(processes, question_of(RECORDING_MAPS, tgid, 0)))
		return not_recorded("a process", err);
	view = mem_zalloc(1, sizeof(*view));
	*view = (struct recorded_view){ processes, tgid };
	*out = (struct process_view){
		.read_maps = read_maps,
		.open_module = open_module,
		.read_memory = read_memory,
		.open_perf_map = open_perf_map,
		.close = free,
		.context = view,
	};
	return 0;
}

bool recorded_processes_identity(const struct recorded_processes *processes, uint32_t tgid,
                                 struct process_identity *out)
{
	const struct answer *answer = find(processes, question_of(RECORDING_IDENTITY, tgid, 0));

	if (!answer)
		return false;
	return recorded_identity_decode(str_make(answer->bytes, answer->length), out);
}

/* ---- life ---- */

struct recorded_processes *recorded_processes_new(void)
{
	return mem_zalloc(1, sizeof(struct recorded_processes));
}

void recorded_processes_free(struct recorded_processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < processes->questions.count; i++)
		free(processes->answers[i].bytes);
	free(processes->answers);
	id_map_fini(&processes->questions);
	free(processes);
}
