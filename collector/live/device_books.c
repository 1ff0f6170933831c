#include "collector/live/device_books.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/live/gpu_choice.h"
#include "collector/live/gpu_device.h"

struct device_books {
	int64_t stale_ns;
	bool is_new; /* the picture */
	struct device_picture picture;

	/* all that there are: of /proc, until a picture has come */
	struct device_reading known[PICTURE_DEVICES_MAX];
	size_t known_count;
};

struct device_books *device_books_new(const struct device_books_options *options)
{
	struct device_books *books = mem_zalloc(1, sizeof(*books));

	books->stale_ns = options->stale_ns;
	if (options->proc)
		books->known_count = gpu_device_list(options->proc, books->known);
	return books;
}

void device_books_free(struct device_books *books)
{
	free(books);
}

static int compare_holders(const void *left, const void *right)
{
	const struct device_holder *a = left;
	const struct device_holder *b = right;
	const int order = (a->tgid > b->tgid) - (a->tgid < b->tgid);

	return order ? order : (a->device > b->device) - (a->device < b->device);
}

void device_books_take(struct device_books *books, const struct device_picture *picture)
{
	books->picture = *picture;
	qsort(books->picture.holders, books->picture.holder_count, sizeof(struct device_holder),
	      compare_holders);
	books->is_new = true;
	if (picture->device_count == 0)
		return;
	memcpy(books->known, picture->devices, picture->device_count * sizeof(*books->known));
	books->known_count = picture->device_count;
}

bool device_books_has_new(struct device_books *books)
{
	const bool is_new = books->is_new && device_books_picture(books);

	books->is_new = false;
	return is_new;
}

int64_t device_books_age_ns(const struct device_books *books)
{
	return books->picture.mono_ns == 0 ? -1 : clock_mono_ns() - books->picture.mono_ns;
}

const struct device_picture *device_books_picture(const struct device_books *books)
{
	const int64_t age_ns = device_books_age_ns(books);

	return age_ns >= 0 && age_ns <= books->stale_ns ? &books->picture : NULL;
}

/* ---- who holds what ---- */

static struct held_devices held_by(const struct device_picture *picture, uint32_t tgid)
{
	size_t first = 0;
	size_t end = picture->holder_count;
	struct held_devices held = { 0 };

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (picture->holders[middle].tgid < tgid)
			first = middle + 1;
		else
			end = middle;
	}
	held.holders = &picture->holders[first];
	while (first + held.count < picture->holder_count && held.holders[held.count].tgid == tgid)
		held.count++;
	return held;
}

bool device_books_held(const struct device_books *books, const struct gpu_process *process,
                       struct held_devices *out)
{
	const struct device_picture *picture = device_books_picture(books);
	struct held_devices held;

	if (!picture || process->end_mono_ns != 0 || process->suspension != SUSPENSION_NONE ||
	    !device_picture_knows_holders(picture))
		return false;
	held = held_by(picture, process->tgid);
	for (size_t i = 0; i < held.count; i++)
		if (!held.holders[i].has_bytes)
			return false;
	*out = held;
	return held.count > 0;
}

bool device_books_is_free_of(const struct device_books *books, const struct gpu_process *process)
{
	const struct device_picture *picture = device_books_picture(books);

	return picture && process->end_mono_ns == 0 && process->suspension == SUSPENSION_NONE &&
	       device_picture_knows_holders(picture) && held_by(picture, process->tgid).count == 0;
}

/* ---- which device ---- */

static void set_gpu(struct gpu_process *process, const char *uuid)
{
	(void)snprintf(process->gpu, sizeof(process->gpu), "%s", uuid);
}

/* Which one the process counts as `number`, by what it was told or shows; NULL: not certain. */
static const struct device_reading *find_device(const struct device_books *books,
                                                const struct gpu_process *process, size_t number)
{
	const uint8_t *uuid = told_devices_uuid(&process->account.told, number);

	if (uuid)
		return gpu_choice_uuid(books->known, books->known_count, uuid);
	return gpu_choice_number(books->known, books->known_count, &process->identity, number);
}

/* Devices that it counts itself, as far as it holds or held memory of them. */
static void name_devices(const struct device_books *books, struct gpu_process *process)
{
	const struct gpu_account *account = &process->account;

	if (account->device_count > 0 && !process->gpus)
		process->gpus = mem_zalloc(DEVICES_MAX, sizeof(*process->gpus));
	for (size_t i = 0; i < account->device_count; i++) {
		const struct device_reading *device;

		/* of one that has ended it stays */
		if (process->end_mono_ns != 0 && process->gpus[i][0])
			continue;
		device = find_device(books, process, i);
		(void)snprintf(process->gpus[i], DEVICE_TEXT, "%s", device ? device->uuid : "");
	}
}

/* The one that it is on by what it showed and was told of itself; NULL: not certain. */
static const struct device_reading *only_device(const struct device_books *books,
                                                const struct gpu_process *process)
{
	const struct device_reading *device =
		gpu_choice_find(books->known, books->known_count, &process->identity);

	if (!device && process->account.told.count == 1 &&
	    told_devices_uuid(&process->account.told, 0))
		device = find_device(books, process, 0);
	return device;
}

static void settle_process(const struct device_books *books, const struct device_picture *picture,
                           struct gpu_process *process)
{
	const struct device_reading *device;
	struct held_devices held = { 0 };

	name_devices(books, process);
	/* of one that has ended the id may be another's by now */
	if (picture && process->end_mono_ns == 0)
		held = held_by(picture, process->tgid);
	if (held.count > 0) {
		set_gpu(process, held.count == 1 ? picture->devices[held.holders[0].device].uuid
		                                 : DEVICE_UNKNOWN);
		return;
	}
	if (strcmp(process->gpu, DEVICE_UNKNOWN) != 0)
		return;
	device = only_device(books, process);
	if (device)
		set_gpu(process, device->uuid);
}

void device_books_settle(const struct device_books *books, struct gpu_process_table *processes)
{
	const struct device_picture *picture = device_books_picture(books);
	const bool knows = picture && device_picture_knows_holders(picture);

	for (size_t i = 0; i < gpu_process_table_count(processes); i++)
		settle_process(books, knows ? picture : NULL, gpu_process_table_at(processes, i));
}

const struct device_reading *device_books_of(const struct device_books *books, const char *gpu)
{
	const struct device_picture *picture = device_books_picture(books);

	for (size_t i = 0; picture && i < picture->device_count; i++)
		if (picture->devices[i].has_memory && strcmp(picture->devices[i].uuid, gpu) == 0)
			return &picture->devices[i];
	return NULL;
}
