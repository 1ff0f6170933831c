#include "formats/speedscope_stacks.h"

#include <math.h>

#define VALUE_END 9223372036854775808.0 /* 2^63: no int64 */

/* ---- frames ---- */

static int read_frame(struct json_reader *reader, struct arena *arena, struct str *out,
                      struct error *err)
{
	struct str key;
	struct str raw;
	int more;

	*out = STR("");
	if (json_reader_enter_map(reader, err) < 0)
		return -1;
	while ((more = json_reader_next_member(reader, arena, &key, err)) > 0) {
		const bool is_name = str_equals(key, "name");

		if ((is_name ? json_reader_text(reader, arena, out, err)
		             : json_reader_skip(reader, &raw, err)) < 0)
			return -1;
	}
	return more;
}

int speedscope_frames_read(struct str list, struct arena *arena, struct speedscope_frames *out,
                           struct error *err)
{
	struct speedscope_frames frames = { .key = out->key };
	struct json_reader reader;
	struct str name;
	int more;

	json_reader_init(&reader, list);
	if (json_reader_enter_list(&reader, err) < 0)
		return -1;
	while ((more = json_reader_next_item(&reader, err)) > 0) {
		if (!ARENA_GROW(arena, frames.names, frames.count, frames.capacity))
			return arena_error(arena, err);
		if (read_frame(&reader, arena, &name, err) < 0)
			return -1;
		frames.names[frames.count++] = profile_builder_name(frames.key, name);
	}
	*out = frames;
	return more;
}

static int read_index(const struct speedscope_stacks *stacks, struct json_reader *reader,
                      size_t *out, struct error *err)
{
	const size_t count = stacks->frames->count;
	double number;

	if (json_reader_number(reader, &number, err) < 0)
		return -1;
	if (number < 0 || number >= (double)count || number != floor(number))
		return error_set(err, ERROR_INVALID,
		                 "frame %g does not exist: there are %zu frames", number, count);
	*out = (size_t)number;
	return 0;
}

static int add_value(struct speedscope_stacks *stacks, double weight, struct error *err)
{
	const double value = weight * stacks->factor;

	if (weight < 0)
		return error_set(err, ERROR_INVALID, "weight %g is negative", weight);
	if (value >= VALUE_END)
		return error_set(err, ERROR_INVALID, "weight %g is too large", weight);
	return profile_builder_add(stacks->builder, (uint64_t)llround(value), err);
}

/* ---- samples ---- */

static int push_frame(struct speedscope_stacks *stacks, size_t index, struct error *err)
{
	uint32_t id;

	if (profile_builder_is_full(stacks->builder))
		return 0;
	return profile_builder_named_frame(stacks->builder, &stacks->frames->names[index], &id,
	                                   err) < 0
	               ? -1
	               : profile_builder_push_frame(stacks->builder, id, err);
}

static int push_sample(struct speedscope_stacks *stacks, struct json_reader *samples,
                       struct error *err)
{
	size_t index;
	int more;

	if (json_reader_enter_list(samples, err) < 0)
		return -1;
	while ((more = json_reader_next_item(samples, err)) > 0)
		if (read_index(stacks, samples, &index, err) < 0 ||
		    push_frame(stacks, index, err) < 0)
			return -1;
	return more;
}

static int add_sample(struct speedscope_stacks *stacks, struct json_reader *samples,
                      struct json_reader *weights, struct error *err)
{
	double weight;

	if (push_sample(stacks, samples, err) < 0 || json_reader_number(weights, &weight, err) < 0)
		return -1;
	return add_value(stacks, weight, err);
}

int speedscope_stacks_add_samples(struct speedscope_stacks *stacks, struct str samples,
                                  struct str weights, struct error *err)
{
	struct json_reader sample_reader;
	struct json_reader weight_reader;

	json_reader_init(&sample_reader, samples);
	json_reader_init(&weight_reader, weights);
	if (json_reader_enter_list(&sample_reader, err) < 0 ||
	    json_reader_enter_list(&weight_reader, err) < 0)
		return -1;
	for (;;) {
		const int sample = json_reader_next_item(&sample_reader, err);
		const int weight = json_reader_next_item(&weight_reader, err);

		if (sample < 0 || weight < 0)
			return -1;
		if (sample != weight)
			return error_set(err, ERROR_INVALID,
			                 "samples and weights are not equally many");
		if (sample == 0)
			return 0;
		if (add_sample(stacks, &sample_reader, &weight_reader, err) < 0)
			return -1;
	}
}

/* ---- events ---- */

struct event {
	struct str type;
	double at;
	size_t frame;
};

static int read_event(const struct speedscope_stacks *stacks, struct json_reader *reader,
                      struct event *out, struct error *err)
{
	struct event event = { .type = STR("") };
	struct str key;
	int more;

	if (json_reader_enter_map(reader, err) < 0)
		return -1;
	while ((more = json_reader_next_member(reader, stacks->arena, &key, err)) > 0) {
		struct str raw;
		int result;

		if (str_equals(key, "type"))
			result = json_reader_text(reader, stacks->arena, &event.type, err);
		else if (str_equals(key, "at"))
			result = json_reader_number(reader, &event.at, err);
		else if (str_equals(key, "frame"))
			result = read_index(stacks, reader, &event.frame, err);
		else
			result = json_reader_skip(reader, &raw, err);
		if (result < 0)
			return -1;
	}
	*out = event;
	return more;
}

/* The time since the last event belongs to the frames that are open. */
static int spend_time(struct speedscope_stacks *stacks, double at, struct error *err)
{
	const double spent = at - stacks->last_at;

	if (stacks->has_event && spent < 0)
		return error_set(err, ERROR_INVALID, "the event at %g comes behind that at %g", at,
		                 stacks->last_at);
	stacks->has_event = true;
	stacks->last_at = at;
	if (stacks->depth == 0 || spent == 0)
		return 0;
	for (size_t i = 0; i < stacks->depth && !profile_builder_is_full(stacks->builder); i++)
		if (profile_builder_push_frame(stacks->builder, stacks->open[i].id, err) < 0)
			return -1;
	return add_value(stacks, spent, err);
}

static int open_frame(struct speedscope_stacks *stacks, size_t index, struct error *err)
{
	struct speedscope_open_frame frame = { .index = index };

	if (!ARENA_GROW(stacks->arena, stacks->open, stacks->depth, stacks->capacity))
		return arena_error(stacks->arena, err);
	if (profile_builder_named_frame(stacks->builder, &stacks->frames->names[index], &frame.id,
	                                err) < 0)
		return -1;
	stacks->open[stacks->depth++] = frame;
	return 0;
}

static int close_frame(struct speedscope_stacks *stacks, size_t index, struct error *err)
{
	if (stacks->depth == 0)
		return error_set(err, ERROR_INVALID, "frame %zu is closed at %g, and none is open",
		                 index, stacks->last_at);
	if (stacks->open[stacks->depth - 1].index != index)
		return error_set(err, ERROR_INVALID,
		                 "frame %zu is closed at %g, and the innermost open one is %zu",
		                 index, stacks->last_at, stacks->open[stacks->depth - 1].index);
	stacks->depth--;
	return 0;
}

static int take_event(struct speedscope_stacks *stacks, const struct event *event,
                      struct error *err)
{
	if (spend_time(stacks, event->at, err) < 0)
		return -1;
	if (str_equals(event->type, "O"))
		return open_frame(stacks, event->frame, err);
	if (str_equals(event->type, "C"))
		return close_frame(stacks, event->frame, err);
	return error_set(err, ERROR_INVALID, "event type '%.*s' is neither O nor C",
	                 STR_ARGS(str_first(event->type, 100)));
}

int speedscope_stacks_add_events(struct speedscope_stacks *stacks, struct str events,
                                 struct error *err)
{
	struct json_reader reader;
	struct event event;
	int more;

	json_reader_init(&reader, events);
	if (json_reader_enter_list(&reader, err) < 0)
		return -1;
	while ((more = json_reader_next_item(&reader, err)) > 0) {
		if (stacks->frames->count == 0)
			return error_set(err, ERROR_INVALID, "events without frames");
		if (read_event(stacks, &reader, &event, err) < 0 ||
		    take_event(stacks, &event, err) < 0)
			return -1;
	}
	return more;
}
