#include "collector/identity/pod_record.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* ---- texts ---- */

/* A uid is kept when it fits; what it is made of does not matter: it is only compared. */
static void set_uid(char out[POD_UID_LENGTH + 1], struct str uid)
{
	if (uid.length > POD_UID_LENGTH)
		return;
	if (uid.length > 0)
		memcpy(out, uid.data, uid.length);
	out[uid.length] = '\0';
}

static struct str text_of(const struct json *map, const char *name)
{
	return json_text(json_get(map, name));
}

/* ---- owners ---- */

static const struct json *controller_of(const struct json *metadata)
{
	const struct json *owners = json_get(metadata, "ownerReferences");

	for (size_t i = 0; i < json_length(owners); i++)
		if (json_bool(json_get(json_at(owners, i), "controller")))
			return json_at(owners, i);
	return json_at(owners, 0);
}

/* The ReplicaSet of a Deployment is named after it and the hash of its template. */
static bool take_hash(struct str *name, struct str hash)
{
	struct str rest = *name;

	if (hash.length == 0 || !str_ends_with(rest, hash))
		return false;
	rest.length -= hash.length;
	if (rest.length < 2 || rest.data[rest.length - 1] != '-')
		return false;
	rest.length--;
	*name = rest;
	return true;
}

static void set_owner(const struct json *metadata, struct pod_record *out)
{
	const struct json *owner = controller_of(metadata);
	struct str kind = text_of(owner, "kind");
	struct str name = text_of(owner, "name");

	if (str_equals(kind, "ReplicaSet") &&
	    take_hash(&name, text_of(json_get(metadata, "labels"), "pod-template-hash")))
		kind = STR("Deployment");
	if (label_text_set(&out->owner_kind, kind))
		(void)label_text_set(&out->owner_name, name);
}

/* ---- containers ---- */

/* "containerd://<id>" */
static bool set_id(char out[CONTAINER_ID_LENGTH + 1], struct str id)
{
	const ptrdiff_t place = str_find(id, STR("://"));

	if (place < 0)
		return false;
	id = str_skip(id, (size_t)place + strlen("://"));
	if (id.length == 0 || id.length > CONTAINER_ID_LENGTH)
		return false;
	memcpy(out, id.data, id.length);
	out[id.length] = '\0';
	return true;
}

static void add_containers(const struct json *statuses, struct pod_record *out)
{
	for (size_t i = 0; i < json_length(statuses); i++) {
		const struct json *status = json_at(statuses, i);
		struct pod_container container = { 0 };

		if (out->container_count == POD_CONTAINERS_MAX ||
		    !set_id(container.id, text_of(status, "containerID")) ||
		    !label_text_set(&container.name, text_of(status, "name")))
			continue;
		out->containers =
			mem_resize(out->containers, out->container_count + 1, sizeof(container));
		out->containers[out->container_count++] = container;
	}
}

/* ---- all ---- */

int pod_record_decode(const struct json *pod, struct pod_record *out, struct error *err)
{
	static const char *const statuses[] = { "containerStatuses", "initContainerStatuses",
		                                "ephemeralContainerStatuses" };
	const struct json *metadata = json_get(pod, "metadata");
	const struct json *labels = json_get(metadata, "labels");
	struct pod_record record = { .container_count = 0 };

	set_uid(record.uid, text_of(metadata, "uid"));
	if (!record.uid[0] || !label_text_set(&record.name, text_of(metadata, "name")) ||
	    !label_text_set(&record.pod_namespace, text_of(metadata, "namespace")))
		return error_set(err, ERROR_INVALID, "a pod without name, namespace or uid");
	/* the kubelet made it from a file: groups on the node have the file's hash */
	set_uid(record.static_uid,
	        text_of(json_get(metadata, "annotations"), "kubernetes.io/config.mirror"));
	if (!label_text_set(&record.app, text_of(labels, "app.kubernetes.io/name")))
		(void)label_text_set(&record.app, text_of(labels, "app"));
	set_owner(metadata, &record);
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++)
		add_containers(json_get(json_get(pod, "status"), statuses[i]), &record);
	*out = record;
	return 0;
}

void pod_record_fini(struct pod_record *record)
{
	free(record->containers);
	record->containers = NULL;
	record->container_count = 0;
}

const struct pod_container *pod_record_container(const struct pod_record *record, const char *id)
{
	for (size_t i = 0; i < record->container_count; i++)
		if (strcmp(record->containers[i].id, id) == 0)
			return &record->containers[i];
	return NULL;
}
