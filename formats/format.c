#include "formats/format.h"

#include "formats/folded.h"
#include "formats/jfr_upload.h"
#include "formats/multipart.h"
#include "formats/pprof_upload.h"
#include "formats/speedscope.h"
#include "formats/tree.h"
#include "formats/trie.h"

/* The first row that fits wins. */
static const struct format formats[] = {
	{ .name = "trie",
	  .family = FORMAT_TEXT,
	  .decode = trie_decode,
	  .parameter = "trie",
	  .content_type = "binary/octet-stream+trie" },
	{ .name = "tree",
	  .family = FORMAT_TEXT,
	  .decode = tree_decode,
	  .parameter = "tree",
	  .content_type = "binary/octet-stream+tree" },
	{ .name = "lines",
	  .family = FORMAT_TEXT,
	  .decode = folded_decode_lines,
	  .parameter = "lines" },
	{ .name = "jfr", .family = FORMAT_PPROF, .decode = jfr_upload_decode, .parameter = "jfr" },
	{ .name = "pprof",
	  .family = FORMAT_PPROF,
	  .decode = pprof_upload_decode,
	  .parameter = "pprof" },
	{ .name = "speedscope",
	  .family = FORMAT_PPROF,
	  .decode = speedscope_decode,
	  .parameter = "speedscope" },
	{ .name = "pprof",
	  .family = FORMAT_PPROF,
	  .decode = pprof_upload_decode,
	  .type_part = MULTIPART_MEDIA_TYPE },
	{ .name = "groups", .family = FORMAT_TEXT, .decode = folded_decode_groups },
};

static bool is_meant(const struct format *format, struct str parameter, struct str content_type)
{
	return (format->parameter && str_equals(parameter, format->parameter)) ||
	       (format->content_type && str_equals(content_type, format->content_type)) ||
	       (format->type_part && str_find(content_type, str_of(format->type_part)) >= 0);
}

const struct format *format_select(struct str parameter, struct str content_type)
{
	const size_t last = ARRAY_LENGTH(formats) - 1;

	for (size_t i = 0; i < last; i++)
		if (is_meant(&formats[i], parameter, content_type))
			return &formats[i];
	return &formats[last];
}

size_t format_count(void)
{
	return ARRAY_LENGTH(formats);
}

const struct format *format_at(size_t index)
{
	return &formats[index];
}
