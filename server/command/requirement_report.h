/*
 * What the collector needs of this machine, for a person: what holds, what does not, and
 * what to do.
 *
 * Shape    appended to a strbuf: the required ones, then the optional ones; of what does
 *          not hold also what it is for and the remedy. Texts from outside are made safe
 *          for a terminal.
 * Threads  none.
 */
#pragma once

#include "collector/watch/requirements.h"
#include "server/command/terminal.h"

/* Gives the number of required ones that do not hold. */
size_t requirement_report(const struct terminal *terminal, const struct requirement *requirements,
                          size_t count, struct strbuf *out);
