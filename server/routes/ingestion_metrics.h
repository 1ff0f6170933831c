/*
 * What write requests count in /metrics.
 *
 * Threads  any.
 * Source   read specification, 5.4
 */
#pragma once

#include "server/routes/ingestion.h"

/* A profile has come, good or not. */
void ingestion_metrics_received(const struct ingestion *ingestion,
                                const struct ingestion_item *item);

/* A profile of that many bytes was refused. */
void ingestion_metrics_discarded(const struct ingestion *ingestion, const char *reason,
                                 size_t bytes);

/*
 * The response stands: the request counts by its status, what was committed by its format,
 * whatever its sender was told of the rest.
 */
void ingestion_metrics_answered(const struct ingestion *ingestion);

/* A write request that was answered before there was an ingestion. */
void ingestion_metrics_refused(const struct exchange *exchange, const char *format);
