#include "collector/live/gpu_choice.h"

#include <string.h>

#include "base/str.h"
#include "base/uuid.h"

struct choice {
	const struct device_reading *devices;
	size_t count;
	const struct process_identity *identity;
};

/* What one source says: a device, that there is none of ours, or nothing. */
enum answer {
	ANSWER_NOTHING,
	ANSWER_DEVICE,
	ANSWER_NONE,
};

/* ---- numbers ---- */

/* Whether what the process counts are all of this machine's devices. */
static bool sees_all(const struct choice *choice)
{
	const struct label_text *labels = choice->identity->labels;

	return !label_text_is_set(&labels[IDENTITY_CONTAINER_ID]) &&
	       !label_text_is_set(&labels[IDENTITY_POD]) &&
	       !label_text_is_set(&labels[IDENTITY_SLURM_JOB]);
}

static bool are_alike(const struct choice *choice)
{
	for (size_t i = 0; i < choice->count; i++)
		if (!choice->devices[i].model[0] ||
		    strcmp(choice->devices[i].model, choice->devices[0].model) != 0)
			return false;
	return true;
}

static bool has_parts(const struct choice *choice)
{
	for (size_t i = 0; i < choice->count; i++)
		if (choice->devices[i].is_part)
			return true;
	return false;
}

static enum answer choose_number(const struct choice *choice, uint64_t number,
                                 const struct device_reading **out)
{
	if (!sees_all(choice) || has_parts(choice) || number >= choice->count ||
	    (!choice->identity->devices.has_bus_order && !are_alike(choice)))
		return ANSWER_NONE;
	*out = &choice->devices[number];
	return ANSWER_DEVICE;
}

/* ---- what it says ---- */

/* A UUID may be cut short, as long as one device begins with it. */
static enum answer choose_uuid(const struct choice *choice, const char *text,
                               const struct device_reading **out)
{
	size_t found = 0;

	for (size_t i = 0; i < choice->count; i++) {
		if (!str_starts_with(str_of(choice->devices[i].uuid), str_of(text)))
			continue;
		*out = &choice->devices[i];
		found++;
	}
	return found == 1 ? ANSWER_DEVICE : ANSWER_NONE;
}

/* One of those that the environment lists. */
static enum answer choose_named(const struct choice *choice, struct str name,
                                const struct device_reading **out)
{
	char text[DEVICE_SIGHT_NAME];
	uint64_t number;

	name = str_trim(name);
	if (str_to_u64(name, UINT32_MAX, &number))
		return choose_number(choice, number, out);
	if (name.length == 0 || name.length >= sizeof(text))
		return ANSWER_NONE;
	memcpy(text, name.data, name.length);
	text[name.length] = '\0';
	return choose_uuid(choice, text, out);
}

static enum answer choose_visible(const struct choice *choice, const struct device_reading **out)
{
	const struct device_sight *sight = &choice->identity->devices;

	if (sight->visibility != DEVICES_ONE)
		return ANSWER_NOTHING;
	return choose_named(choice, str_of(sight->visible), out);
}

/* Which one the process counts as `number`. */
static enum answer choose_counted(const struct choice *choice, uint64_t number,
                                  const struct device_reading **out)
{
	struct str rest = str_of(choice->identity->devices.visible);
	struct str name = STR("");

	switch (choice->identity->devices.visibility) {
	case DEVICES_ALL:
		return choose_number(choice, number, out);
	case DEVICES_ONE:
	case DEVICES_SEVERAL:
		for (uint64_t i = 0; i <= number; i++)
			if (!str_split(&rest, ',', &name))
				return ANSWER_NONE;
		return choose_named(choice, name, out);
	default:
		return ANSWER_NONE;
	}
}

static enum answer choose_opened(const struct choice *choice, const struct device_reading **out)
{
	const struct device_sight *sight = &choice->identity->devices;
	size_t found = 0;

	if (sight->opened != DEVICE_FILES_ONE)
		return ANSWER_NOTHING;
	for (size_t i = 0; i < choice->count; i++) {
		if (!choice->devices[i].has_minor || choice->devices[i].minor != sight->open_minor)
			continue;
		*out = &choice->devices[i];
		found++;
	}
	return found == 1 ? ANSWER_DEVICE : ANSWER_NONE; /* parts have one minor */
}

/* ---- together ---- */

/* A machine with one device: unless the process uses another one that we do not see. */
static const struct device_reading *only_device(const struct choice *choice)
{
	const struct device_sight *sight = &choice->identity->devices;
	const struct device_reading *device = choice->devices;

	if (sight->opened == DEVICE_FILES_SEVERAL ||
	    (sight->opened == DEVICE_FILES_ONE && device->has_minor &&
	     device->minor != sight->open_minor))
		return NULL;
	return device;
}

const struct device_reading *gpu_choice_find(const struct device_reading *devices, size_t count,
                                             const struct process_identity *identity)
{
	const struct choice choice = { devices, count, identity };
	const struct device_reading *visible = NULL;
	const struct device_reading *opened = NULL;
	enum answer by_visible;
	enum answer by_opened;

	if (count <= 1)
		return count == 1 ? only_device(&choice) : NULL;
	by_visible = choose_visible(&choice, &visible);
	by_opened = choose_opened(&choice, &opened);
	if (by_visible == ANSWER_DEVICE && by_opened == ANSWER_DEVICE)
		return visible == opened ? visible : NULL;
	if (by_visible == ANSWER_DEVICE)
		return visible;
	return by_opened == ANSWER_DEVICE ? opened : NULL;
}

const struct device_reading *gpu_choice_number(const struct device_reading *devices, size_t count,
                                               const struct process_identity *identity,
                                               uint64_t number)
{
	const struct choice choice = { devices, count, identity };
	const struct device_reading *found = NULL;

	return choose_counted(&choice, number, &found) == ANSWER_DEVICE ? found : NULL;
}

/* What it is told in front of the number itself depends on who tells: "GPU-", "MIG-". */
const struct device_reading *gpu_choice_uuid(const struct device_reading *devices, size_t count,
                                             const uint8_t uuid[static DEVICE_UUID_BYTES])
{
	char text[UUID_TEXT_LENGTH + 1]; /* "8932f937-d72c-4106-c12f-20bd9faed9f6" */
	struct uuid number;

	_Static_assert(sizeof(number.bytes) == DEVICE_UUID_BYTES, "a UUID");
	memcpy(number.bytes, uuid, sizeof(number.bytes));
	uuid_format(&number, text);
	for (size_t i = 0; i < count; i++)
		if (str_ends_with(str_of(devices[i].uuid), str_of(text)))
			return &devices[i];
	return NULL;
}
