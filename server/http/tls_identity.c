#include "server/http/tls_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define FILE_MAX   ((size_t)1 << 20) /* of certificates; a chain has some kilobytes */
#define FILE_COUNT 2
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

struct identity_file {
	char *path;
	struct stat seen; /* when it was read */
};

struct tls_identity {
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priorities;
	struct identity_file files[FILE_COUNT];
	size_t holders;
};

static void destroy(struct tls_identity *identity)
{
	if (identity->credentials)
		gnutls_certificate_free_credentials(identity->credentials);
	if (identity->priorities)
		gnutls_priority_deinit(identity->priorities);
	for (size_t i = 0; i < FILE_COUNT; i++)
		free(identity->files[i].path);
	free(identity);
}

struct tls_identity *tls_identity_hold(struct tls_identity *identity)
{
	identity->holders++;
	return identity;
}

void tls_identity_drop(struct tls_identity *identity)
{
	if (identity && --identity->holders == 0)
		destroy(identity);
}

/* ---- loading ---- */

static int read_file(struct identity_file *file, struct strbuf *out, struct error *err)
{
	const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
	int result = descriptor < 0 ? -1 : fstat(descriptor, &file->seen);

	if (result == 0)
		result = strbuf_read(out, descriptor);
	if (result < 0)
		(void)error_set_errno(err, errno, "%s", file->path);
	else if (strbuf_overflowed(out))
		result = error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", file->path,
		                   out->limit);
	if (descriptor >= 0)
		(void)close(descriptor);
	return result;
}

static gnutls_datum_t datum_of(const struct strbuf *text)
{
	return (gnutls_datum_t){ (unsigned char *)text->data, (unsigned)text->length };
}

static int use_texts(struct tls_identity *identity, const struct strbuf texts[static FILE_COUNT],
                     struct error *err)
{
	const gnutls_datum_t certificate = datum_of(&texts[0]);
	const gnutls_datum_t key = datum_of(&texts[1]);
	const int result = gnutls_certificate_set_x509_key_mem2(identity->credentials, &certificate,
	                                                        &key, GNUTLS_X509_FMT_PEM, NULL, 0);

	if (result >= 0)
		return 0;
	return error_set(err, ERROR_INVALID,
	                 "%s and %s: %s; a certificate with its chain, and its key, both as PEM, "
	                 "are expected",
	                 identity->files[0].path, identity->files[1].path, gnutls_strerror(result));
}

static int load(struct tls_identity *identity, struct error *err)
{
	struct strbuf texts[FILE_COUNT];
	int result = 0;

	for (size_t i = 0; i < FILE_COUNT; i++)
		strbuf_init(&texts[i], FILE_MAX);
	if (gnutls_certificate_allocate_credentials(&identity->credentials) < 0 ||
	    gnutls_priority_init(&identity->priorities, PRIORITIES, NULL) < 0)
		result = error_set(err, ERROR_IO, "GnuTLS does not start");
	for (size_t i = 0; i < FILE_COUNT && result == 0; i++)
		result = read_file(&identity->files[i], &texts[i], err);
	if (result == 0)
		result = use_texts(identity, texts, err);
	for (size_t i = 0; i < FILE_COUNT; i++) {
		if (texts[i].data)
			gnutls_memset(texts[i].data, 0, texts[i].length);
		strbuf_fini(&texts[i]);
	}
	return result;
}

int tls_identity_load(const char *certificate_path, const char *key_path, struct tls_identity **out,
                      struct error *err)
{
	struct tls_identity *identity = mem_zalloc(1, sizeof(*identity));

	identity->holders = 1;
	identity->files[0].path = mem_strdup(certificate_path);
	identity->files[1].path = mem_strdup(key_path);
	if (load(identity, err) < 0) {
		destroy(identity);
		return -1;
	}
	*out = identity;
	return 0;
}

bool tls_identity_has_changed(struct tls_identity *identity)
{
	bool has_changed = false;

	for (size_t i = 0; i < FILE_COUNT; i++) {
		struct stat *seen = &identity->files[i].seen;
		struct stat now;

		if (stat(identity->files[i].path, &now) < 0 ||
		    (now.st_ino == seen->st_ino && now.st_dev == seen->st_dev &&
		     now.st_size == seen->st_size && now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
		     now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec))
			continue;
		*seen = now;
		has_changed = true;
	}
	return has_changed;
}

/* ---- sessions ---- */

/*
 * What stands first is taken where a client offers several: HTTP/2 only for those that
 * speak nothing else, as gRPC does.
 */
static bool set_protocols(gnutls_session_t session)
{
	static char http1[] = "http/1.1";
	static char http2[] = "h2";
	const gnutls_datum_t protocols[] = {
		{ (unsigned char *)http1, sizeof(http1) - 1 },
		{ (unsigned char *)http2, sizeof(http2) - 1 },
	};

	return gnutls_alpn_set_protocols(session, protocols, ARRAY_LENGTH(protocols),
	                                 GNUTLS_ALPN_SERVER_PRECEDENCE) == 0;
}

gnutls_session_t tls_identity_session(const struct tls_identity *identity)
{
	gnutls_session_t session;

	if (gnutls_init(&session,
	                GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) < 0)
		return NULL;
	if (gnutls_priority_set(session, identity->priorities) == 0 &&
	    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials) == 0 &&
	    set_protocols(session)) {
		gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE);
		gnutls_handshake_set_timeout(session, GNUTLS_INDEFINITE_TIMEOUT);
		return session;
	}
	gnutls_deinit(session);
	return NULL;
}
