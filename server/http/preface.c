#include "server/http/preface.h"

enum preface preface_of(struct str first_bytes)
{
	static const char text[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const struct str preface = { text, PREFACE_LENGTH };

	_Static_assert(sizeof(text) - 1 == PREFACE_LENGTH, "the preface has 24 bytes");
	if (str_starts_with(first_bytes, preface))
		return PREFACE_HTTP2;
	if (str_starts_with(preface, first_bytes))
		return PREFACE_UNDECIDED;
	return PREFACE_HTTP1;
}
