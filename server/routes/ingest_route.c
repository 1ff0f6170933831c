/*
 * POST /ingest and /pyroscope/ingest: one body of any format, its name and times in the
 * query.
 *
 * Source   ingest specification, 1.3, 1.6 and 3
 */
#include "api/error_json.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "formats/content.h"
#include "formats/format.h"
#include "formats/multipart.h"
#include "server/app.h"
#include "server/routes/handlers.h"
#include "server/routes/ingestion.h"
#include "server/routes/ingestion_metrics.h"

#define MESSAGE_MAX 4096 /* bytes of an error's message */

/* What all formats answer when the fault is not the sender's. */
static int status_of(enum error_code code, int otherwise)
{
	switch (code) {
	case ERROR_INVALID:
	case ERROR_TOO_LARGE:
	case ERROR_NOT_FOUND:
		return otherwise;
	default:
		return error_connect_status(code);
	}
}

static enum exchange_state refuse(struct exchange *exchange, int status, const char *format,
                                  const struct error *err)
{
	error_json_plain(status_of(err->code, status), err->message, &exchange->response);
	ingestion_metrics_refused(exchange, format);
	return EXCHANGE_DONE;
}

/* Text formats are converted by the server: their errors come as Connect errors. */
static void answer_text(struct ingestion *ingestion, const struct error *err)
{
	if (!err)
		err = ingestion_error(ingestion);
	if (err)
		error_json_connect(err, &ingestion->exchange->response);
}

static void answer_pprof(struct ingestion *ingestion, const struct error *err)
{
	struct http_response *response = &ingestion->exchange->response;
	const struct error *failure = ingestion_error(ingestion);
	CLEANUP(strbuf_fini) struct strbuf message;

	strbuf_init(&message, MESSAGE_MAX);
	if (err) {
		error_json_plain(status_of(err->code, 500), err->message, response);
	} else if (failure) {
		strbuf_add_text(&message, "pushing IngestInput-pprof failed ");
		ingestion_describe(ingestion, &message);
		error_json_plain(status_of(failure->code, 422), message.data, response);
	}
}

/* One layer of gzip, when header and first bytes agree. */
static int decode_body(struct exchange *exchange, struct str *out, struct error *err)
{
	const struct str *encoding = http_request_header(&exchange->request, "Content-Encoding");
	const struct limits *limits = limits_get(exchange->app);
	const size_t limit = limits->ingestion_body_bytes ? limits->ingestion_body_bytes
	                                                  : exchange->app->memory.limit;

	*out = exchange->request.body;
	if (!encoding || !str_equal_ignoring_case(str_trim(*encoding), STR("gzip")) ||
	    !gzip_is(*out))
		return 0;
	return gzip_inflate(exchange->request.body, limit, exchange->arena, out, err);
}

static enum exchange_state refuse_decoding(struct exchange *exchange, const struct format *format,
                                           enum format_stage stage, const struct error *err)
{
	struct error bad = *err;

	if (format->family == FORMAT_PPROF || stage == FORMAT_PARSING)
		return refuse(exchange, 422, format->name, err);
	if (bad.code == ERROR_TOO_LARGE)
		bad.code = ERROR_INVALID;
	error_json_connect(&bad, &exchange->response);
	ingestion_metrics_refused(exchange, format->name);
	return EXCHANGE_DONE;
}

/* The name of a format as content.h has it: groups are folded stacks; lines are their own. */
static const char *content_format(const struct format *format)
{
	return format->family == FORMAT_TEXT && str_equals(str_of(format->name), "groups")
	               ? "folded"
	               : format->name;
}

/*
 * Bodies in which a format finds nothing are a success, as from a sender that had nothing
 * to say. But what is plainly something else was sent with the wrong words, and would be
 * missed without a trace.
 */
static bool is_mistaken(const struct format_input *input, const struct format *format,
                        const struct format_output *decoded, struct error *err)
{
	if (decoded->count > 0 || format->family != FORMAT_TEXT ||
	    ingest_params_label(input->params, "profile_id"))
		return false;
	err->code = ERROR_INVALID;
	err->message[0] = '\0';
	return content_explain(&(struct content_sent){ input->body, input->content_type,
	                                               content_format(format) },
	                       input->arena, err);
}

/* What is no error for the sender, and may be one all the same. */
static struct str why_nothing(const struct format_input *input, const struct format *format)
{
	if (ingest_params_label(input->params, "profile_id"))
		return STR(""); /* an old client's exemplar: it is not meant to be kept */
	if (input->body.length == 0)
		return STR("the body is empty: nothing was stored");
	if (format->family == FORMAT_PPROF && multipart_is(input->content_type))
		return STR("the form has no part 'profile': nothing was stored");
	return STR("there is no sample in the body: nothing was stored");
}

static enum exchange_state store(struct exchange *exchange, const struct format *format,
                                 const struct format_output *decoded)
{
	struct ingestion *ingestion = ingestion_begin(
		exchange, format->name, format->family == FORMAT_TEXT ? answer_text : answer_pprof);
	struct error err = { 0 };

	if (!ingestion) {
		(void)arena_error(exchange->arena, &err);
		return refuse(exchange, 422, format->name, &err);
	}
	for (size_t i = 0; i < decoded->count; i++)
		ingestion_add(ingestion, &(struct ingestion_item){
						 .series = i,
						 .profile = &decoded->profiles[i],
						 /* several share one body */
						 .sent_bytes = decoded->profiles[i].payload.length /
		                                               decoded->count,
					 });
	return ingestion_end(ingestion);
}

enum exchange_state serve_ingest(struct exchange *exchange)
{
	const struct str *content_type = http_request_header(&exchange->request, "Content-Type");
	struct format_output decoded = { 0 };
	struct ingest_params params;
	struct format_input input = {
		.content_type = content_type ? *content_type : STR(""),
		.params = &params,
		.limits = &limits_get(exchange->app)->ingest,
		.arena = exchange->arena,
	};
	const struct format *format;
	struct error err = { 0 };

	if (ingest_params_parse(exchange->request.query, clock_unix_ns(), exchange->arena, &params,
	                        &err) < 0)
		return refuse(exchange, 400, "unknown", &err);
	format = format_select(params.format, input.content_type);
	if (decode_body(exchange, &input.body, &err) < 0)
		return refuse(exchange, err.code == ERROR_TOO_LARGE ? 413 : 422, format->name,
		              &err);
	if (!format->decode) {
		(void)error_set(&err, ERROR_INVALID, "format %s is not supported by this version",
		                format->name);
		return refuse(exchange, 422, format->name, &err);
	}
	if (format->decode(&input, &decoded, &err) < 0) {
		(void)content_explain(&(struct content_sent){ input.body, input.content_type,
		                                              content_format(format) },
		                      input.arena, &err);
		return refuse_decoding(exchange, format, decoded.stage, &err);
	}
	if (is_mistaken(&input, format, &decoded, &err))
		return refuse(exchange, 422, format->name, &err);
	if (decoded.count == 0)
		exchange->remark = why_nothing(&input, format);
	return store(exchange, format, &decoded);
}
