#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/rejects.h"

static void add(struct rejects *rejects, const char *tenant, int64_t number)
{
	struct reject reject = { .time_unix_ns = number, .route = "/ingest", .status = 422 };

	REJECT_SET(reject.tenant, str_of(tenant));
	rejects_add(rejects, &reject);
}

/* The times of a tenant's rejects, newest first. */
static size_t times(struct rejects *rejects, const char *tenant, int64_t *out)
{
	static struct reject all[REJECTS_MAX];
	const size_t count = rejects_list(rejects, str_of(tenant), all, REJECTS_MAX);

	for (size_t i = 0; i < count; i++)
		out[i] = all[i].time_unix_ns;
	return count;
}

static void a_tenant_sees_its_own_newest_first(void **state)
{
	CLEANUP(rejects_freep) struct rejects *rejects = rejects_new();
	int64_t seen[REJECTS_MAX];

	(void)state;
	assert_int_equal(times(rejects, "a", seen), 0);
	add(rejects, "a", 1);
	add(rejects, "b", 2);
	add(rejects, "a", 3);
	assert_int_equal(times(rejects, "a", seen), 2);
	assert_int_equal(seen[0], 3);
	assert_int_equal(seen[1], 1);
	assert_int_equal(times(rejects, "b", seen), 1);
	assert_int_equal(seen[0], 2);
	assert_int_equal(times(rejects, "", seen), 0);
}

static void one_that_fails_all_the_time_drives_out_nobody_else(void **state)
{
	CLEANUP(rejects_freep) struct rejects *rejects = rejects_new();
	int64_t seen[REJECTS_MAX];

	(void)state;
	add(rejects, "quiet", 7);
	for (int64_t i = 0; i < 10 * REJECTS_MAX; i++)
		add(rejects, "loud", i);
	assert_int_equal(times(rejects, "loud", seen), REJECTS_PER_TENANT);
	for (size_t i = 0; i < REJECTS_PER_TENANT; i++)
		assert_int_equal(seen[i], 10 * REJECTS_MAX - 1 - (int64_t)i);
	assert_int_equal(times(rejects, "quiet", seen), 1);
	assert_int_equal(seen[0], 7);
}

static void all_together_are_bounded(void **state)
{
	CLEANUP(rejects_freep) struct rejects *rejects = rejects_new();
	int64_t seen[REJECTS_MAX];
	size_t kept = 0;
	char tenant[16];

	(void)state;
	for (int i = 0; i < 20; i++)
		for (int number = 0; number < REJECTS_PER_TENANT; number++) {
			(void)snprintf(tenant, sizeof(tenant), "t%d", i);
			add(rejects, tenant, number);
		}
	for (int i = 0; i < 20; i++) {
		(void)snprintf(tenant, sizeof(tenant), "t%d", i);
		kept += times(rejects, tenant, seen);
	}
	assert_int_equal(kept, REJECTS_MAX);
	assert_int_equal(times(rejects, "t0", seen), 0);
	assert_int_equal(times(rejects, "t19", seen), REJECTS_PER_TENANT);
}

static void texts_are_cut(void **state)
{
	struct reject reject = { 0 };
	char text[2 * REJECT_MESSAGE_MAX];

	(void)state;
	memset(text, 'x', sizeof(text));
	REJECT_SET(reject.message, str_make(text, sizeof(text)));
	assert_int_equal(REJECT_VIEW(reject.message).length, REJECT_MESSAGE_MAX);
	REJECT_SET(reject.message, ((struct str){ NULL, 0 }));
	assert_int_equal(REJECT_VIEW(reject.message).length, 0);
}

/* The same, slowly: all of them in their order. */
struct model {
	struct {
		char tenant;
		int64_t number;
	} all[REJECTS_MAX + 1];
	size_t count;
};

static void model_remove(struct model *model, size_t at)
{
	model->count--;
	memmove(&model->all[at], &model->all[at + 1], (model->count - at) * sizeof(*model->all));
}

static void model_add(struct model *model, char tenant, int64_t number)
{
	size_t own = 0;
	size_t first = 0;

	for (size_t i = model->count; i > 0; i--) {
		if (model->all[i - 1].tenant != tenant)
			continue;
		first = i - 1;
		own++;
	}
	if (own == REJECTS_PER_TENANT)
		model_remove(model, first);
	else if (model->count == REJECTS_MAX)
		model_remove(model, 0);
	model->all[model->count].tenant = tenant;
	model->all[model->count++].number = number;
}

static void assert_model(const struct model *model, struct rejects *rejects, char tenant)
{
	const char name[] = { tenant, '\0' };
	int64_t seen[REJECTS_MAX];
	const size_t count = times(rejects, name, seen);
	size_t own = 0;

	for (size_t i = model->count; i > 0; i--)
		if (model->all[i - 1].tenant == tenant) {
			assert_true(own < count);
			assert_int_equal(seen[own++], model->all[i - 1].number);
		}
	assert_int_equal(own, count);
}

/* Some tenants are often refused, some seldom, and some not at all for a long time. */
static void any_order_of_tenants_is_kept_as_a_list_would(void **state)
{
	CLEANUP(rejects_freep) struct rejects *rejects = rejects_new();
	struct model model = { .count = 0 };
	uint64_t random = 20;

	(void)state;
	for (int64_t i = 0; i < 20000; i++) {
		const unsigned few = i / 2000 % 2 == 0 ? 8 : 26;
		char name[2] = { 0 };

		random = random * UINT64_C(6364136223846793005) + 1;
		name[0] = (char)('a' + (random >> 33) % few);
		add(rejects, name, i);
		model_add(&model, name[0], i);
		if (i % 500 == 499)
			for (int tenant = 'a'; tenant <= 'z'; tenant++)
				assert_model(&model, rejects, (char)tenant);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tenant_sees_its_own_newest_first),
		cmocka_unit_test(one_that_fails_all_the_time_drives_out_nobody_else),
		cmocka_unit_test(all_together_are_bounded),
		cmocka_unit_test(texts_are_cut),
		cmocka_unit_test(any_order_of_tenants_is_kept_as_a_list_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
