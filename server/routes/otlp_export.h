/*
 * An export request of OTLP profiles on its way into the store, whatever carried it.
 *
 * Shape    the transport has undone its framing and compression and knows the tenant; it
 *          gives the message and a way to answer, and returns what otlp_export() returns.
 *          A request that cannot be converted stores nothing. Of one that can, each
 *          profile is tried; it fails when any of them failed.
 * Errors   told to the answer. ERROR_INVALID: no message, or one that cannot be stored as
 *          it is; ERROR_RATE_LIMITED; ERROR_TOO_LARGE: more than a request may take;
 *          ERROR_UNAVAILABLE: worth another try; others are troubles of the store.
 * Threads  the handler's; the answer may run on the store's writer thread.
 * Source   ingest specification, 5, 8 and 11.3
 */
#pragma once

#include "server/http/exchange.h"

/* The header, and gRPC metadata, by which newer exporters tell the layout they send. */
#define OTLP_VERSION_HEADER "otlp-profiles-development-version"

/* As the metrics have it. */
#define OTLP_FORMAT "otlp"

enum otlp_encoding {
	OTLP_PROTOBUF,
	OTLP_JSON,
};

struct otlp_export {
	struct str message; /* plain: it outlives the exchange's answer */
	enum otlp_encoding encoding;
	struct str version; /* value of OTLP_VERSION_HEADER; empty: it was not sent */

	/*
	 * Writes exchange->response: for ERROR_NONE (and no text) the good answer, else the
	 * refusal. Once more when the store refuses what was answered well; the later call
	 * counts.
	 */
	void (*answer)(struct exchange *exchange, enum error_code code, struct str message);
};

/* The value of OTLP_VERSION_HEADER, or an empty text. */
struct str otlp_export_version(const struct exchange *exchange);

/* What it returns is what the handler returns. */
enum exchange_state otlp_export(struct exchange *exchange, const struct otlp_export *request);
