/*
 * A list of Kubernetes objects, object by object, as its bytes come.
 *
 *	{ "metadata": { "resourceVersion": "7" }, "items": [ {...}, {...} ] }
 *
 * Shape    what is held is one object at a time, and what is around all of them; a list of
 *          any length takes no more. An object that is larger than OBJECT_BYTES_MAX is
 *          passed over and counted.
 * Units    bytes.
 * Errors   ERROR_INVALID for what is no such list, ERROR_TOO_LARGE past LIST_BYTES_MAX, or
 *          when what is around the objects is past AROUND_BYTES_MAX.
 * Threads  none.
 * Source   Kubernetes API conventions, "Lists and simple kinds"; RFC 8259
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#define OBJECT_BYTES_MAX ((size_t)3 << 20) /* etcd holds 1.5 MiB, in a shorter form */
#define AROUND_BYTES_MAX ((size_t)64 << 10)
#define LIST_BYTES_MAX   ((size_t)256 << 20)

/* What a byte is part of. */
enum object_list_place {
	OBJECT_LIST_AROUND,
	OBJECT_LIST_BETWEEN, /* objects */
	OBJECT_LIST_INSIDE,
};

struct object_list {
	void (*visit)(void *context, struct str object); /* the text of one */
	void *context;

	enum object_list_place place;
	size_t depth; /* of brackets that are open */
	bool in_string;
	bool is_escaped;
	size_t string_start; /* of the newest string, in `around` */
	struct str key;      /* the newest of the outermost map, while its value is awaited */
	char key_bytes[16];
	struct strbuf around;
	struct strbuf object;
	size_t bytes;
	size_t passed_over; /* objects that were too large */
};

void object_list_init(struct object_list *list, void (*visit)(void *context, struct str object),
                      void *context);
void object_list_fini(struct object_list *list);

int object_list_take(struct object_list *list, struct str bytes, struct error *err);

/* It was whole: gives what is around its objects ("items" is empty there). */
int object_list_end(const struct object_list *list, struct str *out, struct error *err);
