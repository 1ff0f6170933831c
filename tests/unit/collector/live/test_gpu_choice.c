#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/live/gpu_choice.h"

#define ALIKE(id, number)                                                                \
	{                                                                                \
		.uuid = "GPU-" id, .model = "A100", .minor = (number), .has_minor = true \
	}

static const struct device_reading alike[] = { ALIKE("aa11", 2), ALIKE("aa22", 0),
	                                       ALIKE("bb11", 1) };
static const struct device_reading mixed[] = {
	ALIKE("aa11", 0),
	{ .uuid = "GPU-bb11", .model = "T400", .minor = 1, .has_minor = true },
};
/* the first one is cut into two */
static const struct device_reading parts[] = {
	{ .uuid = "MIG-1", .model = "A100", .minor = 0, .has_minor = true, .is_part = true },
	{ .uuid = "MIG-2", .model = "A100", .minor = 0, .has_minor = true, .is_part = true },
	ALIKE("bb11", 1),
};

#define DEVICES(list) (list), ARRAY_LENGTH(list)

static void assert_choice(const struct device_reading *devices, size_t count,
                          const struct process_identity *identity, const char *uuid)
{
	const struct device_reading *found = gpu_choice_find(devices, count, identity);

	if (!uuid) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found->uuid, uuid);
}

/* A process with this CUDA_VISIBLE_DEVICES. */
static struct process_identity seeing(const char *visible)
{
	struct process_identity identity = { .devices = { .visibility = DEVICES_ONE } };

	(void)snprintf(identity.devices.visible, sizeof(identity.devices.visible), "%s", visible);
	return identity;
}

static struct process_identity opening(uint32_t minor)
{
	return (struct process_identity){ .devices = { .opened = DEVICE_FILES_ONE,
		                                       .open_minor = minor } };
}

static void where_there_is_one_device_it_is_that(void **state)
{
	struct process_identity identity = { .is_late = false };

	(void)state;
	assert_choice(alike, 1, &identity, "GPU-aa11");
	assert_choice(alike, 0, &identity, NULL);
	assert_choice(alike, 2, &identity, NULL);
	identity = opening(2);
	assert_choice(alike, 1, &identity, "GPU-aa11");
	identity = opening(7); /* one that we do not see */
	assert_choice(alike, 1, &identity, NULL);
	identity.devices.opened = DEVICE_FILES_SEVERAL;
	assert_choice(alike, 1, &identity, NULL);
}

static void a_uuid_is_exact_and_may_be_cut_short(void **state)
{
	static const struct {
		const char *visible;
		const char *uuid;
	} cases[] = {
		{ "GPU-aa22", "GPU-aa22" },
		{ "GPU-b", "GPU-bb11" },
		{ "GPU-aa", NULL },
		{ "GPU-aa223", NULL },
		{ "GPU-cc", NULL },
		{ "NoDevFiles", NULL },
		{ "-1", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct process_identity identity = seeing(cases[i].visible);

		/* a container hides devices, it does not rename them */
		assert_true(label_text_set(&identity.labels[IDENTITY_CONTAINER_ID], STR("c0ffee")));
		assert_choice(DEVICES(alike), &identity, cases[i].uuid);
	}
}

static void a_number_is_certain_where_nothing_hides_devices(void **state)
{
	static const enum identity_label hiding[] = { IDENTITY_CONTAINER_ID, IDENTITY_POD,
		                                      IDENTITY_SLURM_JOB };
	struct process_identity identity = seeing("1");

	(void)state;
	assert_choice(DEVICES(alike), &identity, "GPU-aa22");
	for (size_t i = 0; i < ARRAY_LENGTH(hiding); i++) {
		identity = seeing("1");
		assert_true(label_text_set(&identity.labels[hiding[i]], STR("x")));
		assert_choice(DEVICES(alike), &identity, NULL);
	}
	identity = seeing("3");
	assert_choice(DEVICES(alike), &identity, NULL);
}

static void a_number_is_certain_where_devices_are_alike_or_ordered(void **state)
{
	struct process_identity identity = seeing("1");

	(void)state;
	assert_choice(DEVICES(mixed), &identity, NULL);
	identity.devices.has_bus_order = true;
	assert_choice(DEVICES(mixed), &identity, "GPU-bb11");
	/* which of the parts a number is nobody says */
	assert_choice(DEVICES(parts), &identity, NULL);
}

static void an_open_file_says_which_one(void **state)
{
	struct process_identity identity = opening(1);

	(void)state;
	assert_choice(DEVICES(alike), &identity, "GPU-bb11");
	identity = opening(9);
	assert_choice(DEVICES(alike), &identity, NULL);
	identity.devices.opened = DEVICE_FILES_SEVERAL;
	assert_choice(DEVICES(alike), &identity, NULL);
	/* all parts of a device have its file */
	identity = opening(0);
	assert_choice(DEVICES(parts), &identity, NULL);
	identity = opening(1);
	assert_choice(DEVICES(parts), &identity, "GPU-bb11");
}

static void two_answers_that_differ_are_none(void **state)
{
	struct process_identity identity = seeing("GPU-aa11");

	(void)state;
	identity.devices.opened = DEVICE_FILES_ONE;
	identity.devices.open_minor = 2;
	assert_choice(DEVICES(alike), &identity, "GPU-aa11");
	identity.devices.open_minor = 0;
	assert_choice(DEVICES(alike), &identity, NULL);
}

static void a_part_is_named_by_its_uuid(void **state)
{
	struct process_identity identity = seeing("MIG-2");

	(void)state;
	assert_choice(DEVICES(parts), &identity, "MIG-2");
	identity.devices.opened = DEVICE_FILES_ONE; /* of the whole */
	assert_choice(DEVICES(parts), &identity, "MIG-2");
}

static void assert_number(const struct process_identity *identity, uint64_t number,
                          const char *uuid)
{
	const struct device_reading *found = gpu_choice_number(DEVICES(alike), identity, number);

	if (uuid)
		assert_string_equal(found ? found->uuid : "none", uuid);
	else
		assert_null(found);
}

static void numbers_of_a_process_count_what_it_sees(void **state)
{
	struct process_identity identity = { .is_late = false };

	(void)state;
	assert_number(&identity, 0, "GPU-aa11");
	assert_number(&identity, 2, "GPU-bb11");
	assert_number(&identity, 3, NULL);
	identity = seeing("2, GPU-aa1 ,0,nothing,1");
	identity.devices.visibility = DEVICES_SEVERAL;
	assert_number(&identity, 0, "GPU-bb11");
	assert_number(&identity, 1, "GPU-aa11");
	assert_number(&identity, 3, NULL); /* the driver ends its list there */
	assert_number(&identity, 5, NULL);
	identity = seeing("GPU-bb11");
	assert_number(&identity, 0, "GPU-bb11");
	assert_number(&identity, 1, NULL);
	/* in a container numbers may be of fewer devices than the machine's */
	identity = (struct process_identity){ .is_late = false };
	assert_true(label_text_set(&identity.labels[IDENTITY_CONTAINER_ID], STR("c0ffee")));
	assert_number(&identity, 0, NULL);
	identity.devices = (struct device_sight){ .visibility = DEVICES_OTHER };
	assert_number(&identity, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_there_is_one_device_it_is_that),
		cmocka_unit_test(a_uuid_is_exact_and_may_be_cut_short),
		cmocka_unit_test(a_number_is_certain_where_nothing_hides_devices),
		cmocka_unit_test(a_number_is_certain_where_devices_are_alike_or_ordered),
		cmocka_unit_test(an_open_file_says_which_one),
		cmocka_unit_test(two_answers_that_differ_are_none),
		cmocka_unit_test(a_part_is_named_by_its_uuid),
		cmocka_unit_test(numbers_of_a_process_count_what_it_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
