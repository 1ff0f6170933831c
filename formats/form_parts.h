/*
 * The parts of a form that a format knows by name.
 *
 * Shape    one place for each name that is asked for. The first part of a name counts;
 *          but one that is no file (it has no file name) yields to the first file. Others
 *          are passed over. Contents are views into the body.
 * Errors   those of multipart_init() and multipart_next().
 * Threads  none.
 * Source   ingest specification, 3.7 and 3.8
 */
#pragma once

#include "formats/multipart.h"

/* What a part is; of two parts with one name the higher one counts. */
enum form_rank {
	FORM_MISSING,
	FORM_FIELD,
	FORM_FILE,
};

struct form_part {
	const char *name;
	struct str content; /* empty when it is missing */
	enum form_rank rank;
};

/* Fills what stands beside the names of parts[0, count). */
int form_parts_read(struct str content_type, struct str body, struct form_part *parts, size_t count,
                    struct error *err);
