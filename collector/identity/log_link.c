#include "collector/identity/log_link.h"

#include "base/cleanup.h"

/* Exactly three parts between '_', none of them empty. */
static bool split(struct str text, struct str parts[3])
{
	for (size_t i = 0; i < 3; i++)
		if (!str_split(&text, '_', &parts[i]) || parts[i].length == 0)
			return false;
	return !text.data;
}

bool log_link_read(struct str name, const char *id, struct container_facts *out)
{
	struct container_facts facts = { 0 };
	struct str parts[3];

	if (!str_ends_with(name, STR(".log")))
		return false;
	name.length -= strlen(".log");
	if (!str_ends_with(name, str_of(id)))
		return false;
	name.length -= strlen(id);
	if (!str_ends_with(name, STR("-")))
		return false;
	name.length--;
	if (!split(name, parts) || !label_text_set(&facts.pod, parts[0]) ||
	    !label_text_set(&facts.pod_namespace, parts[1]) ||
	    !label_text_set(&facts.container, parts[2]))
		return false;
	*out = facts;
	return true;
}

bool log_link_read_folder(struct str name, const char *uid, struct container_facts *out)
{
	struct container_facts facts = { 0 };
	struct str parts[3];

	if (!split(name, parts) || !str_equals(parts[2], uid) ||
	    !label_text_set(&facts.pod_namespace, parts[0]) ||
	    !label_text_set(&facts.pod, parts[1]))
		return false;
	*out = facts;
	return true;
}
