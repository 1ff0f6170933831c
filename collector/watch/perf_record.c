/*
 * The bytes, all numbers in the byte order of the machine:
 *
 *   header  u32 type, u16 misc, u16 size (with the header, a multiple of 8)
 *   MMAP2   u32 tgid, tid, u64 address, length, offset, then by misc
 *             u32 major, minor, u64 inode, generation   or
 *             u8 length, 3 bytes, u8 build_id[20]
 *           then u32 protection, flags, and the path, NUL-terminated, filled up to 8 bytes
 *   COMM    u32 tgid, tid, name as the path
 *   FORK,   u32 tgid, parent tgid, tid, parent tid, u64 time
 *   EXIT
 *   LOST    u64 id, count
 *   trailer of all: u32 tgid, tid, u64 time
 */
#include "collector/watch/perf_record.h"

#include <linux/perf_event.h>
#include <string.h>

#define TRAILER_BYTES 16

/* linux/perf_event.h of 5.12 and later. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

struct mmap2_head {
	uint32_t tgid;
	uint32_t tid;
	uint64_t address;
	uint64_t length;
	uint64_t offset;
	union {
		struct {
			uint32_t major;
			uint32_t minor;
			uint64_t inode;
			uint64_t generation;
		} file;
		struct {
			uint8_t length;
			uint8_t reserved[3];
			uint8_t bytes[PERF_BUILD_ID_MAX];
		} build_id;
	} of;
	uint32_t protection;
	uint32_t flags;
};

struct task_body {
	uint32_t tgid;
	uint32_t parent_tgid;
	uint32_t tid;
	uint32_t parent_tid;
	uint64_t time_ns;
};

_Static_assert(sizeof(struct mmap2_head) == 64, "as in linux/perf_event.h");
_Static_assert(sizeof(struct task_body) == 24, "as in linux/perf_event.h");

/* Takes a structure off *rest; false when there is less. */
static bool take(struct str *rest, void *to, size_t length)
{
	if (rest->length < length)
		return false;
	memcpy(to, rest->data, length);
	*rest = str_skip(*rest, length);
	return true;
}

/* The bytes before a NUL, which must be there. */
static bool take_text(struct str rest, struct str *out)
{
	const ptrdiff_t length = str_index(rest, '\0');

	if (length < 0)
		return false;
	*out = str_first(rest, (size_t)length);
	return true;
}

static bool decode_mapping(struct str body, uint32_t misc, struct perf_record *out)
{
	struct mmap2_head head;

	if (!take(&body, &head, sizeof(head)) || !take_text(body, &out->path))
		return false;
	out->tgid = head.tgid;
	out->tid = head.tid;
	out->address = head.address;
	out->length = head.length;
	out->offset = head.offset;
	if (!(misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		out->inode = head.of.file.inode;
		return true;
	}
	if (head.of.build_id.length > PERF_BUILD_ID_MAX)
		return false;
	out->build_id_length = head.of.build_id.length;
	memcpy(out->build_id, head.of.build_id.bytes, out->build_id_length);
	return true;
}

static bool decode_name(struct str body, struct perf_record *out)
{
	return take(&body, &out->tgid, sizeof(out->tgid)) &&
	       take(&body, &out->tid, sizeof(out->tid)) && take_text(body, &out->name);
}

static bool decode_task(struct str body, struct perf_record *out)
{
	struct task_body task;

	if (!take(&body, &task, sizeof(task)))
		return false;
	out->tgid = task.tgid;
	out->tid = task.tid;
	out->parent_tgid = task.parent_tgid;
	return true;
}

static bool decode_lost(struct str body, struct perf_record *out)
{
	uint64_t id;

	return take(&body, &id, sizeof(id)) && take(&body, &out->lost, sizeof(out->lost));
}

static enum perf_record_kind decode_body(const struct perf_event_header *header, struct str body,
                                         struct perf_record *out)
{
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return decode_mapping(body, header->misc, out) ? PERF_RECORD_KIND_MAPPED
		                                               : PERF_RECORD_KIND_OTHER;
	case PERF_RECORD_COMM:
		if (!decode_name(body, out))
			return PERF_RECORD_KIND_OTHER;
		return header->misc & PERF_RECORD_MISC_COMM_EXEC ? PERF_RECORD_KIND_EXEC
		                                                 : PERF_RECORD_KIND_NAMED;
	case PERF_RECORD_FORK:
		return decode_task(body, out) ? PERF_RECORD_KIND_FORK : PERF_RECORD_KIND_OTHER;
	case PERF_RECORD_EXIT:
		return decode_task(body, out) ? PERF_RECORD_KIND_EXIT : PERF_RECORD_KIND_OTHER;
	case PERF_RECORD_LOST:
		return decode_lost(body, out) ? PERF_RECORD_KIND_LOST : PERF_RECORD_KIND_OTHER;
	default:
		return PERF_RECORD_KIND_OTHER;
	}
}

size_t perf_record_decode(struct str bytes, struct perf_record *out)
{
	struct perf_event_header header;
	struct str body = bytes;
	const char *trailer;

	*out = (struct perf_record){ .kind = PERF_RECORD_KIND_OTHER };
	if (!take(&body, &header, sizeof(header)) || header.size < sizeof(header) ||
	    header.size > bytes.length)
		return 0;
	body.length = header.size - sizeof(header);
	if (body.length < TRAILER_BYTES)
		return header.size;
	body.length -= TRAILER_BYTES;
	trailer = body.data + body.length;
	memcpy(&out->time_ns, trailer + 8, sizeof(out->time_ns));
	out->kind = decode_body(&header, body, out);
	return header.size;
}
