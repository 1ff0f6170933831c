/*
 * vramscope run: a server, and the GPU memory of this machine's processes in it.
 *
 *	options -> socket pair -> fork
 *	parent: gives its privileges up, serves; stores what comes over the link
 *	child:  waits until it serves; keeps them, opens no port, reads nothing that came over
 *	        the network
 *
 * Whoever ends first, the other drains and ends too.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "server/collector_process.h"
#include "server/command.h"
#include "server/command_options.h"
#include "server/port_file.h"
#include "server/privileges.h"
#include "server/process_signals.h"
#include "server/push/link_receiver.h"
#include "server/push/link_sender.h"
#include "server/server_process.h"

#define CHILD_WAIT_MS 30000 /* detaching from the driver may take 20 s */

struct halves {
	struct options *options;
	int argc;
	char **argv;
	int fd; /* of the link */
};

/* ---- the collector half ---- */

/* The link, while there is one. */
struct link_end {
	struct link_sender *sender;
};

static void send_metrics(void *context, struct str text)
{
	const struct link_end *link = context;

	link_sender_metrics(link->sender, text);
}

/* The server half need not wait for the probes to be detached. */
static void close_link(void *context)
{
	struct link_end *link = context;

	link_sender_free(link->sender);
	link->sender = NULL;
}

/*
 * The other half says when it serves, and on which port; it might not be able to write
 * where we are.
 */
static int wait_for_server(const struct halves *halves, bool *out_serves, struct error *err)
{
	const char *path = halves->options->http_port_file;
	uint16_t port;

	*out_serves = link_wait_for_start(halves->fd, &port);
	return *out_serves && path[0] ? port_file_write(path, port, err) : 0;
}

static int run_collector(const struct halves *halves)
{
	struct link_end link;
	struct error err = { 0 };
	bool serves;

	collector_process_prepare(halves->options);
	if (wait_for_server(halves, &serves, &err) < 0) {
		log_error("%s", err.message);
		return 1;
	}
	if (!serves)
		return 0; /* it has said why */
	link.sender = link_sender_new(&(struct link_sender_options){
		.fd = halves->fd,
		.stop = collector_process_stop,
	});
	return collector_process_run(&(struct collector_process){
		.options = halves->options,
		.role = COLLECTOR_OF_RUN,
		.transport = link_sender_transport(link.sender),
		.metrics = send_metrics,
		.delivered = close_link,
		.context = &link,
	});
}

/* ---- the server half ---- */

static int run_server(const struct halves *halves)
{
	CLEANUP(link_receiver_freep) struct link_receiver *receiver = NULL;
	struct server_companion companion;
	struct error kept;
	char store[PATH_MAX];
	struct error err = { 0 };

	receiver = link_receiver_new(halves->fd, halves->options->push_tenant);
	if (privileges_drop(halves->options->storage_path, store, &kept, &err) < 0) {
		log_error("giving privileges up: %s", err.message);
		return 1;
	}
	if (kept.code != ERROR_NONE)
		log_warn("the half that serves stays user 0, without capabilities: %s",
		         kept.message);
	if (strcmp(store, halves->options->storage_path) != 0)
		log_info("the half that serves sees %s as %s, which is all that is shown to it",
		         halves->options->storage_path, store);
	/* where it is opened; the option itself stays what it is, also when it is read again */
	halves->options->storage_path = store;
	halves->options->http_port_file = ""; /* the other half writes it */
	companion = link_receiver_companion(receiver);
	return server_process_run(&(struct server_process){
		.options = halves->options,
		.argc = halves->argc,
		.argv = halves->argv,
		.companion = &companion,
	});
}

/* Its exit status, as ours. */
static int judge(int status)
{
	if (WIFSIGNALED(status))
		log_error("the collector half was killed by signal %d", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The link is closed: the other half ends by itself. */
static int wait_for(pid_t child)
{
	const int process = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd ended = { .fd = process, .events = POLLIN };
	int status = 0;

	if (process < 0)
		return 0;
	if (poll(&ended, 1, CHILD_WAIT_MS) == 1)
		(void)waitpid(child, &status, 0);
	else
		log_warn("the collector half has not ended yet; leaving it");
	(void)close(process);
	return judge(status);
}

static int run_both(struct options *options, int argc, char **argv)
{
	struct halves halves = { .options = options, .argc = argc, .argv = argv };
	int link[2];
	pid_t child;
	int status;
	int other;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) < 0) {
		log_error("making the link of both halves: %s", strerrordesc_np(errno));
		return 1;
	}
	process_signals_block(NULL); /* both halves end in order, from the first moment on */
	child = fork();
	if (child < 0) {
		log_error("starting the collector half: %s", strerrordesc_np(errno));
		return 1;
	}
	halves.fd = link[child == 0];
	(void)close(link[child != 0]);
	if (child == 0)
		return run_collector(&halves);
	status = run_server(&halves);
	other = wait_for(child);
	return status != 0 ? status : other;
}

int command_run(int argc, char **argv)
{
	CLEANUP(options_freep) struct options *options = NULL;
	struct error err = { 0 };
	int status;

	if (!command_options("run", OPTION_OF_SERVER | OPTION_OF_COLLECTOR, argc, argv, &options,
	                     &status))
		return status;
	if (collector_process_check(options, &err) < 0) {
		(void)fprintf(stderr, "vramscope: %s\n", err.message);
		return EXIT_USAGE;
	}
	return run_both(options, argc, argv);
}
