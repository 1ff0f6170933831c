/*
 * The message of push.v1's Push: series of labels, each with one pprof.
 *
 * Shape    appended to a buffer, whose limit bounds it; a message is any number of series.
 *          Each profile gets a random id, so that a server that sees the same bytes twice
 *          stores them once.
 * Source   ingest specification, 4
 */
#pragma once

#include "base/strbuf.h"
#include "profile/label_set.h"

#define PUSH_MESSAGE_PATH "/push.v1.PusherService/Push"
#define PUSH_MESSAGE_TYPE "application/proto"

/* `pprof` may be compressed. */
void push_message_add(struct strbuf *out, const struct label_set *labels, struct str pprof);
