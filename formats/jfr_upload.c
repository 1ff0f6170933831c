#include "formats/jfr_upload.h"

#include "base/gzip.h"
#include "formats/form_parts.h"
#include "formats/jfr_events.h"
#include "formats/jfr_profiles.h"

#define MAGIC_BYTES 2 /* of gzip: so many must be there to tell */

/* Names of functions may take so much: each is put together of two strings. */
#define NAME_BYTES(recording) (2 * (recording) + ((size_t)1 << 20))

enum upload_part {
	PART_RECORDING,
	PART_LABELS,
	PARTS,
};

/* What was sent, and what it is when it is unpacked. */
struct recording {
	struct str sent;
	struct str bytes;
	struct str labels;
};

static int unpack(const char *what, struct str sent, size_t limit, struct arena *arena,
                  struct str *out, struct error *err)
{
	if (sent.length < MAGIC_BYTES)
		return error_set(err, ERROR_INVALID, "failed to read magic: %s has %zu bytes", what,
		                 sent.length);
	if (limit == 0)
		limit = SIZE_MAX;
	*out = sent;
	if (gzip_is(sent) && gzip_inflate(sent, limit, arena, out, err) < 0) {
		if (err->code != ERROR_TOO_LARGE)
			return error_context(err, "%s", what);
	} else if (out->length <= limit) {
		return 0;
	}
	return error_set(err, ERROR_TOO_LARGE,
	                 "%s: decompressed size exceeds maximum allowed size of %zu bytes", what,
	                 limit);
}

static int read_form(const struct format_input *input, struct form_part parts[static PARTS],
                     struct error *err)
{
	if (form_parts_read(input->content_type, input->body, parts, PARTS, err) < 0)
		return -1;
	if (parts[PART_RECORDING].rank == FORM_MISSING)
		return error_set(err, ERROR_INVALID, "jfr field is required");
	return 0;
}

/* An empty body is no recording, and no error. */
static int read_upload(const struct format_input *input, struct recording *out, struct error *err)
{
	struct form_part parts[PARTS] = {
		[PART_RECORDING] = { .name = "jfr", .content = input->body },
		[PART_LABELS] = { .name = "labels" },
	};

	*out = (struct recording){ .sent = input->body };
	if (!multipart_is(input->content_type)) {
		if (input->body.length == 0)
			return 0;
	} else if (read_form(input, parts, err) < 0) {
		return -1;
	}
	if (unpack("jfr", parts[PART_RECORDING].content, input->limits->max_recording_bytes,
	           input->arena, &out->bytes, err) < 0)
		return -1;
	if (parts[PART_LABELS].rank == FORM_MISSING)
		return 0;
	return unpack("labels", parts[PART_LABELS].content, JFR_LABELS_BYTES_MAX, input->arena,
	              &out->labels, err);
}

static int read_chunk(const struct jfr_chunk *chunk, struct jfr_events *events, struct error *err)
{
	struct jfr_metadata metadata;
	struct jfr_layouts layouts;
	struct jfr_pools pools;

	if (jfr_metadata_read(chunk, events->arena, &metadata, err) < 0 ||
	    jfr_layouts_init(&layouts, &metadata, chunk, events->arena, err) < 0 ||
	    jfr_pools_read(chunk, &layouts, events->arena, &pools, err) < 0)
		return -1;
	return jfr_events_read(events, chunk, &layouts, &pools, err);
}

static int read_chunks(struct str rest, struct jfr_events *events, struct error *err)
{
	struct jfr_chunk chunk;
	size_t count = 0;
	int more;

	while ((more = jfr_chunk_next(&rest, &chunk, err)) > 0) {
		if (++count > JFR_CHUNKS_MAX)
			return error_set(err, ERROR_TOO_LARGE,
			                 "JFR: a recording has more than %d chunks",
			                 JFR_CHUNKS_MAX);
		if (read_chunk(&chunk, events, err) < 0)
			return -1;
	}
	return more;
}

int jfr_upload_decode(const struct format_input *input, struct format_output *out,
                      struct error *err)
{
	struct jfr_labels labels;
	struct jfr_stacks stacks;
	struct jfr_samples samples;
	struct jfr_events events = {
		.arena = input->arena,
		.stacks = &stacks,
		.samples = &samples,
	};
	struct recording recording;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	if (read_upload(input, &recording, err) < 0)
		return -1;
	if (jfr_labels_read(recording.labels, input->arena, &labels, err) < 0)
		return error_context(err, "failed to parse labels form field");
	if (jfr_stacks_init(&stacks, NAME_BYTES(recording.bytes.length), input->arena, err) < 0 ||
	    jfr_samples_init(&samples, &labels, input->limits->max_samples, input->arena, err) <
	            0 ||
	    read_chunks(recording.bytes, &events, err) < 0)
		return -1;
	out->plain_bytes = recording.bytes.length;
	if (jfr_profiles_make(&stacks, &samples, events.recording, input, recording.sent, out,
	                      err) < 0)
		return -1;
	out->stage = FORMAT_STORING;
	return 0;
}
