/*
 * The small services: GetProfileStats, AnalyzeQuery, version.v1, capabilities.v1, health,
 * vcs.v1.
 *
 * Source   read specification, 3.14, 3.15, 3.17, 3.18 and 5.2
 */
#include "api/connect_message.h"
#include "api/proto_bytes.h"
#include "base/clock.h"
#include "proto/services.pb-c.h"
#include "server/app.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

static int64_t floor_ms(int64_t ns)
{
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

enum exchange_state serve_get_profile_stats(struct exchange *exchange)
{
	struct connect_call call;
	Types__V1__GetProfileStatsResponse response = TYPES__V1__GET_PROFILE_STATS_RESPONSE__INIT;
	struct store_stats stats;
	struct error err = { 0 };

	if (!rpc_read(exchange, &call, &types__v1__get_profile_stats_request__descriptor))
		return EXCHANGE_DONE;
	if (store_stats(exchange->app->store, exchange->tenant, &stats, &err) < 0)
		return rpc_fail(exchange, &err);
	if (stats.any) {
		response.data_ingested = 1;
		response.oldest_profile_time = floor_ms(stats.oldest_unix_ns);
		response.newest_profile_time = floor_ms(stats.newest_unix_ns);
	}
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/*
 * What a query would cost is not estimated: clients take the empty answer for "not
 * known".
 */
enum exchange_state serve_analyze_query(struct exchange *exchange)
{
	struct connect_call call;
	const Querier__V1__AnalyzeQueryResponse response =
		QUERIER__V1__ANALYZE_QUERY_RESPONSE__INIT;

	if (rpc_read(exchange, &call, &querier__v1__analyze_query_request__descriptor))
		connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

enum exchange_state serve_version(struct exchange *exchange)
{
	struct connect_call call;
	Services__V1__VersionResponse response = SERVICES__V1__VERSION_RESPONSE__INIT;

	response.querierapi = 1;
	if (rpc_read(exchange, &call, &services__v1__empty__descriptor))
		connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

enum exchange_state serve_get_feature_flags(struct exchange *exchange)
{
	static const struct {
		const char *name;
		bool enabled;
	} flags[] = {
		{ "pyroscopeRuler", false },
		{ "pyroscopeRulerFunctions", false },
		{ "utf8LabelNames", false }, /* the capability header decides */
		{ "v2StorageLayer", true },  /* heat maps and exemplars exist */
	};
	struct connect_call call;
	Services__V1__FeatureFlag messages[ARRAY_LENGTH(flags)];
	Services__V1__FeatureFlag *list[ARRAY_LENGTH(flags)];
	Services__V1__GetFeatureFlagsResponse response =
		SERVICES__V1__GET_FEATURE_FLAGS_RESPONSE__INIT;

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		services__v1__feature_flag__init(&messages[i]);
		messages[i].name = proto_bytes(str_of(flags[i].name));
		messages[i].enabled = flags[i].enabled;
		list[i] = &messages[i];
	}
	response.n_feature_flags = ARRAY_LENGTH(flags);
	response.feature_flags = list;
	if (rpc_read(exchange, &call, &services__v1__empty__descriptor))
		connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

enum exchange_state serve_health_check(struct exchange *exchange)
{
	struct connect_call call;
	Services__V1__HealthCheckResponse response = SERVICES__V1__HEALTH_CHECK_RESPONSE__INIT;

	response.status = SERVICES__V1__SERVING_STATUS__SERVING_STATUS_SERVING;
	if (rpc_read(exchange, &call, &services__v1__health_check_request__descriptor))
		connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* Every method of vcs.v1: clients hide their GitHub panel then. */
enum exchange_state serve_vcs(struct exchange *exchange)
{
	struct connect_call call;
	struct error err = { 0 };

	if (!rpc_read(exchange, &call, &services__v1__empty__descriptor))
		return EXCHANGE_DONE;
	(void)error_set(&err, ERROR_UNIMPLEMENTED, "GitHub integration is not configured");
	return rpc_fail(exchange, &err);
}
