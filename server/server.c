#include "server/server.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/guard/access.h"
#include "server/http/http1.h"
#include "server/http/http2.h"
#include "server/http/listener.h"
#include "server/http/notify.h"
#include "server/http/tls_port.h"
#include "server/options.h"
#include "server/port_file.h"
#include "server/version.h"

#define DRAIN_POLL_NS     (5 * NS_PER_MS)
#define LAST_GRACE_NS     (5 * NS_PER_S) /* for requests that were cancelled; a guess */
#define WORKERS_MIN       2
#define WRITES_SHARE      16 /* the part of memory.limit that decoded writes may take at a time */
#define CONNECTIONS_MAX   1000000
#define CONNECTIONS_SHARE 4     /* of memory.limit, a quarter */
#define STREAMS_MAX       10000 /* of one connection */
#define THREADS_MAX       1024

/* What runs. Members are made in this order and torn down in reverse. */
struct server {
	const struct options *options;
	struct app *app;
	struct worker_pool *pool;
	struct connections *connections;
	struct intake *intake;
	struct http1 *http1;
	struct http2 *http2;
	struct tls_port *tls; /* NULL without a certificate */
	struct listener *listener;
};

/* ---- start ---- */

static size_t at_most(uint64_t wanted, size_t most)
{
	return wanted < most ? (size_t)wanted : most;
}

static size_t cores(void)
{
	const long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (size_t)count : 1;
}

static size_t worker_count(const struct options *options)
{
	if (options->workers > 0)
		return at_most(options->workers, THREADS_MAX);
	return at_most(cores() * 2 > WORKERS_MIN ? cores() * 2 : WORKERS_MIN, THREADS_MAX);
}

static size_t event_thread_count(const struct options *options)
{
	if (options->event_threads > 0)
		return at_most(options->event_threads, THREADS_MAX);
	return at_most((cores() + 3) / 4, THREADS_MAX);
}

/* Their memory is a part of the limit, so that requests find the rest. */
static size_t connection_limit(const struct options *options)
{
	const size_t by_memory =
		(size_t)options->memory_limit / CONNECTIONS_SHARE / CONNECTION_MEMORY_BYTES + 1;

	return options->max_connections > 0
	               ? at_most(options->max_connections,
	                         by_memory < CONNECTIONS_MAX ? by_memory : CONNECTIONS_MAX)
	               : 1;
}

static size_t stream_limit(const struct options *options)
{
	return options->grpc_max_streams > 0 ? at_most(options->grpc_max_streams, STREAMS_MAX) : 1;
}

static void count_cut(void *context, enum connection_phase phase)
{
	static const char *const names[CONNECTION_PHASE_COUNT] = {
		[CONNECTION_FIRST_BYTES] = "header_timeout",
		[CONNECTION_HEAD] = "header_timeout",
		[CONNECTION_HANDSHAKE] = "handshake_timeout",
		[CONNECTION_BODY] = "body_timeout",
		[CONNECTION_RUNNING] = "running",
		[CONNECTION_SENDING] = "write_timeout",
		[CONNECTION_IDLE] = "idle_timeout",
		[CONNECTION_STREAMS] = "http2_error",
		[CONNECTION_DRAINING] = "draining",
	};
	const struct app *app = context;

	metric_add(METRIC_OF(app->metrics->connections_cut, str_of(names[phase])), 1);
}

static void fill_gauge(void *context, struct server_gauge *out)
{
	const struct server *server = context;

	out->connections = connections_count(server->connections);
	out->queue_length = worker_pool_queue_length(server->pool);
	out->workers_busy = worker_pool_busy(server->pool);
}

static int open_connections(struct server *server, struct error *err)
{
	const struct options *options = server->options;

	return connections_new(
		&(struct connections_options){
			.max = connection_limit(options),
			.budget = &server->app->memory,
			.timeout_ns = {
				[CONNECTION_FIRST_BYTES] = options->read_header_timeout_ns,
				[CONNECTION_HANDSHAKE] = options->read_header_timeout_ns,
				[CONNECTION_HEAD] = options->read_header_timeout_ns,
				[CONNECTION_BODY] = options->read_timeout_ns,
				[CONNECTION_SENDING] = options->write_timeout_ns,
				[CONNECTION_IDLE] = options->idle_timeout_ns,
				[CONNECTION_DRAINING] = NS_PER_S,
			},
			.cut = count_cut,
			.context = server->app,
		},
		&server->connections, err);
}

static void count_handshake(void *context, enum tls_outcome outcome)
{
	static const char *const names[TLS_OUTCOME_COUNT] = {
		[TLS_ACCEPTED] = "accepted",
		[TLS_FAILED] = "failed",
		[TLS_REFUSED] = "refused",
	};
	const struct app *app = context;

	metric_add(METRIC_OF(app->metrics->tls_handshakes, str_of(names[outcome])), 1);
}

static bool has_tls(const struct options *options)
{
	return options->http_tls_cert_path[0] || options->http_tls_key_path[0];
}

static int open_tls(struct server *server, struct error *err)
{
	const struct options *options = server->options;

	if (!has_tls(options))
		return 0;
	return tls_port_open(
		&(struct tls_port_options){ .certificate_path = options->http_tls_cert_path,
	                                    .key_path = options->http_tls_key_path,
	                                    .connections = server->connections,
	                                    .budget = &server->app->memory,
	                                    .write_timeout_ns = options->write_timeout_ns,
	                                    .note = count_handshake,
	                                    .context = server->app },
		&server->tls, err);
}

static int open_ports(struct server *server, struct error *err)
{
	const struct options *options = server->options;

	server->intake = intake_new(server->app, server->pool);
	if (open_connections(server, err) < 0 ||
	    http1_open(&(struct http1_options){ .intake = server->intake,
	                                        .connections = server->connections,
	                                        .event_threads = event_thread_count(options),
	                                        .max_connections = connection_limit(options) },
	               &server->http1, err) < 0 ||
	    http2_open(&(struct http2_options){ .intake = server->intake,
	                                        .connections = server->connections,
	                                        .event_threads = event_thread_count(options),
	                                        .max_streams = stream_limit(options) },
	               &server->http2, err) < 0 ||
	    open_tls(server, err) < 0)
		return -1;
	server->app->gauge_context = server;
	server->app->gauge = fill_gauge;
	return listener_open(&(struct listener_options){ .address = options->http_listen_address,
	                                                 .port = options->http_listen_port,
	                                                 .connections = server->connections,
	                                                 .http1 = server->http1,
	                                                 .http2 = server->http2,
	                                                 .tls = server->tls },
	                     &server->listener, err);
}

/*
 * What requests leave behind goes back to the system: without these a heap for each
 * thread keeps some 20 MB at 128 connections.
 */
static void keep_heaps_small(void)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): before the first thread starts */
	(void)mallopt(M_ARENA_MAX, 2);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	/* NOLINTEND(concurrency-mt-unsafe) */
}

/* In `run` the store is opened at a place that nobody has named. */
static int name_store(const struct options *options, struct error *err)
{
	const char *named = options->texts[OPTION_ID_storage_path];

	return strcmp(named, options->storage_path) == 0
	               ? -1
	               : error_context(err, "-storage.path=%s", named);
}

static int open_all(struct server *server, const struct options *options, struct error *err)
{
	keep_heaps_small();
	server->options = options;
	if (app_open(options, &server->app, err) < 0)
		return name_store(options, err);
	server->pool = worker_pool_new(&(struct worker_pool_options){
		.workers = worker_count(options),
		.queue_length = at_most(options->queue_length, SIZE_MAX / 2),
		.weight_limit = options->memory_limit / WRITES_SHARE,
	});
	return open_ports(server, err);
}

int server_open(const struct options *options, struct server **out, struct error *err)
{
	struct server *server = mem_zalloc(1, sizeof(*server));

	if (open_all(server, options, err) < 0) {
		server_close(server);
		return -1;
	}
	*out = server;
	return 0;
}

struct app *server_app(const struct server *server)
{
	return server->app;
}

struct worker_pool *server_pool(const struct server *server)
{
	return server->pool;
}

uint16_t server_port(const struct server *server)
{
	return listener_port(server->listener);
}

static bool is_loopback(const char *address)
{
	return strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 ||
	       strncmp(address, "127.", 4) == 0;
}

static void warn_of_strangers(const struct server *server)
{
	const char *address = server->options->http_listen_address;

	if (is_loopback(address))
		return;
	if (!access_asks(server->app->access))
		log_warn("whoever reaches %s may read and write all profiles: "
		         "-auth.credentials-file=FILE asks for credentials "
		         "(docs/how-to/secure-it.md), -server.http-listen-address=127.0.0.1 "
		         "listens to this machine alone",
		         address[0] ? address : "this machine");
	else if (!server->tls)
		log_warn("credentials come in the clear: -server.http-tls-cert-path and "
		         "-server.http-tls-key-path, or a proxy, speak TLS");
}

void server_reload(const struct server *server)
{
	if (server->tls)
		tls_port_reload(server->tls);
}

int server_announce(const struct server *server, struct error *err)
{
	const struct options *options = server->options;
	const uint16_t port = server_port(server);
	const char *address = options->http_listen_address;
	const bool is_ipv6 = strchr(address, ':') != NULL;

	if (options->http_port_file[0] && port_file_write(options->http_port_file, port, err) < 0)
		return -1;
	log_info("vramscope %s listens on %s://%s%s%s:%u%s, store in %s", version_text(),
	         server->tls ? "https" : "http", is_ipv6 ? "[" : "",
	         address[0] ? address : "localhost", is_ipv6 ? "]" : "", port, options->path_prefix,
	         options->texts[OPTION_ID_storage_path]);
	warn_of_strangers(server);
	notify_send("READY=1");
	return 0;
}

/* ---- stop ---- */

static bool wait_for_requests(const struct server *server, int64_t timeout_ns)
{
	const int64_t deadline_mono_ns = clock_mono_ns() + timeout_ns;

	while (intake_in_flight(server->intake) > 0) {
		const struct timespec pause = { .tv_nsec = DRAIN_POLL_NS };

		if (clock_mono_ns() >= deadline_mono_ns)
			return false;
		connections_shut_idle(server->connections);
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* Answers what is in flight. False when something would not end. */
static bool drain(const struct server *server)
{
	listener_stop(server->listener);
	http2_drain(server->http2);
	connections_shut_idle(server->connections);
	if (!wait_for_requests(server, server->options->shutdown_timeout_ns)) {
		log_warn("%zu requests took longer than -server.graceful-shutdown-timeout; "
		         "they are cut",
		         intake_in_flight(server->intake));
		connections_shut_all(server->connections);
	}
	/* a kept connection may have begun another one at the last moment */
	intake_refuse(server->intake);
	return wait_for_requests(server, LAST_GRACE_NS);
}

/* Threads are stuck in requests: commits what was taken in, and goes. */
static void leave_without_them(const struct server *server)
{
	log_error("requests do not end; leaving without them");
	store_close(server->app->store);
	_exit(1);
}

void server_close(struct server *server)
{
	if (!server)
		return;
	if (server->listener) {
		atomic_store(&server->app->stopping, true);
		if (!drain(server))
			leave_without_them(server);
	}
	listener_close(server->listener); /* hands nothing on any more */
	http1_close(server->http1);
	http2_close(server->http2);
	tls_port_close(server->tls); /* when nothing more is answered */
	worker_pool_free(server->pool);
	intake_free(server->intake);
	connections_free(server->connections);
	app_close(server->app);
	free(server);
}
