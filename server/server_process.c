#include "server/server_process.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/app.h"
#include "server/http/notify.h"
#include "server/open_files.h"
#include "server/options.h"
#include "server/process_signals.h"
#include "server/server.h"

/* ---- signals ---- */

static void warn_of_restarts(const struct options *old, const struct options *new)
{
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++) {
		const struct option *option = option_at((enum option_id)i);

		if (option->reload == OPTION_START && strcmp(old->texts[i], new->texts[i]) != 0)
			log_warn("-%s changed; that needs a restart", option->name);
	}
}

static void reload(const struct server_process *process)
{
	CLEANUP(options_freep) struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };

	notify_reloading();
	if (options_load(process->argc, process->argv, &options, &wish, &err) < 0) {
		log_error("reloading: %s; what was in force stays", err.message);
	} else {
		warn_of_restarts(process->options, options);
		app_reload(server_app(process->server), options);
		server_reload(process->server);
		if (options->config_file[0])
			log_info("limits, retention, credentials and log level are reloaded");
		else
			log_info(
				"credentials and certificate are reloaded; there is no -config.file");
	}
	notify_send("READY=1");
}

static void wait_for_end(const struct server_process *process, const sigset_t *signals)
{
	int number = 0;

	for (;;) {
		if (sigwait(signals, &number) != 0)
			continue;
		if (number != SIGHUP)
			break;
		reload(process);
	}
	log_info("%s: stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
	notify_send("STOPPING=1");
}

void server_process_stop(void)
{
	(void)kill(getpid(), SIGTERM);
}

/* ---- life ---- */

static void set_log(const struct options *options)
{
	log_set_format((enum log_format)options->log_format);
	log_set_level((enum log_level)options->log_level);
	log_name_thread("main");
	if (options->ignored.length > 0)
		log_warn("without meaning here, and passed over: %s", options->ignored.data);
}

static void set_clock(const struct options *options)
{
	if (options->clock_factor > 0)
		clock_warp_unix((int64_t)options->clock_start * NS_PER_S,
		                (double)options->clock_factor);
}

static int serve(struct server_process *process, const sigset_t *signals, struct error *err)
{
	const struct server_companion *companion = process->companion;

	if (companion && companion->begin(companion->context, process->server, err) < 0)
		return -1;
	if (server_announce(process->server, err) == 0)
		wait_for_end(process, signals);
	if (companion)
		companion->end(companion->context);
	return err->code == ERROR_NONE ? 0 : -1;
}

int server_process_run(struct server_process *process)
{
	struct error err = { 0 };
	sigset_t signals;

	process_signals_block(&signals);
	open_files_raise(); /* the store asks how many there are */
	set_clock(process->options);
	set_log(process->options);
	if (server_open(process->options, &process->server, &err) == 0) {
		(void)serve(process, &signals, &err);
		server_close(process->server);
		process->server = NULL;
	}
	if (err.code != ERROR_NONE)
		log_error("%s", err.message);
	return err.code == ERROR_NONE ? 0 : 1;
}
