#include "server/http/http2_session.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/http/http2_toll.h"

#define STREAM_WINDOW     ((int32_t)1 << 20) /* ingest specification, 5.6 */
#define CONNECTION_WINDOW ((int32_t)16 << 20)
#define TABLE_BYTES       4096 /* of header compression, each way: the protocol's default */
#define SETTINGS_MAX      32   /* in one frame; the library's default */
#define ACKS_MAX          1000 /* that wait to be sent; the library's default */
#define CONTINUATIONS_MAX 8    /* behind one HEADERS, of up to 16 KiB each */
#define SLICE_BYTES       4096 /* that frames are charged for before they are read */

struct http2_session {
	nghttp2_session *library;
	struct http2_handlers handlers;
	void *context;
	uint64_t frames;
	struct http2_toll toll;
	int32_t last_id;   /* that the peer began */
	int32_t gap_first; /* those that it left out last: from behind this one ... */
	int32_t gap_last;  /* ... to before this one */
	bool has_failed;
	bool has_use; /* the DATA frame that is being read */
	bool drains;  /* a PING asks whether the peer has heard of it */
};

static void fail(struct http2_session *session, const char *reason)
{
	if (session->has_failed)
		return;
	session->has_failed = true;
	session->handlers.failed(session->context, reason);
}

/* Ends the connection for what there was too much of; NULL: all is well. */
static void stop_flood(struct http2_session *session, const char *reason)
{
	if (!reason || session->has_failed)
		return;
	fail(session, reason);
	(void)nghttp2_session_terminate_session(session->library, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- what the library calls ---- */

static void *request_of(nghttp2_session *library, int32_t id)
{
	return nghttp2_session_get_stream_user_data(library, id);
}

static bool is_request_head(const nghttp2_frame *frame)
{
	return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/*
 * Streams that a peer leaves out are closed (RFC 9113, 5.1.1). The library ignores their
 * heads: it cannot tell them from those that come late on streams that are no more.
 */
static void check_order(struct http2_session *session, int32_t id)
{
	if (id > session->last_id) {
		if (id > session->last_id + 2) {
			session->gap_first = session->last_id;
			session->gap_last = id;
		}
		session->last_id = id;
	} else if (id > session->gap_first && id < session->gap_last && id % 2 == 1) {
		(void)nghttp2_session_terminate_session(session->library, NGHTTP2_PROTOCOL_ERROR);
	}
}

static int on_begin_frame(nghttp2_session *library, const nghttp2_frame_hd *head, void *context)
{
	struct http2_session *session = context;

	(void)library;
	session->has_use = false;
	if (head->type == NGHTTP2_HEADERS)
		check_order(session, head->stream_id);
	return 0;
}

static int on_begin_headers(nghttp2_session *library, const nghttp2_frame *frame, void *context)
{
	const struct http2_session *session = context;
	void *request;

	if (!is_request_head(frame))
		return 0; /* trailers of a request say nothing */
	request = session->has_failed
	                  ? NULL
	                  : session->handlers.begin(session->context, frame->hd.stream_id);
	if (!request)
		return nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
		                                 NGHTTP2_REFUSED_STREAM) == 0
		               ? 0
		               : NGHTTP2_ERR_CALLBACK_FAILURE;
	(void)nghttp2_session_set_stream_user_data(library, frame->hd.stream_id, request);
	return 0;
}

/* The parameters of these two are the library's. */
/* NOLINTNEXTLINE(readability-function-size) */
static int on_header(nghttp2_session *library, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *context)
{
	const struct http2_session *session = context;
	void *request = request_of(library, frame->hd.stream_id);

	(void)flags;
	if (request && is_request_head(frame))
		session->handlers.field(request, str_make(name, name_length),
		                        str_make(value, value_length));
	return 0;
}

/* A field that is no field makes the request malformed (RFC 9113, 8.2.1). */
/* NOLINTNEXTLINE(readability-function-size) */
static int on_invalid_header(nghttp2_session *library, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_length, const uint8_t *value,
                             size_t value_length, uint8_t flags, void *context)
{
	(void)name;
	(void)name_length;
	(void)value;
	(void)value_length;
	(void)flags;
	(void)context;
	(void)nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
	                                NGHTTP2_PROTOCOL_ERROR);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* The end of HEADERS or DATA, which are of use to a request that is still read. */
static void take_part(struct http2_session *session, const nghttp2_frame *frame)
{
	const bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	const bool begins = is_request_head(frame);
	void *request = request_of(session->library, frame->hd.stream_id);

	if (!request)
		return;
	if (begins || ends || session->has_use)
		http2_toll_return(&session->toll);
	if (session->has_use)
		http2_toll_gain(&session->toll);
	if (begins)
		session->handlers.head(request);
	/* it may be gone by now */
	request = request_of(session->library, frame->hd.stream_id);
	if (ends && request)
		session->handlers.end(request);
}

static int on_frame(nghttp2_session *library, const nghttp2_frame *frame, void *context)
{
	struct http2_session *session = context;

	(void)library;
	session->frames++;
	if (session->drains && frame->hd.type == NGHTTP2_PING &&
	    (frame->hd.flags & NGHTTP2_FLAG_ACK))
		http2_session_stop(session);
	if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
		take_part(session, frame);
	return 0;
}

static int on_data(nghttp2_session *library, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t length, void *context)
{
	struct http2_session *session = context;
	void *request = request_of(library, id);

	(void)flags;
	if (request && session->handlers.data(request, str_make(data, length)))
		session->has_use = true;
	return 0;
}

static int on_stream_close(nghttp2_session *library, int32_t id, uint32_t code, void *context)
{
	const struct http2_session *session = context;
	void *request = request_of(library, id);

	(void)code;
	if (request) {
		(void)nghttp2_session_set_stream_user_data(library, id, NULL);
		session->handlers.closed(request);
	}
	return 0;
}

/* An answer that ends before its request: the peer need not send the rest. */
static void stop_request(nghttp2_session *library, const nghttp2_frame *frame)
{
	const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

	if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    nghttp2_session_get_stream_remote_close(library, frame->hd.stream_id) == 0)
		(void)nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
		                                NGHTTP2_NO_ERROR);
}

static int on_frame_sent(nghttp2_session *library, const nghttp2_frame *frame, void *context)
{
	struct http2_session *session = context;

	stop_request(library, frame);
	if (frame->hd.type == NGHTTP2_DATA)
		http2_toll_gain(&session->toll);
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		stop_flood(session,
		           http2_toll_take_reset(&session->toll, frame->rst_stream.error_code,
		                                 clock_mono_ns()));
	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
		fail(session, nghttp2_http2_strerror(frame->goaway.error_code));
	return 0;
}

/* ---- life ---- */

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		abort(); /* no memory */
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	return callbacks;
}

static nghttp2_option *make_option(void)
{
	nghttp2_option *option;

	if (nghttp2_option_new(&option) != 0)
		abort(); /* no memory */
	nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
	nghttp2_option_set_max_settings(option, SETTINGS_MAX);
	/* behind our own, which says why it ends */
	nghttp2_option_set_stream_reset_rate_limit(option, 2 * HTTP2_TOLL_BURST / HTTP2_TOLL_RESET,
	                                           2 * HTTP2_TOLL_PER_S / HTTP2_TOLL_RESET);
	nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
	nghttp2_option_set_max_deflate_dynamic_table_size(option, TABLE_BYTES);
	return option;
}

static void announce(nghttp2_session *library, size_t max_streams)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)max_streams },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2_HEAD_MAX },
	};

	(void)nghttp2_submit_settings(library, NGHTTP2_FLAG_NONE, settings, ARRAY_LENGTH(settings));
	(void)nghttp2_session_set_local_window_size(library, NGHTTP2_FLAG_NONE, 0,
	                                            CONNECTION_WINDOW);
}

struct http2_session *http2_session_new(const struct http2_session_options *options)
{
	struct http2_session *session = mem_zalloc(1, sizeof(*session));
	nghttp2_session_callbacks *callbacks = make_callbacks();
	nghttp2_option *option = make_option();

	session->handlers = *options->handlers;
	session->context = options->context;
	session->last_id = -1;
	http2_toll_init(&session->toll, clock_mono_ns());
	if (nghttp2_session_server_new2(&session->library, callbacks, session, option) != 0)
		abort(); /* no memory */
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	announce(session->library, options->max_streams);
	return session;
}

void http2_session_free(struct http2_session *session)
{
	if (!session)
		return;
	nghttp2_session_del(session->library);
	free(session);
}

/* ---- bytes ---- */

/* False: what comes behind these bytes is not read any more. */
static bool receive_slice(struct http2_session *session, struct str bytes)
{
	ssize_t taken;

	stop_flood(session, http2_toll_take(&session->toll, bytes, clock_mono_ns()));
	taken = nghttp2_session_mem_recv(session->library, (const uint8_t *)bytes.data,
	                                 bytes.length);
	if (taken >= 0)
		return true;
	if (taken == NGHTTP2_ERR_FLOODED)
		fail(session, "too many PING or SETTINGS frames at once");
	else
		fail(session, nghttp2_strerror((int)taken));
	(void)nghttp2_session_terminate_session(
		session->library,
		taken == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
	return false;
}

void http2_session_receive(struct http2_session *session, struct str bytes)
{
	while (bytes.length > 0) {
		const struct str slice = str_first(bytes, SLICE_BYTES);

		if (!receive_slice(session, slice))
			return;
		bytes = str_skip(bytes, slice.length);
	}
}

void http2_session_send(struct http2_session *session, struct strbuf *out, size_t enough)
{
	while (out->length < enough) {
		const uint8_t *bytes;
		const ssize_t count = nghttp2_session_mem_send(session->library, &bytes);

		if (count < 0)
			fail(session, nghttp2_strerror((int)count));
		if (count <= 0)
			return;
		strbuf_add(out, bytes, (size_t)count);
	}
}

bool http2_session_has_output(const struct http2_session *session)
{
	return nghttp2_session_want_write(session->library) != 0;
}

size_t http2_session_queue_length(const struct http2_session *session)
{
	return nghttp2_session_get_outbound_queue_size(session->library);
}

bool http2_session_is_over(const struct http2_session *session)
{
	return !nghttp2_session_want_read(session->library) &&
	       !nghttp2_session_want_write(session->library);
}

uint64_t http2_session_frames(const struct http2_session *session)
{
	return session->frames;
}

/* ---- answers ---- */

/* The library copies fields, names in lower case; its structs are not const all the same. */
static uint8_t *lent(const char *text)
{
	const union {
		const char *lent;
		uint8_t *bytes;
	} view = { .lent = text };

	return view.bytes;
}

static nghttp2_nv field(struct str name, struct str value)
{
	return (nghttp2_nv){ .name = lent(name.data),
		             .namelen = name.length,
		             .value = lent(value.data),
		             .valuelen = value.length,
		             .flags = NGHTTP2_NV_FLAG_NONE };
}

#define RESPONSE_FIELDS_MAX (HTTP_RESPONSE_HEADERS_MAX + HTTP_RESPONSE_TRAILERS_MAX + 4)

static size_t add_fields(nghttp2_nv *to, size_t count, const struct http_header *from, size_t more)
{
	assert(count + more <= RESPONSE_FIELDS_MAX);
	for (size_t i = 0; i < more; i++)
		to[count++] = field(from[i].name, from[i].value);
	return count;
}

static void submit_trailers(nghttp2_session *library, int32_t id, const struct http2_answer *answer)
{
	nghttp2_nv fields[RESPONSE_FIELDS_MAX];
	const size_t count = add_fields(fields, 0, answer->trailers, answer->trailer_count);

	(void)nghttp2_submit_trailer(library, id, fields, count);
}

static ssize_t read_body(nghttp2_session *library, int32_t id, uint8_t *to, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct http2_answer *answer = source->ptr;
	const size_t left = answer->body.length - answer->sent;
	const size_t count = left < room ? left : room;

	(void)context;
	if (count > 0)
		memcpy(to, answer->body.data + answer->sent, count);
	answer->sent += count;
	if (count < left)
		return (ssize_t)count;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (answer->trailer_count > 0) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		submit_trailers(library, id, answer);
	}
	return (ssize_t)count;
}

void http2_session_respond(struct http2_session *session, int32_t id, int status,
                           const struct http_header *headers, size_t count,
                           struct http2_answer *answer)
{
	const nghttp2_data_provider provider = { .source.ptr = answer, .read_callback = read_body };
	const bool has_body = answer->body.length > 0;
	nghttp2_nv fields[RESPONSE_FIELDS_MAX];
	char text[16];
	size_t field_count = 1;

	(void)snprintf(text, sizeof(text), "%d", status);
	fields[0] = field(STR(":status"), str_of(text));
	field_count = add_fields(fields, field_count, headers, count);
	if (!has_body) /* all in one frame: gRPC's trailers-only */
		field_count =
			add_fields(fields, field_count, answer->trailers, answer->trailer_count);
	if (nghttp2_submit_response(session->library, id, fields, field_count,
	                            has_body ? &provider : NULL) != 0)
		http2_session_cancel(session, id);
}

void http2_session_continue(struct http2_session *session, int32_t id)
{
	const nghttp2_nv fields[] = { field(STR(":status"), STR("100")) };

	(void)nghttp2_submit_headers(session->library, NGHTTP2_FLAG_NONE, id, NULL, fields, 1,
	                             NULL);
}

void http2_session_cancel(struct http2_session *session, int32_t id)
{
	(void)nghttp2_submit_rst_stream(session->library, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

/* ---- ends ---- */

void http2_session_drain(struct http2_session *session)
{
	if (session->drains)
		return;
	session->drains = true;
	(void)nghttp2_submit_shutdown_notice(session->library);
	(void)nghttp2_submit_ping(session->library, NGHTTP2_FLAG_NONE, NULL);
}

void http2_session_stop(struct http2_session *session)
{
	(void)nghttp2_submit_goaway(session->library, NGHTTP2_FLAG_NONE,
	                            nghttp2_session_get_last_proc_stream_id(session->library),
	                            NGHTTP2_NO_ERROR, NULL, 0);
}
