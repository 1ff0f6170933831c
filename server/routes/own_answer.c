#include "server/routes/own_answer.h"

#include "api/error_json.h"
#include "api/http_negotiation.h"
#include "server/routes/entity_tag.h"

enum exchange_state own_answer_finish(struct exchange *exchange, int status, struct error *err)
{
	struct http_response *response = &exchange->response;

	if (status == 0 && strbuf_overflowed(&response->body))
		status = error_set(err, ERROR_TOO_LARGE, "the answer is larger than %zu bytes",
		                   response->body.limit);
	if (status < 0) {
		error_json_connect(err, response);
	} else {
		entity_tag_apply(&exchange->request, response, exchange->arena);
		http_response_header(response, "Content-Type", STR("application/json"));
		if (response->status == 200)
			http_compress_response(&exchange->request, response);
	}
	http_response_header(response, "Cache-Control", STR("no-store"));
	return EXCHANGE_DONE;
}
