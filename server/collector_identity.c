#include "server/collector_identity.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/options.h"

static const char *node_of(const struct options *options)
{
	const char *node;

	if (options->collector_node_name[0])
		return options->collector_node_name;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	node = getenv("NODE_NAME");
	return node ? node : "";
}

const char *collector_identity_hostname(const struct options *options)
{
	const char *node = node_of(options);

	return node[0] ? node : NULL;
}

int collector_identity_open(const struct options *options, struct identifier **out,
                            struct error *err)
{
	struct kubernetes_access access;
	const bool is_in_cluster =
		options->collector_kubernetes &&
		kubernetes_access_find(options->collector_kubernetes_credentials, &access);

	if (identifier_open(
		    &(struct identifier_options){
			    .host_root = options->collector_host_root,
			    .node = node_of(options),
			    .access = is_in_cluster ? &access : NULL,
		    },
		    out, err) < 0)
		return error_context(err, "-collector.host-root=%s", options->collector_host_root);
	if (is_in_cluster)
		log_info("pods of this node are asked of %s", access.url);
	if (is_in_cluster && !node_of(options)[0])
		log_warn("neither -collector.node-name nor NODE_NAME says which node this is; pods "
		         "are known if it is called as this host is");
	return 0;
}
