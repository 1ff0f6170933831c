/*
 * What the readers of OTLP messages share: nested messages, repeated numbers, the error.
 *
 * Shape    over base/wire.h. Numbers may come packed or one by one, whatever the sender's
 *          language; both are a run of varints here.
 * Errors   ERROR_INVALID that names the message.
 * Threads  none.
 */
#pragma once

#include "base/error.h"
#include "base/wire.h"
#include "profile/pprof_wire.h"

/* Fills *err. Returns -1. */
static inline int otlp_malformed(struct error *err, const char *message)
{
	return error_set(err, ERROR_INVALID, "Failed to parse protobuf request: malformed %s",
	                 message);
}

/* Calls visit for each message that is field `number` of `bytes`, until it is not 0. */
static inline int otlp_each(struct str bytes, uint32_t number, const char *name,
                            int (*visit)(void *context, struct str inner, struct error *err),
                            void *context, struct error *err)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number != number)
			continue;
		if (field.type != WIRE_BYTES)
			return otlp_malformed(err, name);
		if (visit(context, field.bytes, err) < 0)
			return -1;
	}
	return more < 0 ? otlp_malformed(err, name) : 0;
}

/* A run of varints. */
struct otlp_numbers {
	const uint8_t *at;
	const uint8_t *end;
};

/* The numbers of one occurrence of a repeated field; `room` holds a single one. */
static inline struct otlp_numbers otlp_numbers(const struct wire_field *field,
                                               uint8_t room[static VARINT_MAX])
{
	const uint8_t *at = room;

	if (field->type != WIRE_BYTES)
		return (struct otlp_numbers){ at, at + varint_write(room, field->value) };
	at = (const uint8_t *)field->bytes.data;
	return (struct otlp_numbers){ at, at ? at + field->bytes.length : at };
}

/* How many there are: the bytes that end one. A number that is cut is not counted. */
static inline size_t otlp_numbers_count(struct otlp_numbers numbers)
{
	size_t count = 0;

	for (const uint8_t *at = numbers.at; at < numbers.end; at++)
		count += *at < 0x80;
	return count;
}

/* Bytes of a fixed64 for each number, packed, or one by one. */
static inline size_t otlp_fixed_count(const struct wire_field *field)
{
	return field->type == WIRE_BYTES ? field->bytes.length / sizeof(uint64_t) : 1;
}

/*
 * A message inside `whole` as one number: where its length stands. field_start is where
 * the reader was before it read the field.
 */
static inline uint32_t otlp_place_of(struct str whole, const uint8_t *field_start)
{
	while (*field_start >= 0x80)
		field_start++; /* the key */
	return (uint32_t)(field_start + 1 - (const uint8_t *)whole.data);
}

/* The message at such a place. */
static inline struct str otlp_message_at(struct str whole, uint32_t place)
{
	const uint8_t *start = (const uint8_t *)whole.data;
	const uint8_t *at = start + place;
	uint64_t length = 0;

	(void)varint_read(&at, start + whole.length, &length);
	return str_make(at, (size_t)length);
}

/*
 * The bytes of a message for profile/pprof_wire.h, which reads fields by whole keys: for
 * messages that there are many of.
 */
static inline struct span otlp_span(struct str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data;

	return (struct span){ at, at ? at + bytes.length : at };
}

/*
 * Reads a message of numbers, fields 1 to `last`, into numbers[field]. False at malformed
 * bytes.
 */
static inline bool otlp_read_numbers(struct str bytes, unsigned last, uint64_t *numbers)
{
	struct span in = otlp_span(bytes);

	while (in.at < in.end) {
		uint64_t key;

		if (!read_number(&in, &key))
			return false;
		if ((key & 7) == WIRE_VARINT && key >> 3 >= 1 && key >> 3 <= last) {
			if (!read_number(&in, &numbers[key >> 3]))
				return false;
		} else if (!skip_field(&in, key, last)) {
			return false;
		}
	}
	return true;
}
