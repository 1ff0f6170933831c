#include "tests/unit/collector/identity/fake_server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define GIVE_UP_NS (50 * NS_PER_S)
#define PATH_BYTES 128

bool fake_server_is_possible(void)
{
	/* NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a command of our own, one thread */
	if (system("openssl version >/dev/null 2>&1") == 0)
		return true;
	printf("no openssl to make a certificate\n");
	return false;
}

static char *read_output(const struct fake_server *server)
{
	char *text = mem_zalloc(OUTPUT_MAX, 1);
	const int file = open(server->output, O_RDONLY | O_CLOEXEC);

	if (file >= 0 && read(file, text, OUTPUT_MAX - 1) < 0)
		text[0] = '\0';
	if (file >= 0)
		(void)close(file);
	return text;
}

static void run_server(const struct fake_server *server, int input, const char *script)
{
	const int output = open(server->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	(void)dup2(input, STDIN_FILENO);
	(void)dup2(output, STDOUT_FILENO);
	execl(PYTHON, PYTHON, FAKE_API_SERVER, server->folder, script, (char *)NULL);
	_exit(127);
}

static unsigned port_of(const struct fake_server *server)
{
	char *text = read_output(server);
	const unsigned port = strchr(text, '\n') ? (unsigned)strtoul(text, NULL, 10) : 0;

	free(text);
	return port;
}

static void wait_for_port(const struct fake_server *server)
{
	const struct timespec pause = { 0, 2000000 };
	const int64_t give_up_ns = clock_mono_ns() + GIVE_UP_NS;

	while (port_of(server) == 0) {
		assert_true(clock_mono_ns() < give_up_ns);
		assert_int_equal(waitpid(server->pid, NULL, WNOHANG), 0);
		nanosleep(&pause, NULL);
	}
}

void fake_server_start(struct fake_server *server, const char *script)
{
	struct kubernetes_access *access = &server->access;
	int words[2];

	*server = (struct fake_server){ .folder = "/tmp/fake_server.XXXXXX" };
	assert_non_null(mkdtemp(server->folder));
	(void)snprintf(server->output, sizeof(server->output), "%s/output", server->folder);
	assert_int_equal(pipe2(words, O_CLOEXEC), 0);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0)
		run_server(server, words[0], script);
	(void)close(words[0]);
	server->input = words[1];
	wait_for_port(server);
	(void)snprintf(access->url, sizeof(access->url), "https://127.0.0.1:%u", port_of(server));
	(void)snprintf(access->ca_file, sizeof(access->ca_file), "%s/ca.crt", server->folder);
	(void)snprintf(access->token_file, sizeof(access->token_file), "%s/token", server->folder);
}

void fake_server_stop(const struct fake_server *server)
{
	static const char *const names[] = { "output", "token", "ca.crt", "ca.key", "" };

	(void)close(server->input);
	(void)waitpid(server->pid, NULL, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		char path[PATH_BYTES];

		(void)snprintf(path, sizeof(path), "%s/%s", server->folder, names[i]);
		(void)remove(path);
	}
}

/* Whole or not at all: it may be read at any moment. */
void fake_server_set_token(const struct fake_server *server, const char *token)
{
	char path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/new", server->folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(token, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(path, server->access.token_file), 0);
}

size_t fake_server_requests(const struct fake_server *server, struct arena *arena,
                            struct fake_request requests[FAKE_REQUESTS_MAX])
{
	char *text = read_output(server);
	struct str rest = arena_copy(arena, str_of(text));
	struct str line;
	size_t count = 0;

	free(text);
	(void)str_split(&rest, '\n', &line); /* the port */
	while (str_split(&rest, '\n', &line) && rest.data && count < FAKE_REQUESTS_MAX) {
		const struct json *request;
		struct error err;

		assert_int_equal(json_parse(line, arena, &request, &err), 0);
		requests[count++] = (struct fake_request){
			.path = json_text(json_get(request, "path")),
			.token = json_text(json_get(request, "token")),
			.time_s = json_number(json_get(request, "time")),
		};
	}
	return count;
}

size_t fake_server_request_count(const struct fake_server *server)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(OUTPUT_MAX * 4, NULL);
	struct fake_request requests[FAKE_REQUESTS_MAX];

	return fake_server_requests(server, arena, requests);
}
