#include "server/push/push_message.h"

#include "base/uuid.h"
#include "base/wire.h"

static void put_label(struct strbuf *out, const struct label *label)
{
	const size_t begun = wire_begin(out, 1);

	wire_put_bytes(out, 1, label->name);
	wire_put_bytes(out, 2, label->value);
	wire_end(out, begun);
}

void push_message_add(struct strbuf *out, const struct label_set *labels, struct str pprof)
{
	const struct uuid id = uuid_random();
	const size_t series = wire_begin(out, 1);
	char id_text[UUID_TEXT_LENGTH + 1];
	size_t sample;

	uuid_format(&id, id_text);
	for (size_t i = 0; i < labels->count; i++)
		put_label(out, &labels->labels[i]);
	sample = wire_begin(out, 2);
	wire_put_bytes(out, 1, pprof);
	wire_put_bytes(out, 2, str_of(id_text));
	wire_end(out, sample);
	wire_end(out, series);
}
