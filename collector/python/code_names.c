#include "collector/python/code_names.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "collector/python/code_reader.h"
#include "collector/python/named_code.h"

#define BUCKET_COUNT 1024

/* Equal keys are one code object; every byte counts. */
struct code_key {
	uint64_t object;
	uint32_t kind; /* of code_definition_kind */
	uint32_t first_line;
	uint32_t tag;
	uint32_t reserved;
};

struct process_codes {
	struct process_codes *next; /* of its bucket */
	uint64_t start_ns;
	uint64_t used; /* when it was asked for last */
	uint32_t tgid;
	struct id_map ids;
	struct named_code **codes; /* by id */
	size_t capacity;
	size_t code_bytes; /* of the codes */
	size_t bytes;      /* of all, as it is accounted */
};

struct code_names {
	size_t limit_bytes;
	size_t process_limit_bytes;
	uint64_t hash_key;
	uint64_t clock;  /* of uses */
	uint64_t serial; /* of the last named_code */
	struct code_names_counts counts;
	struct process_codes *buckets[BUCKET_COUNT];
};

struct code_names *code_names_new(const struct code_names_options *options)
{
	struct code_names *names = mem_zalloc(1, sizeof(*names));

	names->limit_bytes = options->limit_bytes ?: CODE_NAMES_BYTES_USUAL;
	names->process_limit_bytes = options->process_limit_bytes ?: CODE_NAMES_PROCESS_BYTES_USUAL;
	/* Without it the key is 0: a process may then prepare collisions, in its own table. */
	if (getrandom(&names->hash_key, sizeof(names->hash_key), 0) < 0)
		names->hash_key = 0;
	return names;
}

static struct process_codes **process_place(struct code_names *names, uint32_t tgid,
                                            uint64_t start_ns)
{
	struct process_codes **place = &names->buckets[tgid % BUCKET_COUNT];

	while (*place && ((*place)->tgid != tgid || (*place)->start_ns != start_ns))
		place = &(*place)->next;
	return place;
}

/* Puts what a process takes right after it was changed. */
static void account(struct code_names *names, struct process_codes *process)
{
	const size_t bytes = sizeof(*process) + id_map_bytes(&process->ids) +
	                     process->capacity * sizeof(struct named_code *) + process->code_bytes;

	names->counts.bytes += bytes - process->bytes;
	process->bytes = bytes;
}

static struct process_codes *process_of(struct code_names *names, uint32_t tgid, uint64_t start_ns)
{
	struct process_codes **place = process_place(names, tgid, start_ns);

	if (!*place) {
		*place = mem_zalloc(1, sizeof(**place));
		(*place)->tgid = tgid;
		(*place)->start_ns = start_ns;
		names->counts.processes++;
		account(names, *place);
	}
	(*place)->used = ++names->clock;
	return *place;
}

/* Takes the process off its bucket and frees it. */
static void forget(struct code_names *names, struct process_codes **place)
{
	struct process_codes *process = *place;

	*place = process->next;
	for (size_t i = 0; i < process->ids.count; i++)
		named_code_free(process->codes[i]);
	names->counts.processes--;
	names->counts.bytes -= process->bytes;
	id_map_fini(&process->ids);
	free(process->codes);
	free(process);
}

void code_names_free(struct code_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < BUCKET_COUNT; i++)
		while (names->buckets[i])
			forget(names, &names->buckets[i]);
	free(names);
}

void code_names_exit(struct code_names *names, uint32_t tgid, uint64_t start_ns)
{
	struct process_codes **place = process_place(names, tgid, start_ns);

	if (*place)
		forget(names, place);
}

static struct process_codes **least_recently_used(struct code_names *names)
{
	struct process_codes **least = NULL;

	for (size_t i = 0; i < BUCKET_COUNT; i++)
		for (struct process_codes **place = &names->buckets[i]; *place;
		     place = &(*place)->next)
			if (!least || (*place)->used < (*least)->used)
				least = place;
	return least;
}

static void forget_for_room(struct code_names *names, struct process_codes **place)
{
	names->counts.dropped += (*place)->ids.count;
	forget(names, place);
}

static void keep_to_limits(struct code_names *names, uint32_t tgid, uint64_t start_ns)
{
	struct process_codes **place = process_place(names, tgid, start_ns);

	if (*place && (*place)->bytes > names->process_limit_bytes)
		forget_for_room(names, place);
	while (names->counts.bytes > names->limit_bytes)
		forget_for_room(names, least_recently_used(names));
}

void code_names_begin(struct code_names *names, uint32_t tgid, uint64_t start_ns)
{
	keep_to_limits(names, tgid, start_ns);
}

/* Where the code object of a key stands; NULL in it when it is new. */
static struct named_code **code_place(struct code_names *names, struct process_codes *process,
                                      const struct code_key *key)
{
	bool is_new;
	const uint32_t id =
		id_map_add(&process->ids, hash128(names->hash_key, key, sizeof(*key)), &is_new);

	if (id == process->capacity) {
		process->capacity = process->capacity ? 2 * process->capacity : 16;
		process->codes =
			mem_resize(process->codes, process->capacity, sizeof(struct named_code *));
	}
	if (is_new)
		process->codes[id] = NULL;
	return &process->codes[id];
}

static struct named_code *put_code(struct code_names *names, struct process_codes *process,
                                   struct named_code **place, struct named_code *code)
{
	if (*place)
		process->code_bytes -= named_code_bytes(*place);
	named_code_free(*place);
	*place = code;
	process->code_bytes += named_code_bytes(code);
	account(names, process);
	return code;
}

void code_names_define(struct code_names *names, const void *record, size_t length)
{
	const struct code_definition *definition = record;
	struct process_codes *process;
	struct named_code **place;

	if (length < offsetof(struct code_definition, table) ||
	    length < code_definition_bytes(definition) ||
	    (definition->kind != CODE_DEFINITION_CODE && definition->kind != CODE_DEFINITION_TYPE))
		return;
	keep_to_limits(names, definition->tgid, definition->process_start_ns);
	process = process_of(names, definition->tgid, definition->process_start_ns);
	place = code_place(names, process,
	                   &(struct code_key){ .object = definition->object,
	                                       .kind = definition->kind,
	                                       .first_line = definition->first_line,
	                                       .tag = definition->tag });
	names->counts.definitions++;
	if (!*place || !named_code_is(*place, definition))
		put_code(names, process, place, named_code_new(definition, ++names->serial));
}

/* What the process itself has, or one without a name. */
static struct named_code *read_code(struct code_names *names, const struct code_process *process,
                                    const struct python_frame *frame, uint32_t kind)
{
	struct code_definition definition;
	bool is_read = false;

	if (process->memory && process->python && kind == CODE_DEFINITION_CODE)
		is_read = code_reader_code(process->memory, process->python, frame, &definition);
	if (process->memory && process->python && kind == CODE_DEFINITION_TYPE)
		is_read = code_reader_type(process->memory, process->python, frame->type,
		                           &definition);
	if (!is_read) {
		names->counts.unknown++;
		return named_code_new_unknown(++names->serial);
	}
	names->counts.read++;
	return named_code_new(&definition, ++names->serial);
}

static struct named_code *find_code(struct code_names *names, struct process_codes *codes,
                                    const struct code_process *process,
                                    const struct python_frame *frame, uint32_t kind)
{
	const bool is_type = kind == CODE_DEFINITION_TYPE;
	struct named_code **place =
		code_place(names, codes,
	                   &(struct code_key){ .object = is_type ? frame->type : frame->code,
	                                       .kind = kind,
	                                       .first_line = is_type ? 0 : frame->first_line,
	                                       .tag = is_type ? 0 : frame->tag });

	if (!*place)
		put_code(names, codes, place, read_code(names, process, frame, kind));
	return *place;
}

void code_names_find(struct code_names *names, const struct code_process *process,
                     const struct python_frame *frame, struct code_name *out)
{
	struct process_codes *codes = process_of(names, process->tgid, process->start_ns);
	struct named_code *code = find_code(names, codes, process, frame, CODE_DEFINITION_CODE);
	const size_t before = named_code_bytes(code);
	const struct named_code *type = NULL;

	if (frame->type && !named_code_is_unknown(code))
		type = find_code(names, codes, process, frame, CODE_DEFINITION_TYPE);
	*out = (struct code_name){
		.name = named_code_name(code),
		.file = named_code_file(code),
		.line = named_code_line(code, frame->position, process->memory, process->python),
		.first_line = named_code_first_line(code),
		.version = named_code_version(code),
	};
	if (type && !named_code_is_unknown(type))
		out->name = named_code_method(code, type);
	codes->code_bytes += named_code_bytes(code) - before;
	account(names, codes);
}

void code_names_counts(const struct code_names *names, struct code_names_counts *out)
{
	*out = names->counts;
}
