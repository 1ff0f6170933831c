#include "storage/care/backup_manifest.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "storage/care/file_bytes.h"
#include "storage/care/joined_path.h"
#include "storage/store_folder.h"

#define MANIFEST_MAX ((size_t)256 << 20) /* bytes: a million files */

static const struct str head = { "vramscope backup", 16 };

void backup_manifest_fini(struct backup_manifest *manifest)
{
	free(manifest->files);
	*manifest = (struct backup_manifest){ 0 };
}

void backup_manifest_add(struct backup_manifest *manifest, const struct backup_file *file)
{
	if (manifest->count == manifest->capacity) {
		manifest->capacity = manifest->capacity ? manifest->capacity * 2 : 64;
		manifest->files =
			mem_resize(manifest->files, manifest->capacity, sizeof(*manifest->files));
	}
	manifest->files[manifest->count++] = *file;
	manifest->bytes += file->listed.bytes;
}

static int by_name(const void *key, const void *entry)
{
	return strcmp(key, ((const struct backup_file *)entry)->listed.name);
}

const struct backup_file *backup_manifest_find(const struct backup_manifest *manifest,
                                               const char *name)
{
	if (manifest->count == 0)
		return NULL;
	return bsearch(name, manifest->files, manifest->count, sizeof(*manifest->files), by_name);
}

/* ---- writing ---- */

static uint64_t check_of(struct str text)
{
	return hash64(0, text.data, text.length);
}

static void put_file(const struct backup_file *file, struct strbuf *out)
{
	strbuf_printf(out, "file %" PRIu64 " %016" PRIx64 "%016" PRIx64 " ", file->listed.bytes,
	              file->hash.high, file->hash.low);
	file_stamp_format(&file->stamp, out);
	strbuf_printf(out, " %s\n", file->listed.name);
}

int backup_manifest_write(const struct backup_manifest *manifest, const char *folder,
                          struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(folder, STORE_FOLDER_BACKUP);
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, MANIFEST_MAX);
	strbuf_printf(&text, "%.*s\nformat %d\nmade %" PRId64 "\nkey %016" PRIx64 "\n",
	              STR_ARGS(head), BACKUP_FORMAT, manifest->made_unix_ms, manifest->key);
	for (size_t i = 0; i < manifest->count; i++)
		put_file(&manifest->files[i], &text);
	strbuf_printf(&text, "end %zu %016" PRIx64 "\n", manifest->count,
	              check_of(strbuf_view(&text)));
	if (strbuf_overflowed(&text))
		return error_set(err, ERROR_TOO_LARGE, "%s: %zu files are too many", path,
		                 manifest->count);
	return file_bytes_write(path, strbuf_view(&text), err);
}

/* ---- reading ---- */

static bool take_word(struct str *line, struct str *out)
{
	return str_split(line, ' ', out);
}

/* The rest of a line that begins with `name`. */
static bool take_line(struct str *text, struct str name, struct str *out)
{
	struct str line;
	struct str word;

	if (!str_split(text, '\n', &line) || !take_word(&line, &word) || !str_equal(word, name))
		return false;
	*out = line;
	return true;
}

static bool parse_u64_hex(struct str text, uint64_t *out)
{
	uint8_t bytes[sizeof(*out)];

	if (!hex_decode(text, bytes, sizeof(bytes)))
		return false;
	*out = 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*out = *out << 8 | bytes[i];
	return true;
}

static bool parse_hash(struct str text, struct hash128 *out)
{
	return text.length == 32 && parse_u64_hex(str_first(text, 16), &out->high) &&
	       parse_u64_hex(str_skip(text, 16), &out->low);
}

static bool parse_file(struct str line, struct backup_file *out)
{
	struct str bytes;
	struct str hash;
	struct str stamp;
	uint64_t count;

	if (!take_word(&line, &bytes) || !take_word(&line, &hash) || !take_word(&line, &stamp) ||
	    !str_to_u64(bytes, INT64_MAX, &count) || !parse_hash(hash, &out->hash) ||
	    !file_stamp_parse(stamp, &out->stamp) || !listed_file_parse(line, &out->listed) ||
	    out->listed.kind == LISTED_ASIDE)
		return false;
	out->listed.bytes = count;
	return true;
}

static bool parse_head(struct str *text, struct backup_manifest *out)
{
	struct str made;
	struct str key;

	return take_line(text, STR("made"), &made) && str_to_i64(made, &out->made_unix_ms) &&
	       take_line(text, STR("key"), &key) && parse_u64_hex(key, &out->key);
}

/* Files in their order, each once. */
static bool parse_files(struct str *text, struct backup_manifest *out)
{
	while (str_starts_with(*text, STR("file "))) {
		struct backup_file file;
		struct str line;

		if (!take_line(text, STR("file"), &line) || !parse_file(line, &file))
			return false;
		if (out->count > 0 &&
		    strcmp(out->files[out->count - 1].listed.name, file.listed.name) >= 0)
			return false;
		backup_manifest_add(out, &file);
	}
	return true;
}

static bool parse_end(struct str *text, struct str before, const struct backup_manifest *manifest)
{
	struct str line;
	struct str count;
	uint64_t number;
	uint64_t check;

	return take_line(text, STR("end"), &line) && take_word(&line, &count) &&
	       str_to_u64(count, SIZE_MAX, &number) && number == manifest->count &&
	       parse_u64_hex(line, &check) && check == check_of(before) && text->length == 0;
}

static int fail(struct backup_manifest *manifest, struct error *err)
{
	backup_manifest_fini(manifest);
	return error_set(err, ERROR_CORRUPT, "is not what a backup writes");
}

int backup_manifest_parse(struct str text, struct backup_manifest *out, struct error *err)
{
	struct backup_manifest manifest = { 0 };
	struct str rest = text;
	struct str line;
	uint64_t format;

	if (!str_split(&rest, '\n', &line) || !str_equal(line, head) ||
	    !take_line(&rest, STR("format"), &line) || !str_to_u64(line, UINT32_MAX, &format))
		return fail(&manifest, err);
	if (format > BACKUP_FORMAT)
		return error_set(err, ERROR_INVALID, "has format %u, this program reads up to %d",
		                 (unsigned)format, BACKUP_FORMAT);
	if (!parse_head(&rest, &manifest) || !parse_files(&rest, &manifest) ||
	    !parse_end(&rest, str_first(text, text.length - rest.length), &manifest))
		return fail(&manifest, err);
	*out = manifest;
	return 0;
}

int backup_manifest_read(const char *folder, struct backup_manifest *out, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(folder, STORE_FOLDER_BACKUP);
	CLEANUP(mem_freep) char *text = NULL;
	size_t length = 0;

	if (file_bytes_read(path, MANIFEST_MAX, &text, &length, err) < 0)
		return -1;
	if (backup_manifest_parse(str_make(text, length), out, err) < 0)
		return error_context(err, "%s", path);
	return 0;
}
