/*
 * POST /v1development/profiles: OTLP profiles over HTTP.
 *
 * Source   ingest specification, 1.1, 1.6 and 5.1
 */
#include "server/routes/handlers.h"
#include "server/routes/otlp_export.h"

static void answer(struct exchange *exchange, enum error_code code, struct str message)
{
	http_response_text(&exchange->response, code == ERROR_UNIMPLEMENTED ? 501 : 400,
	                   "text/plain; charset=utf-8", message);
	strbuf_add_byte(&exchange->response.body, '\n');
}

enum exchange_state serve_otlp(struct exchange *exchange)
{
	return otlp_export(exchange, &(struct otlp_export){
					     .message = exchange->request.body,
					     .answer = answer,
				     });
}
