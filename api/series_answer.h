/*
 * What SelectSeries and SelectHeatmap answer.
 *
 * Shape    written from profile/'s structs straight into the answer, as protobuf or JSON,
 *          and completed as connect_reply() does: there can be a million points.
 * Source   read specification, 3.1, 3.12 and 3.13
 */
#pragma once

#include "api/connect.h"
#include "profile/heatmap.h"
#include "profile/time_series.h"

void series_answer(const struct connect_call *call, const struct time_series_result *result,
                   struct http_response *response);

void heatmap_answer(const struct connect_call *call, const struct heatmap_result *result,
                    struct http_response *response);
