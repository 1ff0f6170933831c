/*
 * Headers that every answer carries: what browsers may make of it.
 *
 * Shape    those that a handler has set stay as they are.
 * Threads  the exchange's owner, before the response is sent.
 */
#pragma once

#include "api/http_message.h"

void response_guards_add(struct http_response *response);
