/*
 * The messages of OTLP profiles by the names that their members have in JSON.
 *
 * Shape    a member whose number moved between layouts has a meaning in the place of its
 *          number, and the layout says the number: formats/otlp_layout.h. Names are those
 *          in lowerCamelCase; otlp_json_name_is() knows the other form. Kinds of values
 *          that give no label (bool, double, bytes, maps) are left out.
 * Threads  any: constant.
 * Source   ingest specification, 5.2 and 5.3
 */
#pragma once

#include "formats/otlp_layout.h"

enum otlp_json_kind {
	OTLP_JSON_NUMBER, /* varint */
	OTLP_JSON_FIXED64,
	OTLP_JSON_TEXT,
	OTLP_JSON_ID, /* bytes, as hex or base64 */
	OTLP_JSON_MESSAGE,
};

/* What the number of a member is. */
enum otlp_json_numbering {
	OTLP_JSON_OWN, /* the same in all layouts */
	OTLP_JSON_OF_TABLES,
	OTLP_JSON_OF_PROFILE,
	OTLP_JSON_OF_SAMPLE,
};

struct otlp_json_field {
	const char *name;
	enum otlp_json_kind kind;
	enum otlp_json_numbering numbering;
	unsigned number;                       /* or the meaning in a layout's row */
	const struct otlp_json_field *message; /* of OTLP_JSON_MESSAGE */
};

/* The members of an ExportProfilesServiceRequest; a list ends with a name of NULL. */
extern const struct otlp_json_field otlp_json_request[];

/* The number that a member has in a layout; 0: none. */
uint32_t otlp_json_number(const struct otlp_json_field *field, const struct otlp_layout *layout);

/* Whether `key` is that name in either form: "nameStrindex" is "name_strindex" too. */
bool otlp_json_name_is(struct str key, const char *name);
