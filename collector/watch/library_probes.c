#include "collector/watch/library_probes.h"

static int attach(void *context, int descriptor, void **out_link, size_t *out_functions,
                  struct error *err)
{
	struct probe_points points;
	struct probe_link *link;

	if (probe_points_find(descriptor, PROBE_SCOPE_ALL, &points, err) < 0)
		return -1;
	if (points.count == 0)
		return error_set(err, ERROR_INVALID, "the library has no function of the driver");
	if (probe_set_attach(context, &(struct probe_target){ descriptor, &points, 0 }, &link,
	                     err) < 0)
		return -1;
	*out_link = link;
	*out_functions = points.count;
	return 0;
}

static void detach(void *context, void *link)
{
	probe_set_detach(context, link);
}

static int attach_contexts(void *context, int descriptor, uint32_t tgid, void **out_link,
                           struct error *err)
{
	struct probe_points points;
	struct probe_link *link = NULL;

	if (probe_points_find(descriptor, PROBE_SCOPE_SEVERAL, &points, err) < 0)
		return -1;
	if (points.count > 0 &&
	    probe_set_attach(context, &(struct probe_target){ descriptor, &points, tgid }, &link,
	                     err) < 0)
		return -1;
	*out_link = link;
	return 0;
}

static bool watch_contexts(void *context, const struct process_key *key)
{
	return probe_set_watch_contexts(context, key);
}

static void unwatch_contexts(void *context, const struct process_key *key)
{
	probe_set_unwatch_contexts(context, key);
}

struct context_attacher library_context_probes(struct probe_set *set)
{
	return (struct context_attacher){ attach_contexts, detach, watch_contexts, unwatch_contexts,
		                          set };
}

struct library_attacher library_probes(struct probe_set *set)
{
	return (struct library_attacher){ attach, detach, set };
}
