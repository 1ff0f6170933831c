#include "server/routes/answer_share.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/connect.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/routes/route.h"

/* An execution under way, in the arena of the request that executes. */
struct answer_flight {
	struct answer_shares *shares;
	struct hash128 key;
	uint64_t version; /* of the tenant's data, before it began */
	struct exchange *leader;
	void (*finish)(struct exchange *exchange); /* the leader's own */

	/* guarded by the shares' lock */
	struct exchange *followers; /* by exchange->next */
	size_t follower_count;
	struct answer_flight *next;
};

struct answer_shares {
	uint64_t secret; /* nobody can prepare two requests with one key */
	pthread_mutex_t lock;
	struct answer_flight *flights; /* those that may be joined: fewer than there are workers */
};

struct answer_shares *answer_shares_new(void)
{
	struct answer_shares *shares = mem_zalloc(1, sizeof(*shares));
	const struct uuid random = uuid_random();

	memcpy(&shares->secret, random.bytes, sizeof(shares->secret));
	(void)pthread_mutex_init(&shares->lock, NULL);
	return shares;
}

void answer_shares_free(struct answer_shares *shares)
{
	if (!shares)
		return;
	(void)pthread_mutex_destroy(&shares->lock);
	free(shares);
}

/* ---- the list; with the lock held ---- */

static struct answer_flight *find(const struct answer_shares *shares, struct hash128 key)
{
	for (struct answer_flight *flight = shares->flights; flight; flight = flight->next)
		if (hash128_equal(flight->key, key))
			return flight;
	return NULL;
}

static void unlist(struct answer_shares *shares, const struct answer_flight *flight)
{
	for (struct answer_flight **at = &shares->flights; *at; at = &(*at)->next) {
		if (*at == flight) {
			*at = flight->next;
			return;
		}
	}
}

static void follow(struct answer_flight *flight, struct exchange *exchange)
{
	struct store_cancel *cancel = &flight->leader->cancel;

	exchange->next = flight->followers;
	flight->followers = exchange;
	flight->follower_count++;
	/* the query that runs sees this one whole, or not yet */
	atomic_store_explicit(&exchange->cancel.also,
	                      atomic_load_explicit(&cancel->also, memory_order_relaxed),
	                      memory_order_relaxed);
	atomic_store_explicit(&cancel->also, &exchange->cancel, memory_order_release);
}

/* ---- the end of an execution ---- */

/* Texts of the leader's arena become the follower's own. */
static bool copy_headers(const struct http_header *from, size_t count, struct arena *arena,
                         struct http_header *to)
{
	for (size_t i = 0; i < count; i++) {
		to[i].name = arena_copy(arena, from[i].name);
		to[i].value = arena_copy(arena, from[i].value);
		if (!to[i].name.data || !to[i].value.data)
			return false;
	}
	return true;
}

static void copy_response(const struct http_response *from, struct exchange *follower)
{
	struct http_response *to = &follower->response;
	struct error err = { 0 };

	http_response_reset(to, from->status);
	if (!copy_headers(from->headers, from->header_count, follower->arena, to->headers) ||
	    !copy_headers(from->trailers, from->trailer_count, follower->arena, to->trailers)) {
		(void)arena_error(follower->arena, &err);
		connect_fail(&err, to);
		return;
	}
	to->header_count = from->header_count;
	to->trailer_count = from->trailer_count;
	to->failure = from->failure;
	strbuf_add_str(&to->body, strbuf_view(&from->body));
}

/* Who waited longer than it said gets no answer, as if it had asked alone. */
static bool is_late(const struct exchange *exchange, int64_t now_mono_ns)
{
	const int64_t deadline = exchange->cancel.deadline_mono_ns;

	return deadline > 0 && now_mono_ns > deadline;
}

static void refuse_late(struct exchange *exchange)
{
	struct error err = { 0 };

	(void)error_set(&err, ERROR_TIMED_OUT, "context deadline exceeded");
	connect_fail(&err, &exchange->response);
}

/* The leader's response is complete: hands it on to all, itself last. */
static void finish(struct exchange *leader)
{
	struct answer_flight *flight = leader->share;
	const int64_t now_mono_ns = clock_mono_ns();
	struct exchange *follower;

	(void)pthread_mutex_lock(&flight->shares->lock);
	unlist(flight->shares, flight);
	(void)pthread_mutex_unlock(&flight->shares->lock);
	/* nobody joins any more, and the query that looked at them is over */
	follower = flight->followers;
	while (follower) {
		struct exchange *next = follower->next;

		follower->next = NULL;
		if (is_late(follower, now_mono_ns))
			refuse_late(follower);
		else
			copy_response(&leader->response, follower);
		exchange_finish(follower);
		follower = next;
	}
	leader->share = NULL;
	leader->finish = flight->finish;
	exchange_finish(leader);
}

/* ---- joining ---- */

static struct hash128 key_of(const struct answer_shares *shares, const struct exchange *exchange,
                             const struct str *parts, size_t part_count)
{
	struct hash128 chain = hash128(shares->secret, &exchange->route, sizeof(exchange->route));

	for (size_t i = 0; i <= part_count; i++) {
		const struct hash128 link[2] = {
			chain,
			hash128_str(shares->secret, i < part_count ? parts[i] : exchange->tenant),
		};

		chain = hash128(shares->secret, link, sizeof(link));
	}
	return chain;
}

static struct answer_flight *flight_new(struct answer_shares *shares, struct exchange *exchange,
                                        struct hash128 key, uint64_t version)
{
	struct answer_flight *flight = arena_alloc(exchange->arena, sizeof(*flight));

	if (!flight)
		return NULL;
	flight->shares = shares;
	flight->key = key;
	flight->version = version;
	flight->leader = exchange;
	flight->finish = exchange->finish;
	return flight;
}

static void count_shared(struct exchange *exchange)
{
	metric_add(METRIC_OF(exchange->app->metrics->queries_shared,
	                     str_of(exchange->route->label)),
	           1);
}

bool answer_share_join(struct answer_shares *shares, struct exchange *exchange,
                       const struct str *parts, size_t part_count)
{
	const struct hash128 key = key_of(shares, exchange, parts, part_count);
	struct answer_flight *running;
	struct answer_flight *own;
	uint64_t version;
	bool joins;

	if (!store_version(exchange->app->store, exchange->tenant, &version))
		return false;
	own = flight_new(shares, exchange, key, version);
	if (!own)
		return false;
	(void)pthread_mutex_lock(&shares->lock);
	running = find(shares, key);
	/* one that began at a later version has seen more than this one needs */
	joins = running && running->version >= version &&
	        running->follower_count < ANSWER_SHARE_MAX;
	if (joins) {
		count_shared(exchange); /* afterwards it may be gone */
		follow(running, exchange);
	} else {
		if (running)
			unlist(shares, running);
		own->next = shares->flights;
		shares->flights = own;
		exchange->share = own;
		exchange->finish = finish;
	}
	(void)pthread_mutex_unlock(&shares->lock);
	return joins;
}
