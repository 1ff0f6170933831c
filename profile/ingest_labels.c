#include <stdio.h>

#include "base/utf8.h"
#include "profile/ingest_run.h"

#define TEXT_MAX 200 /* bytes of labels in a message, so that its point still fits */

#define NAME         STR("__name__")
#define NAME_BEFORE  STR("__name_replaced__")
#define SERVICE_NAME STR("service_name")
#define SESSION_ID   STR("__session_id__")

/* ---- messages ---- */

/* At most TEXT_MAX bytes of `text`, not cut inside a character. */
static struct str cut(struct str text)
{
	size_t length = text.length < TEXT_MAX ? text.length : TEXT_MAX;

	while (length < text.length && length > 0 && ((uint8_t)text.data[length] & 0xc0) == 0x80)
		length--;
	return str_first(text, length);
}

struct str ingest_labels_text(struct ingest_run *run, const struct label_set *set)
{
	struct strbuf buf;
	struct str text;

	strbuf_init(&buf, 4 * TEXT_MAX);
	label_set_format(set, &buf);
	text = strbuf_overflowed(&buf) || buf.length > TEXT_MAX
	               ? arena_printf(run->arena, "%.*s...}", STR_ARGS(cut(strbuf_view(&buf))))
	               : arena_copy(run->arena, strbuf_view(&buf));
	strbuf_fini(&buf);
	return text;
}

static int refuse(struct ingest_run *run, const char *reason, const struct label_set *set,
                  const char *what, struct str name, struct error *err)
{
	run->reason = reason;
	return error_set(err, ERROR_INVALID, "profile with labels '%.*s' has %s: '%.*s'",
	                 STR_ARGS(ingest_labels_text(run, set)), what, STR_ARGS(cut(name)));
}

static int refuse_set(struct ingest_run *run, const struct label_set *set, const char *why,
                      struct error *err)
{
	run->reason = "invalid_labels";
	return error_set(err, ERROR_INVALID, "invalid labels '%.*s' with error: %s",
	                 STR_ARGS(ingest_labels_text(run, set)), why);
}

/* ---- the request's labels ---- */

/*
 * 16 hex digits are eight bytes, the lowest first; what is left of their number is
 * written the same way. False: no such text.
 */
static bool fold_session(struct ingest_run *run, struct str *value)
{
	uint8_t bytes[8];
	char digits[17];
	uint64_t number;

	if (run->limits->max_sessions_per_series == 0 || !hex_decode(*value, bytes, sizeof(bytes)))
		return false;
	memcpy(&number, bytes, sizeof(number)); /* the machine is little-endian: base/wire.h */
	number %= run->limits->max_sessions_per_series;
	memcpy(bytes, &number, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), digits);
	*value = arena_copy(run->arena, str_make(digits, 16));
	return true;
}

int ingest_take_labels(struct ingest_run *run, struct error *err)
{
	const struct label_set *sent = &run->request->labels;
	struct label_set *set = &run->labels;
	bool has_service_name = false;

	set->labels = arena_array_raw(run->arena, sent->count + 1, sizeof(*set->labels));
	if (!set->labels)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < sent->count; i++) {
		struct label label = sent->labels[i];

		has_service_name |= str_equal(label.name, SERVICE_NAME);
		if (label.value.length == 0 ||
		    (str_equal(label.name, SESSION_ID) && !fold_session(run, &label.value)))
			continue;
		set->labels[set->count++] = label;
	}
	if (!has_service_name)
		set->labels[set->count++] = (struct label){ SERVICE_NAME, STR("unknown_service") };
	label_set_sort(set);
	if (arena_overflowed(run->arena))
		return arena_error(run->arena, err);
	return 0;
}

/* ---- joining and relabelling ---- */

/* Gives `name` the value, in its place; an empty one takes the label off. */
static void set_label(struct label_set *set, struct str name, struct str value)
{
	size_t at = 0;

	while (at < set->count && str_compare(set->labels[at].name, name) < 0)
		at++;
	if (at == set->count || !str_equal(set->labels[at].name, name)) {
		if (value.length == 0)
			return;
		memmove(&set->labels[at + 1], &set->labels[at],
		        (set->count - at) * sizeof(*set->labels));
		set->labels[at].name = name;
		set->count++;
	}
	set->labels[at].value = value;
	if (value.length == 0) {
		set->count--;
		memmove(&set->labels[at], &set->labels[at + 1],
		        (set->count - at) * sizeof(*set->labels));
	}
}

/* The rules that stand without configuration, in their order; two labels more at most. */
static void relabel(struct label_set *set)
{
	static const char go_delta[] = "godeltaprof_";
	const struct str *found = label_set_find(set, NAME);
	const struct str *type;
	struct str name;

	if (found && str_starts_with(*found, str_of(go_delta))) {
		name = *found;
		set_label(set, NAME_BEFORE, name);
		set_label(set, STR("__delta__"), STR("false"));
		set_label(set, NAME, str_skip(name, strlen(go_delta)));
	}
	found = label_set_find(set, NAME);
	type = label_set_find(set, STR("__type__"));
	if (found && type && str_equals(*found, "wall") && str_equals(*type, "cpu")) {
		set_label(set, NAME, STR("process_cpu"));
		set_label(set, NAME_BEFORE, STR("wall"));
	}
}

/* Puts both sets into *out, which has room: the request's labels win. */
static void join(const struct label_set *own, const struct label_set *extra, struct label_set *out)
{
	size_t from_extra = 0;

	for (size_t i = 0; i <= own->count; i++) {
		for (; from_extra < extra->count; from_extra++) {
			const struct label *label = &extra->labels[from_extra];
			const bool again = from_extra > 0 && str_equal(label->name, label[-1].name);

			if (i < own->count && str_compare(label->name, own->labels[i].name) > 0)
				break;
			if (again || label->value.length == 0 ||
			    (i < own->count && str_equal(label->name, own->labels[i].name)))
				continue;
			out->labels[out->count++] = *label;
		}
		if (i < own->count)
			out->labels[out->count++] = own->labels[i];
	}
}

/* ---- validation ---- */

static int check_label(struct ingest_run *run, const struct label_set *set, size_t index,
                       struct error *err)
{
	const struct label *label = &set->labels[index];
	char why[2 * TEXT_MAX];

	if (label->name.length > run->limits->max_label_name_length)
		return refuse(run, "label_name_too_long", set, "label name too long", label->name,
		              err);
	if (label->value.length > run->limits->max_label_value_length)
		return refuse(run, "label_value_too_long", set, "label value too long",
		              label->value, err);
	if (label->name.length == 0 || !utf8_is_valid(label->name)) {
		(void)snprintf(why, sizeof(why), "invalid label name '%.*s'",
		               STR_ARGS(cut(label->name)));
		return refuse_set(run, set, why, err);
	}
	if (!utf8_is_valid(label->value)) {
		(void)snprintf(why, sizeof(why), "invalid label value '%.*s'",
		               STR_ARGS(cut(label->value)));
		return refuse_set(run, set, why, err);
	}
	if (index > 0 && str_equal(label->name, label[-1].name))
		return refuse(run, "duplicate_label_names", set, "duplicate label name",
		              label->name, err);
	return 0;
}

static int check_labels(struct ingest_run *run, const struct label_set *set, struct error *err)
{
	const struct str *name = label_set_find(set, NAME);

	if (set->count == 0) {
		run->reason = "missing_labels";
		return error_set(err, ERROR_INVALID,
		                 "error at least one label pair is required per profile");
	}
	if (set->count > run->limits->max_label_names_per_series) {
		run->reason = "max_label_names_per_series";
		return error_set(err, ERROR_INVALID,
		                 "profile series '%.*s' has %zu label names; limit %zu",
		                 STR_ARGS(ingest_labels_text(run, set)), set->count,
		                 run->limits->max_label_names_per_series);
	}
	if (!name || !utf8_is_valid(*name))
		return refuse_set(run, set, "invalid metric name", err);
	if (!label_set_find(set, SERVICE_NAME))
		return refuse_set(run, set, "service name is not provided", err);
	for (size_t i = 0; i < set->count; i++)
		if (check_label(run, set, i, err) < 0)
			return -1;
	return 0;
}

int ingest_join_labels(struct ingest_run *run, const struct label_set *extra, struct label_set *out,
                       struct error *err)
{
	struct label_set set = { 0 };

	set.labels = arena_array_raw(run->arena, run->labels.count + extra->count + 2,
	                             sizeof(*set.labels));
	if (!set.labels)
		return arena_error(run->arena, err);
	join(&run->labels, extra, &set);
	relabel(&set);
	if (check_labels(run, &set, err) < 0)
		return -1;
	*out = set;
	return 0;
}
