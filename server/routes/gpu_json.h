/*
 * Process lists and timelines as JSON.
 *
 * Shape    times in Unix ms, bytes as numbers (above 2^53 as strings), null for what
 *          nobody knows.
 * Source   own API specification
 */
#pragma once

#include "base/json.h"
#include "server/query/gpu_processes.h"
#include "server/query/gpu_timeline.h"

void gpu_json_processes(const struct gpu_process_list *list, struct strbuf *out);
void gpu_json_timeline(const struct gpu_timeline *timeline, struct strbuf *out);
