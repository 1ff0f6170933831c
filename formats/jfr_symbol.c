/*
 *	jdk/internal/reflect/GeneratedMethodAccessor31  ...GeneratedMethodAccessor_
 *	X$$Lambda$12/0x0801, X$$Lambda.0x08, X$$Lambda12  X$$Lambda_
 *	X$$EnhancerBySpringCGLIB$$1f0a                  X$$EnhancerBySpringCGLIB$$_
 *	/tmp/libzstd-jni-1.5.2-1693.so (deleted)        libzstd-jni-_.so
 *	libamazonCorrettoCryptoProvider1f0a.so          libamazonCorrettoCryptoProvider_.so
 *	/tmp/amazonCorrettoCryptoProviderNativeLibraries.1f0a/libcrypto.so   the same
 *	libasyncProfiler-linux-x64-<one checksum>.so    libasyncProfiler-_.so
 */
#include "formats/jfr_symbol.h"

#include "base/cleanup.h"

#define ACCESSOR STR("jdk/internal/reflect/GeneratedMethodAccessor")
#define LAMBDA   STR("$$Lambda")
#define CGLIB    STR("$$EnhancerBySpringCGLIB$$")

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* What a Java identifier of ASCII is made of. */
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$';
}

/* Takes what may stand there, and says how long it was. */
static size_t take_run(struct str *rest, bool (*belongs)(char))
{
	size_t length = 0;

	while (length < rest->length && belongs(rest->data[length]))
		length++;
	*rest = str_skip(*rest, length);
	return length;
}

static bool take_text(struct str *rest, struct str text)
{
	if (!str_starts_with(*rest, text))
		return false;
	*rest = str_skip(*rest, text.length);
	return true;
}

/* What follows "$$Lambda": "$12/0x08", ".0x08", "$12/8", "$lambda$f$2.0x08", "12". */
static bool is_lambda_id(struct str rest)
{
	struct str all = rest;

	if (take_run(&all, is_digit) > 0 && all.length == 0)
		return true;
	if (take_text(&rest, STR("$")) && take_run(&rest, is_word) == 0)
		return false;
	if (!take_text(&rest, STR(".")) && !take_text(&rest, STR("/")))
		return false;
	(void)take_text(&rest, STR("0x"));
	return take_run(&rest, is_hex) > 0 && rest.length == 0;
}

static bool is_zstd_version(struct str *rest)
{
	for (int part = 0; part < 3; part++)
		if ((part > 0 && !take_text(rest, STR("."))) || take_run(rest, is_digit) == 0)
			return false;
	return take_text(rest, STR("-")) && take_run(rest, is_digit) > 0;
}

static bool is_hex_id(struct str *rest)
{
	return take_run(rest, is_hex) > 0;
}

static bool is_corretto_folder(struct str *rest)
{
	return is_hex_id(rest) && (take_text(rest, STR("/libcrypto")) ||
	                           take_text(rest, STR("/libamazonCorrettoCryptoProvider")));
}

/* The checksum is that of one build: others are left as they are. */
static bool is_known_profiler(struct str *rest)
{
	return (take_text(rest, STR("linux-x64-")) || take_text(rest, STR("linux-arm64-")) ||
	        take_text(rest, STR("linux-musl-x64-")) || take_text(rest, STR("macos-"))) &&
	       take_text(rest, STR("17b9a1d8156277a98ccc871afa9a8f69215f92"));
}

/* Libraries that are unpacked from archives under a name that is new each time. */
static const struct library {
	const char *name;
	bool (*matches)(struct str *rest);
	const char *clean;
} libraries[] = {
	{ "libzstd-jni-", is_zstd_version, "libzstd-jni-_.so" },
	{ "libamazonCorrettoCryptoProvider", is_hex_id, "libamazonCorrettoCryptoProvider_.so" },
	{ "amazonCorrettoCryptoProvider", is_hex_id, "libamazonCorrettoCryptoProvider_.so" },
	{ "libamazonCorrettoCryptoProviderNativeLibraries.", is_corretto_folder,
	  "libamazonCorrettoCryptoProvider_.so" },
	{ "amazonCorrettoCryptoProviderNativeLibraries.", is_corretto_folder,
	  "libamazonCorrettoCryptoProvider_.so" },
	{ "libasyncProfiler-", is_known_profiler, "libasyncProfiler-_.so" },
};

/* Whether a name ends as those of libraries do: most do not, and cost no more. */
static bool is_library(struct str name)
{
	return str_ends_with(name, STR(".so")) || str_ends_with(name, STR(".so (deleted)"));
}

static bool is_unpacked(struct str name, struct jfr_symbol *out)
{
	if (!is_library(name))
		return false;
	if (!take_text(&name, STR("./tmp/")))
		(void)take_text(&name, STR("/tmp/"));
	for (size_t i = 0; i < ARRAY_LENGTH(libraries); i++) {
		struct str rest = name;

		if (!take_text(&rest, str_of(libraries[i].name)) || !libraries[i].matches(&rest) ||
		    !take_text(&rest, STR(".so")))
			continue;
		if (rest.length > 0 && !str_equals(rest, " (deleted)"))
			continue;
		*out = (struct jfr_symbol){ str_of(libraries[i].clean), STR("") };
		return true;
	}
	return false;
}

/* The bytes up to and with the last `mark` that something stands before, or 0. */
static size_t behind_mark(struct str name, struct str mark)
{
	size_t behind = 0;

	for (size_t from = 1; from < name.length;) {
		const ptrdiff_t found = str_find(str_skip(name, from), mark);

		if (found < 0)
			break;
		behind = from + (size_t)found + mark.length;
		from = behind;
	}
	return behind;
}

static bool is_generated(struct str name, struct jfr_symbol *out)
{
	size_t behind;

	if (str_index(name, '$') < 0) {
		struct str rest = name;

		behind = ACCESSOR.length;
		if (!take_text(&rest, ACCESSOR) || take_run(&rest, is_digit) == 0 ||
		    rest.length > 0)
			return false;
	} else {
		behind = behind_mark(name, LAMBDA);
		if (behind == 0 || !is_lambda_id(str_skip(name, behind))) {
			behind = behind_mark(name, CGLIB);
			if (behind == 0 || behind == name.length)
				return false;
		}
	}
	*out = (struct jfr_symbol){ str_first(name, behind), STR("_") };
	return true;
}

struct jfr_symbol jfr_symbol_clean(struct str name)
{
	struct jfr_symbol cleaned;

	if (is_generated(name, &cleaned) || is_unpacked(name, &cleaned))
		return cleaned;
	return (struct jfr_symbol){ name, STR("") };
}
