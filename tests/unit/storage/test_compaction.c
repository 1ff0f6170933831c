/*
 * Blocks change nothing that can be seen: whatever is written, deleted and asked for, and
 * whenever blocks are made, a store answers as a plain list of profiles would.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/block.h"
#include "tests/unit/storage/model_check.h"
#include "tests/unit/storage/whole_store.h"

#define AT_ONCE 1 /* ns of grace */

static struct store *open_store(const char *path)
{
	return store_open_at(
		&(struct sqlite_store_options){ .path = path, .compact_after_ns = AT_ONCE });
}

/* Whose days that are over are sealed as soon as all is in blocks. */
static struct store *open_sealing(const char *path)
{
	return store_open_at(&(struct sqlite_store_options){
		.path = path, .compact_after_ns = AT_ONCE, .seal_after_ns = AT_ONCE });
}

static void make_blocks(struct store *store)
{
	struct error err = { 0 };

	if (sqlite_store_compact(store, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- random profiles ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
	return next_random(state) % limit;
}

static const char *const services[] = { "api", "db", "web" };
static const char *const stacks[] = {
	"main;work", "main;work;alloc", "main;idle",    "main", "gc",     "gc;mark",
	"gc;sweep",  "init;a;b;c",      "init;a;b;c;d", "",     "main;x", "main;x;y"
};

/* What each service sends. */
static const struct {
	const char *types[MODEL_TYPES];
	size_t count;
} kinds[] = {
	{ { "cpu" }, 1 },
	{ { "samples", "cpu" }, 2 },
	{ { "objects", "space", "inuse" }, 3 },
};

static int64_t random_value(uint64_t *state)
{
	switch (below(state, 6)) {
	case 0:
		return 0;
	case 1:
		return (int64_t)(next_random(state) >> 1); /* sums of them wrap */
	default:
		return (int64_t)below(state, 1000);
	}
}

/* Few moments, so that profiles meet; hours from 9 to 12, and a little of the next day. */
static int64_t random_time(uint64_t *state)
{
	const int64_t second = (int64_t)below(state, 40) * 90 * NS_PER_S;

	if (below(state, 20) == 0)
		return NOON + DAY_NS + second;
	return NOON - 3 * HOUR_NS + (int64_t)below(state, 4) * HOUR_NS + second;
}

static void random_rows(uint64_t *state, struct model_profile *profile)
{
	const size_t first = below(state, ARRAY_LENGTH(stacks));
	const bool has_spans = below(state, 4) == 0;

	profile->row_count = 1 + below(state, MODEL_ROWS);
	for (size_t i = 0; i < profile->row_count; i++) {
		struct model_row *row = &profile->rows[i];

		(void)snprintf(row->stack, sizeof(row->stack), "%s",
		               stacks[(first + i) % ARRAY_LENGTH(stacks)]);
		for (size_t type = 0; type < profile->type_count; type++)
			row->values[type] = random_value(state);
		row->values[below(state, profile->type_count)] = 1 + (int64_t)below(state, 50);
		/* a multiple, as most senders have it */
		if (profile->type_count == 2 && below(state, 2) == 0)
			row->values[1] = (int64_t)((uint64_t)row->values[0] * 10 % INT64_MAX);
		if (has_spans && below(state, 2) == 0) {
			row->span = 1 + below(state, 3);
			row->trace = below(state, 3);
		}
	}
	/* the same stack twice, told apart by its span */
	if (has_spans && profile->row_count > 1) {
		profile->rows[1] = profile->rows[0];
		profile->rows[1].span = 77;
	}
}

static struct model_profile random_profile(uint64_t *state)
{
	const size_t kind = below(state, ARRAY_LENGTH(kinds));
	struct model_profile profile = {
		.type_count = kinds[kind].count,
		.time = random_time(state),
		.id = 1 + below(state, 60),
		.origin = below(state, 3) == 0 ? 1 + below(state, 4) : 0,
	};

	(void)snprintf(profile.service, sizeof(profile.service), "%s",
	               services[below(state, ARRAY_LENGTH(services))]);
	(void)snprintf(profile.pod, sizeof(profile.pod), "pod-%d", (int)below(state, 9));
	memcpy(profile.types, kinds[kind].types, sizeof(profile.types));
	random_rows(state, &profile);
	return profile;
}

static const char *maybe(uint64_t *state, const char *const *from, size_t count)
{
	const size_t at = below(state, 2 * count);

	return at < count ? from[at] : NULL;
}

static struct model_question random_question(uint64_t *state)
{
	static const char *const pods[] = { "pod-0", "pod-1", "pod-5", "pod-8" };
	static const char *const types[] = { "cpu", "samples", "space", "inuse" };
	struct model_question question = {
		.service = maybe(state, services, ARRAY_LENGTH(services)),
		.pod = below(state, 2) ? maybe(state, pods, ARRAY_LENGTH(pods)) : NULL,
		.type = maybe(state, types, ARRAY_LENGTH(types)),
		.start = random_time(state),
		.end = random_time(state),
		.id = below(state, 5) == 0 ? 1 + below(state, 60) : 0,
		.span = below(state, 5) == 0 ? 1 + below(state, 3) : 0,
	};

	switch (below(state, 5)) {
	case 0:
		question.start = INT64_MIN;
		question.end = INT64_MAX;
		break;
	case 1: /* whole hours */
		question.start = NOON - 2 * HOUR_NS;
		question.end = NOON - 1;
		break;
	default:
		if (question.start > question.end) {
			const int64_t start = question.end;

			question.end = question.start;
			question.start = start;
		}
	}
	return question;
}

static void check_parts(const struct model *model, struct store *store, uint64_t *state)
{
	struct store_range ranges[10];
	const struct store_parts plain = { model_part_of, NULL, 10, NULL };
	const struct store_parts narrowed = { model_part_of, NULL, 10, ranges };
	struct model_question question = random_question(state);

	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
		const struct model_question range = random_question(state);

		ranges[i] = (struct store_range){ range.start, range.end };
	}
	model_check(model, store, &model_operations[0], &question, &plain);
	model_check(model, store, &model_operations[0], &question, &narrowed);
}

static void check_stats(const struct model *model, struct store *store)
{
	struct store_stats stats;
	struct error err = { 0 };
	int64_t oldest = INT64_MAX;
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < model->count; i++) {
		oldest = model->profiles[i].time < oldest ? model->profiles[i].time : oldest;
		newest = model->profiles[i].time > newest ? model->profiles[i].time : newest;
	}
	assert_int_equal(store_stats(store, STR("t"), &stats, &err), 0);
	assert_int_equal(stats.any, model->count > 0);
	if (stats.any) {
		assert_int_equal(stats.oldest_unix_ns, oldest);
		assert_int_equal(stats.newest_unix_ns, newest);
	}
}

static void check_everything(const struct model *model, struct store *store, uint64_t *state)
{
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };

	model_check_all(model, store, &all);
	for (int i = 0; i < 6; i++) {
		const struct model_question question = random_question(state);

		model_check_all(model, store, &question);
	}
	check_parts(model, store, state);
	check_stats(model, store);
}

static uint64_t remove_from(struct store *store, const struct model_question *question,
                            enum store_removal removal)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct model_query query;
	struct error err = { 0 };
	uint64_t removed = 0;

	model_query_init(&query, arena, question);
	if (store_remove(store, &query.query, removal, &removed, &err) < 0)
		fail_msg("%s", err.message);
	selector_fini(&query.selector);
	arena_free(arena);
	return removed;
}

static void remove_some(struct model *model, struct store *store, uint64_t *state)
{
	struct model_question question = random_question(state);
	uint64_t expected;

	question.span = 0; /* whole profiles go */
	if (!question.service && !question.pod && question.id == 0)
		question.service = services[0];
	expected = remove_from(store, &question, STORE_REMOVE_NOTHING);
	assert_int_equal(model_remove(model, &question), expected);
	assert_int_equal(remove_from(store, &question, STORE_REMOVE), expected);
}

enum sending {
	SEND_ORIGINS,
	SEND_NO_ORIGINS,
};

static void send_some(struct model *model, struct store *store, uint64_t *state, size_t count,
                      enum sending sending)
{
	struct model_profile profiles[64];

	assert_true(count <= ARRAY_LENGTH(profiles));
	for (size_t i = 0; i < count; i++) {
		profiles[i] = random_profile(state);
		if (sending == SEND_NO_ORIGINS)
			profiles[i].origin = 0;
	}
	model_send(model, store, profiles, count);
}

static void whatever_happens_answers_stay_exact(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct store *store = open_store(*state);
		struct store *follower;
		struct model model = { 0 };
		const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };

		send_some(&model, store, &random, 20, SEND_ORIGINS);
		follower = store_open_at(
			&(struct sqlite_store_options){ .path = *state, .read_only = true });
		for (int round = 0; round < 24; round++) {
			send_some(&model, store, &random, 1 + below(&random, 40), SEND_ORIGINS);
			if (below(&random, 2) == 0)
				make_blocks(store);
			if (below(&random, 3) == 0)
				remove_some(&model, store, &random);
			if (below(&random, 8) == 0) {
				store_close(store);
				store = open_store(*state);
			}
			check_everything(&model, store, &random);
			check_everything(&model, follower, &random);
		}
		store_close(follower);
		(void)remove_from(store, &all, STORE_REMOVE);
		(void)model_remove(&model, &all);
		check_everything(&model, store, &random);
		store_close(store);
		model_fini(&model);
	}
}

/* Nobody knows profiles of sealed windows again. */
static void forget_origins(struct model *model)
{
	for (size_t i = 0; i < model->count; i++)
		model->profiles[i].origin = 0;
}

/*
 * The same while windows are sealed all the time, at moments of the store's own choice, and at
 * some that are asked for. In between a store that seals nothing deletes and adds to sealed days.
 */
static void whatever_is_sealed_answers_stay_exact(void **state)
{
	for (uint64_t seed = 1; seed <= 2; seed++) {
		uint64_t random = seed * UINT64_C(0xd1342543de82ef95);
		struct store *store = open_sealing(*state);
		struct store *follower;
		struct model model = { 0 };
		const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };
		bool seals = true;

		send_some(&model, store, &random, 20, SEND_NO_ORIGINS);
		follower = store_open_at(
			&(struct sqlite_store_options){ .path = *state, .read_only = true });
		for (int round = 0; round < 9; round++) {
			send_some(&model, store, &random, 1 + below(&random, 40),
			          seals ? SEND_NO_ORIGINS : SEND_ORIGINS);
			if (below(&random, 2) == 0)
				make_blocks(store);
			if (below(&random, 3) == 0)
				remove_some(&model, store, &random);
			if (below(&random, 5) == 0) {
				if (seals)
					make_blocks(
						store); /* from here on nothing is known again */
				store_close(store);
				seals = !seals;
				store = seals ? open_sealing(*state) : open_store(*state);
				forget_origins(&model);
			}
			check_everything(&model, store, &random);
			check_everything(&model, follower, &random);
		}
		store_close(store);
		store = open_sealing(*state);
		make_blocks(store);
		check_everything(&model, store, &random);
		check_everything(&model, follower, &random);
		store_close(follower);
		(void)remove_from(store, &all, STORE_REMOVE);
		(void)model_remove(&model, &all);
		check_everything(&model, store, &random);
		store_close(store);
		model_fini(&model);
	}
}

/* ---- what becomes of rows ---- */

static void fill_hours(struct model *model, struct store *store, int hours, int profiles)
{
	for (int hour = 0; hour < hours; hour++) {
		struct model_profile sent[240];

		assert_true((size_t)profiles <= ARRAY_LENGTH(sent));
		for (int i = 0; i < profiles; i++) {
			sent[i] = (struct model_profile){
				.service = "api",
				.types = { "samples", "cpu" },
				.type_count = 2,
				.time = NOON - (4 - hour) * HOUR_NS + (i / 4) * 15 * NS_PER_S,
				.id = (uint64_t)i + 1,
				.rows = { { "main;work", { 1 + i % 7, 10 + 10 * (i % 7) }, 0, 0 },
				          { "main;idle", { 2, 20 }, 0, 0 } },
				.row_count = 2,
			};
			(void)snprintf(sent[i].pod, sizeof(sent[i].pod), "pod-%d", i % 4);
		}
		model_send(model, store, sent, (size_t)profiles);
	}
}

static void rows_of_an_hour_become_one_block(void **state)
{
	static const char file[] = "2024-10-04.db";
	struct store *store = store_open_plain(*state); /* two minutes of grace */
	struct model model = { 0 };
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };
	struct store_usage usage;

	fill_hours(&model, store, 3, 100);
	make_blocks(store); /* none: everything came a moment ago */
	assert_int_equal(window_number(*state, file, "PRAGMA user_version"), 1);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM profile"), 300);
	store_close(store);
	store = open_store(*state);
	make_blocks(store);
	assert_int_equal(window_number(*state, file, "PRAGMA user_version"), 2);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM profile"), 0);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM sample"), 0);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 3);
	assert_int_equal(window_number(*state, file, "SELECT min(profiles) FROM block"), 100);
	/* none has an origin: heads, sums, detail */
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block_page"), 9);
	store_usage(store, &usage);
	assert_int_equal(usage.blocks_made, 3);
	assert_int_equal(usage.profiles_compacted, 300);
	assert_int_equal(usage.compaction_backlog, 0);
	assert_true(usage.compaction_cpu_ns > 0);
	store_close(store);
	assert_false(file_is_there(*state, "tenants/t/2024-10-04.db-wal"));
	store = open_store(*state);
	model_check_all(&model, store, &all);
	store_close(store);
	model_fini(&model);
}

static void late_profiles_join_the_block_of_their_hour(void **state)
{
	static const char file[] = "2024-10-04.db";
	struct store *store = open_store(*state);
	struct model model = { 0 };
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };

	fill_hours(&model, store, 1, 40);
	make_blocks(store);
	/* at the times of others, which are in a block by now */
	fill_hours(&model, store, 1, 30);
	model_check_all(&model, store, &all);
	make_blocks(store);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 1);
	assert_int_equal(window_number(*state, file, "SELECT sum(profiles) FROM block"), 70);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block_page"), 3);
	/* a few do not make a large one anew */
	fill_hours(&model, store, 1, 3);
	make_blocks(store);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 2);
	assert_int_equal(window_number(*state, file, "SELECT sum(profiles) FROM block"), 73);
	model_check_all(&model, store, &all);
	store_close(store);
	model_fini(&model);
}

static void a_profile_sent_again_after_its_block_was_made_is_stored_once(void **state)
{
	struct store *store = open_store(*state);
	struct model model = { 0 };
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };
	struct model_profile profile = {
		.service = "api",
		.pod = "pod-1",
		.types = { "cpu" },
		.type_count = 1,
		.time = NOON,
		.origin = 5,
		.rows = { { "main", { 3 }, 0, 0 } },
		.row_count = 1,
	};
	struct store_usage usage;

	model_send(&model, store, &profile, 1);
	make_blocks(store);
	model_send(&model, store, &profile, 1);
	store_close(store);
	store = open_store(*state);
	model_send(&model, store, &profile, 1);
	store_usage(store, &usage);
	assert_int_equal(usage.profiles_deduplicated, 1); /* since it was opened */
	assert_int_equal(model.count, 1);
	model_check_all(&model, store, &all);
	/* of another origin, at the same time: another profile */
	profile.origin = 6;
	model_send(&model, store, &profile, 1);
	assert_int_equal(model.count, 2);
	model_check_all(&model, store, &all);
	store_close(store);
	model_fini(&model);
}

/* 3 pods with 3,000 profiles each: two fit a block, so groups are not cut. */
static void more_than_a_block_holds_becomes_several(void **state)
{
	static const char file[] = "2024-10-04.db";
	struct store *store = store_open_plain(*state); /* due by their number alone */
	struct model_profile *sent = calloc(9000, sizeof(*sent));
	struct model model = { 0 };

	assert_non_null(sent);
	for (int i = 0; i < 9000; i++) {
		sent[i] = (struct model_profile){
			.service = "api",
			.types = { "cpu" },
			.type_count = 1,
			.time = NOON + i * (NS_PER_S / 10),
			.rows = { { "main;work", { 1 + i % 60 }, 0, 0 } },
			.row_count = 1,
		};
		(void)snprintf(sent[i].pod, sizeof(sent[i].pod), "pod-%d", i % 3);
	}
	model_send(&model, store, sent, 9000);
	assert_true(9000 > BLOCK_PROFILES_MAX);
	make_blocks(store);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 1);
	assert_int_equal(window_number(*state, file, "SELECT sum(profiles) FROM block"), 6000);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM profile"), 3000);
	/* 1 to 60 are 1830, 150 times; of pod 0: 1, 4, ... 58 are 590 */
	assert_string_equal(merge_all(store, "{}"), "0 main;work 274500");
	assert_string_equal(merge_all(store, "{pod=\"pod-0\"}"), "0 main;work 88500");
	store_close(store);
	store = open_store(*state);
	make_blocks(store);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 2);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM profile"), 0);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 274500");
	store_close(store);
	free(sent);
	model_fini(&model);
}

static void deleting_a_whole_block_leaves_no_page(void **state)
{
	static const char file[] = "2024-10-04.db";
	struct store *store = open_store(*state);
	struct model model = { 0 };
	const struct model_question hour = { .start = NOON - 4 * HOUR_NS,
		                             .end = NOON - 3 * HOUR_NS - 1 };
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };

	fill_hours(&model, store, 2, 40);
	make_blocks(store);
	assert_int_equal(remove_from(store, &hour, STORE_REMOVE), 80);
	assert_int_equal(model_remove(&model, &hour), 80);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block"), 1);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM block_page"), 3);
	assert_int_equal(window_number(*state, file, "SELECT count(*) FROM profile"), 0);
	model_check_all(&model, store, &all);
	store_close(store);
	model_fini(&model);
}

/* ---- readers meanwhile ---- */

struct watcher {
	struct store *store;
	int64_t expected;
	_Atomic bool stop;
	_Atomic int looks;
	_Atomic int wrong;
	pthread_t thread;
};

static int sum_all(void *context, const struct stack_sums *sums, struct error *err)
{
	int64_t *total = context;

	(void)err;
	for (size_t i = 0; i < sums->count; i++)
		*total += sums->sums[i]; /* of small values */
	return 0;
}

/* Asks for the sum of everything, again and again: it never changes. */
static void *watch(void *argument)
{
	struct watcher *watcher = argument;

	while (!atomic_load(&watcher->stop)) {
		struct arena *arena = arena_new((size_t)64 << 20, NULL);
		struct selector selector;
		struct error err = { 0 };
		int64_t total = 0;
		const struct store_query query = {
			.tenant = STR("t"),
			.selector = &selector,
			.range = { INT64_MIN, INT64_MAX },
			.arena = arena,
		};

		selector_init(&selector, arena);
		if (selector_parse(&selector, STR("{__profile_type__=\"cpu\"}"), &err) < 0 ||
		    store_merge(watcher->store, &query, NULL, sum_all, &total, &err) < 0 ||
		    total != watcher->expected)
			atomic_fetch_add(&watcher->wrong, 1);
		atomic_fetch_add(&watcher->looks, 1);
		selector_fini(&selector);
		arena_free(arena);
	}
	return NULL;
}

static void readers_see_each_profile_once_while_blocks_are_made(void **state)
{
	struct store *store = open_store(*state);
	struct store *follower;
	struct watcher watchers[2] = { 0 };
	struct model model = { 0 };
	int64_t total = 0;

	for (int round = 0; round < 4; round++)
		fill_hours(&model, store, 4, 100);
	for (size_t i = 0; i < model.count; i++)
		for (size_t row = 0; row < model.profiles[i].row_count; row++)
			total += model.profiles[i].rows[row].values[1];
	follower =
		store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	watchers[0].store = store;
	watchers[1].store = follower;
	for (size_t i = 0; i < ARRAY_LENGTH(watchers); i++) {
		watchers[i].expected = total;
		assert_int_equal(pthread_create(&watchers[i].thread, NULL, watch, &watchers[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(watchers); i++)
		while (atomic_load(&watchers[i].looks) < 3)
			(void)usleep(100);
	make_blocks(store);
	for (size_t i = 0; i < ARRAY_LENGTH(watchers); i++) {
		const int looks = atomic_load(&watchers[i].looks);

		while (atomic_load(&watchers[i].looks) < looks + 3)
			(void)usleep(100);
		atomic_store(&watchers[i].stop, true);
		(void)pthread_join(watchers[i].thread, NULL);
		assert_int_equal(atomic_load(&watchers[i].wrong), 0);
	}
	store_close(follower);
	store_close(store);
	model_fini(&model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rows_of_an_hour_become_one_block),
		TEST(late_profiles_join_the_block_of_their_hour),
		TEST(a_profile_sent_again_after_its_block_was_made_is_stored_once),
		TEST(more_than_a_block_holds_becomes_several),
		TEST(deleting_a_whole_block_leaves_no_page),
		TEST(whatever_happens_answers_stay_exact),
		TEST(whatever_is_sealed_answers_stay_exact),
		TEST(readers_see_each_profile_once_while_blocks_are_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
