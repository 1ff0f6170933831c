/*
 * vramscope collector: the GPU memory of this machine's processes, to a server elsewhere.
 */
#include <stdio.h>

#include "base/log.h"
#include "server/collector_process.h"
#include "server/command.h"
#include "server/command_options.h"
#include "server/http/metrics_port.h"
#include "server/log_reload.h"
#include "server/push/push_http.h"

static void show_metrics(void *context, struct str text)
{
	if (context)
		metrics_port_set(context, text);
}

static void keep_port(void *context)
{
	(void)context; /* it answers until the end */
}

/* The exit status of what could not be opened. */
static int complain(const struct error *err)
{
	if (err->code == ERROR_INVALID) {
		(void)fprintf(stderr, "vramscope: %s\n", err->message);
		return EXIT_USAGE;
	}
	log_error("%s", err->message);
	return 1;
}

static int collect(const struct options *options)
{
	CLEANUP(push_http_freep) struct push_http *http = NULL;
	CLEANUP(metrics_port_closep) struct metrics_port *port = NULL;
	struct error err = { 0 };

	if (push_http_open(&(struct push_http_options){ .url = options->push_url,
	                                                .tenant = options->push_tenant,
	                                                .token_file = options->push_token_file,
	                                                .ca_file = options->push_ca_file },
	                   &http, &err) < 0) {
		(void)error_context(&err, "-push.url");
		return complain(&err);
	}
	if (options->metrics_listen[0]) {
		if (metrics_port_open(options->metrics_listen, &port, &err) < 0)
			return complain(&err);
		log_info("metrics on port %u", metrics_port_number(port));
	}
	return collector_process_run(&(struct collector_process){
		.options = options,
		.role = COLLECTOR_ALONE,
		.transport = push_http_transport(http),
		.metrics = show_metrics,
		.delivered = keep_port,
		.context = port,
	});
}

int command_collector(int argc, char **argv)
{
	CLEANUP(options_freep) struct options *options = NULL;
	CLEANUP(log_reload_closep) struct log_reload *reload = NULL;
	struct error err = { 0 };
	int status;

	if (!command_options("collector", OPTION_OF_COLLECTOR, argc, argv, &options, &status))
		return status;
	if (!options->push_url[0]) {
		(void)fputs("vramscope: collector needs -push.url, the server to send to\n",
		            stderr);
		return EXIT_USAGE;
	}
	if (collector_process_check(options, &err) < 0)
		return complain(&err);
	collector_process_prepare(options);
	if (log_reload_open(argc, argv, &reload, &err) < 0)
		return complain(&err);
	return collect(options);
}
