// The only C++ of the tree: RE2 has no C face.
#include <re2/re2.h>

extern "C" {
#include "base/error.h"
#include "base/str.h"
}

#include "base/regex.h"

namespace
{

constexpr int64_t pattern_memory_bytes = 4 << 20; // programs and automata of one pattern; a guess

RE2::Options options()
{
	RE2::Options options;

	options.set_dot_nl(true); // the (?s: of Prometheus
	options.set_log_errors(false);
	options.set_never_capture(true);
	options.set_max_mem(pattern_memory_bytes);
	return options;
}

} // namespace

struct regex {
	explicit regex(struct str pattern)
	    : re2(re2::StringPiece(pattern.data, pattern.length), options())
	{
	}

	RE2 re2;
};

extern "C" int regex_compile(struct str pattern, struct regex **out_regex, struct error *err)
{
	if (pattern.length > REGEX_PATTERN_MAX)
		return error_set(err, ERROR_TOO_LARGE, "the pattern is longer than %d bytes",
		                 REGEX_PATTERN_MAX);

	struct regex *compiled = new regex(pattern);

	if (!compiled->re2.ok()) {
		(void)error_set(err, ERROR_INVALID, "bad regular expression: %s",
		                compiled->re2.error().c_str());
		delete compiled;
		return -1;
	}
	*out_regex = compiled;
	return 0;
}

extern "C" bool regex_matches(const struct regex *regex, struct str text)
{
	return RE2::FullMatch(re2::StringPiece(text.data, text.length), regex->re2);
}

extern "C" void regex_free(struct regex *regex)
{
	delete regex;
}
