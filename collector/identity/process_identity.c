#include "collector/identity/process_identity.h"

#include <stdlib.h>

#include "base/cleanup.h"

static const struct {
	const char *on_profiles;
	const char *on_metrics;
} label_names[IDENTITY_LABEL_COUNT] = {
#define IDENTITY_LABEL(id, profile_label, metric_label) { profile_label, metric_label },
#include "collector/identity/identity_labels.def"
#undef IDENTITY_LABEL
};

const char *identity_label_on_profiles(enum identity_label label)
{
	return label_names[label].on_profiles;
}

const char *identity_label_on_metrics(enum identity_label label)
{
	return label_names[label].on_metrics;
}

void process_identity_fini(struct process_identity *identity)
{
	free(identity->sight);
	identity->sight = NULL;
	identity->is_late = false;
}

/* ---- labels ---- */

static const struct label_text nothing;

/* The first that is set. */
static const struct label_text *first_of(const struct label_text *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (label_text_is_set(texts[i]))
			return texts[i];
	return &nothing;
}

static void set_pod(const struct identity_clues *clues, struct label_text *labels)
{
	const struct container_facts *container = clues->pod_container;
	const struct pod_facts *pod = clues->pod;

	/* a name without its namespace would join strangers: both are of one source */
	if (label_text_is_set(&container->pod)) {
		labels[IDENTITY_NAMESPACE] = container->pod_namespace;
		labels[IDENTITY_POD] = container->pod;
	} else if (pod) {
		labels[IDENTITY_NAMESPACE] = pod->pod_namespace;
		labels[IDENTITY_POD] = pod->name;
	} else {
		labels[IDENTITY_NAMESPACE] = clues->sight->pod_namespace;
		labels[IDENTITY_POD] = clues->sight->pod;
	}
	labels[IDENTITY_CONTAINER] = container->container;
	if (!pod)
		return;
	if (!label_text_is_set(&container->container))
		labels[IDENTITY_CONTAINER] = pod->container;
	labels[IDENTITY_OWNER_KIND] = pod->owner_kind;
	labels[IDENTITY_OWNER_NAME] = pod->owner_name;
}

static void set_container(const struct identity_clues *clues, struct label_text *labels)
{
	const struct cgroup_path *cgroup = &clues->sight->cgroup;
	const bool is_of_pod = clues->container == clues->pod_container;
	const struct label_text *const names[] = {
		&clues->container->name,
		is_of_pod ? &labels[IDENTITY_CONTAINER] : &nothing,
		&cgroup->container_name,
		&labels[IDENTITY_CONTAINER_ID],
	};

	(void)label_text_set(&labels[IDENTITY_CONTAINER_ID],
	                     str_first(str_of(cgroup->container_id), IDENTITY_ID_SHOWN));
	labels[IDENTITY_RUNTIME_CONTAINER] = *first_of(names, ARRAY_LENGTH(names));
}

/* ---- the nine rules ---- */

static const struct label_text *service_name(const struct identity_clues *clues,
                                             const struct label_text *labels)
{
	const struct process_sight *sight = clues->sight;
	const struct pod_facts *pod = clues->pod;
	/* a node owns its static pods, and its name says nothing of what runs there */
	const bool has_owner = pod && strcmp(pod->owner_kind.text, "Node") != 0;
	const struct label_text *const names[] = {
		&sight->own_name, /* 1 and 2 */
		pod ? &pod->app : &nothing,
		has_owner ? &pod->owner_name : &nothing,
		&labels[IDENTITY_CONTAINER],
		&clues->container->name, /* 5 too, where there is no pod */
		&sight->cgroup.container_name,
		sight->cgroup.is_login ? &nothing : &sight->cgroup.unit,
		&sight->program, /* 7 and 8 */
		&sight->comm,
	};

	return first_of(names, ARRAY_LENGTH(names));
}

void process_identity_make(const struct identity_clues *clues, struct process_identity *out)
{
	struct label_text *labels = out->labels;

	for (size_t i = 0; i < IDENTITY_LABEL_COUNT; i++)
		labels[i] = nothing;
	set_pod(clues, labels);
	set_container(clues, labels);
	(void)label_text_set(&labels[IDENTITY_NODE], str_of(clues->node));
	(void)label_text_set(&labels[IDENTITY_SLURM_JOB], str_of(clues->sight->cgroup.slurm_job));
	if (!clues->sight->cgroup.is_login) /* another one with each login */
		labels[IDENTITY_UNIT] = clues->sight->cgroup.unit;
	(void)label_text_set(&labels[IDENTITY_USER], clues->user);
	out->comm = clues->sight->comm;
	out->devices = clues->sight->devices;
	out->service_name = *service_name(clues, labels);
}

/* ---- /proc alone ---- */

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	static const struct container_facts no_container;
	struct process_sight sight;

	process_sight_read(context, tgid, comm, &sight);
	*out = (struct process_identity){ .is_late = false };
	process_identity_make(
		&(struct identity_clues){
			.sight = &sight,
			.container = &no_container,
			.pod_container = &no_container,
			.node = "",
		},
		out);
}

struct process_namer process_namer_of_proc(const char *proc)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): identify() only reads it */
	return (struct process_namer){ .identify = identify, .context = (void *)(uintptr_t)proc };
}
