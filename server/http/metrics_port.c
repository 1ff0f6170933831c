#include "server/http/metrics_port.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "base/strbuf.h"

#define HOST_BYTES       256
#define CONNECTIONS      16U
#define SECONDS          10U
#define CONNECTION_BYTES ((size_t)16 << 10)

struct metrics_port {
	struct MHD_Daemon *daemon;
	pthread_mutex_t mutex; /* guards what follows */
	struct strbuf text;
};

/* ---- answers ---- */

static struct MHD_Response *copy_of(struct str text)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it copies, and takes no const */
	return MHD_create_response_from_buffer(text.length, (void *)(uintptr_t)text.data,
	                                       MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *metrics_response(struct metrics_port *port)
{
	struct MHD_Response *response;

	pthread_mutex_lock(&port->mutex);
	response = copy_of(strbuf_view(&port->text));
	pthread_mutex_unlock(&port->mutex);
	if (response)
		(void)MHD_add_response_header(response, "Content-Type", METRICS_CONTENT_TYPE);
	return response;
}

static enum MHD_Result send_and_free(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response)
{
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

/* Its parameters are the library's. */
/* NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_length, void **request)
{
	(void)version;
	(void)body;
	(void)request;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		*body_length = 0;
		return send_and_free(connection, 405, copy_of(STR("only GET\n")));
	}
	if (strcmp(path, "/metrics") == 0)
		return send_and_free(connection, 200, metrics_response(context));
	if (strcmp(path, "/ready") == 0 || strcmp(path, "/healthz") == 0)
		return send_and_free(connection, 200, copy_of(STR("ok")));
	return send_and_free(connection, 404, copy_of(STR("404 page not found\n")));
}

void metrics_port_set(struct metrics_port *port, struct str text)
{
	pthread_mutex_lock(&port->mutex);
	strbuf_reset(&port->text);
	strbuf_add_str(&port->text, text);
	pthread_mutex_unlock(&port->mutex);
}

/* ---- the address ---- */

/* Host and port of HOST:PORT or [HOST]:PORT. */
static int split(struct str address, char host[static HOST_BYTES], const char **out_port,
                 struct error *err)
{
	const char *colon = memrchr(address.data, ':', address.length);
	struct str name = { address.data, colon ? (size_t)(colon - address.data) : 0 };
	uint64_t number;

	if (str_starts_with(name, STR("[")) && str_ends_with(name, STR("]")))
		name = (struct str){ name.data + 1, name.length - 2 };
	if (!colon || memchr(name.data, '[', name.length) || name.length >= HOST_BYTES ||
	    !str_to_u64(str_skip(address, (size_t)(colon + 1 - address.data)), UINT16_MAX, &number))
		return error_set(err, ERROR_INVALID, "-metrics.listen=%.*s: HOST:PORT is expected",
		                 STR_ARGS(str_first(address, HOST_BYTES)));
	memcpy(host, name.data, name.length);
	host[name.length] = '\0';
	*out_port = colon + 1;
	return 0;
}

static int start(struct metrics_port *port, const char *address, const struct addrinfo *info,
                 struct error *err)
{
	const unsigned flags = MHD_USE_POLL_INTERNAL_THREAD |
	                       (info->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0U);

	errno = 0;
	port->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, port, MHD_OPTION_SOCK_ADDR,
	                                info->ai_addr, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
	                                MHD_OPTION_CONNECTION_TIMEOUT, SECONDS,
	                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
	                                MHD_OPTION_END);
	if (!port->daemon)
		return error_set_errno(err, errno, "-metrics.listen=%s", address);
	return 0;
}

static int listen_on(struct metrics_port *port, const char *address, struct error *err)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		                        .ai_socktype = SOCK_STREAM };
	struct addrinfo *infos = NULL;
	char host[HOST_BYTES] = "";
	const char *number = NULL;
	int status;

	if (split(str_of(address), host, &number, err) < 0)
		return -1;
	status = getaddrinfo(host[0] ? host : NULL, number, &hints, &infos);
	if (status != 0)
		return error_set(err, ERROR_INVALID, "-metrics.listen=%s: %s", address,
		                 gai_strerror(status));
	status = start(port, address, infos, err);
	freeaddrinfo(infos);
	return status;
}

/* ---- life ---- */

int metrics_port_open(const char *address, struct metrics_port **out, struct error *err)
{
	struct metrics_port *port = mem_zalloc(1, sizeof(*port));

	strbuf_init(&port->text, METRICS_PORT_BYTES_MAX);
	pthread_mutex_init(&port->mutex, NULL);
	if (listen_on(port, address, err) < 0) {
		metrics_port_close(port);
		return -1;
	}
	*out = port;
	return 0;
}

void metrics_port_close(struct metrics_port *port)
{
	if (!port)
		return;
	if (port->daemon)
		MHD_stop_daemon(port->daemon);
	pthread_mutex_destroy(&port->mutex);
	strbuf_fini(&port->text);
	free(port);
}

uint16_t metrics_port_number(const struct metrics_port *port)
{
	return MHD_get_daemon_info(port->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}
