/*
 * Recordings that tests share, and what decoding one gives, as text.
 */
#pragma once

#include "decoded.h"
#include "jfr_writer.h"

#define JFR_QUERY "name=shop{env=dev}&format=jfr&spyName=javaspy&from=1700000000&until=1700000010"

/* Method 1 shop/Main.run, 2 shop/Cart.add, 3 .read; traces 1: run > add, 2: run > read. */
static inline void jfr_decoded_constants(struct jfr_writer *writer)
{
	static const char *const names[][2] = {
		{ "shop/Main", "run" },
		{ "shop/Cart", "add" },
		{ "", "read" },
	};

	jfr_writer_methods(writer, names, 3);
	jfr_writer_pool(writer, 27, 2);
	jfr_writer_trace(writer, 1, (uint64_t[]){ 2, 1 }, 2);
	jfr_writer_trace(writer, 2, (uint64_t[]){ 3, 1 }, 2);
	jfr_writer_states(writer);
}

/* A chunk of one execution sample. */
static inline void jfr_decoded_one(struct strbuf *out, bool fixed)
{
	struct jfr_writer writer;

	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	writer.fixed = fixed;
	jfr_decoded_constants(&writer);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, out);
	jfr_writer_fini(&writer);
}

/* Each pair as "type[ type]: root;leaf value[ value]|..." on a line of its own. */
static inline void jfr_decoded_pairs(const struct format_output *out, struct strbuf *text)
{
	for (size_t i = 0; i < out->count; i++) {
		const struct format_output one = { .profiles = &out->profiles[i], .count = 1 };

		for (size_t type = 0; type < one.profiles->input->profile.sample_type_count;
		     type++) {
			if (type > 0)
				strbuf_add_byte(text, ' ');
			decoded_type(&one, type, text);
		}
		strbuf_add_text(text, ": ");
		decoded_samples(&one, text);
		strbuf_add_byte(text, '\n');
	}
}

/* Decodes a recording as the raw body, and gives what jfr_decoded_pairs() says. */
static inline int jfr_decoded_run(struct arena *arena, const char *query, struct str recording,
                                  struct strbuf *text, struct error *err)
{
	struct format_output out;

	if (decoded_run(arena, query, STR("application/octet-stream"), recording, &out, err) < 0)
		return -1;
	strbuf_reset(text);
	jfr_decoded_pairs(&out, text);
	return 0;
}
