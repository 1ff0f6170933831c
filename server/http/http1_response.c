#include "server/http/http1_response.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "server/guard/response_guards.h"

#define CHUNK_BYTES ((size_t)32 << 10)
#define HEAD_MAX    ((size_t)16 << 10) /* bytes of a response written past libmicrohttpd */

/*
 * Texts with a NUL behind them, as libmicrohttpd wants. Without memory the header is
 * left out.
 */
static void add(struct MHD_Response *response, struct arena *arena,
                const struct http_header *header,
                enum MHD_Result (*to)(struct MHD_Response *, const char *, const char *))
{
	const struct str name = arena_copy(arena, header->name);
	const struct str value = arena_copy(arena, header->value);

	if (name.data && value.data)
		(void)to(response, name.data, value.data);
}

/* A body that is sent in chunks, for there is something to say behind it. */
struct chunked {
	char *body;
	size_t length;
};

static ssize_t read_chunk(void *context, uint64_t at, char *to, size_t room)
{
	const struct chunked *chunked = context;
	const size_t left = chunked->length - (size_t)at;

	if (left == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (left < room)
		room = left;
	memcpy(to, chunked->body + at, room);
	return (ssize_t)room;
}

static void free_chunked(void *context)
{
	struct chunked *chunked = context;

	free(chunked->body);
	free(chunked);
}

static struct MHD_Response *make_chunked(struct http_response *from)
{
	struct chunked *chunked = mem_zalloc(1, sizeof(*chunked));
	struct MHD_Response *response;

	chunked->body = strbuf_detach(&from->body, &chunked->length);
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_BYTES, read_chunk,
	                                             chunked, free_chunked);
	if (!response)
		free_chunked(chunked);
	return response;
}

static struct MHD_Response *make(struct http_response *from)
{
	size_t length;
	char *body;
	struct MHD_Response *response;

	if (from->trailer_count > 0)
		return make_chunked(from);
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
	struct MHD_Response *response;
	enum MHD_Result queued;

	response_guards_add(from);
	response = make(from);
	if (!response)
		return false;
	for (size_t i = 0; i < from->header_count; i++)
		add(response, exchange->arena, &from->headers[i], MHD_add_response_header);
	for (size_t i = 0; i < from->trailer_count; i++) {
		(void)MHD_add_response_header(response, "Trailer", from->trailers[i].name.data);
		add(response, exchange->arena, &from->trailers[i], MHD_add_response_footer);
	}
	if (closes)
		(void)MHD_add_response_header(response, "Connection", "close");
	queued = MHD_queue_response(mhd, (unsigned)from->status, response);
	MHD_destroy_response(response);
	return queued == MHD_YES;
}

static void write_fields(const struct http_header *fields, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++)
		strbuf_printf(out, "%.*s: %.*s\r\n", STR_ARGS(fields[i].name),
		              STR_ARGS(fields[i].value));
}

void http1_response_write(int fd, struct exchange *exchange)
{
	struct http_response *from = &exchange->response;
	const char *phrase = MHD_get_reason_phrase_for((unsigned)from->status);
	struct strbuf text;

	response_guards_add(from);
	strbuf_init(&text, HEAD_MAX);
	strbuf_printf(&text, "HTTP/1.1 %d %s\r\n", from->status, phrase ? phrase : "");
	write_fields(from->headers, from->header_count, &text);
	write_fields(from->trailers, from->trailer_count, &text); /* the body is empty */
	strbuf_printf(&text, "Content-Length: %zu\r\nConnection: close\r\n\r\n", from->body.length);
	strbuf_add_str(&text, strbuf_view(&from->body));
	if (!strbuf_overflowed(&text))
		(void)send(fd, text.data, text.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	strbuf_fini(&text);
}
