#include "server/port_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Whoever may write the folder might have laid a link there, to a file of ours. */
static int open_beside(const char *path)
{
	(void)unlink(path);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

int port_file_write(const char *path, uint16_t port, struct error *err)
{
	char beside[PATH_MAX];
	char text[16];
	const int length = snprintf(text, sizeof(text), "%u\n", port);
	int fd;
	bool is_written;

	if (snprintf(beside, sizeof(beside), "%s.tmp", path) >= (int)sizeof(beside))
		return error_set(err, ERROR_INVALID, "-server.http-port-file is too long");
	fd = open_beside(beside);
	if (fd < 0)
		return error_set_errno(err, errno, "-server.http-port-file: %s", beside);
	is_written = write(fd, text, (size_t)length) == length;
	if (close(fd) < 0 || !is_written || rename(beside, path) < 0)
		return error_set_errno(err, errno, "-server.http-port-file: %s", path);
	return 0;
}
