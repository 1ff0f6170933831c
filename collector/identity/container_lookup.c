#include "collector/identity/container_lookup.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/id_map.h"
#include "base/mem.h"
#include "collector/identity/container_bundle.h"
#include "collector/identity/log_link.h"

#define LOGS_MAX   4096 /* names that are looked at in a folder of logs */
#define PATH_BYTES 192

/*
 * Where the file of a container lies: below the folder, in one that is named by its id. k3s
 * and rke2 have a containerd of their own.
 */
static const struct {
	const char *folder;
	const char *file;
	bool (*read)(struct str json, struct container_facts *out);
} places[] = {
	{ "/run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json",
	  container_bundle_read },
	{ "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json",
	  container_bundle_read },
	{ "/run/containers/storage/overlay-containers", "userdata/config.json",
	  container_bundle_read },
	{ "/run/containerd/io.containerd.runtime.v2.task/default", "config.json",
	  container_bundle_read },
	{ "/var/lib/docker/containers", "config.v2.json", container_bundle_read_docker },
};

static const char podman_containers[] =
	"/var/lib/containers/storage/overlay-containers/containers.json";

struct answer {
	struct container_facts facts;
	int64_t again_mono_ns; /* when to ask anew; INT64_MAX: never */
};

struct container_lookup {
	const struct host_files *files;
	struct id_map ids;
	struct answer *answers; /* by their numbers in `ids` */
};

struct container_lookup *container_lookup_new(const struct host_files *files)
{
	struct container_lookup *lookup = mem_zalloc(1, sizeof(*lookup));

	lookup->files = files;
	return lookup;
}

void container_lookup_free(struct container_lookup *lookup)
{
	if (!lookup)
		return;
	id_map_fini(&lookup->ids);
	free(lookup->answers);
	free(lookup);
}

/* ---- files ---- */

static bool find_bundle(const struct host_files *files, const char *id, struct container_facts *out)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, CONTAINER_BUNDLE_MAX);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		char path[PATH_BYTES];

		(void)snprintf(path, sizeof(path), "%s/%s/%s", places[i].folder, id,
		               places[i].file);
		strbuf_reset(&text);
		if (host_files_read(files, path, &text) && places[i].read(strbuf_view(&text), out))
			return true;
	}
	strbuf_reset(&text);
	return host_files_read(files, podman_containers, &text) &&
	       container_bundle_read_podman(strbuf_view(&text), id, out);
}

/* ---- logs ---- */

struct log_search {
	const char *wanted; /* id or uid */
	struct container_facts *out;
};

static bool is_log(void *context, struct str name)
{
	const struct log_search *search = context;

	return log_link_read(name, search->wanted, search->out);
}

static bool is_folder(void *context, struct str name)
{
	const struct log_search *search = context;

	return log_link_read_folder(name, search->wanted, search->out);
}

static bool find_log(const struct host_files *files, const char *id, const char *pod_uid,
                     struct container_facts *out)
{
	struct log_search by_id = { id, out };
	struct log_search by_uid = { pod_uid, out };

	return host_files_each(files, "/var/log/containers", LOGS_MAX, is_log, &by_id) ||
	       (pod_uid[0] &&
	        host_files_each(files, "/var/log/pods", LOGS_MAX, is_folder, &by_uid));
}

/* ---- answers ---- */

static struct answer *answer_of(struct container_lookup *lookup, const char *id)
{
	bool is_new;
	uint32_t number;

	if (lookup->ids.count == CONTAINER_LOOKUP_MAX)
		id_map_reset(&lookup->ids);
	if (!lookup->answers)
		lookup->answers = mem_zalloc(CONTAINER_LOOKUP_MAX, sizeof(struct answer));
	number = id_map_add(&lookup->ids, hash128_str(0, str_of(id)), &is_new);
	if (is_new)
		lookup->answers[number] = (struct answer){ .again_mono_ns = INT64_MIN };
	return &lookup->answers[number];
}

void container_lookup_find(struct container_lookup *lookup, const char *id, const char *pod_uid,
                           int64_t now_mono_ns, struct container_facts *out)
{
	struct answer *answer = answer_of(lookup, id);

	if (now_mono_ns >= answer->again_mono_ns) {
		bool is_known = find_bundle(lookup->files, id, &answer->facts) ||
		                find_log(lookup->files, id, pod_uid, &answer->facts);

		/* of a pod's log folder alone: its container is still to come */
		is_known = is_known && (label_text_is_set(&answer->facts.container) ||
		                        label_text_is_set(&answer->facts.name));
		answer->again_mono_ns = is_known ? INT64_MAX
		                                 : now_mono_ns + CONTAINER_LOOKUP_AGAIN_NS;
	}
	*out = answer->facts;
}
