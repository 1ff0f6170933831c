/* The list of a backup: what is taken for one names files of a store alone, in their order. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "storage/care/backup_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct backup_manifest manifest = { 0 };
	struct error err;

	if (backup_manifest_parse(str_make(data, size), &manifest, &err) < 0)
		return 0;
	for (size_t i = 0; i < manifest.count; i++) {
		const char *name = manifest.files[i].listed.name;

		assert(strncmp(name, "tenants/", 8) == 0 && !strstr(name, "/../"));
		assert(i == 0 || strcmp(manifest.files[i - 1].listed.name, name) < 0);
		assert(backup_manifest_find(&manifest, name) == &manifest.files[i]);
	}
	backup_manifest_fini(&manifest);
	return 0;
}
