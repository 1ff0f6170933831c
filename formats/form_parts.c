#include "formats/form_parts.h"

static void take(struct form_part *kept, const struct multipart_part *part)
{
	const enum form_rank rank = part->filename.length > 0 ? FORM_FILE : FORM_FIELD;

	if (rank <= kept->rank)
		return;
	kept->content = part->content;
	kept->rank = rank;
}

int form_parts_read(struct str content_type, struct str body, struct form_part *parts, size_t count,
                    struct error *err)
{
	struct multipart reader;
	struct multipart_part part;
	int more;

	for (size_t i = 0; i < count; i++)
		parts[i] = (struct form_part){ .name = parts[i].name };
	if (multipart_init(&reader, content_type, body, err) < 0)
		return -1;
	while ((more = multipart_next(&reader, &part, err)) > 0)
		for (size_t i = 0; i < count; i++)
			if (str_equals(part.name, parts[i].name))
				take(&parts[i], &part);
	return more;
}
