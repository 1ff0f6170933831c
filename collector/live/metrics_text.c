#include "collector/live/metrics_text.h"

#include <inttypes.h>

#include "base/metrics.h"

static const struct {
	const char *name;
	const char *type;
	const char *help;
	const char *labels; /* as documented */
} families[GPU_METRIC_COUNT] = {
#define GPU_METRIC(id, name, type, help, labels) { name, type, help, labels },
#include "collector/live/gpu_metrics.def"
#undef GPU_METRIC
};

const char *metrics_text_name(enum gpu_metric_id id)
{
	return families[id].name;
}

void metrics_text_begin(const struct metrics_text *text, enum gpu_metric_id id)
{
	strbuf_printf(text->out, "# HELP %s %s\n# TYPE %s %s\n", families[id].name,
	              families[id].help, families[id].name, families[id].type);
}

void metrics_text_label(struct strbuf *out, const char *name, const char *value)
{
	strbuf_printf(out, "%s=\"", name);
	metrics_put_escaped(out, str_of(value));
	strbuf_add_byte(out, '"');
}

void metrics_text_number(const struct metrics_text *text, enum gpu_metric_id id, const char *label,
                         const char *value, uint64_t number)
{
	strbuf_add_text(text->out, families[id].name);
	if (label) {
		strbuf_add_byte(text->out, '{');
		metrics_text_label(text->out, label, value);
		strbuf_add_byte(text->out, '}');
	}
	strbuf_printf(text->out, " %" PRIu64 "\n", number);
}

void metrics_text_family(const struct metrics_text *text, enum gpu_metric_id id, uint64_t number)
{
	metrics_text_begin(text, id);
	metrics_text_number(text, id, NULL, NULL, number);
}

void metrics_text_process(const struct metrics_text *text, uint32_t tgid,
                          const struct process_identity *identity)
{
	struct strbuf *out = text->out;

	strbuf_printf(out, "pid=\"%" PRIu32 "\",", tgid);
	metrics_text_label(out, "comm", identity->comm.text);
	strbuf_add_byte(out, ',');
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++) {
		const char *name = identity_label_on_metrics((enum identity_label)i);

		if (!name[0])
			continue;
		metrics_text_label(out, name, identity->labels[i].text);
		strbuf_add_byte(out, ',');
	}
	metrics_text_label(out, "cluster", text->cluster);
}

void metrics_text_print_docs(struct strbuf *out)
{
	for (size_t i = 0; i < GPU_METRIC_COUNT; i++)
		strbuf_printf(out, "| `%s` | %s | %s | %s |\n", families[i].name, families[i].type,
		              families[i].labels, families[i].help);
}
