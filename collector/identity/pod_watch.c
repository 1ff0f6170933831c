/*
 * The states of the watcher; `version` is what the server calls the newest state it told.
 *
 *	            +------ failed: wait ------+
 *	            v                          |
 *	start --> LIST --- whole list -----> WATCH <--+
 *	            ^                          |      | ended, as it does after minutes;
 *	            |   410, ERROR event:      |      | or failed: wait
 *	            +-- the version is gone ---+------+
 *
 * 1. The first list may be served from the server's cache (resourceVersion=0): with one
 *    collector a node, lists from its store would be a load. One after 410 may not, since
 *    the cache may be older than what is gone.
 * 2. A list becomes the table when it is whole, not before.
 * 3. A watch that gave anything is no failure when it ends: it goes on from `version`.
 * 4. Between two requests lies a time, unless the first was a whole list.
 */
#include "collector/identity/pod_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/url.h"
#include "collector/identity/object_list.h"

#define RETRY_FIRST_NS   NS_PER_S /* a guess, as are the five below */
#define RETRY_MOST_NS    (60 * NS_PER_S)
#define LIST_TIMEOUT_MS  60000
#define WATCH_SECONDS    300
#define WATCH_LEAST_NS   (10 * NS_PER_S) /* one that is shorter and silent has failed */
#define WATCH_TIMEOUT_MS ((WATCH_SECONDS + 30) * 1000)
#define EVENT_BYTES_MAX  (OBJECT_BYTES_MAX + 256)
#define SCRATCH_MAX      ((size_t)32 << 20) /* of one object that is parsed */
#define VERSION_BYTES    64
#define PATH_BYTES       900

enum request_result {
	REQUEST_DONE,
	REQUEST_FAILED, /* try again */
	REQUEST_GONE,   /* that version is: list anew */
};

struct pod_watch {
	struct pod_watch_options options;
	struct pod_table *table;
	struct http_client *client;
	struct arena *arena;
	pthread_t thread;

	pthread_mutex_t lock; /* guards the four below */
	pthread_cond_t woken;
	bool is_stopped;
	struct pod_watch_counts counts;

	/* the thread's own */
	char version[VERSION_BYTES]; /* "": list first */
	bool has_lost_version;
	bool is_gone;             /* the watch said so */
	struct pod_table *listed; /* while a list comes */
	struct object_list list;
	struct strbuf line;   /* of a watch */
	bool has_heard;       /* the request gave something of use */
	struct error trouble; /* of the body; code ERROR_NONE: none */
	int64_t asked_to_wait_ns;
};

/* ---- counting ---- */

static void count(struct pod_watch *watch, uint64_t *counter)
{
	(void)pthread_mutex_lock(&watch->lock);
	(*counter)++;
	(void)pthread_mutex_unlock(&watch->lock);
}

/* All that the server has told is in the table. */
static void note_current(struct pod_watch *watch)
{
	(void)pthread_mutex_lock(&watch->lock);
	watch->counts.is_current = true;
	(void)pthread_mutex_unlock(&watch->lock);
}

static void note_failure(struct pod_watch *watch)
{
	(void)pthread_mutex_lock(&watch->lock);
	watch->counts.failures++;
	watch->counts.is_current = false;
	(void)pthread_mutex_unlock(&watch->lock);
}

struct pod_watch_counts pod_watch_counts(struct pod_watch *watch)
{
	struct pod_watch_counts counts;

	(void)pthread_mutex_lock(&watch->lock);
	counts = watch->counts;
	(void)pthread_mutex_unlock(&watch->lock);
	return counts;
}

/* ---- objects ---- */

/* NULL when it is no JSON. */
static const struct json *parse(struct pod_watch *watch, struct str text)
{
	const struct json *value;
	struct error err;

	arena_reset(watch->arena);
	return json_parse(text, watch->arena, &value, &err) < 0 ? NULL : value;
}

static void put_pod(struct pod_watch *watch, struct pod_table *table, const struct json *pod)
{
	struct pod_record record;
	struct error err;

	if (pod_record_decode(pod, &record, &err) < 0)
		count(watch, &watch->counts.passed_over);
	else
		pod_table_put(table, &record);
}

/* What the server calls its state; it goes into the next request, so it is a plain word. */
static bool take_version(struct pod_watch *watch, const struct json *object)
{
	const struct str version =
		json_text(json_get(json_get(object, "metadata"), "resourceVersion"));

	if (version.length == 0 || version.length >= VERSION_BYTES)
		return false;
	for (size_t i = 0; i < version.length; i++)
		if (!(version.data[i] >= '0' && version.data[i] <= '9') &&
		    !(version.data[i] >= 'a' && version.data[i] <= 'z') &&
		    !(version.data[i] >= 'A' && version.data[i] <= 'Z') && version.data[i] != '-')
			return false;
	memcpy(watch->version, version.data, version.length);
	watch->version[version.length] = '\0';
	return true;
}

/* ---- requests ---- */

/* Asks for the pods of this node, and hands the body on. */
static int ask(struct pod_watch *watch, const char *query, int64_t timeout_ms,
               int (*take)(void *context, struct str bytes), struct error *err)
{
	struct strbuf path;
	int result;

	strbuf_init(&path, PATH_BYTES);
	strbuf_add_text(&path, "/api/v1/pods?fieldSelector=spec.nodeName%3D");
	url_encode(str_of(watch->options.node), &path);
	strbuf_add_text(&path, query);
	result = kubernetes_access_get(&watch->options.access,
	                               &(struct kubernetes_request){
					       .client = watch->client,
					       .path = path.data,
					       .timeout_ms = timeout_ms,
					       .body = { take, watch },
				       },
	                               &watch->asked_to_wait_ns, err);
	strbuf_fini(&path);
	return result;
}

/* ---- the list ---- */

static void take_listed(void *context, struct str text)
{
	struct pod_watch *watch = context;

	put_pod(watch, watch->listed, parse(watch, text));
}

static int take_list(void *context, struct str bytes)
{
	struct pod_watch *watch = context;

	return object_list_take(&watch->list, bytes, &watch->trouble);
}

static int finish_list(struct pod_watch *watch, struct error *err)
{
	struct str around;

	if (object_list_end(&watch->list, &around, err) < 0)
		return -1;
	if (!take_version(watch, parse(watch, around)))
		return error_set(err, ERROR_INVALID, "the list of pods has no version");
	for (size_t i = 0; i < watch->list.passed_over; i++)
		count(watch, &watch->counts.passed_over);
	pod_table_replace(watch->table, watch->listed);
	watch->has_lost_version = false;
	count(watch, &watch->counts.lists);
	return 0;
}

static enum request_result list_pods(struct pod_watch *watch, struct error *err)
{
	const char *query = watch->has_lost_version ? "" : "&resourceVersion=0";
	int result;

	watch->listed = pod_table_new();
	object_list_init(&watch->list, take_listed, watch);
	result = ask(watch, query, LIST_TIMEOUT_MS, take_list, err);
	if (watch->trouble.code != ERROR_NONE)
		*err = watch->trouble;
	if (result == 0)
		result = finish_list(watch, err);
	object_list_fini(&watch->list);
	pod_table_free(TAKE(watch->listed));
	return result == 0 ? REQUEST_DONE : REQUEST_FAILED;
}

/* ---- the watch ---- */

static void take_event(struct pod_watch *watch, struct str text)
{
	const struct json *event = parse(watch, text);
	const struct str type = json_text(json_get(event, "type"));
	const struct json *object = json_get(event, "object");

	if (str_equals(type, "ERROR")) {
		watch->is_gone = json_int(json_get(object, "code")) == 410;
		error_set(&watch->trouble, ERROR_UNAVAILABLE, "the API server ends the watch: %.*s",
		          STR_ARGS(str_first(json_text(json_get(object, "message")), 200)));
		return;
	}
	if (str_equals(type, "ADDED") || str_equals(type, "MODIFIED")) {
		put_pod(watch, watch->table, object);
	} else if (str_equals(type, "DELETED")) {
		pod_table_remove(watch->table,
		                 json_text(json_get(json_get(object, "metadata"), "uid")));
	} else if (!str_equals(type, "BOOKMARK")) {
		count(watch, &watch->counts.passed_over);
		return;
	}
	watch->has_heard |= take_version(watch, object);
	count(watch, &watch->counts.events);
	note_current(watch);
}

static void end_line(struct pod_watch *watch)
{
	if (strbuf_overflowed(&watch->line))
		count(watch, &watch->counts.passed_over);
	else if (str_trim(strbuf_view(&watch->line)).length > 0)
		take_event(watch, strbuf_view(&watch->line));
	strbuf_reset(&watch->line);
}

static int take_events(void *context, struct str bytes)
{
	struct pod_watch *watch = context;

	while (bytes.length > 0 && watch->trouble.code == ERROR_NONE) {
		const ptrdiff_t end = str_index(bytes, '\n');
		const size_t length = end < 0 ? bytes.length : (size_t)end;

		strbuf_add(&watch->line, bytes.data, length);
		bytes = str_skip(bytes, length + 1);
		if (end >= 0)
			end_line(watch);
	}
	return watch->trouble.code == ERROR_NONE ? 0 : -1;
}

static enum request_result watch_pods(struct pod_watch *watch, struct error *err)
{
	const int64_t begun_ns = clock_mono_ns();
	char query[VERSION_BYTES + 96];
	int result;

	(void)snprintf(query, sizeof(query),
	               "&watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s",
	               WATCH_SECONDS, watch->version);
	watch->is_gone = watch->has_heard = false;
	strbuf_reset(&watch->line);
	result = ask(watch, query, WATCH_TIMEOUT_MS, take_events, err);
	watch->is_gone |= result < 0 && err->code == ERROR_NOT_FOUND;
	if (watch->trouble.code != ERROR_NONE)
		*err = watch->trouble;
	if (watch->is_gone)
		return REQUEST_GONE;
	if (watch->has_heard || (result == 0 && clock_mono_ns() - begun_ns >= WATCH_LEAST_NS))
		return REQUEST_DONE;
	if (result == 0)
		error_set(err, ERROR_UNAVAILABLE, "a watch ended at once");
	return REQUEST_FAILED;
}

/* ---- the thread ---- */

static bool is_stopped(struct pod_watch *watch)
{
	bool stopped;

	(void)pthread_mutex_lock(&watch->lock);
	stopped = watch->is_stopped;
	(void)pthread_mutex_unlock(&watch->lock);
	return stopped;
}

/* Until the time is over, or it is to stop. */
static void wait_for(struct pod_watch *watch, int64_t wait_ns)
{
	const int64_t until_ns = clock_mono_ns() + wait_ns;
	const struct timespec until = { .tv_sec = until_ns / NS_PER_S,
		                        .tv_nsec = until_ns % NS_PER_S };
	int result = 0;

	(void)pthread_mutex_lock(&watch->lock);
	while (!watch->is_stopped && result == 0)
		result = pthread_cond_timedwait(&watch->woken, &watch->lock, &until);
	(void)pthread_mutex_unlock(&watch->lock);
}

/* Half of it to all of it: nodes that lost their server together do not come together. */
static int64_t scattered(int64_t wait_ns)
{
	return wait_ns / 2 + clock_mono_ns() % (wait_ns / 2 + 1);
}

static void fail(struct pod_watch *watch, const struct error *err)
{
	if (is_stopped(watch))
		return; /* that is why */
	note_failure(watch);
	log_rarely(LOG_WARN, "pods of this node stay as they were told last: %s; trying again",
	           err->message);
}

/* What did not go well waits longer from time to time. */
static void wait_longer(struct pod_watch *watch, int64_t *retry_ns)
{
	const int64_t most_ns = watch->options.retry_most_ns;
	const int64_t wait_ns = scattered(*retry_ns);

	wait_for(watch, watch->asked_to_wait_ns > wait_ns ? watch->asked_to_wait_ns : wait_ns);
	*retry_ns = *retry_ns < most_ns / 2 ? *retry_ns * 2 : most_ns;
}

static void list_and_go_on(struct pod_watch *watch, int64_t *retry_ns)
{
	struct error err = { 0 };

	if (list_pods(watch, &err) == REQUEST_DONE) {
		note_current(watch);
		return;
	}
	fail(watch, &err);
	wait_longer(watch, retry_ns);
}

static void watch_and_go_on(struct pod_watch *watch, int64_t *retry_ns)
{
	struct error err = { 0 };

	switch (watch_pods(watch, &err)) {
	case REQUEST_DONE: /* also one that gives the same again and again costs little */
		*retry_ns = watch->options.retry_first_ns;
		wait_for(watch, scattered(*retry_ns));
		return;
	case REQUEST_GONE:
		watch->version[0] = '\0';
		watch->has_lost_version = true;
		break;
	default:
		fail(watch, &err);
		break;
	}
	wait_longer(watch, retry_ns);
}

static void *run(void *context)
{
	struct pod_watch *watch = context;
	int64_t retry_ns = watch->options.retry_first_ns;

	log_name_thread("pods");
	while (!is_stopped(watch)) {
		watch->trouble = (struct error){ 0 };
		if (watch->version[0])
			watch_and_go_on(watch, &retry_ns);
		else
			list_and_go_on(watch, &retry_ns);
	}
	return NULL;
}

/* ---- life ---- */

static void free_watch(struct pod_watch *watch)
{
	http_client_free(watch->client);
	arena_free(watch->arena);
	strbuf_fini(&watch->line);
	(void)pthread_cond_destroy(&watch->woken);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch);
}

static void init_lock(struct pod_watch *watch)
{
	pthread_condattr_t attributes;

	(void)pthread_mutex_init(&watch->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&watch->woken, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

int pod_watch_open(const struct pod_watch_options *options, struct pod_table *table,
                   struct pod_watch **out, struct error *err)
{
	struct pod_watch *watch = mem_zalloc(1, sizeof(*watch));

	watch->options = *options;
	watch->options.retry_first_ns = options->retry_first_ns ? options->retry_first_ns
	                                                        : RETRY_FIRST_NS;
	watch->options.retry_most_ns = options->retry_most_ns ? options->retry_most_ns
	                                                      : RETRY_MOST_NS;
	watch->table = table;
	watch->arena = arena_new(SCRATCH_MAX, NULL);
	strbuf_init(&watch->line, EVENT_BYTES_MAX);
	init_lock(watch);
	if (http_client_new(&watch->client, err) < 0) {
		free_watch(watch);
		return -1;
	}
	if (pthread_create(&watch->thread, NULL, run, watch) != 0) {
		free_watch(watch);
		return error_set(err, ERROR_UNAVAILABLE, "no thread for the pods of this node");
	}
	*out = watch;
	return 0;
}

void pod_watch_close(struct pod_watch *watch)
{
	if (!watch)
		return;
	(void)pthread_mutex_lock(&watch->lock);
	watch->is_stopped = true;
	(void)pthread_cond_signal(&watch->woken);
	(void)pthread_mutex_unlock(&watch->lock);
	http_client_cancel(watch->client);
	(void)pthread_join(watch->thread, NULL);
	free_watch(watch);
}
