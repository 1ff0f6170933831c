#include "collector/identity/identifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/identity/container_lookup.h"
#include "collector/identity/kept_file.h"
#include "collector/identity/mount_table.h"
#include "collector/identity/rootless_podman.h"
#include "collector/identity/user_account.h"

#define NODE_BYTES 256
#define ROOT_BYTES 256

struct identifier {
	const char *proc;
	char node[NODE_BYTES]; /* as we were told; "": nothing */
	char host[NODE_BYTES]; /* the same, else as the machine calls itself */
	struct host_files files;
	struct kept_file accounts; /* of the machine's users */
	struct container_lookup *containers;
	struct pod_table *pods; /* NULL: no API server is asked */
	struct pod_watch *watch;
};

/* ---- what is known of one process ---- */

struct knowledge {
	struct container_facts container;
	struct container_facts outer; /* of the pod's own, where containers are nested */
	const struct container_facts *pod_container;
	struct pod_facts pod;
	bool has_pod;
	bool is_in_pod;
	char user[LABEL_TEXT_BYTES + 1];
};

static void look_up(const struct identifier *identifier, const struct cgroup_path *cgroup,
                    struct knowledge *out)
{
	const int64_t now_ns = clock_mono_ns();

	*out = (struct knowledge){ .pod_container = &out->container };
	if (cgroup->container_id[0])
		container_lookup_find(identifier->containers, cgroup->container_id, cgroup->pod_uid,
		                      now_ns, &out->container);
	if (cgroup->pod_container_id[0] &&
	    strcmp(cgroup->pod_container_id, cgroup->container_id) != 0) {
		out->pod_container = &out->outer;
		container_lookup_find(identifier->containers, cgroup->pod_container_id,
		                      cgroup->pod_uid, now_ns, &out->outer);
	}
	out->is_in_pod = cgroup->pod_uid[0] || label_text_is_set(&out->pod_container->pod);
}

/* ---- users ---- */

static bool read_mounts(const struct identifier *identifier, struct strbuf *out)
{
	CLEANUP(host_files_close) struct host_files proc = { -1 };
	struct error err;

	return host_files_open(identifier->proc, &proc, &err) == 0 &&
	       host_files_read(&proc, "/1/mounts", out);
}

static struct str accounts_of(struct identifier *identifier)
{
	return kept_file_text(&identifier->accounts, &identifier->files, "/etc/passwd");
}

/* What a user calls a container of their own. */
static void name_rootless(struct identifier *identifier, const struct cgroup_path *cgroup,
                          struct container_facts *out)
{
	CLEANUP(strbuf_fini) struct strbuf mounts;

	strbuf_init(&mounts, MOUNT_TABLE_MAX);
	if (cgroup->runtime != RUNTIME_PODMAN || !cgroup->has_owner ||
	    label_text_is_set(&out->name))
		return;
	if (read_mounts(identifier, &mounts))
		(void)rootless_podman_find(&identifier->files,
		                           &(struct machine_lists){ strbuf_view(&mounts),
		                                                    accounts_of(identifier) },
		                           cgroup->owner, cgroup->container_id, out);
}

/* The uid of a pod's process is the image's business, and nobody of the machine. */
static void name_user(struct identifier *identifier, const struct process_sight *sight,
                      struct knowledge *out)
{
	struct user_account account;

	if (!sight->has_uid || out->is_in_pod)
		return;
	if (user_account_find(accounts_of(identifier), sight->uid, &account))
		(void)snprintf(out->user, sizeof(out->user), "%.*s", STR_ARGS(account.name));
	else
		(void)snprintf(out->user, sizeof(out->user), "%u", sight->uid);
}

static void ask_for_pod(const struct identifier *identifier, const struct process_sight *sight,
                        struct knowledge *knowledge)
{
	const struct container_facts *container = knowledge->pod_container;
	const struct cgroup_path *cgroup = &sight->cgroup;

	if (!identifier->pods || !knowledge->is_in_pod)
		return;
	knowledge->has_pod = pod_table_find(
		identifier->pods,
		&(struct pod_question){
			.uid = cgroup->pod_uid[0] ? cgroup->pod_uid : container->pod_uid,
			.pod_namespace = str_of(container->pod_namespace.text),
			.name = str_of(container->pod.text),
			.container_id = cgroup->pod_container_id[0] ? cgroup->pod_container_id
	                                                            : cgroup->container_id,
		},
		&knowledge->pod);
}

/* More may come: the server does not know the pod yet, or its container. */
static bool is_waited_for(const struct identifier *identifier, const struct knowledge *knowledge)
{
	if (!identifier->pods || !knowledge->is_in_pod)
		return false;
	return !knowledge->has_pod || (!label_text_is_set(&knowledge->pod_container->container) &&
	                               !label_text_is_set(&knowledge->pod.container));
}

static void make(const struct identifier *identifier, const struct process_sight *sight,
                 const struct knowledge *knowledge, struct process_identity *out)
{
	process_identity_make(
		&(struct identity_clues){
			.sight = sight,
			.container = &knowledge->container,
			.pod_container = knowledge->pod_container,
			.pod = knowledge->has_pod ? &knowledge->pod : NULL,
			.node = knowledge->is_in_pod ? identifier->host : identifier->node,
			.user = str_of(knowledge->user),
		},
		out);
	out->is_late = is_waited_for(identifier, knowledge);
}

/* ---- the namer ---- */

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	struct identifier *identifier = context;
	struct process_sight sight;
	struct knowledge knowledge;

	process_sight_read(identifier->proc, tgid, comm, &sight);
	look_up(identifier, &sight.cgroup, &knowledge);
	name_rootless(identifier, &sight.cgroup, &knowledge.container);
	name_user(identifier, &sight, &knowledge);
	ask_for_pod(identifier, &sight, &knowledge);
	if (knowledge.is_in_pod && !knowledge.has_pod &&
	    !label_text_is_set(&knowledge.pod_container->pod))
		process_sight_pod(identifier->proc, tgid, &sight);
	*out = (struct process_identity){ .sight = NULL };
	make(identifier, &sight, &knowledge, out);
	if (out->is_late) {
		out->sight = mem_zalloc(1, sizeof(sight));
		*out->sight = sight;
	}
}

static bool settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	const struct identifier *identifier = context;
	struct knowledge knowledge;

	(void)tgid;
	if (identity->sight) {
		look_up(identifier, &identity->sight->cgroup, &knowledge);
		ask_for_pod(identifier, identity->sight, &knowledge);
		make(identifier, identity->sight, &knowledge, identity);
	}
	if (!identity->is_late)
		process_identity_fini(identity);
	return !identity->is_late;
}

struct process_namer identifier_namer(struct identifier *identifier)
{
	return (struct process_namer){ identify, settle, identifier };
}

struct identifier_counts identifier_counts(struct identifier *identifier)
{
	if (!identifier->watch)
		return (struct identifier_counts){ .has_watch = false };
	return (struct identifier_counts){
		.has_watch = true,
		.watch = pod_watch_counts(identifier->watch),
		.table = pod_table_counts(identifier->pods),
	};
}

/* ---- life ---- */

/* Process 1 has the machine's root, also where we are in a container and it is not. */
static int open_root(struct identifier *identifier, const char *root, struct error *err)
{
	char first[ROOT_BYTES];

	if (root[0])
		return host_files_open(root, &identifier->files, err);
	(void)snprintf(first, sizeof(first), "%s/1/root", identifier->proc);
	if (host_files_open(first, &identifier->files, err) == 0)
		return 0;
	return host_files_open("/", &identifier->files, err);
}

static void read_names(struct identifier *identifier, const char *node)
{
	(void)snprintf(identifier->node, sizeof(identifier->node), "%s", node);
	(void)snprintf(identifier->host, sizeof(identifier->host), "%s", node);
	if (!node[0] && gethostname(identifier->host, sizeof(identifier->host) - 1) < 0)
		identifier->host[0] = '\0';
}

static int open_watch(struct identifier *identifier, const struct kubernetes_access *access,
                      struct error *err)
{
	if (!access)
		return 0;
	identifier->pods = pod_table_new();
	return pod_watch_open(&(struct pod_watch_options){ .access = *access,
	                                                   .node = identifier->host },
	                      identifier->pods, &identifier->watch, err);
}

int identifier_open(const struct identifier_options *options, struct identifier **out,
                    struct error *err)
{
	struct identifier *identifier = mem_zalloc(1, sizeof(*identifier));

	identifier->proc = options->proc ? options->proc : "/proc";
	identifier->files.root = -1;
	kept_file_init(&identifier->accounts, USER_ACCOUNTS_MAX);
	read_names(identifier, options->node);
	identifier->containers = container_lookup_new(&identifier->files);
	if (open_root(identifier, options->host_root, err) < 0 ||
	    open_watch(identifier, options->access, err) < 0) {
		identifier_close(identifier);
		return -1;
	}
	*out = identifier;
	return 0;
}

void identifier_close(struct identifier *identifier)
{
	if (!identifier)
		return;
	pod_watch_close(identifier->watch);
	pod_table_free(identifier->pods);
	container_lookup_free(identifier->containers);
	kept_file_fini(&identifier->accounts);
	host_files_close(&identifier->files);
	free(identifier);
}
