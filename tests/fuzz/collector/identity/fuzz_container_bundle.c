/*
 * Annotations, names and pods are written by whoever may start a container.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/identity/container_bundle.h"
#include "collector/identity/log_link.h"

static void check_text(const struct label_text *label)
{
	if (!memchr(label->text, '\0', sizeof(label->text)) || !utf8_is_valid(str_of(label->text)))
		abort();
}

static void check(const struct container_facts *facts)
{
	check_text(&facts->name);
	check_text(&facts->container);
	check_text(&facts->pod);
	check_text(&facts->pod_namespace);
	if (!memchr(facts->pod_uid, '\0', sizeof(facts->pod_uid)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str bytes = str_make(data, size);
	struct container_facts facts = { .pod_uid = "" };

	(void)container_bundle_read(bytes, &facts);
	check(&facts);
	(void)container_bundle_read_docker(bytes, &facts);
	check(&facts);
	(void)container_bundle_read_podman(bytes, "a1", &facts);
	check(&facts);
	(void)log_link_read(bytes, "a1", &facts);
	check(&facts);
	(void)log_link_read_folder(bytes, "a1", &facts);
	check(&facts);
	return 0;
}
