/*
 * What a connection speaks, by its first bytes.
 *
 * Shape    the HTTP/2 preface has 24 fixed bytes; everything that differs from it in
 *          one byte is HTTP/1.
 * Threads  any.
 * Source   RFC 9113, 3.4; ingest specification, 1.2
 */
#pragma once

#include "base/str.h"

#define PREFACE_LENGTH 24

enum preface {
	PREFACE_UNDECIDED, /* a beginning of the preface: more bytes are needed */
	PREFACE_HTTP1,
	PREFACE_HTTP2,
};

enum preface preface_of(struct str first_bytes);
