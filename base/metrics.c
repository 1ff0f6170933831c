#include "base/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DEFAULT_MAX 1000
#define VALUE_MAX   ((size_t)64 << 10) /* bytes of all label values of one metric */

struct metric {
	const struct metric_family *family;
	char *values[METRIC_LABELS_MAX];
	size_t lengths[METRIC_LABELS_MAX]; /* of the values, which may hold NUL */
	_Atomic uint64_t number;           /* bits of a double; of a histogram: the sum */
	_Atomic uint64_t *buckets;         /* of a histogram: one for each bound, one for +Inf */
};

struct metric_family {
	struct metric_family *next;
	char *name;
	char *help;
	enum metric_type type;
	char *label_names[METRIC_LABELS_MAX];
	size_t label_count;
	double *bounds;
	size_t bound_count;
	size_t max;
	pthread_mutex_t lock;    /* guards what follows */
	struct id_map ids;       /* from the hash of the label values to an index */
	struct metric **metrics; /* in the order of their making */
	size_t capacity;
};

struct metrics {
	pthread_mutex_t lock; /* guards the list; families never leave it */
	struct metric_family *first;
	struct metric_family **last;
};

struct metrics *metrics_new(void)
{
	struct metrics *metrics = mem_zalloc(1, sizeof(*metrics));

	(void)pthread_mutex_init(&metrics->lock, NULL);
	metrics->last = &metrics->first;
	return metrics;
}

static void free_family(struct metric_family *family)
{
	for (uint32_t i = 0; i < family->ids.count; i++) {
		struct metric *metric = family->metrics[i];

		for (size_t label = 0; label < family->label_count; label++)
			free(metric->values[label]);
		free(metric->buckets);
		free(metric);
	}
	for (size_t label = 0; label < family->label_count; label++)
		free(family->label_names[label]);
	id_map_fini(&family->ids);
	(void)pthread_mutex_destroy(&family->lock);
	free(family->metrics);
	free(family->bounds);
	free(family->name);
	free(family->help);
	free(family);
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	while (metrics->first) {
		struct metric_family *family = metrics->first;

		metrics->first = family->next;
		free_family(family);
	}
	(void)pthread_mutex_destroy(&metrics->lock);
	free(metrics);
}

struct metric_family *metrics_add(struct metrics *metrics,
                                  const struct metric_family_options *options)
{
	struct metric_family *family = mem_zalloc(1, sizeof(*family));

	assert((options->type == METRIC_HISTOGRAM) == (options->bound_count > 0));
	family->name = mem_strdup(options->name);
	family->help = mem_strdup(options->help);
	family->type = options->type;
	family->max = options->max ? options->max : DEFAULT_MAX;
	while (family->label_count < METRIC_LABELS_MAX &&
	       options->label_names[family->label_count]) {
		family->label_names[family->label_count] =
			mem_strdup(options->label_names[family->label_count]);
		family->label_count++;
	}
	family->bound_count = options->bound_count;
	family->bounds = mem_zalloc(options->bound_count, sizeof(*family->bounds));
	for (size_t i = 0; i < options->bound_count; i++) {
		assert(i == 0 || options->bounds[i] > options->bounds[i - 1]);
		family->bounds[i] = options->bounds[i];
	}
	(void)pthread_mutex_init(&family->lock, NULL);

	(void)pthread_mutex_lock(&metrics->lock);
	*metrics->last = family;
	metrics->last = &family->next;
	(void)pthread_mutex_unlock(&metrics->lock);
	/* what has no labels is there from the start, as 0 */
	if (family->label_count == 0)
		(void)metric_family_get(family, NULL);
	return family;
}

static struct hash128 hash_values(const struct metric_family *family, const struct str *values)
{
	struct hash128 hashes[METRIC_LABELS_MAX];

	for (size_t i = 0; i < family->label_count; i++)
		hashes[i] = hash128_str(0, values[i]);
	return hash128(0, hashes, family->label_count * sizeof(hashes[0]));
}

static struct metric *make_metric(const struct metric_family *family, const struct str *values)
{
	struct metric *metric = mem_zalloc(1, sizeof(*metric));

	metric->family = family;
	for (size_t i = 0; i < family->label_count; i++) {
		metric->values[i] =
			mem_strndup(values[i].length ? values[i].data : "", values[i].length);
		metric->lengths[i] = values[i].length;
	}
	if (family->type == METRIC_HISTOGRAM)
		metric->buckets = mem_zalloc(family->bound_count + 1, sizeof(*metric->buckets));
	return metric;
}

/* Under the family's lock. */
static struct metric *find_or_make(struct metric_family *family, const struct str *values)
{
	bool is_new;
	const uint32_t id = id_map_add(&family->ids, hash_values(family, values), &is_new);

	if (!is_new)
		return family->metrics[id];
	if (id == family->capacity) {
		family->capacity = family->capacity ? family->capacity * 2 : 4;
		family->metrics =
			mem_resize(family->metrics, family->capacity, sizeof(*family->metrics));
	}
	return family->metrics[id] = make_metric(family, values);
}

struct metric *metric_family_get(struct metric_family *family, const struct str *label_values)
{
	static const struct str others[METRIC_LABELS_MAX] = { STR("other"), STR("other"),
		                                              STR("other"), STR("other"),
		                                              STR("other"), STR("other") };
	/* where there are no labels, no value is read */
	const struct str *values = family->label_count ? label_values : others;
	struct metric *metric;
	size_t length = 0;

	assert(label_values || family->label_count == 0);
	for (size_t i = 0; i < family->label_count; i++)
		length += values[i].length;
	(void)pthread_mutex_lock(&family->lock);
	if (length > VALUE_MAX ||
	    (family->ids.count >= family->max &&
	     id_map_find(&family->ids, hash_values(family, values)) == ID_MAP_NONE))
		values = others;
	metric = find_or_make(family, values);
	(void)pthread_mutex_unlock(&family->lock);
	return metric;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double load(const struct metric *metric)
{
	return double_of(atomic_load_explicit(&metric->number, memory_order_relaxed));
}

void metric_add(struct metric *metric, double amount)
{
	uint64_t before = atomic_load_explicit(&metric->number, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&metric->number, &before,
	                                              bits_of(double_of(before) + amount),
	                                              memory_order_relaxed, memory_order_relaxed))
		continue;
}

void metric_set(struct metric *metric, double value)
{
	atomic_store_explicit(&metric->number, bits_of(value), memory_order_relaxed);
}

void metric_observe(struct metric *metric, double value)
{
	const struct metric_family *family = metric->family;
	size_t bucket = 0;

	while (bucket < family->bound_count && !(value <= family->bounds[bucket]))
		bucket++;
	atomic_fetch_add_explicit(&metric->buckets[bucket], 1, memory_order_relaxed);
	metric_add(metric, value);
}

double metric_value(const struct metric *metric)
{
	uint64_t count = 0;

	if (metric->family->type != METRIC_HISTOGRAM)
		return load(metric);
	for (size_t i = 0; i <= metric->family->bound_count; i++)
		count += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
	return (double)count;
}

static void add_number(struct strbuf *out, double number)
{
	char text[DECIMAL_MAX];

	if (isnan(number))
		strbuf_add_text(out, "NaN");
	else if (isinf(number))
		strbuf_add_text(out, number > 0 ? "+Inf" : "-Inf");
	else
		strbuf_add(out, text, decimal_format(number, text));
}

/* Label values escape '"' as `also`, help texts nothing more. */
static void add_escaped(struct strbuf *out, struct str rest, char also)
{
	uint32_t rune;
	int length;

	while ((length = utf8_next(rest, &rune)) != 0) {
		if (length < 0)
			strbuf_add_text(out, "\xef\xbf\xbd");
		else if (rune == '\n')
			strbuf_add_text(out, "\\n");
		else if (rune == '\\' || (also && rune == (unsigned char)also))
			strbuf_printf(out, "\\%c", (int)rune);
		else
			strbuf_add_str(out, str_first(rest, (size_t)length));
		rest = str_skip(rest, length < 0 ? 1 : (size_t)length);
	}
}

void metrics_put_escaped(struct strbuf *out, struct str value)
{
	add_escaped(out, value, '"');
}

/* name_suffix{labels,le="bound"} without the value; `bound` may be NULL. */
static void add_name(struct strbuf *out, const struct metric *metric, const char *suffix,
                     const double *bound)
{
	const struct metric_family *family = metric->family;
	const char *separator = "{";

	strbuf_printf(out, "%s%s", family->name, suffix);
	for (size_t i = 0; i < family->label_count; i++) {
		strbuf_printf(out, "%s%s=\"", separator, family->label_names[i]);
		add_escaped(out, str_make(metric->values[i], metric->lengths[i]), '"');
		strbuf_add_byte(out, '"');
		separator = ",";
	}
	if (bound) {
		strbuf_printf(out, "%sle=\"", separator);
		add_number(out, *bound);
		strbuf_add_byte(out, '"');
		separator = ",";
	}
	strbuf_add_text(out, *separator == ',' ? "} " : " ");
}

static void add_histogram(struct strbuf *out, const struct metric *metric)
{
	const struct metric_family *family = metric->family;
	const double infinity = INFINITY;
	uint64_t count = 0;

	for (size_t i = 0; i <= family->bound_count; i++) {
		count += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
		add_name(out, metric, "_bucket",
		         i < family->bound_count ? &family->bounds[i] : &infinity);
		strbuf_printf(out, "%" PRIu64 "\n", count);
	}
	add_name(out, metric, "_sum", NULL);
	add_number(out, load(metric));
	strbuf_add_byte(out, '\n');
	add_name(out, metric, "_count", NULL);
	strbuf_printf(out, "%" PRIu64 "\n", count);
}

static void add_family(struct strbuf *out, struct metric_family *family)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };

	strbuf_printf(out, "# HELP %s ", family->name);
	add_escaped(out, str_of(family->help), '\0');
	strbuf_printf(out, "\n# TYPE %s %s\n", family->name, types[family->type]);
	(void)pthread_mutex_lock(&family->lock);
	for (uint32_t i = 0; i < family->ids.count; i++) {
		if (family->type == METRIC_HISTOGRAM) {
			add_histogram(out, family->metrics[i]);
			continue;
		}
		add_name(out, family->metrics[i], "", NULL);
		add_number(out, load(family->metrics[i]));
		strbuf_add_byte(out, '\n');
	}
	(void)pthread_mutex_unlock(&family->lock);
}

void metrics_format(struct metrics *metrics, struct strbuf *out)
{
	(void)pthread_mutex_lock(&metrics->lock);
	for (struct metric_family *family = metrics->first; family; family = family->next)
		add_family(out, family);
	(void)pthread_mutex_unlock(&metrics->lock);
}
