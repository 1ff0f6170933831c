/*
 * From requests to questions: what the handlers of the read API share.
 *
 * Shape    rpc_read() is how each Connect handler begins; read_query_context_of() says
 *          who asks and with what means, the parameter instant= included.
 * Errors   handlers end with rpc_fail() or legacy_fail() for what these functions refuse.
 * Source   read specification, 3.2, 3.4 and 3.7; collector specification, 3.4
 */
#pragma once

#include "api/connect_message.h"
#include "proto/querier.pb-c.h"
#include "server/http/exchange.h"
#include "server/query/read_query.h"
#include "server/routes/rpc.h"

/*
 * Protocol, message and tenant, in this order (read specification, 5.1). NULL: the
 * response is complete.
 */
ProtobufCMessage *rpc_read(struct exchange *exchange, struct connect_call *call,
                           const ProtobufCMessageDescriptor *descriptor);

/* Completes the response with an error. Returns EXCHANGE_DONE. */
enum exchange_state rpc_fail(struct exchange *exchange, const struct error *err);

int read_query_context_of(struct exchange *exchange, struct read_query_context *out,
                          struct error *err);

/*
 * The value of a parameter `name`: a selector whose __name__ is the profile type.
 * *out_selector has the rest and is released by the caller; the type is a view.
 */
int read_query_typed_selector(struct str text, const char *name, struct selector *out_selector,
                              struct str *out_type, struct error *err);

#define READ_QUERY_NAMES_MAX 1000 /* label names that a request may list; a guess */

/* Label names that a request lists (label_names, group_by), as views. */
int read_query_label_names(const ProtobufCBinaryData *items, size_t count, struct arena *arena,
                           struct str **out, struct error *err);

/* The names of a call site become part of the filter. */
int read_query_set_call_site(struct read_query *query,
                             const Types__V1__StackTraceSelector *selector, struct error *err);

int read_query_set_profile_ids(struct read_query *query, const ProtobufCBinaryData *items,
                               size_t count, struct error *err);
int read_query_set_span_ids(struct read_query *query, const ProtobufCBinaryData *items,
                            size_t count, struct error *err);
int read_query_set_trace_ids(struct read_query *query, const ProtobufCBinaryData *items,
                             size_t count, struct error *err);
