#include "server/http/http1_response.h"

#include <stdlib.h>
#include <sys/socket.h>

#define HEAD_MAX ((size_t)16 << 10) /* bytes of a response written past libmicrohttpd */

/*
 * Texts with a NUL behind them, as libmicrohttpd wants. Without memory the header is
 * left out.
 */
static void add_header(struct MHD_Response *response, struct arena *arena, struct str name,
                       struct str value)
{
	const struct str name_text = arena_copy(arena, name);
	const struct str value_text = arena_copy(arena, value);

	if (name_text.data && value_text.data)
		(void)MHD_add_response_header(response, name_text.data, value_text.data);
}

static struct MHD_Response *make(struct http_response *from)
{
	size_t length;
	char *body;
	struct MHD_Response *response;

	if (from->body.length == 0)
		return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	body = strbuf_detach(&from->body, &length);
	response = MHD_create_response_from_buffer_with_free_callback(length, body, free);
	if (!response)
		free(body);
	return response;
}

bool http1_response_queue(struct MHD_Connection *mhd, struct exchange *exchange, bool closes)
{
	struct http_response *from = &exchange->response;
	struct MHD_Response *response = make(from);
	enum MHD_Result queued;

	if (!response)
		return false;
	for (size_t i = 0; i < from->header_count; i++)
		add_header(response, exchange->arena, from->headers[i].name,
		           from->headers[i].value);
	if (closes)
		(void)MHD_add_response_header(response, "Connection", "close");
	queued = MHD_queue_response(mhd, (unsigned)from->status, response);
	MHD_destroy_response(response);
	return queued == MHD_YES;
}

void http1_response_write(int fd, struct exchange *exchange)
{
	const struct http_response *from = &exchange->response;
	const char *phrase = MHD_get_reason_phrase_for((unsigned)from->status);
	struct strbuf text;

	strbuf_init(&text, HEAD_MAX);
	strbuf_printf(&text, "HTTP/1.1 %d %s\r\n", from->status, phrase ? phrase : "");
	for (size_t i = 0; i < from->header_count; i++)
		strbuf_printf(&text, "%.*s: %.*s\r\n", STR_ARGS(from->headers[i].name),
		              STR_ARGS(from->headers[i].value));
	strbuf_printf(&text, "Content-Length: %zu\r\nConnection: close\r\n\r\n", from->body.length);
	strbuf_add_str(&text, strbuf_view(&from->body));
	if (!strbuf_overflowed(&text))
		(void)send(fd, text.data, text.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	strbuf_fini(&text);
}
