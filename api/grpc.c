#include "api/grpc.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/gzip.h"

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_NS_MAX     (INT64_MAX / 4) /* 73 years: as good as for ever */
#define WEB_TRAILERS_MAX   1024            /* of a request; a guess: browsers send none */
#define ENCODINGS          "gzip, identity"

enum {
	FLAG_COMPRESSED = 0x01,
	FLAG_TRAILERS = 0x80, /* gRPC-Web's */
};

enum grpc_form {
	GRPC_PLAIN,
	GRPC_WEB,
	GRPC_WEB_TEXT,
};

static const struct grpc_type {
	const char *name;
	enum grpc_form form;
	enum connect_codec codec;
} types[] = {
	{ "application/grpc", GRPC_PLAIN, CONNECT_PROTO },
	{ "application/grpc+proto", GRPC_PLAIN, CONNECT_PROTO },
	{ "application/grpc+json", GRPC_PLAIN, CONNECT_JSON },
	{ "application/grpc-web", GRPC_WEB, CONNECT_PROTO },
	{ "application/grpc-web+proto", GRPC_WEB, CONNECT_PROTO },
	{ "application/grpc-web+json", GRPC_WEB, CONNECT_JSON },
	{ "application/grpc-web-text", GRPC_WEB_TEXT, CONNECT_PROTO },
	{ "application/grpc-web-text+proto", GRPC_WEB_TEXT, CONNECT_PROTO },
};

static const struct grpc_type *type_of(const struct http_request *request)
{
	const struct str name = http_request_media_type(request);

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if (str_equal_ignoring_case(name, str_of(types[i].name)))
			return &types[i];
	return NULL;
}

bool grpc_is(const struct http_request *request)
{
	const struct str prefix = STR("application/grpc");

	return str_equal_ignoring_case(str_first(http_request_media_type(request), prefix.length),
	                               prefix);
}

bool grpc_is_known(const struct http_request *request)
{
	return type_of(request) != NULL;
}

/* ---- requests ---- */

static int64_t unit_ns(char unit)
{
	switch (unit) {
	case 'H':
		return 3600 * NS_PER_S;
	case 'M':
		return 60 * NS_PER_S;
	case 'S':
		return NS_PER_S;
	case 'm':
		return NS_PER_MS;
	case 'u':
		return NS_PER_US;
	case 'n':
		return 1;
	default:
		return 0;
	}
}

static int read_timeout(const struct http_request *request, int64_t *out_ns, struct error *err)
{
	const struct str *header = http_request_header(request, "grpc-timeout");
	struct str digits;
	uint64_t number;
	int64_t unit;

	*out_ns = 0;
	if (!header)
		return 0;
	digits = str_first(*header, header->length > 0 ? header->length - 1 : 0);
	unit = header->length > 0 ? unit_ns(header->data[header->length - 1]) : 0;
	if (unit == 0 || digits.length > TIMEOUT_DIGITS_MAX ||
	    !str_to_u64(digits, UINT64_MAX, &number))
		return error_set(
			err, ERROR_INVALID,
			"malformed grpc-timeout \"%.*s\": expected up to %d digits and one "
			"of H, M, S, m, u, n",
			STR_ARGS(str_first(*header, 64)), TIMEOUT_DIGITS_MAX);
	if (number == 0)
		return error_set(err, ERROR_TIMED_OUT, "context deadline exceeded");
	*out_ns = number > (uint64_t)(TIMEOUT_NS_MAX / unit) ? TIMEOUT_NS_MAX
	                                                     : (int64_t)number * unit;
	return 0;
}

int grpc_too_large(uint64_t size, size_t limit, struct error *err)
{
	return error_set(err, ERROR_TOO_LARGE,
	                 "grpc: received message larger than max (%llu vs. %zu)",
	                 (unsigned long long)size, limit);
}

/* The end of the piece that begins the text: behind its padding, if it has any. */
static size_t piece_length(struct str text)
{
	const ptrdiff_t equals = str_index(text, '=');
	size_t length = equals < 0 ? text.length : (size_t)equals;

	while (length < text.length && text.data[length] == '=')
		length++;
	return length;
}

/* base64 in pieces, each padded by itself: senders encode what they have at a time. */
static int decode_text(struct str text, struct arena *arena, struct str *out, struct error *err)
{
	char *bytes = arena_alloc_raw(arena, text.length + 1);
	size_t length = 0;

	if (!bytes)
		return arena_error(arena, err);
	while (text.length > 0) {
		const size_t piece = piece_length(text);
		struct str plain;

		if (base64_decode(str_first(text, piece), arena, &plain, err) < 0)
			return -1;
		if (plain.length > 0)
			memcpy(bytes + length, plain.data, plain.length);
		length += plain.length;
		text = str_skip(text, piece);
	}
	*out = str_make(bytes, length);
	return 0;
}

struct frame {
	unsigned flags;
	struct str message;
};

static uint32_t frame_length(struct str bytes)
{
	const unsigned char *at = (const unsigned char *)bytes.data + 1;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint64_t grpc_announced(const struct http_request *request, struct str body)
{
	const struct grpc_type *type = type_of(request);

	if (!type || type->form == GRPC_WEB_TEXT || body.length < GRPC_PREFIX_LENGTH)
		return 0;
	return (uint64_t)frame_length(body) + GRPC_PREFIX_LENGTH;
}

size_t grpc_body_limit(const struct http_request *request, size_t message_limit)
{
	const struct grpc_type *type = type_of(request);
	const size_t bytes = message_limit + GRPC_PREFIX_LENGTH + WEB_TRAILERS_MAX;

	if (!type || type->form == GRPC_PLAIN)
		return message_limit + GRPC_PREFIX_LENGTH;
	return type->form == GRPC_WEB_TEXT ? bytes / 3 * 4 + 8 : bytes;
}

/* Takes a frame off *rest, which is not empty. */
static int take_frame(struct str *rest, size_t limit, struct frame *out, struct error *err)
{
	uint32_t length;

	if (rest->length < GRPC_PREFIX_LENGTH)
		return error_set(err, ERROR_INVALID,
		                 "protocol error: a frame of %zu bytes has no length",
		                 rest->length);
	length = frame_length(*rest);
	if (length > limit)
		return grpc_too_large(length, limit, err);
	out->flags = (unsigned char)rest->data[0];
	*rest = str_skip(*rest, GRPC_PREFIX_LENGTH);
	if (!str_take(rest, length, &out->message))
		return error_set(err, ERROR_INVALID,
		                 "protocol error: promised %lu bytes in a frame, got %zu",
		                 (unsigned long)length, rest->length);
	return 0;
}

static int unpack(const struct frame *frame, enum http_coding coding, size_t limit,
                  struct arena *arena, struct str *out, struct error *err)
{
	if (frame->flags & ~(unsigned)FLAG_COMPRESSED)
		return error_set(err, ERROR_INVALID, "protocol error: invalid frame flags %u",
		                 frame->flags);
	*out = frame->message;
	if (!(frame->flags & FLAG_COMPRESSED) ||
	    (coding == HTTP_GZIP && frame->message.length == 0))
		return 0;
	if (coding != HTTP_GZIP)
		return error_set(err, ERROR_INVALID,
		                 "protocol error: a compressed message without grpc-encoding");
	if (gzip_inflate(frame->message, limit, arena, out, err) == 0)
		return 0;
	if (err->code == ERROR_TOO_LARGE && !arena_overflowed(arena))
		return error_set(err, ERROR_TOO_LARGE,
		                 "grpc: received message after decompression larger than max %zu",
		                 limit);
	return error_context(err, "decompress");
}

/* The one message of a unary call. */
static int read_message(const struct grpc_type *type, struct str body, enum http_coding coding,
                        size_t limit, struct arena *arena, struct str *out, struct error *err)
{
	struct frame frame = { 0 };
	struct frame more = { 0 };

	if (type->form == GRPC_WEB_TEXT && decode_text(body, arena, &body, err) < 0)
		return error_context(err, "protocol error");
	if (body.length == 0)
		return error_set(err, ERROR_INVALID, "unary request has zero messages");
	if (take_frame(&body, limit, &frame, err) < 0 ||
	    unpack(&frame, coding, limit, arena, out, err) < 0)
		return -1;
	if (body.length == 0)
		return 0;
	if (take_frame(&body, limit, &more, err) < 0)
		return -1;
	if (type->form != GRPC_PLAIN && (more.flags & FLAG_TRAILERS) && body.length == 0)
		return 0; /* a browser has nothing to say there */
	return error_set(err, ERROR_INVALID, "unary request has multiple messages");
}

bool grpc_accept(const struct http_request *request, size_t message_limit, struct arena *arena,
                 struct connect_call *call, struct http_response *response)
{
	const struct grpc_type *type = type_of(request);
	struct error err = { 0 };
	enum http_coding coding;

	*call = (struct connect_call){ 0 };
	if (!str_equals(request->method, "POST")) {
		http_response_reset(response, 405);
		http_response_header(response, "Allow", STR("POST"));
		return false;
	}
	call->codec = type->codec;
	call->content_type = str_of(type->name);
	call->utf8_label_names = http_accepts_utf8_label_names(request);
	if (http_read_coding(request, "grpc-encoding", &coding, &err) < 0 ||
	    read_timeout(request, &call->timeout_ns, &err) < 0 ||
	    read_message(type, request->body, coding, message_limit, arena, &call->message, &err) <
	            0) {
		connect_fail(&err, response);
		return false;
	}
	return true;
}

/* ---- answers ---- */

void grpc_unknown_path(struct str path, struct http_response *response)
{
	struct error err = { 0 };

	(void)error_set(&err, ERROR_UNIMPLEMENTED, "unknown method %.*s",
	                STR_ARGS(str_first(path, 200)));
	connect_fail(&err, response);
}

static void put_prefix(char *at, unsigned flags, size_t length)
{
	at[0] = (char)flags;
	for (int i = 0; i < 4; i++)
		at[1 + i] = (char)(length >> (24 - 8 * i));
}

/* Puts the body into a frame. */
static void frame_body(struct strbuf *body)
{
	const size_t length = body->length;

	if (!strbuf_reserve(body, GRPC_PREFIX_LENGTH))
		return;
	memmove(body->data + GRPC_PREFIX_LENGTH, body->data, length);
	put_prefix(body->data, 0, length);
	strbuf_advance(body, GRPC_PREFIX_LENGTH);
}

/* The same, with the message compressed. */
static void frame_packed(struct strbuf *body)
{
	static const char room[GRPC_PREFIX_LENGTH];
	struct strbuf packed;

	strbuf_init(&packed, body->limit);
	strbuf_add(&packed, room, sizeof(room));
	gzip_deflate(strbuf_view(body), &packed);
	if (!strbuf_overflowed(&packed))
		put_prefix(packed.data, FLAG_COMPRESSED, packed.length - GRPC_PREFIX_LENGTH);
	strbuf_fini(body);
	*body = packed;
}

/* Percent-encoded: printable ASCII but for '%' stands for itself. */
static void add_message(struct strbuf *out, const char *message)
{
	static const char hex[] = "0123456789ABCDEF";

	for (const unsigned char *c = (const unsigned char *)message; *c; c++) {
		if (*c >= 0x20 && *c <= 0x7e && *c != '%') {
			strbuf_add_byte(out, (char)*c);
			continue;
		}
		strbuf_add_byte(out, '%');
		strbuf_add_byte(out, hex[*c >> 4]);
		strbuf_add_byte(out, hex[*c & 15]);
	}
}

/* The trailers as header lines. */
static void write_trailers(const struct error *failure, struct strbuf *out)
{
	strbuf_printf(out, "grpc-status: %d\r\n", error_grpc_status(failure->code));
	if (failure->message[0] == '\0' || failure->code == ERROR_NONE)
		return;
	strbuf_add_text(out, "grpc-message: ");
	add_message(out, failure->message);
	strbuf_add_text(out, "\r\n");
}

/* The trailers as a last frame of the body. */
static void add_trailer_frame(const struct error *failure, struct strbuf *body)
{
	static const char room[GRPC_PREFIX_LENGTH];
	const size_t begun = body->length;

	strbuf_add(body, room, sizeof(room));
	write_trailers(failure, body);
	if (!strbuf_overflowed(body))
		put_prefix(body->data + begun, FLAG_TRAILERS,
		           body->length - begun - GRPC_PREFIX_LENGTH);
}

/* A status is told whatever memory is left: a write that is committed was not refused. */
static struct str status_text(enum error_code code)
{
	static const char *const texts[] = { "0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
		                             "9", "10", "11", "12", "13", "14", "15", "16" };

	return str_of(texts[error_grpc_status(code)]);
}

static void add_trailers(const struct error *failure, struct arena *arena,
                         struct http_response *response)
{
	struct strbuf message;

	http_response_trailer(response, "grpc-status", status_text(failure->code));
	if (failure->code == ERROR_NONE || failure->message[0] == '\0')
		return;
	strbuf_init(&message, (size_t)3 * ERROR_MESSAGE_SIZE);
	add_message(&message, failure->message);
	http_response_trailer(response, "grpc-message", arena_copy(arena, strbuf_view(&message)));
	strbuf_fini(&message);
}

static void encode_text(struct strbuf *body)
{
	struct strbuf text;

	strbuf_init(&text, body->limit);
	base64_encode(strbuf_view(body), &text);
	strbuf_fini(body);
	*body = text;
}

/* Whether the client reads compressed messages. */
static bool accepts_gzip(const struct http_request *request)
{
	const struct str *header = http_request_header(request, "grpc-accept-encoding");
	struct str rest = header ? *header : STR("");
	struct str name;

	while (str_split(&rest, ',', &name))
		if (str_equals(str_trim(name), "gzip"))
			return true;
	return false;
}

static void too_large_to_send(size_t size, size_t limit, struct error *failure)
{
	(void)error_set(failure, ERROR_TOO_LARGE,
	                "grpc: trying to send message larger than max (%zu vs. %zu): ask for "
	                "fewer nodes, series or points",
	                size, limit);
}

/* The message into its frame, or what keeps it from being sent into *failure. */
static bool frame_message(const struct http_request *request, size_t limit, struct strbuf *body,
                          struct error *failure)
{
	const size_t size = body->length;
	const bool packs = size >= HTTP_COMPRESS_MIN && accepts_gzip(request);

	if (size <= limit && packs)
		frame_packed(body);
	else if (size <= limit)
		frame_body(body);
	if (size <= limit && !strbuf_overflowed(body))
		return packs;
	too_large_to_send(size, limit, failure);
	strbuf_reset(body);
	return false;
}

void grpc_answer(const struct http_request *request, size_t message_limit, struct arena *arena,
                 struct http_response *response)
{
	const struct grpc_type *type = type_of(request);
	struct error *failure = &response->failure;
	bool is_packed = false;

	if (failure->code == ERROR_NONE && response->status != 200)
		return;
	if (!type) /* one that nobody knows is told so as the plain one is */
		type = &types[0];
	if (failure->code == ERROR_NONE)
		is_packed = frame_message(request, message_limit, &response->body, failure);
	else
		strbuf_reset(&response->body);

	response->status = 200;
	response->header_count = 0;
	http_response_header(response, "content-type", str_of(type->name));
	if (is_packed)
		http_response_header(response, "grpc-encoding", STR("gzip"));
	http_response_header(response, "grpc-accept-encoding", STR(ENCODINGS));
	if (type->form == GRPC_PLAIN)
		add_trailers(failure, arena, response);
	else
		add_trailer_frame(failure, &response->body);
	if (type->form == GRPC_WEB_TEXT)
		encode_text(&response->body);
}
