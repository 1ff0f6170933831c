#include "profile/ingest.h"

#include "base/clock.h"
#include "profile/go_names.h"
#include "profile/ingest_run.h"

const struct ingest_limits ingest_limits_default = {
	.reject_older_than_ns = 3600 * NS_PER_S,
	.reject_newer_than_ns = 600 * NS_PER_S,
	.max_label_name_length = 1024,
	.max_label_value_length = 2048,
	.max_label_names_per_series = 30,
	.max_sessions_per_series = 0,
	.max_profile_size_bytes = 4 << 20,
	.max_recording_bytes = 64 << 20,
	.max_samples = 16000,
	.max_sample_labels = 100,
	.max_depth = 1000,
	.max_string_length = 65535,
};

static int fix_go_names(struct ingest_run *run, struct error *err)
{
	if (go_names_apply(run->profile, &run->labels) && !go_names_cut(run->profile))
		return arena_error(run->arena, err);
	return 0;
}

static int run_steps(struct ingest_run *run, struct ingest_result *out, struct error *err)
{
	if (ingest_take_labels(run, err) < 0 || ingest_validate(run, err) < 0 ||
	    fix_go_names(run, err) < 0 || ingest_repair(run, err) < 0 ||
	    ingest_collect_rows(run, err) < 0)
		return -1;
	return ingest_make_series(run, out, err);
}

int ingest_profile(struct ingest_profile *profile, const struct ingest_limits *limits,
                   int64_t now_unix_ns, struct ingest_result *out, struct error *err)
{
	struct ingest_run run = {
		.request = profile,
		.limits = limits,
		.profile = &profile->input->profile,
		.arena = profile->input->profile.arena,
		.now_unix_ns = now_unix_ns,
	};

	*out = (struct ingest_result){ 0 };
	if (run_steps(&run, out, err) < 0) {
		out->reason = run.reason;
		return -1;
	}
	return 0;
}
