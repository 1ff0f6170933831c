/*
 * The pages below /ui/, and the ways to them.
 *
 * Source   web-ui specification, 3.4
 */
#include "api/error_json.h"
#include "api/http_negotiation.h"
#include "base/cleanup.h"
#include "server/app.h"
#include "server/options.h"
#include "server/routes/entity_tag.h"
#include "server/routes/handlers.h"
#include "server/routes/page_file.h"

#define METHODS    "GET, HEAD"
#define ASSETS     "assets/"     /* what never changes under its name */
#define INDEX      "index.html"  /* what every other path shows */
#define BASE_PLACE "<!--base-->" /* in it: where the address of all others stands */

#define POLICY                                                                               \
	"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; " \
	"connect-src 'self'; frame-ancestors 'self'"

static void add_guards(struct http_response *response)
{
	http_response_header(response, "X-Content-Type-Options", STR("nosniff"));
	http_response_header(response, "Referrer-Policy", STR("same-origin"));
	http_response_header(response, "Content-Security-Policy", STR(POLICY));
}

static enum exchange_state answer_text(struct exchange *exchange, int status, struct str text)
{
	http_response_text(&exchange->response, status, "text/plain; charset=utf-8", text);
	add_guards(&exchange->response);
	return EXCHANGE_DONE;
}

static enum exchange_state fail(struct exchange *exchange, const struct error *err)
{
	error_json_connect(err, &exchange->response);
	add_guards(&exchange->response);
	return EXCHANGE_DONE;
}

/* Other methods are told the right ones. False: it is answered. */
static bool takes_method(struct exchange *exchange)
{
	const struct str method = exchange->request.method;

	if (str_equals(method, "GET") || str_equals(method, "HEAD"))
		return true;
	http_response_reset(&exchange->response, 405);
	http_response_header(&exchange->response, "Allow", STR(METHODS));
	add_guards(&exchange->response);
	return false;
}

/* -server.path-prefix without a slash at its end. */
static struct str prefix_of(const struct exchange *exchange)
{
	struct str prefix = str_of(exchange->app->options->path_prefix);

	while (str_ends_with(prefix, STR("/")))
		prefix.length--;
	return prefix;
}

/* ---- the ways there ---- */

/* What may stand in a header as it came. */
static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return true;
}

/* To a page, with the parameters that came. */
static enum exchange_state redirect(struct exchange *exchange, const char *page)
{
	const struct str prefix = prefix_of(exchange);
	const struct str query = exchange->request.query;
	const bool has_query = query.length > 0 && is_visible(query);
	const struct str location = arena_printf(exchange->arena, "%.*s/ui/%s%s%.*s",
	                                         STR_ARGS(prefix), page, has_query ? "?" : "",
	                                         has_query ? (int)query.length : 0, query.data);
	struct error err = { 0 };

	if (!takes_method(exchange))
		return EXCHANGE_DONE;
	if (!location.data) {
		(void)arena_error(exchange->arena, &err);
		return fail(exchange, &err);
	}
	http_response_reset(&exchange->response, 302);
	http_response_header(&exchange->response, "Location", location);
	add_guards(&exchange->response);
	return EXCHANGE_DONE;
}

/* Links of old name a query at the top. */
enum exchange_state serve_home(struct exchange *exchange)
{
	const struct str query = exchange->request.query;
	const bool is_old = str_starts_with(query, STR("query=")) ||
	                    str_find(query, STR("&query=")) >= 0;

	return redirect(exchange, is_old ? "profile" : "");
}

enum exchange_state serve_old_page(struct exchange *exchange)
{
	static const struct {
		const char *path;
		const char *page;
	} pages[] = {
		{ "/comparison", "compare" }, { "/comparison-diff", "diff" },
		{ "/explore", "labels" },     { "/tags", "labels" },
		{ "/adhoc", "upload" },
	};
	const char *page = "";

	for (size_t i = 0; i < ARRAY_LENGTH(pages); i++)
		if (str_equals(exchange->request.path, pages[i].path))
			page = pages[i].page;
	return redirect(exchange, page);
}

/* ---- files ---- */

static void add_escaped(struct strbuf *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		const char c = text.data[i];

		if (c == '&' || c == '<' || c == '>' || c == '"')
			strbuf_printf(out, "&#%d;", c);
		else
			strbuf_add_byte(out, c);
	}
}

/* The page that all others are made in, with the address that they are relative to. */
static int write_index(struct exchange *exchange, const struct page_file *file, struct error *err)
{
	struct strbuf *out = &exchange->response.body;
	struct str text;
	ptrdiff_t place;

	if (page_file_unpack(file, exchange->arena, &text, err) < 0)
		return -1;
	place = str_find(text, STR(BASE_PLACE));
	if (place < 0) {
		strbuf_add_str(out, text);
		return 0;
	}
	strbuf_add_str(out, str_first(text, (size_t)place));
	strbuf_add_text(out, "<base href=\"");
	add_escaped(out, prefix_of(exchange));
	strbuf_add_text(out, "/ui/\">");
	strbuf_add_str(out, str_skip(text, (size_t)place + strlen(BASE_PLACE)));
	return 0;
}

static enum exchange_state answer_index(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	struct error err = { 0 };
	struct page_file file;
	const int found = page_file_find(exchange->app->options->web_dir, STR(INDEX),
	                                 exchange->arena, &file, &err);

	if (found == 0)
		return answer_text(exchange, 404, STR("there is no " INDEX "\n"));
	if (found < 0 || write_index(exchange, &file, &err) < 0)
		return fail(exchange, &err);
	http_response_header(response, "Cache-Control", STR("no-cache"));
	http_response_header(response, "Content-Type", str_of(file.type));
	add_guards(response);
	entity_tag_apply(&exchange->request, response, exchange->arena);
	if (response->status == 200)
		http_compress_response(&exchange->request, response);
	return EXCHANGE_DONE;
}

/* The bytes as the client takes them. */
static int write_file(struct exchange *exchange, const struct page_file *file, struct error *err)
{
	struct http_response *response = &exchange->response;
	struct str bytes = file->bytes;

	if (file->is_packed && http_accepts_gzip(&exchange->request))
		http_response_header(response, "Content-Encoding", STR("gzip"));
	else if (page_file_unpack(file, exchange->arena, &bytes, err) < 0)
		return -1;
	strbuf_add_str(&response->body, bytes);
	return 0;
}

static enum exchange_state answer_file(struct exchange *exchange, const struct page_file *file,
                                       bool is_asset)
{
	struct http_response *response = &exchange->response;
	struct error err = { 0 };

	http_response_header(response, "Cache-Control",
	                     is_asset ? STR("public, max-age=31536000, immutable")
	                              : STR("no-cache"));
	http_response_header(response, "Content-Type", str_of(file->type));
	http_response_header(response, "Vary", STR("Accept-Encoding"));
	add_guards(response);
	if (entity_tag_answer(&exchange->request, response,
	                      entity_tag_of(file->hash, exchange->arena)))
		return EXCHANGE_DONE;
	return write_file(exchange, file, &err) < 0 ? fail(exchange, &err) : EXCHANGE_DONE;
}

enum exchange_state serve_page(struct exchange *exchange)
{
	const struct str folder = str_of(exchange->route->path);
	const struct str path = str_skip(exchange->request.path, folder.length);
	const bool is_asset = str_starts_with(path, STR(ASSETS));
	struct error err = { 0 };
	struct page_file file;
	int found;

	if (!takes_method(exchange))
		return EXCHANGE_DONE;
	if (exchange->request.path.length < folder.length)
		return redirect(exchange, "");
	if (str_equals(path, INDEX))
		return answer_index(exchange);
	found = page_file_find(exchange->app->options->web_dir, path, exchange->arena, &file, &err);
	if (found < 0)
		return fail(exchange, &err);
	if (found > 0)
		return answer_file(exchange, &file, is_asset);
	if (is_asset)
		return answer_text(exchange, 404, STR("404 page not found\n"));
	return answer_index(exchange);
}
