#include "server/http/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

void notify_send(const char *state)
{
	/* the environment is only read, and by this thread alone */
	const char *path = getenv("NOTIFY_SOCKET"); /* NOLINT(concurrency-mt-unsafe) */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t length = path ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0'; /* the abstract namespace */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
	             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	(void)close(fd);
}

void notify_reloading(void)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
	               clock_mono_ns() / NS_PER_US);
	notify_send(text);
}
