#include "gpu_model.h"

#include <stdio.h>

static const char *const classes[MODEL_CLASSES] = { "device", "vmm", "pinned" };

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005U + 1442695040888963407U;
	return (*random >> 33) % below;
}

int gpu_model_node(int process)
{
	return process < 2 ? 0 : 1;
}

bool gpu_model_has_process(const struct gpu_model *model, int process, int tick)
{
	for (int i = 0; i < MODEL_CLASSES; i++)
		if (model->bytes[tick][process][i] >= 0)
			return true;
	return false;
}

bool gpu_model_has_node(const struct gpu_model *model, int node, int tick)
{
	for (int i = 0; i < MODEL_PROCESSES; i++)
		if (gpu_model_node(i) == node && gpu_model_has_process(model, i, tick))
			return true;
	return false;
}

/* More than half of the distances between a node's ticks are one interval. */
static bool tells_its_interval(const struct gpu_model *model, int node)
{
	int before = -1;
	int all = 0;
	int whole = 0;

	for (int tick = 0; tick < MODEL_TICKS; tick++) {
		if (!gpu_model_has_node(model, node, tick))
			continue;
		all += before >= 0;
		whole += before >= 0 && tick - before == 1;
		before = tick;
	}
	return all > 0 && 2 * whole > all;
}

static void add_profile(struct gpu_model *model, int tick, int process, int memory_class)
{
	const size_t at = model->profile_count++;

	(void)snprintf(model->labels[at], sizeof(model->labels[at]),
	               "__profile_type__=memory:inuse_space:bytes:space:bytes,hostname=node%d,"
	               "pid=%d,service_name=s%d,cuda_class=%s,gpu=0",
	               gpu_model_node(process), 100 + process, process % 2, classes[memory_class]);
	model->profiles[at] = (struct fake_profile){
		.labels = model->labels[at],
		.time_unix_ns = (MODEL_START_S + tick * MODEL_INTERVAL_S) * NS_PER_S,
		.total = model->bytes[tick][process][memory_class],
		.frame = "cuMemAlloc_v2",
	};
}

bool gpu_model_make(struct gpu_model *model, uint64_t *random)
{
	model->profile_count = 0;
	for (int tick = 0; tick < MODEL_TICKS; tick++) {
		const bool heard[MODEL_NODES] = { draw(random, 5) > 0, draw(random, 4) > 0 };

		for (int process = 0; process < MODEL_PROCESSES; process++) {
			for (int i = 0; i < MODEL_CLASSES; i++) {
				int64_t *bytes = &model->bytes[tick][process][i];

				*bytes = heard[gpu_model_node(process)] && draw(random, 10) > 3
				                 ? (int64_t)draw(random, 1000)
				                 : -1;
				if (*bytes >= 0)
					add_profile(model, tick, process, i);
			}
		}
	}
	return tells_its_interval(model, 0) && tells_its_interval(model, 1);
}

int gpu_model_tick(const struct gpu_model *model, int node, int64_t at_s)
{
	for (int tick = MODEL_TICKS - 1; tick >= 0; tick--) {
		const int64_t age_s = at_s - MODEL_START_S - tick * MODEL_INTERVAL_S;

		if (age_s >= 0 && gpu_model_has_node(model, node, tick))
			return age_s <= 2 * MODEL_INTERVAL_S ? tick : -1;
	}
	return -1;
}

int64_t gpu_model_live(const struct gpu_model *model, int process, int64_t at_s)
{
	const int tick = gpu_model_tick(model, gpu_model_node(process), at_s);
	int64_t sum = 0;

	if (tick < 0)
		return -1;
	/* the last class is the host's */
	for (int i = 0; i + 1 < MODEL_CLASSES; i++)
		if (model->bytes[tick][process][i] > 0)
			sum += model->bytes[tick][process][i];
	return sum;
}
