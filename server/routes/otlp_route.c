/*
 * POST /v1development/profiles: known, and refused in the words of its own protocol.
 * Exporters do not repeat what is answered 501.
 *
 * Source   ingest specification, 1.1 and 1.6
 */
#include "server/routes/handlers.h"

enum exchange_state serve_otlp(struct exchange *exchange)
{
	http_response_text(&exchange->response, 501, "text/plain; charset=utf-8",
	                   STR("OTLP profiles are not supported by this version\n"));
	return EXCHANGE_DONE;
}
