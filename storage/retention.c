#include "storage/retention.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "storage/day_files.h"

int disk_usage_measure(const char *path, struct disk_usage *out, struct error *err)
{
	struct day_files_list list;

	if (day_files_list(path, &list, err) < 0)
		return -1;
	*out = (struct disk_usage){ list.bytes + list.passing_bytes, list.wal_bytes };
	day_files_list_fini(&list);
	return 0;
}

int retention_default_bytes(const char *path, uint64_t *out, struct error *err)
{
	struct disk_usage usage;
	struct statvfs status;

	if (disk_usage_measure(path, &usage, err) < 0)
		return -1;
	if (statvfs(path, &status) < 0)
		return error_set_errno(err, errno, "%s", path);
	*out = ((uint64_t)status.f_bavail * status.f_frsize + usage.bytes) / 5 * 4;
	if (*out == 0)
		*out = 1;
	return 0;
}

struct deletion {
	const struct retention *retention;
	struct window_set *set;
	retention_closer close;
	void *context;
};

/* Takes the day's windows out of the list, then unlinks all of its files. */
static int delete_day(const struct deletion *deletion, const struct day_files *day,
                      struct error *err)
{
	struct window_place place = { day->day, 0 };
	struct window *window;

	while ((window = window_set_next(deletion->set, day->folder, place, day->day))) {
		place.number = window->number + 1;
		deletion->close(deletion->context, window);
		window_set_remove(deletion->set, window);
		window_set_release(deletion->set, window);
	}
	return day_files_unlink(deletion->retention->path, day->folder, day->day, err);
}

static bool is_too_old(const struct retention *retention, int32_t day, int64_t now_unix_ns)
{
	/* in days, since times far away do not fit nanoseconds */
	if (retention->age_ns == 0)
		return false;
	return day < day_of(now_unix_ns) &&
	       now_unix_ns - retention->age_ns >= (int64_t)(day + 1) * NS_PER_DAY;
}

/* Whether bytes may take this day: not today, and not the only one. */
static bool may_go(const struct day_files_list *list, size_t index, int32_t today)
{
	const int32_t day = list->days[index].day;

	return day != today && day != list->days[list->count - 1].day;
}

int retention_run(const struct retention *retention, struct window_set *set, int64_t now_unix_ns,
                  retention_closer close, void *context, struct retention_result *out,
                  struct error *err)
{
	const struct deletion deletion = { retention, set, close, context };
	const int32_t today = day_of(now_unix_ns);
	struct day_files_list list;
	int result = 0;

	if (day_files_list(retention->path, &list, err) < 0)
		return -1;
	*out = (struct retention_result){ 0, list.bytes };
	for (size_t i = 0; i < list.count && result == 0; i++) {
		const struct day_files *day = &list.days[i];

		if (!is_too_old(retention, day->day, now_unix_ns) &&
		    (out->bytes <= retention->max_bytes || !may_go(&list, i, today)))
			continue;
		result = delete_day(&deletion, day, err);
		out->days_deleted++;
		out->bytes -= day->bytes;
	}
	day_files_list_fini(&list);
	return result;
}
