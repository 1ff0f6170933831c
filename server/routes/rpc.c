#include "server/routes/rpc.h"

#include "api/grpc.h"
#include "base/clock.h"
#include "server/app.h"
#include "server/routes/answer_share.h"
#include "server/routes/dispatch.h"
#include "server/routes/route.h"
#include "server/tenant.h"

static bool accept(struct exchange *exchange, struct connect_call *call)
{
	const bool is_grpc = grpc_is_known(&exchange->request);

	return (is_grpc ? grpc_accept : connect_accept)(&exchange->request,
	                                                dispatch_message_limit(exchange),
	                                                exchange->arena, call, &exchange->response);
}

bool rpc_begin(struct exchange *exchange, struct connect_call *call)
{
	struct error err = { 0 };

	if (!accept(exchange, call))
		return false;
	if (call->timeout_ns == 0)
		return true;
	exchange->cancel.deadline_mono_ns = exchange->start_mono_ns + call->timeout_ns;
	if (call->timeout_ns > 0 && clock_mono_ns() < exchange->cancel.deadline_mono_ns)
		return true;
	(void)error_set(&err, ERROR_TIMED_OUT, "context deadline exceeded");
	connect_fail(&err, &exchange->response);
	return false;
}

bool rpc_take_tenant(struct exchange *exchange)
{
	struct error err = { 0 };

	if (exchange->route->flags & ROUTE_NO_TENANT)
		return true;
	if (tenant_of(exchange, &exchange->tenant, &err) == 0)
		return true;
	connect_fail(&err, &exchange->response);
	return false;
}

bool rpc_accept(struct exchange *exchange, struct connect_call *call)
{
	return rpc_begin(exchange, call) && rpc_take_tenant(exchange);
}

bool rpc_share(struct exchange *exchange, const struct connect_call *call)
{
	const struct str parts[] = {
		call->message,
		exchange->request.query,
		call->content_type, /* with the codec */
		call->gzip_answer ? STR("gzip") : STR(""),
		call->utf8_label_names ? STR("utf8") : STR(""),
	};

	return answer_share_join(exchange->app->shares, exchange, parts, ARRAY_LENGTH(parts));
}
