#include "server/guard/credentials.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "server/guard/role.h"
#include "server/tenant.h"

#define HASH_PREFIX     "sha256:"
#define LINE_WORDS      4
#define CREDENTIAL_KEPT 4096 /* bytes of names, tenants and records that a line may become */

struct credentials {
	struct arena *arena; /* names, tenants */
	struct credential *all;
	size_t count;
};

void credentials_free(struct credentials *credentials)
{
	if (!credentials)
		return;
	arena_free(credentials->arena);
	free(credentials->all);
	free(credentials);
}

size_t credentials_count(const struct credentials *credentials)
{
	return credentials->count;
}

const struct credential *credentials_at(const struct credentials *credentials, size_t index)
{
	return &credentials->all[index];
}

/* ---- hashes ---- */

static bool hash_secret(struct str secret, unsigned char digest[static CREDENTIAL_DIGEST_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, secret.length ? secret.data : "", secret.length,
	                        digest) == 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_digest(struct str hex, unsigned char digest[static CREDENTIAL_DIGEST_BYTES])
{
	if (hex.length != (size_t)CREDENTIAL_DIGEST_BYTES * 2)
		return false;
	for (size_t i = 0; i < CREDENTIAL_DIGEST_BYTES; i++) {
		const int high = hex_digit(hex.data[2 * i]);
		const int low = hex_digit(hex.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		digest[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* ---- a line ---- */

static int read_roles(struct str text, unsigned *out, struct error *err)
{
	static const struct {
		const char *name;
		unsigned roles;
	} known[] = {
		{ "read", ROLE_READ | ROLE_METRICS },
		{ "write", ROLE_WRITE },
		{ "admin", ROLE_READ | ROLE_WRITE | ROLE_ADMIN | ROLE_METRICS },
	};
	struct str part;

	while (str_split(&text, ',', &part)) {
		size_t i = 0;

		while (i < ARRAY_LENGTH(known) && !str_equals(part, known[i].name))
			i++;
		if (i == ARRAY_LENGTH(known))
			return error_set(err, ERROR_INVALID,
			                 "'%.*s' is no role: read, write or admin, joined by "
			                 "commas, stand behind the name",
			                 STR_ARGS(str_first(part, 32)));
		*out |= known[i].roles;
	}
	return 0;
}

static int read_tenants(struct credentials *into, struct str text, struct credential *out,
                        struct error *err)
{
	struct str part;

	if (str_equals(text, "*"))
		return 0;
	out->tenants = arena_array(into->arena, CREDENTIAL_TENANTS_MAX, sizeof(*out->tenants));
	while (out->tenants && str_split(&text, ',', &part)) {
		struct str tenant;

		if (out->tenant_count == CREDENTIAL_TENANTS_MAX)
			return error_set(err, ERROR_INVALID, "more than %d tenants",
			                 CREDENTIAL_TENANTS_MAX);
		if (tenant_parse(&part, TENANT_WRITE, &tenant, err) < 0) {
			err->code = ERROR_INVALID;
			return -1;
		}
		out->tenants[out->tenant_count++] = arena_copy(into->arena, tenant);
	}
	return arena_overflowed(into->arena) ? arena_error(into->arena, err) : 0;
}

static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return true;
}

static int read_secret(struct str text, struct credential *out, struct error *err)
{
	const struct str prefix = STR(HASH_PREFIX);

	if (str_starts_with(text, prefix))
		return read_digest(str_skip(text, prefix.length), out->digest)
		               ? 0
		               : error_set(err, ERROR_INVALID,
		                           "behind " HASH_PREFIX " 64 hexadecimal digits are "
		                           "expected");
	if (text.length < CREDENTIAL_SECRET_MIN || !is_visible(text))
		return error_set(err, ERROR_INVALID,
		                 "a secret has %d visible characters of ASCII or more: "
		                 "`openssl rand -hex 32` makes one",
		                 CREDENTIAL_SECRET_MIN);
	return hash_secret(text, out->digest) ? 0
	                                      : error_set(err, ERROR_IO, "GnuTLS does not hash");
}

static bool is_name(struct str name)
{
	return name.length > 0 && name.length <= TENANT_MAX && is_visible(name) &&
	       str_index(name, ':') < 0;
}

static int read_words(struct credentials *into, const struct str words[static LINE_WORDS],
                      struct error *err)
{
	struct credential *out = &into->all[into->count];

	if (!is_name(words[0]))
		return error_set(err, ERROR_INVALID,
		                 "a name has 1 to %d visible characters of ASCII and no ':'",
		                 TENANT_MAX);
	for (size_t i = 0; i < into->count; i++)
		if (str_equal(into->all[i].name, words[0]))
			return error_set(err, ERROR_INVALID, "'%.*s' is given twice",
			                 STR_ARGS(words[0]));
	*out = (struct credential){ .name = arena_copy(into->arena, words[0]) };
	if (read_roles(words[1], &out->roles, err) < 0 ||
	    read_tenants(into, words[2], out, err) < 0 || read_secret(words[3], out, err) < 0)
		return -1;
	into->count++;
	return 0;
}

/* The words of a line; one more than LINE_WORDS: there are too many. */
static size_t split_words(struct str line, struct str words[static LINE_WORDS])
{
	size_t count = 0;
	size_t at = 0;

	while (at < line.length) {
		const size_t begin = at;

		while (at < line.length && line.data[at] != ' ' && line.data[at] != '\t')
			at++;
		if (at > begin && count == LINE_WORDS)
			return LINE_WORDS + 1;
		if (at > begin)
			words[count++] = str_make(line.data + begin, at - begin);
		at++;
	}
	return count;
}

static int read_line(struct credentials *into, struct str line, struct error *err)
{
	struct str words[LINE_WORDS];

	line = str_trim(line);
	if (line.length == 0 || line.data[0] == '#')
		return 0;
	if (split_words(line, words) != LINE_WORDS)
		return error_set(err, ERROR_INVALID, "NAME ROLES TENANTS SECRET are expected");
	if (into->count == CREDENTIALS_MAX)
		return error_set(err, ERROR_INVALID, "more than %d credentials", CREDENTIALS_MAX);
	into->all = mem_resize(into->all, into->count + 1, sizeof(*into->all));
	return read_words(into, words, err);
}

int credentials_parse(struct str text, const char *place, struct credentials **out,
                      struct error *err)
{
	CLEANUP(credentials_freep) struct credentials *into = mem_zalloc(1, sizeof(*into));
	struct str line;
	size_t number = 0;

	if (text.length > CREDENTIALS_TEXT_MAX)
		return error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", place,
		                 CREDENTIALS_TEXT_MAX);
	into->arena =
		arena_new(CREDENTIALS_TEXT_MAX + CREDENTIALS_MAX * (size_t)CREDENTIAL_KEPT, NULL);
	while (str_split(&text, '\n', &line)) {
		number++;
		if (read_line(into, line, err) < 0)
			return error_context(err, "%s:%zu", place, number);
	}
	if (into->count == 0)
		return error_set(err, ERROR_INVALID,
		                 "%s: no credentials; NAME ROLES TENANTS SECRET are expected",
		                 place);
	*out = TAKE(into);
	return 0;
}

/* ---- the search ---- */

/* What somebody says of himself. */
struct presented {
	struct str name; /* of Basic only */
	struct str secret;
	bool has_name;
};

static bool take_basic(struct str text, struct arena *arena, struct presented *out)
{
	struct error ignored = { 0 };
	struct str pair;
	ptrdiff_t colon;

	if (base64_decode(text, arena, &pair, &ignored) < 0)
		return false;
	colon = str_index(pair, ':');
	if (colon < 0)
		return false;
	*out = (struct presented){ .name = str_first(pair, (size_t)colon),
		                   .secret = str_skip(pair, (size_t)colon + 1),
		                   .has_name = true };
	return true;
}

static bool take_apart(struct str authorization, struct arena *arena, struct presented *out)
{
	const struct str text = str_trim(authorization);
	const ptrdiff_t blank = str_index(text, ' ');
	const struct str scheme = blank < 0 ? text : str_first(text, (size_t)blank);
	const struct str rest = blank < 0 ? STR("") : str_trim(str_skip(text, (size_t)blank));

	if (str_equal_ignoring_case(scheme, STR("Basic")))
		return take_basic(rest, arena, out);
	*out = (struct presented){ .secret = rest };
	return str_equal_ignoring_case(scheme, STR("Bearer"));
}

const struct credential *credentials_find(const struct credentials *credentials,
                                          struct str authorization, struct arena *arena)
{
	const struct credential *found = NULL;
	unsigned char digest[CREDENTIAL_DIGEST_BYTES];
	struct presented presented;

	if (!take_apart(authorization, arena, &presented) || !hash_secret(presented.secret, digest))
		return NULL;
	for (size_t i = 0; i < credentials->count; i++) {
		const struct credential *one = &credentials->all[i];
		const bool is_equal = gnutls_memcmp(one->digest, digest, sizeof(digest)) == 0;

		/* names are no secrets */
		if (is_equal && (!presented.has_name || str_equal(one->name, presented.name)))
			found = one;
	}
	return found;
}

bool credential_is_for(const struct credential *credential, struct str tenant)
{
	for (size_t i = 0; i < credential->tenant_count; i++)
		if (str_equal(credential->tenants[i], tenant))
			return true;
	return credential->tenant_count == 0;
}
