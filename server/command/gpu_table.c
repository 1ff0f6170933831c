#include "server/command/gpu_table.h"

#include "base/json.h"
#include "profile/intern.h"

int64_t gpu_table_number(const struct json *map, const char *key)
{
	const struct json *value = json_get(map, key);
	int64_t number;

	if (json_kind(value) == JSON_INT)
		return json_int(value);
	if (json_kind(value) == JSON_TEXT && str_to_i64(json_text(value), &number))
		return number;
	return GPU_UNKNOWN;
}

static void parse_row(const struct json *json, struct gpu_table_row *row)
{
	const struct json *labels = json_get(json, "labels");

	*row = (struct gpu_table_row){
		.id = json_text(json_get(json, "id")),
		.state = json_text(json_get(json, "state")),
		.service = json_text(json_get(labels, "service_name")),
		.command = json_text(json_get(labels, "proc_comm")),
		.hostname = json_text(json_get(labels, "hostname")),
		.pid = json_text(json_get(labels, "pid")),
		.first_ms = gpu_table_number(json, "first_ms"),
		.last_ms = gpu_table_number(json, "last_ms"),
		.live_bytes = gpu_table_number(json, "live_bytes"),
		.peak_bytes = gpu_table_number(json, "peak_bytes"),
		.alloc_bytes = gpu_table_number(json, "alloc_bytes"),
		.growth_bytes = gpu_table_number(json, "growth_bytes"),
		.failures = gpu_table_number(json, "failures"),
	};
}

static int parse_devices(const struct json *devices, struct arena *arena, struct gpu_table *out,
                         struct error *err)
{
	out->device_count = json_kind(devices) == JSON_LIST ? json_length(devices) : 0;
	out->devices = arena_array(arena, out->device_count + 1, sizeof(*out->devices));
	if (!out->devices)
		return arena_error(arena, err);
	for (size_t i = 0; i < out->device_count; i++) {
		const struct json *device = json_at(devices, i);

		out->devices[i] = (struct gpu_table_device){
			.hostname = json_text(json_get(device, "hostname")),
			.used_bytes = gpu_table_number(device, "used_bytes"),
			.total_bytes = gpu_table_number(device, "total_bytes"),
		};
	}
	return 0;
}

int gpu_table_parse(struct str json, struct arena *arena, struct gpu_table *out, struct error *err)
{
	const struct json *answer = NULL;
	const struct json *processes;

	if (json_parse(json, arena, &answer, err) < 0)
		return -1;
	processes = json_get(answer, "processes");
	if (json_kind(processes) != JSON_LIST)
		return error_set(err, ERROR_INVALID, "the answer is no list of processes");
	*out = (struct gpu_table){
		.tick_ms = gpu_table_number(answer, "tick_ms"),
		.interval_ms = gpu_table_number(answer, "interval_ms"),
		.rows = arena_array(arena, json_length(processes) + 1, sizeof(*out->rows)),
		.count = json_length(processes),
	};
	if (!out->rows)
		return arena_error(arena, err);
	for (size_t i = 0; i < out->count; i++)
		parse_row(json_at(processes, i), &out->rows[i]);
	return parse_devices(json_get(answer, "devices"), arena, out, err);
}

/* Neither is below 0, but for GPU_UNKNOWN. */
static int64_t add_bytes(int64_t sum, int64_t bytes)
{
	if (sum == GPU_UNKNOWN || bytes == GPU_UNKNOWN)
		return GPU_UNKNOWN;
	return __builtin_add_overflow(sum, bytes, &sum) ? INT64_MAX : sum;
}

static bool has_device(const struct gpu_table *table, struct str hostname)
{
	for (size_t i = 0; i < table->device_count; i++)
		if (str_equal(table->devices[i].hostname, hostname))
			return true;
	return false;
}

struct gpu_table_sum gpu_table_sum_devices(const struct gpu_table *table)
{
	struct gpu_table_sum sum = { 0 };

	for (size_t i = 0; i < table->device_count; i++) {
		sum.used_bytes = add_bytes(sum.used_bytes, table->devices[i].used_bytes);
		sum.total_bytes = add_bytes(sum.total_bytes, table->devices[i].total_bytes);
	}
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].live_bytes > 0 && has_device(table, table->rows[i].hostname))
			sum.live_bytes = add_bytes(sum.live_bytes, table->rows[i].live_bytes);
	return sum;
}

int gpu_table_take_history(struct gpu_table *table, const struct gpu_table *longer,
                           struct arena *arena, struct error *err)
{
	struct intern ids = { 0 };
	bool is_new;

	/* ids differ, so that each has the number of its row */
	for (size_t i = 0; i < longer->count; i++)
		if (intern_add(&ids, arena, hash128_str(0, longer->rows[i].id), &is_new) ==
		    INTERN_NONE)
			return arena_error(arena, err);
	for (size_t i = 0; i < table->count; i++) {
		struct gpu_table_row *row = &table->rows[i];
		const uint32_t at = intern_find(&ids, hash128_str(0, row->id));

		if (at == INTERN_NONE)
			continue;
		row->peak_bytes = longer->rows[at].peak_bytes;
		row->failures = longer->rows[at].failures;
	}
	return 0;
}

int64_t gpu_table_rate(const struct gpu_table *table, const struct gpu_table_row *row,
                       int64_t from_ms)
{
	int64_t start_ms;

	if (table->interval_ms <= 0 || row->alloc_bytes < 0 || row->last_ms == GPU_UNKNOWN ||
	    row->first_ms == GPU_UNKNOWN)
		return GPU_UNKNOWN;
	/* ticks stand on multiples of the interval: the first one behind the range's start */
	start_ms = from_ms - from_ms % table->interval_ms;
	if (row->first_ms - table->interval_ms > start_ms)
		start_ms = row->first_ms - table->interval_ms;
	if (row->last_ms <= start_ms)
		return GPU_UNKNOWN;
	return (int64_t)((double)row->alloc_bytes * 1000 / (double)(row->last_ms - start_ms));
}
