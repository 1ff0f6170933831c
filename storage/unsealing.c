#include "storage/unsealing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/file_place.h"
#include "storage/open_windows.h"

struct unsealing {
	struct window_set *set;
	struct window *window;
	const char *fresh;
	struct window *unsealed;
};

static int copy(const char *from, const char *to, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	CLEANUP(database_copy_endp) struct database_copy *copying = NULL;
	uint64_t bytes;
	int more;

	(void)unlink(to); /* of somebody who was killed */
	if (window_file_open_to_read(from, &database, err) < 0 ||
	    database_copy_begin(database, to, &copying, err) < 0)
		return -1;
	do {
		more = database_copy_step(copying, &bytes, err);
	} while (more > 0);
	return more;
}

/* On the writer's thread. */
static int take_place(struct writer *writer, void *context, struct error *err)
{
	struct unsealing *unsealing = context;

	if (open_windows_replace(writer_windows(writer), unsealing->window, unsealing->fresh,
	                         &unsealing->unsealed, err) < 0)
		return -1;
	/* nobody else runs here: it cannot be about to go */
	(void)window_set_reserve(unsealing->set, unsealing->unsealed);
	return 0;
}

static void undo(const struct unsealing *unsealing)
{
	window_set_unreserve(unsealing->set, unsealing->unsealed);
	window_set_release(unsealing->set, unsealing->unsealed);
}

int unsealing_run(struct window_set *set, struct writer *writer, struct window *window,
                  struct window **out, struct error *err)
{
	const size_t size = strlen(window->path) + sizeof(WINDOW_UNSEALING_TAIL);
	CLEANUP(mem_freep) char *fresh = mem_zalloc(size, 1);
	struct unsealing unsealing = { .set = set, .window = window, .fresh = fresh };

	(void)snprintf(fresh, size, "%s%s", window->path, WINDOW_UNSEALING_TAIL);
	if (copy(window->path, fresh, err) < 0 || window_file_unseal(fresh, err) < 0 ||
	    file_place_prepare(fresh, window->path, err) < 0 ||
	    writer_run(writer, take_place, &unsealing, err) < 0) {
		(void)unlink(fresh);
		return -1;
	}
	/* what is deleted from now on must not come back with the old file */
	if (file_place_sync(window->path, err) < 0) {
		undo(&unsealing);
		return -1;
	}
	*out = unsealing.unsealed;
	return 0;
}
