/*
 * What is told of GPU memory, as JSON.
 *
 * Shape    times in Unix ms, bytes as numbers (above 2^53 as strings), null for what
 *          nobody knows.
 * Source   own API specification
 */
#pragma once

#include "base/json.h"
#include "server/query/gpu_growth.h"
#include "server/query/gpu_ooms.h"
#include "server/query/gpu_processes.h"
#include "server/query/gpu_timeline.h"

void gpu_json_processes(const struct gpu_process_list *list, struct strbuf *out);
void gpu_json_timeline(const struct gpu_timeline *timeline, struct strbuf *out);
void gpu_json_ooms(const struct gpu_oom_list *list, struct strbuf *out);
void gpu_json_oom(const struct gpu_oom *oom, struct strbuf *out);
void gpu_json_growth(const struct gpu_growth *growth, struct strbuf *out);
