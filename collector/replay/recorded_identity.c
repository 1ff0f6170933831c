#include "collector/replay/recorded_identity.h"

#include "base/cleanup.h"

_Static_assert(sizeof(struct label_text) == RECORDED_NAME_BYTES, "a name is written as it is");

void recorded_identity_encode(const struct process_identity *identity, struct strbuf *out)
{
	struct label_text names[] = { { "" }, { "" } };

	/* nothing of what stood behind their ends */
	(void)label_text_set(&names[0], str_of(identity->service_name.text));
	(void)label_text_set(&names[1], str_of(identity->comm.text));
	strbuf_add(out, names, sizeof(names));
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++) {
		if (!label_text_is_set(&identity->labels[i]))
			continue;
		strbuf_printf(out, "%s=%s", identity_label_on_profiles((enum identity_label)i),
		              identity->labels[i].text);
		strbuf_add_byte(out, '\0');
	}
	if (identity->is_late)
		strbuf_add(out, "?", 2);
}

static bool take_name(struct str *bytes, struct label_text *out)
{
	struct str name;

	if (!str_take(bytes, RECORDED_NAME_BYTES, &name))
		return false;
	return label_text_set(out, str_first(name, strnlen(name.data, name.length)));
}

static void take_label(struct str text, struct process_identity *out)
{
	struct str name;

	if (!str_split(&text, '=', &name) || !text.data)
		return;
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++)
		if (str_equals(name, identity_label_on_profiles((enum identity_label)i)))
			(void)label_text_set(&out->labels[i], text);
}

bool recorded_identity_decode(struct str bytes, struct process_identity *out)
{
	struct process_identity identity = { .is_late = false };
	struct str text;

	if (!take_name(&bytes, &identity.service_name) || !take_name(&bytes, &identity.comm))
		return false;
	while (str_split(&bytes, '\0', &text)) {
		if (str_equals(text, "?"))
			identity.is_late = true;
		else
			take_label(text, &identity);
	}
	*out = identity;
	return true;
}
