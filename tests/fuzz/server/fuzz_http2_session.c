/*
 * Bytes as those of an HTTP/2 peer, behind the preface: frames. The first byte says in what
 * pieces they come and how requests are answered; every request that begins is closed or
 * still open at the end, and nothing is told of one that is closed.
 */
#include <assert.h>
#include <stdint.h>

#include "api/http_message.h"
#include "base/mem.h"
#include "server/http/http2_session.h"

#define PREFACE     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define STREAMS_MAX 10
#define OUT_MAX     ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct peer;

struct request {
	struct peer *peer;
	int32_t id;
	bool is_open;
	bool is_answered;
	bool has_head;
	struct http2_answer answer;
};

struct peer {
	struct http2_session *session;
	struct request requests[STREAMS_MAX];
	size_t open;
	size_t failures;
	unsigned how;
};

static void *begin(void *context, int32_t id)
{
	struct peer *peer = context;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct request *request = &peer->requests[i];

		if (request->is_open)
			continue;
		*request = (struct request){ .peer = peer, .id = id, .is_open = true };
		peer->open++;
		return request;
	}
	return NULL;
}

static void field(void *context, struct str name, struct str value)
{
	const struct request *request = context;

	(void)value;
	assert(request->is_open && !request->has_head);
	assert(name.length > 0);
}

static void answer(struct request *request)
{
	static const char text[100000];
	static const struct http_header headers[] = { { { "Content-Type", 12 }, { "a/b", 3 } } };
	static const struct http_header trailers[] = { { { "grpc-status", 11 }, { "0", 1 } } };
	const unsigned how = request->peer->how;

	if (request->is_answered)
		return;
	request->is_answered = true;
	request->answer.body = str_make(text, (how & 2) ? sizeof(text) : how & 1);
	request->answer.trailers = trailers;
	request->answer.trailer_count = (how & 4) ? 1 : 0;
	http2_session_respond(request->peer->session, request->id, 200, headers, 1,
	                      &request->answer);
}

static void head(void *context)
{
	struct request *request = context;

	assert(request->is_open && !request->has_head);
	request->has_head = true;
	if (request->peer->how & 8)
		http2_session_continue(request->peer->session, request->id);
	if (request->peer->how & 16)
		answer(request);
}

static bool take(void *context, struct str bytes)
{
	const struct request *request = context;

	(void)bytes;
	assert(request->is_open && request->has_head);
	return !request->is_answered;
}

static void end(void *context)
{
	struct request *request = context;

	assert(request->is_open && request->has_head);
	answer(request);
}

static void closed(void *context)
{
	struct request *request = context;

	assert(request->is_open);
	request->is_open = false;
	request->peer->open--;
}

static void failed(void *context, const char *reason)
{
	struct peer *peer = context;

	assert(reason && reason[0]);
	assert(peer->failures++ == 0);
}

static void send_all(struct peer *peer)
{
	struct strbuf out;

	strbuf_init(&out, OUT_MAX);
	while (http2_session_has_output(peer->session)) {
		strbuf_reset(&out);
		http2_session_send(peer->session, &out, 32768);
		if (out.length == 0)
			break;
	}
	assert(!strbuf_overflowed(&out));
	strbuf_fini(&out);
}

static void receive(struct peer *peer, struct str bytes)
{
	const size_t piece = (peer->how & 32) ? 7 : 4096;

	http2_session_receive(peer->session, STR(PREFACE));
	while (bytes.length > 0) {
		http2_session_receive(peer->session, str_first(bytes, piece));
		bytes = str_skip(bytes, piece);
		if (!(peer->how & 64))
			send_all(peer);
	}
	if (peer->how & 128)
		http2_session_drain(peer->session);
	send_all(peer);
	http2_session_stop(peer->session);
	send_all(peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http2_handlers handlers = { begin, field,  head,  take,
		                                        end,   closed, failed };
	struct peer *peer = mem_zalloc(1, sizeof(*peer));

	if (size > 0) {
		peer->how = data[0];
		peer->session = http2_session_new(&(struct http2_session_options){
			.handlers = &handlers, .context = peer, .max_streams = STREAMS_MAX });
		receive(peer, str_make(data + 1, size - 1));
		assert(peer->open > 0 || peer->failures > 0 ||
		       http2_session_is_over(peer->session));
		http2_session_free(peer->session);
	}
	mem_freep(&peer);
	return 0;
}
