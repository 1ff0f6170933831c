#include "collector/elf/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define OVERLAP_MAX 64 /* lines that are looked at for one that reaches an address */

struct perf_line {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* offset in the file; later lines have larger ones */
};

struct perf_map {
	int descriptor;
	uint64_t read; /* bytes of the file that are done with */
	struct perf_line *lines;
	size_t count;
	size_t capacity;
};

struct perf_map *perf_map_new(int descriptor)
{
	struct perf_map *map = mem_zalloc(1, sizeof(*map));

	map->descriptor = descriptor;
	return map;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	(void)close(map->descriptor);
	free(map->lines);
	free(map);
}

static size_t read_at(const struct perf_map *map, uint64_t offset, char *to, size_t length)
{
	ssize_t got;

	do
		got = pread(map->descriptor, to, length, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

/* A number in hex, with or without 0x, and the blank behind it. */
static bool take_hex(struct str *rest, uint64_t *out)
{
	uint64_t number = 0;
	size_t digits = 0;

	if (str_starts_with(*rest, STR("0x")))
		*rest = str_skip(*rest, 2);
	for (; digits < rest->length && rest->data[digits] != ' '; digits++) {
		const char c = rest->data[digits];
		const char lower = (char)(c | 0x20);
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			digit = (unsigned)(lower - 'a' + 10);
		else
			return false;
		if (number >> 60)
			return false;
		number = number << 4 | digit;
	}
	if (digits == 0 || digits == rest->length)
		return false;
	*rest = str_skip(*rest, digits + 1);
	*out = number;
	return true;
}

static void take_line(struct perf_map *map, struct str line, uint64_t offset)
{
	struct str rest = line;
	uint64_t start;
	uint64_t size;

	if (!take_hex(&rest, &start) || !take_hex(&rest, &size) || size == 0 || size > UINT32_MAX ||
	    start + size < start || rest.length == 0)
		return;
	if (map->count == map->capacity) {
		map->capacity = map->capacity ? 2 * map->capacity : 256;
		map->lines = mem_resize(map->lines, map->capacity, sizeof(*map->lines));
	}
	map->lines[map->count++] = (struct perf_line){
		.start = start,
		.size = (uint32_t)size,
		.name = (uint32_t)(offset + (line.length - rest.length)),
	};
}

/* Whole lines of a chunk that stands at map->read; returns the bytes of them. */
static size_t take_lines(struct perf_map *map, struct str chunk)
{
	size_t done = 0;

	while (done < chunk.length && map->count < PERF_MAP_LINES_MAX) {
		const struct str rest = str_skip(chunk, done);
		const ptrdiff_t end = str_index(rest, '\n');

		if (end < 0)
			break;
		take_line(map, str_first(rest, (size_t)end), map->read + done);
		done += (size_t)end + 1;
	}
	return done;
}

static int compare_lines(const void *a, const void *b)
{
	const struct perf_line *first = a;
	const struct perf_line *second = b;

	if (first->start != second->start)
		return first->start < second->start ? -1 : 1;
	return (first->name > second->name) - (first->name < second->name);
}

/* Sorts; of several lines with one start only the last is kept. */
static void settle(struct perf_map *map)
{
	size_t kept = 0;

	if (map->count > 1)
		qsort(map->lines, map->count, sizeof(*map->lines), compare_lines);
	for (size_t i = 0; i < map->count; i++) {
		if (kept > 0 && map->lines[kept - 1].start == map->lines[i].start)
			kept--;
		map->lines[kept++] = map->lines[i];
	}
	map->count = kept;
}

static int read_lines(struct perf_map *map, uint64_t end, struct error *err)
{
	CLEANUP(mem_freep) char *chunk = mem_zalloc(1, CHUNK_BYTES);

	for (size_t total = 0; map->read < end && total < PERF_MAP_REFRESH_MAX;) {
		const size_t got = read_at(map, map->read, chunk, CHUNK_BYTES);
		size_t done = take_lines(map, str_make(chunk, got));

		if (map->count >= PERF_MAP_LINES_MAX)
			return error_set(err, ERROR_TOO_LARGE, "more than %zu lines",
			                 PERF_MAP_LINES_MAX);
		if (done == 0 && got == CHUNK_BYTES)
			done = got; /* no line is so long */
		if (done == 0)
			break; /* half a line: its writer has not ended it yet */
		map->read += done;
		total += done;
	}
	return 0;
}

int perf_map_refresh(struct perf_map *map, struct error *err)
{
	const uint64_t before = map->read;
	struct stat status;
	uint64_t end;
	int result;

	if (fstat(map->descriptor, &status) < 0)
		return error_set_errno(err, errno, "perf map");
	end = (uint64_t)status.st_size;
	if (end < map->read) { /* begun anew */
		map->read = 0;
		map->count = 0;
	}
	if (end == map->read)
		return 0;
	if (map->count >= PERF_MAP_LINES_MAX || map->read >= PERF_MAP_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "more than %zu lines or %llu bytes",
		                 PERF_MAP_LINES_MAX, (unsigned long long)PERF_MAP_BYTES_MAX);
	result = read_lines(map, end < PERF_MAP_BYTES_MAX ? end : PERF_MAP_BYTES_MAX, err);
	if (map->read != before)
		settle(map);
	return result;
}

/* The latest line that covers `address`, or NULL. */
static const struct perf_line *find_line(const struct perf_map *map, uint64_t address)
{
	const struct perf_line *best = NULL;
	size_t low = 0;
	size_t high = map->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (map->lines[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < OVERLAP_MAX && i < low; i++) {
		const struct perf_line *line = &map->lines[low - 1 - i];

		if (address - line->start < line->size && (!best || line->name > best->name))
			best = line;
	}
	return best;
}

struct str perf_map_find(const struct perf_map *map, uint64_t address, char *to,
                         uint64_t *out_start)
{
	const struct perf_line *line = find_line(map, address);
	struct str name;
	ptrdiff_t end;

	if (!line)
		return STR("");
	name = str_make(to, read_at(map, line->name, to, PERF_MAP_NAME_MAX));
	end = str_index(name, '\n');
	if (end >= 0)
		name.length = (size_t)end;
	to[name.length] = '\0';
	*out_start = line->start;
	return name;
}

size_t perf_map_lines(const struct perf_map *map)
{
	return map->count;
}
