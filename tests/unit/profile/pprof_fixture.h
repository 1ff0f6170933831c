/*
 * pprof messages made by hand, field by field, for tests: also broken ones.
 */
#pragma once

#include <assert.h>

#include "base/cleanup.h"
#include "base/wire.h"
#include "profile/pprof.h"

static inline void pprof_put_type(struct strbuf *out, uint32_t field, uint64_t type, uint64_t unit)
{
	const size_t begun = wire_begin(out, field);

	wire_put_uint(out, 1, type);
	wire_put_uint(out, 2, unit);
	wire_end(out, begun);
}

static inline void pprof_put_packed(struct strbuf *out, uint32_t field, const uint64_t *numbers,
                                    size_t count)
{
	const size_t begun = wire_begin(out, field);

	for (size_t i = 0; i < count; i++)
		wire_put_varint(out, numbers[i]);
	wire_end(out, begun);
}

/* A sample of one value; ids leaf first. */
static inline void pprof_put_sample(struct strbuf *out, const uint64_t *ids, size_t count,
                                    uint64_t value)
{
	const size_t begun = wire_begin(out, 2);

	pprof_put_packed(out, 1, ids, count);
	pprof_put_packed(out, 2, &value, 1);
	wire_end(out, begun);
}

static inline void pprof_put_mapping(struct strbuf *out, uint64_t id, uint64_t file)
{
	const size_t begun = wire_begin(out, 3);

	wire_put_uint(out, 1, id);
	wire_put_uint(out, 5, file);
	wire_end(out, begun);
}

/* A location with one line, unless function is 0. */
static inline void pprof_put_location(struct strbuf *out, uint64_t id, uint64_t mapping,
                                      uint64_t address, uint64_t function)
{
	const size_t begun = wire_begin(out, 4);

	wire_put_uint(out, 1, id);
	wire_put_uint(out, 2, mapping);
	wire_put_uint(out, 3, address);
	if (function != 0) {
		const size_t line = wire_begin(out, 4);

		wire_put_uint(out, 1, function);
		wire_put_uint(out, 2, 7);
		wire_end(out, line);
	}
	wire_end(out, begun);
}

static inline void pprof_put_function(struct strbuf *out, uint64_t id, uint64_t name)
{
	const size_t begun = wire_begin(out, 5);

	wire_put_uint(out, 1, id);
	wire_put_uint(out, 2, name);
	wire_end(out, begun);
}

static inline void pprof_put_strings(struct strbuf *out, const char *const *strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_put_bytes(out, 6, str_of(strings[i]));
}

static inline int pprof_hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static inline void pprof_put_hex(struct strbuf *out, const char *hex)
{
	for (; hex[0] && hex[1]; hex += 2)
		strbuf_add_byte(out,
		                (char)(pprof_hex_digit(hex[0]) * 16 + pprof_hex_digit(hex[1])));
}

/* The 181 bytes of the ingest specification, 8.5. */
static const char pprof_vector[] =
	"0a04080110020a040803100412110a0202011205038087a70e1a040808100612"
	"0a0a010112050180ade2041a0408013801220a0801100122040801100a220a08"
	"0210012204080210142a0808011005180520072a080802100618062007320032"
	"0773616d706c65733205636f756e743203637075320b6e616e6f7365636f6e64"
	"7332046d61696e3204776f726b32076d61696e2e676f3202766d488080a8b1e3"
	"9fe7cb175080c8afa0255a04080310046080ade204";
