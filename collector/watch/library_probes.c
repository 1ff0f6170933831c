#include "collector/watch/library_probes.h"

static int attach(void *context, int descriptor, void **out_link, size_t *out_functions,
                  struct error *err)
{
	struct probe_points points;
	struct probe_link *link;

	if (probe_points_find(descriptor, &points, err) < 0)
		return -1;
	if (points.count == 0)
		return error_set(err, ERROR_INVALID, "the library has no function of the driver");
	if (probe_set_attach(context, descriptor, &points, &link, err) < 0)
		return -1;
	*out_link = link;
	*out_functions = points.count;
	return 0;
}

static void detach(void *context, void *link)
{
	probe_set_detach(context, link);
}

struct library_attacher library_probes(struct probe_set *set)
{
	return (struct library_attacher){ attach, detach, set };
}
