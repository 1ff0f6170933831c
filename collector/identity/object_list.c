#include "collector/identity/object_list.h"

void object_list_init(struct object_list *list, void (*visit)(void *context, struct str object),
                      void *context)
{
	*list = (struct object_list){ .visit = visit, .context = context };
	strbuf_init(&list->around, AROUND_BYTES_MAX);
	strbuf_init(&list->object, OBJECT_BYTES_MAX);
}

void object_list_fini(struct object_list *list)
{
	strbuf_fini(&list->around);
	strbuf_fini(&list->object);
}

/* ---- around ---- */

/* A string of the outermost map has ended; the closing quote is not in `around` yet. */
static void note_string(struct object_list *list)
{
	const struct str string = str_skip(strbuf_view(&list->around), list->string_start);

	list->key = (struct str){ NULL, 0 };
	if (string.length > sizeof(list->key_bytes))
		return; /* none that we look for */
	memcpy(list->key_bytes, string.data, string.length);
	list->key = str_make(list->key_bytes, string.length);
}

static void take_around_string(struct object_list *list, char byte)
{
	if (list->is_escaped) {
		list->is_escaped = false;
	} else if (byte == '\\') {
		list->is_escaped = true;
	} else if (byte == '"') {
		list->in_string = false;
		if (list->depth == 1)
			note_string(list);
	}
	strbuf_add_byte(&list->around, byte);
}

static int take_around(struct object_list *list, char byte, struct error *err)
{
	if (list->in_string) {
		take_around_string(list, byte);
		return 0;
	}
	strbuf_add_byte(&list->around, byte);
	switch (byte) {
	case '"':
		list->in_string = true;
		list->string_start = list->around.length;
		break;
	case '[':
	case '{':
		if (byte == '[' && list->depth == 1 && str_equals(list->key, "items"))
			list->place = OBJECT_LIST_BETWEEN;
		list->depth++;
		break;
	case ']':
	case '}':
		if (list->depth == 0)
			return error_set(err, ERROR_INVALID, "the list closes what is not open");
		list->depth--;
		break;
	case ',':
		if (list->depth == 1)
			list->key = (struct str){ NULL, 0 };
		break;
	default:
		break;
	}
	return 0;
}

/* ---- objects ---- */

static void end_object(struct object_list *list)
{
	if (strbuf_overflowed(&list->object))
		list->passed_over++;
	else
		list->visit(list->context, strbuf_view(&list->object));
	strbuf_reset(&list->object);
	list->place = OBJECT_LIST_BETWEEN;
}

static void take_inside(struct object_list *list, char byte)
{
	strbuf_add_byte(&list->object, byte);
	if (list->in_string) {
		if (list->is_escaped)
			list->is_escaped = false;
		else if (byte == '\\')
			list->is_escaped = true;
		else if (byte == '"')
			list->in_string = false;
		return;
	}
	if (byte == '"') {
		list->in_string = true;
	} else if (byte == '{' || byte == '[') {
		list->depth++;
	} else if (byte == '}' || byte == ']') {
		list->depth--;
		if (list->depth == 2) /* the map and its items are still open */
			end_object(list);
	}
}

static int take_between(struct object_list *list, char byte, struct error *err)
{
	switch (byte) {
	case '{':
		list->place = OBJECT_LIST_INSIDE;
		list->depth++;
		strbuf_add_byte(&list->object, byte);
		return 0;
	case ']':
		list->place = OBJECT_LIST_AROUND;
		list->depth--;
		list->key = (struct str){ NULL, 0 };
		strbuf_add_byte(&list->around, byte);
		return 0;
	case ',':
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		return 0;
	default:
		return error_set(err, ERROR_INVALID, "the list holds what is no object");
	}
}

/* ---- all ---- */

int object_list_take(struct object_list *list, struct str bytes, struct error *err)
{
	list->bytes += bytes.length;
	if (list->bytes > LIST_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "the list is larger than %zu bytes",
		                 LIST_BYTES_MAX);
	for (size_t i = 0; i < bytes.length; i++) {
		const char byte = bytes.data[i];

		if (list->place == OBJECT_LIST_INSIDE) {
			take_inside(list, byte);
		} else if (list->place == OBJECT_LIST_BETWEEN) {
			if (take_between(list, byte, err) < 0)
				return -1;
		} else if (take_around(list, byte, err) < 0) {
			return -1;
		}
	}
	if (strbuf_overflowed(&list->around))
		return error_set(err, ERROR_TOO_LARGE,
		                 "what is around the objects of a list is larger than %zu bytes",
		                 AROUND_BYTES_MAX);
	return 0;
}

int object_list_end(const struct object_list *list, struct str *out, struct error *err)
{
	if (list->place != OBJECT_LIST_AROUND || list->in_string || list->depth > 0)
		return error_set(err, ERROR_INVALID, "the list ends in its middle");
	*out = strbuf_view(&list->around);
	return 0;
}
