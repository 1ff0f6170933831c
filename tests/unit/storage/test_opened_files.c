/* Files of windows are opened when somebody asks for them, and not before. */
#include "storage/database.h"
#include "tests/unit/storage/care_fixture.h"

#define DAYS 40

/* The linker puts this in the place of database_open(): which files were opened. */
int __real_database_open(const char *path, enum database_mode mode, struct database **out,
                         struct error *err);
int __wrap_database_open(const char *path, enum database_mode mode, struct database **out,
                         struct error *err);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char opened[4 * DAYS][64]; /* guarded by lock, each once */
static size_t opened_count;

int __wrap_database_open(const char *path, enum database_mode mode, struct database **out,
                         struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	size_t at = 0;

	(void)pthread_mutex_lock(&lock);
	while (at < opened_count && strcmp(opened[at], name) != 0)
		at++;
	if (at == opened_count)
		(void)snprintf(opened[opened_count++], sizeof(opened[0]), "%s", name);
	(void)pthread_mutex_unlock(&lock);
	return __real_database_open(path, mode, out, err);
}

/* How many since it was asked last. */
static size_t count_opened(void)
{
	size_t count;

	(void)pthread_mutex_lock(&lock);
	count = opened_count;
	opened_count = 0;
	(void)pthread_mutex_unlock(&lock);
	return count;
}

static void a_store_of_many_days_opens_what_is_asked_for(void **state)
{
	const struct asked one_day = { .start = NOON + 3 * DAY_NS, .end = NOON + 3 * DAY_NS + 1 };
	const struct asked ten_days = { .start = NOON, .end = NOON + 9 * DAY_NS };
	struct store *store = store_open_plain(*state);
	int days = 0;

	for (; days < DAYS; days++)
		append_one(store, "t", NOON + days * DAY_NS);
	store_close(store);
	(void)count_opened();
	store = store_open_plain(*state); /* which writes, and makes blocks later */
	assert_int_equal(count_opened(), 0);
	store_close(store);
	(void)count_opened();
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	assert_int_equal(count_opened(), 0);
	assert_string_equal(ask(store, ASK_MERGE, &one_day), "0 main;work 3");
	assert_int_equal(count_opened(), 1);
	assert_string_equal(ask(store, ASK_SERIES, &ten_days), "s/cpu");
	assert_int_equal(count_opened(), 9); /* and one that is open */
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_store_of_many_days_opens_what_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
