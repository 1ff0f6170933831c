#include "collector/identity/container_bundle.h"

#include <stddef.h>

#include "base/json.h"

/* A parsed text takes some times its bytes. */
#define SCRATCH_MAX ((size_t)32 << 20)

/* Which text of the facts an annotation or label gives. Earlier ones win. */
static const struct {
	const char *name;
	size_t offset;
} annotations[] = {
	/* containerd */
	{ "io.kubernetes.cri.sandbox-name", offsetof(struct container_facts, pod) },
	{ "io.kubernetes.cri.sandbox-namespace", offsetof(struct container_facts, pod_namespace) },
	{ "io.kubernetes.cri.container-name", offsetof(struct container_facts, container) },
	/* CRI-O; labels of Docker's shim */
	{ "io.kubernetes.pod.name", offsetof(struct container_facts, pod) },
	{ "io.kubernetes.pod.namespace", offsetof(struct container_facts, pod_namespace) },
	{ "io.kubernetes.container.name", offsetof(struct container_facts, container) },
	{ "nerdctl/name", offsetof(struct container_facts, name) },
};

static const char *const uid_annotations[] = { "io.kubernetes.cri.sandbox-uid",
	                                       "io.kubernetes.pod.uid" };

/* A uid goes into questions to others, so only what one is made of. */
static bool is_uid(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!(text.data[i] >= '0' && text.data[i] <= '9') &&
		    !(text.data[i] >= 'a' && text.data[i] <= 'z') && text.data[i] != '-')
			return false;
	return text.length > 0 && text.length <= POD_UID_LENGTH;
}

static void take_annotations(const struct json *map, struct container_facts *out)
{
	for (size_t i = 0; i < ARRAY_LENGTH(annotations); i++) {
		struct label_text *text =
			(struct label_text *)(void *)((char *)out + annotations[i].offset);

		if (!label_text_is_set(text))
			(void)label_text_set(text, json_text(json_get(map, annotations[i].name)));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(uid_annotations); i++) {
		const struct str uid = json_text(json_get(map, uid_annotations[i]));

		if (out->pod_uid[0] || !is_uid(uid))
			continue;
		memcpy(out->pod_uid, uid.data, uid.length);
		out->pod_uid[uid.length] = '\0';
	}
}

/* Half a pod is none: names without their namespace would join strangers. */
static bool is_known(struct container_facts *facts)
{
	if (!label_text_is_set(&facts->pod) || !label_text_is_set(&facts->pod_namespace)) {
		facts->pod = facts->pod_namespace = facts->container = (struct label_text){ "" };
		facts->pod_uid[0] = '\0';
	}
	return label_text_is_set(&facts->pod) || label_text_is_set(&facts->name);
}

static const struct json *parse(struct str text, struct arena *arena)
{
	const struct json *value;
	struct error err;

	return json_parse(text, arena, &value, &err) < 0 ? NULL : value;
}

bool container_bundle_read(struct str json, struct container_facts *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(SCRATCH_MAX, NULL);

	*out = (struct container_facts){ 0 };
	take_annotations(json_get(parse(json, arena), "annotations"), out);
	return is_known(out);
}

bool container_bundle_read_docker(struct str json, struct container_facts *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(SCRATCH_MAX, NULL);
	const struct json *value = parse(json, arena);
	struct str name = json_text(json_get(value, "Name"));

	*out = (struct container_facts){ 0 };
	if (str_starts_with(name, STR("/")))
		name = str_skip(name, 1);
	(void)label_text_set(&out->name, name);
	take_annotations(json_get(json_get(value, "Config"), "Labels"), out);
	return is_known(out);
}

bool container_bundle_read_podman(struct str json, const char *id, struct container_facts *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(SCRATCH_MAX, NULL);
	const struct json *list = parse(json, arena);

	*out = (struct container_facts){ 0 };
	for (size_t i = 0; i < json_length(list); i++) {
		const struct json *one = json_at(list, i);

		if (str_equals(json_text(json_get(one, "id")), id))
			(void)label_text_set(&out->name,
			                     json_text(json_at(json_get(one, "names"), 0)));
	}
	return label_text_is_set(&out->name);
}
