/*
 * GET /api/v1/rejects: the write requests of the caller's tenant that were refused last.
 *
 * Source   own API specification
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "server/app.h"
#include "server/rejects.h"
#include "server/routes/handlers.h"
#include "server/routes/own_answer.h"

/* Bytes for a person: ASCII as it is, the rest as \xHH. */
static void put_bytes(struct json_writer *writer, struct str bytes)
{
	char text[4 * REJECT_BYTES_MAX + 1];
	size_t length = 0;

	for (size_t i = 0; i < bytes.length; i++) {
		const unsigned char byte = (unsigned char)bytes.data[i];

		if (byte == '\\')
			length += (size_t)snprintf(text + length, sizeof(text) - length, "\\\\");
		else if (byte >= 0x20 && byte < 0x7f)
			text[length++] = (char)byte;
		else
			length += (size_t)snprintf(text + length, sizeof(text) - length, "\\x%02x",
			                           byte);
	}
	json_put_text(writer, str_make(text, length));
}

static void put_reject(struct json_writer *writer, const struct reject *reject)
{
	json_begin_map(writer);
	json_key(writer, "time_ms");
	json_put_int(writer, reject->time_unix_ns / NS_PER_MS);
	json_key(writer, "sender");
	json_put_text(writer, REJECT_VIEW(reject->sender));
	json_key(writer, "user_agent");
	json_put_text(writer, REJECT_VIEW(reject->agent));
	json_key(writer, "route");
	json_put_text(writer, str_of(reject->route));
	json_key(writer, "status");
	json_put_int(writer, reject->status);
	json_key(writer, "reason");
	json_put_text(writer, str_of(reject->reason));
	json_key(writer, "message");
	json_put_text(writer, REJECT_VIEW(reject->message));
	json_key(writer, "body_bytes");
	json_put_uint(writer, reject->body_bytes);
	json_key(writer, "first_bytes");
	put_bytes(writer, REJECT_VIEW(reject->first));
	json_end_map(writer);
}

enum exchange_state serve_rejects(struct exchange *exchange)
{
	struct reject *rejects =
		arena_array_raw(exchange->arena, REJECTS_PER_TENANT, sizeof(*rejects));
	struct json_writer writer;
	struct error err = { 0 };
	size_t count;

	if (!rejects)
		return own_answer_finish(exchange, arena_error(exchange->arena, &err), &err);
	count = rejects_list(exchange->app->rejects, exchange->tenant, rejects, REJECTS_PER_TENANT);
	json_writer_init(&writer, &exchange->response.body);
	json_begin_map(&writer);
	json_key(&writer, "rejects");
	json_begin_list(&writer);
	for (size_t i = 0; i < count; i++)
		put_reject(&writer, &rejects[i]);
	json_end_list(&writer);
	json_end_map(&writer);
	return own_answer_finish(exchange, 0, &err);
}
