/*
 * empty_probe LIBRARY OFFSET... : keeps an empty pair of probes on offsets of a file until
 * its standard input ends. Prints "attached" once they are on.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "empty_probe.skel.h"

#define EVERY_PROCESS (-1)

static int attach(const struct empty_probe_bpf *probe, const char *library, size_t offset)
{
	return bpf_program__attach_uprobe(probe->progs.empty_entry, false, EVERY_PROCESS, library,
	                                  offset) &&
	                       bpf_program__attach_uprobe(probe->progs.empty_return, true,
	                                                  EVERY_PROCESS, library, offset)
	               ? 0
	               : -1;
}

int main(int argc, char **argv)
{
	struct empty_probe_bpf *probe;

	if (argc < 3) {
		(void)fputs("usage: empty_probe LIBRARY OFFSET...\n", stderr);
		return 2;
	}
	probe = empty_probe_bpf__open_and_load();
	if (!probe) {
		perror("empty_probe: load");
		return 1;
	}
	for (int i = 2; i < argc; i++)
		if (attach(probe, argv[1], strtoul(argv[i], NULL, 0)) < 0) {
			perror("empty_probe: attach");
			return 1;
		}
	puts("attached");
	(void)fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0; /* the system detaches */
}
