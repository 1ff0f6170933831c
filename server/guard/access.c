#include "server/guard/access.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/app.h"
#include "server/guard/credentials.h"
#include "server/options.h"
#include "server/rate_limit.h"
#include "server/routes/admin_access.h"

#define NET_BYTES 8 /* of an address of IPv6: what one machine may choose is behind it */

/* Credentials that are in force, or once were: requests may still look at those. */
struct generation {
	struct generation *before;
	struct credentials *credentials; /* NULL: nobody is asked */
	bool has_open_metrics;
};

struct access {
	struct generation *_Atomic now;
	struct rate_limit *failures;
};

/* ---- what is in force ---- */

/* A secret that others on this machine read is none. */
static void warn_of_mode(int descriptor, const char *path)
{
	struct stat status;

	if (fstat(descriptor, &status) == 0 && (status.st_mode & S_IROTH))
		log_warn("-auth.credentials-file=%s: every user of this machine may read it; "
		         "chmod o-r closes that",
		         path);
}

static int read_file(const char *path, struct strbuf *out, struct error *err)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	int result = descriptor < 0 ? -1 : strbuf_read(out, descriptor);

	if (result < 0)
		(void)error_set_errno(err, errno, "-auth.credentials-file=%s", path);
	else
		warn_of_mode(descriptor, path);
	if (result == 0 && strbuf_overflowed(out))
		result = error_set(err, ERROR_TOO_LARGE,
		                   "-auth.credentials-file=%s: longer than %zu bytes", path,
		                   out->limit);
	if (descriptor >= 0)
		(void)close(descriptor);
	return result;
}

static int load(const struct options *options, struct credentials **out, struct error *err)
{
	const char *path = options->auth_credentials_file;
	/* by the main thread alone; nothing here sets the environment */
	const char *given = getenv(ACCESS_ENVIRONMENT); /* NOLINT(concurrency-mt-unsafe) */
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, CREDENTIALS_TEXT_MAX);
	if (*path)
		return read_file(path, &text, err) < 0
		               ? -1
		               : credentials_parse(strbuf_view(&text), path, out, err);
	if (given && *given)
		return credentials_parse(str_of(given), ACCESS_ENVIRONMENT, out, err);
	return 0;
}

/* What names tenants would open everything where they are not kept apart. */
static int check_tenants(const struct credentials *credentials, const struct options *options,
                         struct error *err)
{
	for (size_t i = 0; credentials && i < credentials_count(credentials); i++) {
		const struct credential *one = credentials_at(credentials, i);

		if (one->tenant_count > 0 && !options->multitenancy)
			return error_set(err, ERROR_INVALID,
			                 "the credentials of '%.*s' are for certain tenants, and "
			                 "this server keeps none apart: "
			                 "-auth.multitenancy-enabled does, '*' means everybody's "
			                 "profiles",
			                 STR_ARGS(one->name));
	}
	return 0;
}

int access_reload(struct access *access, const struct options *options, struct error *err)
{
	CLEANUP(credentials_freep) struct credentials *credentials = NULL;
	struct generation *next;

	if (load(options, &credentials, err) < 0 || check_tenants(credentials, options, err) < 0)
		return -1;
	next = mem_zalloc(1, sizeof(*next));
	next->has_open_metrics = options->auth_open_metrics;
	next->credentials = TAKE(credentials);
	next->before = atomic_load(&access->now);
	atomic_store_explicit(&access->now, next, memory_order_release);
	return 0;
}

int access_open(const struct options *options, struct access **out, struct error *err)
{
	CLEANUP(access_freep) struct access *access = mem_zalloc(1, sizeof(*access));

	access->failures = rate_limit_new();
	if (access_reload(access, options, err) < 0)
		return -1;
	*out = TAKE(access);
	return 0;
}

void access_free(struct access *access)
{
	struct generation *generation = access ? atomic_load(&access->now) : NULL;

	while (generation) {
		struct generation *before = generation->before;

		credentials_free(generation->credentials);
		free(generation);
		generation = before;
	}
	if (access)
		rate_limit_free(access->failures);
	free(access);
}

static const struct generation *in_force(struct access *access)
{
	return atomic_load_explicit(&access->now, memory_order_acquire);
}

bool access_asks(struct access *access)
{
	return in_force(access)->credentials != NULL;
}

/* ---- a request ---- */

/* The part of its address that its sender does not choose. */
static struct str address_of(const struct exchange *exchange, struct sockaddr_storage *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

	*peer = (struct sockaddr_storage){ 0 };
	memcpy(peer, exchange->peer, sizeof(exchange->peer));
	if (peer->ss_family == AF_INET)
		return str_make(&in->sin_addr, sizeof(in->sin_addr));
	if (peer->ss_family == AF_INET6)
		return str_make(&in6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)
		                                         ? sizeof(in6->sin6_addr)
		                                         : NET_BYTES);
	return STR("");
}

/* A page of another site asks with what its visitor's browser remembers of this one. */
static bool is_forged(const struct exchange *exchange)
{
	const struct str *site = http_request_header(&exchange->request, "Sec-Fetch-Site");

	return site && !str_equals(*site, "same-origin") && !str_equals(*site, "none") &&
	       !str_equals(exchange->request.method, "GET") &&
	       !str_equals(exchange->request.method, "HEAD");
}

static const char *role_name(unsigned role)
{
	if (role == ROLE_ADMIN)
		return "admin";
	return role == ROLE_WRITE ? "write" : "read";
}

static int judge(const struct credential *credential, const struct exchange *exchange,
                 unsigned role, struct error *err)
{
	if (!(credential->roles & role))
		return error_set(err, ERROR_FORBIDDEN,
		                 "the credentials of '%.*s' lack the role %s, which this asks for",
		                 STR_ARGS(credential->name), role_name(role));
	if (is_forged(exchange))
		return error_set(err, ERROR_FORBIDDEN,
		                 "a page of another site asks for this; pages of this server may");
	return 0;
}

static int identify(struct access *access, const struct credentials *credentials,
                    struct exchange *exchange, struct error *err)
{
	const struct str *header = http_request_header(&exchange->request, "Authorization");
	const double rate = (double)NS_PER_S / (double)ACCESS_FAILURE_NS;
	const int64_t now_mono_ns = clock_mono_ns();
	struct sockaddr_storage peer;
	const struct str address = address_of(exchange, &peer);

	if (!header)
		return error_set(err, ERROR_UNAUTHENTICATED,
		                 "this server asks for credentials: Authorization: Basic or "
		                 "Bearer");
	if (!rate_limit_has(access->failures, address, 1, rate, ACCESS_FAILURES, now_mono_ns))
		return error_set(err, ERROR_RATE_LIMITED,
		                 "too many wrong credentials came from this address; try again "
		                 "later");
	exchange->credential = credentials_find(credentials, *header, exchange->arena);
	if (exchange->credential)
		return 0;
	(void)rate_limit_take(access->failures, address, 1, rate, ACCESS_FAILURES, now_mono_ns);
	return error_set(err, ERROR_UNAUTHENTICATED, "wrong credentials");
}

bool access_check(struct access *access, struct exchange *exchange, unsigned role,
                  struct error *err)
{
	const struct generation *generation = access ? in_force(access) : NULL;

	if (!generation || !generation->credentials || role == ROLE_OPEN)
		return true;
	if (role == ROLE_METRICS &&
	    (generation->has_open_metrics || admin_access_is_local(exchange)))
		return true;
	return identify(access, generation->credentials, exchange, err) == 0 &&
	       judge(exchange->credential, exchange, role, err) == 0;
}
