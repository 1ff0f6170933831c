#include "collector/watch/process_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "collector/proc_file.h"
#include "collector/unwind/maps_text.h"

#define DRIVER_NAME STR("/libcuda.so")

void process_scan_maps(pid_t tgid, struct str maps,
                       void (*visit)(void *context, const struct library_mapping *mapping),
                       void *context)
{
	struct maps_line line;

	/* Nearly all processes have none: that is known without making sense of lines. */
	if (str_find(maps, DRIVER_NAME) < 0)
		return;
	while (maps_text_next(&maps, &line)) {
		if (line.is_executable && library_file_is_driver(line.path))
			visit(context, &(struct library_mapping){ .tgid = tgid,
			                                          .start = line.start,
			                                          .end = line.end,
			                                          .inode = line.inode,
			                                          .path = line.path });
	}
}

/* Fills `text`; false and errno when it cannot be read. */
static bool read_maps(int proc, const char *process, struct strbuf *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%.20s/maps", process);
	strbuf_reset(text);
	return proc_file_append(proc, path, text) == 0;
}

int process_scan_one(pid_t tgid,
                     void (*visit)(void *context, const struct library_mapping *mapping),
                     void *context, struct error *err)
{
	char path[64];
	struct strbuf text;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)tgid);
	strbuf_init(&text, PROCESS_SCAN_MAPS_MAX);
	if (!read_maps(AT_FDCWD, path, &text)) {
		const int number = errno;

		strbuf_fini(&text);
		error_set_errno(err, number, "reading what process %d maps", (int)tgid);
		err->code = number == EACCES || number == EPERM ? ERROR_FORBIDDEN : ERROR_NOT_FOUND;
		return -1;
	}
	process_scan_maps(tgid, strbuf_view(&text), visit, context);
	strbuf_fini(&text);
	return 0;
}

int process_scan(void (*visit)(void *context, const struct library_mapping *mapping), void *context,
                 struct process_scan_result *out, struct error *err)
{
	struct process_scan_result result = { 0 };
	struct strbuf text;
	const struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return error_set_errno(err, errno, "looking at processes");
	strbuf_init(&text, PROCESS_SCAN_MAPS_MAX);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
	while ((entry = readdir(proc))) {
		uint64_t tgid;

		if (!str_to_u64(str_of(entry->d_name), INT32_MAX, &tgid))
			continue;
		result.processes++;
		if (read_maps(dirfd(proc), entry->d_name, &text))
			process_scan_maps((pid_t)tgid, strbuf_view(&text), visit, context);
		else if (errno == EACCES || errno == EPERM)
			result.unreadable++;
	}
	strbuf_fini(&text);
	(void)closedir(proc);
	*out = result;
	return 0;
}
