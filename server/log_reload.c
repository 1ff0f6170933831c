#include "server/log_reload.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/http/notify.h"
#include "server/options.h"

enum {
	WAIT_SIGNAL,
	WAIT_END,
	WAIT_COUNT,
};

struct log_reload {
	int argc;
	char **argv;
	struct pollfd waits[WAIT_COUNT];
	pthread_t thread;
	bool has_thread;
};

static void load(const struct log_reload *reload)
{
	CLEANUP(options_freep) struct options *options = NULL;
	enum options_wish wish;
	struct error err = { 0 };

	notify_reloading();
	if (options_load(reload->argc, reload->argv, &options, &wish, &err) < 0) {
		log_error("reloading: %s; what was in force stays", err.message);
	} else {
		log_set_level((enum log_level)options->log_level);
		if (options->config_file[0])
			log_info("the log level is reloaded; other options need a restart");
		else
			log_info("nothing to reload: there is no -config.file");
	}
	notify_send("READY=1");
}

static void *run(void *context)
{
	struct log_reload *reload = context;
	struct signalfd_siginfo info;

	log_name_thread("reload");
	for (;;) {
		const int count = poll(reload->waits, WAIT_COUNT, -1);

		if ((count < 0 && errno != EINTR) || reload->waits[WAIT_END].revents != 0)
			return NULL;
		if (count > 0 && read(reload->waits[WAIT_SIGNAL].fd, &info, sizeof(info)) > 0)
			load(reload);
	}
}

int log_reload_open(int argc, char **argv, struct log_reload **out, struct error *err)
{
	struct log_reload *reload = mem_zalloc(1, sizeof(*reload));
	sigset_t signals;
	int result = 0;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGHUP);
	reload->argc = argc;
	reload->argv = argv;
	reload->waits[WAIT_SIGNAL] =
		(struct pollfd){ .fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK),
		                 .events = POLLIN };
	reload->waits[WAIT_END] =
		(struct pollfd){ .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };
	if (reload->waits[WAIT_SIGNAL].fd < 0 || reload->waits[WAIT_END].fd < 0)
		result = errno;
	else
		result = pthread_create(&reload->thread, NULL, run, reload);
	reload->has_thread = result == 0;
	if (result != 0) {
		log_reload_close(reload);
		return error_set_errno(err, result, "waiting for SIGHUP");
	}
	*out = reload;
	return 0;
}

void log_reload_close(struct log_reload *reload)
{
	const uint64_t one = 1;

	if (!reload)
		return;
	if (reload->has_thread && write(reload->waits[WAIT_END].fd, &one, sizeof(one)) > 0)
		(void)pthread_join(reload->thread, NULL);
	for (int i = 0; i < WAIT_COUNT; i++)
		if (reload->waits[i].fd >= 0)
			(void)close(reload->waits[i].fd);
	free(reload);
}
