/*
 * What the tests of requests and of streams share: a server that says what they want.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "base/strbuf.h"

/* A server for one connection: notes each request and gives the same answer to each. */
struct peer {
	int listener;
	unsigned short port;
	struct str answer; /* empty: never answers */
	pthread_t thread;
	struct strbuf seen;
	char url[64];
};

/* True when the request in `seen` behind `from` is whole. */
static inline bool is_whole(struct str seen, size_t from)
{
	const struct str request = str_skip(seen, from);
	const ptrdiff_t end = str_find(request, STR("\r\n\r\n"));
	const ptrdiff_t length = str_find(request, STR("Content-Length: "));

	if (end < 0)
		return false;
	if (length < 0 || length > end)
		return true;
	return request.length >=
	       (size_t)end + 4 +
	               strtoul(request.data + length + strlen("Content-Length: "), NULL, 10);
}

static inline void *serve(void *context)
{
	struct peer *peer = context;
	const int connection = accept(peer->listener, NULL, NULL);
	size_t answered = 0;
	char bytes[4096];
	ssize_t got;

	while (connection >= 0 && (got = read(connection, bytes, sizeof(bytes))) > 0) {
		strbuf_add(&peer->seen, bytes, (size_t)got);
		if (peer->answer.length > 0 && is_whole(strbuf_view(&peer->seen), answered)) {
			answered = peer->seen.length;
			if (write(connection, peer->answer.data, peer->answer.length) < 0)
				break;
		}
	}
	if (connection >= 0)
		(void)close(connection);
	return NULL;
}

static inline void peer_start(struct peer *peer, struct str answer)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	peer->answer = answer;
	strbuf_init(&peer->seen, 1 << 20);
	peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(peer->listener, 1), 0);
	assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
	peer->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static inline void peer_stop(struct peer *peer)
{
	(void)shutdown(peer->listener, SHUT_RDWR); /* should nobody have come */
	assert_int_equal(pthread_join(peer->thread, NULL), 0);
	(void)close(peer->listener);
}

/* Where it is, with a path behind. */
static inline const char *peer_url(struct peer *peer, const char *path)
{
	(void)snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%d%s", peer->port, path);
	return peer->url;
}
