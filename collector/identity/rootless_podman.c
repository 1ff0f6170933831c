#include "collector/identity/rootless_podman.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collector/identity/container_bundle.h"
#include "collector/identity/mount_table.h"
#include "collector/identity/user_account.h"

#define PATH_BYTES 512
#define CONTAINERS "/.local/share/containers/storage/overlay-containers/containers.json"

/* A home that is an ordinary path: nothing that leads elsewhere than it says. */
static bool is_plain(struct str home)
{
	struct str rest = str_skip(home, 1);
	struct str part;

	if (!str_starts_with(home, STR("/")))
		return false;
	while (str_split(&rest, '/', &part))
		if (part.length == 0 || str_equals(part, ".") || str_equals(part, ".."))
			return false;
	return true;
}

static bool find_path(struct str accounts, uint32_t uid, char path[static PATH_BYTES])
{
	struct user_account account;

	return user_account_find(accounts, uid, &account) && is_plain(account.home) &&
	       snprintf(path, PATH_BYTES, "%.*s" CONTAINERS, STR_ARGS(account.home)) < PATH_BYTES;
}

bool rootless_podman_find(const struct host_files *files, const struct machine_lists *lists,
                          uint32_t uid, const char *id, struct container_facts *out)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	char path[PATH_BYTES];

	strbuf_init(&text, CONTAINER_BUNDLE_MAX);
	return find_path(lists->accounts, uid, path) &&
	       mount_table_is_local(lists->mounts, str_of(path)) &&
	       host_files_read_plain(files, path, &text) &&
	       container_bundle_read_podman(strbuf_view(&text), id, out);
}
