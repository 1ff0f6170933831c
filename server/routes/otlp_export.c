#include "server/routes/otlp_export.h"

#include "server/routes/ingestion_metrics.h"

#define FORMAT "otlp"

enum exchange_state otlp_export(struct exchange *exchange, const struct otlp_export *request)
{
	request->answer(exchange, ERROR_UNIMPLEMENTED,
	                STR("OTLP profiles are not supported by this version"));
	ingestion_metrics_refused(exchange, FORMAT);
	return EXCHANGE_DONE;
}
