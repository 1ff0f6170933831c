#include "server/http/tls_bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define TURN_RECORDS 16       /* each way, before others have their turn; a guess */
#define WARNINGS_MAX 8        /* alerts in a row that a handshake goes on after */
#define LINGER_NS    NS_PER_S /* for a peer that does not end what we have ended */

/* ---- life ---- */

static bool watch(struct tls_bridge *bridge, int fd)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = bridge,
	};

	return epoll_ctl(bridge->shared->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct tls_bridge *tls_bridge_open(struct tls_shared *shared, struct tls_identity *identity,
                                   struct connection *connection)
{
	struct tls_bridge *bridge;

	if (!budget_take(shared->budget, TLS_BRIDGE_BYTES))
		return NULL;
	bridge = mem_zalloc(1, sizeof(*bridge));
	bridge->shared = shared;
	bridge->peer_fd = connection->fd;
	bridge->pair_fd = -1;
	bridge->session = tls_identity_session(identity);
	if (!bridge->session || !watch(bridge, connection->fd)) {
		if (bridge->session)
			gnutls_deinit(bridge->session);
		budget_give(shared->budget, TLS_BRIDGE_BYTES);
		free(bridge);
		return NULL;
	}
	gnutls_transport_set_int(bridge->session, connection->fd);
	bridge->identity = tls_identity_hold(identity);
	bridge->connection = connection;
	shared->handshakes++;
	return bridge;
}

/* The peer's socket leaves the table of connections: from now on the pair stands there. */
static void leave_table(struct tls_bridge *bridge)
{
	struct connections *connections = bridge->shared->connections;

	if (!bridge->connection)
		return;
	bridge->shared->handshakes--;
	(void)epoll_ctl(connections_epoll_fd(connections), EPOLL_CTL_DEL, bridge->peer_fd, NULL);
	connections_close(connections, bridge->connection);
	bridge->connection = NULL;
}

void tls_bridge_close(struct tls_bridge *bridge)
{
	leave_table(bridge);
	gnutls_deinit(bridge->session);
	tls_identity_drop(bridge->identity);
	(void)close(bridge->peer_fd);
	if (bridge->pair_fd >= 0)
		(void)close(bridge->pair_fd);
	budget_give(bridge->shared->budget, TLS_BRIDGE_BYTES);
	free(bridge);
}

/* ---- shaking hands ---- */

static void fail_handshake(struct tls_bridge *bridge, int result)
{
	log_debug("TLS: %s", gnutls_strerror(result));
	(void)gnutls_alert_send_appropriate(bridge->session, result);
	bridge->shared->note(bridge->shared->context, TLS_FAILED);
	bridge->is_over = true;
}

/* The other end of a pair, in the hands of the acceptor. */
static bool hand_on(struct tls_bridge *bridge, int fd)
{
	struct connections *connections = bridge->shared->connections;
	unsigned char peer[CONNECTION_PEER_BYTES];
	struct connection *connection;

	memcpy(peer, bridge->connection->peer, sizeof(peer));
	leave_table(bridge);
	connection = connections_open(connections, fd, CONNECTION_FIRST_BYTES);
	memcpy(connection->peer, peer, sizeof(peer));
	connection->is_secured = true;
	if (connection_watch(connections, connection, EPOLLIN))
		return true;
	connections_close(connections, connection);
	(void)close(fd);
	return false;
}

static void keep_peer(struct connection *connection)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t length = sizeof(peer);

	if (getpeername(connection->fd, (struct sockaddr *)&peer, &length) == 0)
		memcpy(connection->peer, &peer, sizeof(connection->peer));
}

static void begin_service(struct tls_bridge *bridge)
{
	int pair[2];

	keep_peer(bridge->connection);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		log_rarely(LOG_WARN, "no file descriptor is left for a connection of TLS");
		bridge->shared->note(bridge->shared->context, TLS_REFUSED);
		bridge->is_over = true;
		return;
	}
	bridge->pair_fd = pair[0];
	bridge->shared->note(bridge->shared->context, TLS_ACCEPTED);
	if (!watch(bridge, pair[0])) {
		(void)close(pair[1]);
		bridge->is_over = true;
	} else if (!hand_on(bridge, pair[1])) {
		bridge->is_over = true;
	}
}

static void shake_hands(struct tls_bridge *bridge)
{
	int result = 0;

	for (int i = 0; i < WARNINGS_MAX; i++) {
		do {
			result = gnutls_handshake(bridge->session);
		} while (result == GNUTLS_E_INTERRUPTED);
		if (result == 0) {
			begin_service(bridge);
			return;
		}
		if (result == GNUTLS_E_AGAIN)
			return;
		if (gnutls_error_is_fatal(result))
			break;
	}
	fail_handshake(bridge, result);
}

/* ---- from the peer ---- */

static void end_peer(struct tls_bridge *bridge)
{
	bridge->has_peer_ended = true;
	(void)shutdown(bridge->pair_fd, SHUT_WR);
}

/* False: nothing more comes now. */
static bool receive(struct tls_bridge *bridge)
{
	const ssize_t count =
		gnutls_record_recv(bridge->session, bridge->in.bytes, sizeof(bridge->in.bytes));

	if (count > 0) {
		bridge->in.length = (size_t)count;
		bridge->in.sent = 0;
		return true;
	}
	if (count == GNUTLS_E_AGAIN)
		return false;
	if (count == GNUTLS_E_INTERRUPTED || count == GNUTLS_E_WARNING_ALERT_RECEIVED)
		return true;
	/* who closes without a word of TLS ends as who says one: HTTP has lengths of its own */
	if (count == 0 || count == GNUTLS_E_PREMATURE_TERMINATION)
		end_peer(bridge);
	else
		bridge->is_broken = true;
	return false;
}

/* False: the pair takes no more now. */
static bool pass_in(struct tls_bridge *bridge)
{
	struct tls_flow *in = &bridge->in;
	const ssize_t count = send(bridge->pair_fd, in->bytes + in->sent, in->length - in->sent,
	                           MSG_DONTWAIT | MSG_NOSIGNAL);

	if (count >= 0)
		in->sent += (size_t)count;
	else if (errno == EAGAIN)
		return false;
	else if (errno != EINTR)
		in->sent = in->length; /* nobody is there: what a peer still says is thrown away */
	return true;
}

static bool move_in(struct tls_bridge *bridge)
{
	for (int i = 0; i < TURN_RECORDS; i++) {
		if (bridge->is_broken)
			return false;
		if (bridge->in.sent < bridge->in.length) {
			if (!pass_in(bridge))
				return false;
		} else if (bridge->has_peer_ended || !receive(bridge)) {
			return false;
		}
	}
	return true;
}

/* ---- to the peer ---- */

static bool take_out(struct tls_bridge *bridge)
{
	const ssize_t count =
		recv(bridge->pair_fd, bridge->out.bytes, sizeof(bridge->out.bytes), MSG_DONTWAIT);

	if (count > 0) {
		bridge->out.length = (size_t)count;
		bridge->out.sent = 0;
		return true;
	}
	if (count < 0 && errno == EINTR)
		return true;
	if (count == 0 || errno != EAGAIN)
		bridge->has_pair_ended = true;
	return false;
}

static void note_progress(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	const int64_t timeout_ns = bridge->shared->write_timeout_ns;

	bridge->deadline_mono_ns = timeout_ns > 0 ? now_mono_ns + timeout_ns : 0;
}

/* What was not taken is given again, unchanged: GnuTLS has it in a record already. */
static bool send_out(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	struct tls_flow *out = &bridge->out;
	const ssize_t count = gnutls_record_send(bridge->session, out->bytes + out->sent,
	                                         out->length - out->sent);

	if (count > 0) {
		out->sent += (size_t)count;
		if (bridge->has_pair_ended)
			note_progress(bridge, now_mono_ns);
		return true;
	}
	if (count == GNUTLS_E_INTERRUPTED)
		return true;
	bridge->is_broken = count != GNUTLS_E_AGAIN;
	return false;
}

static bool move_out(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	for (int i = 0; i < TURN_RECORDS; i++) {
		if (bridge->is_broken)
			return false;
		if (bridge->out.sent < bridge->out.length) {
			if (!send_out(bridge, now_mono_ns))
				return false;
		} else if (bridge->has_pair_ended || !take_out(bridge)) {
			return false;
		}
	}
	return true;
}

/* Once all is sent that our side has said: TLS's end, then TCP's. */
static void say_end(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	int result;

	if (bridge->out.sent < bridge->out.length || bridge->has_said_end)
		return;
	result = gnutls_bye(bridge->session, GNUTLS_SHUT_WR);
	if (result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED)
		return;
	bridge->has_said_end = true;
	(void)shutdown(bridge->peer_fd, SHUT_WR);
	bridge->deadline_mono_ns = now_mono_ns + LINGER_NS;
}

static bool is_past(const struct tls_bridge *bridge, int64_t now_mono_ns)
{
	return bridge->deadline_mono_ns > 0 && now_mono_ns >= bridge->deadline_mono_ns;
}

static void serve(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	const bool had_pair_ended = bridge->has_pair_ended;
	const bool has_more_in = move_in(bridge);
	const bool has_more_out = move_out(bridge, now_mono_ns);

	bridge->has_more = has_more_in || has_more_out;
	if (bridge->has_pair_ended && !had_pair_ended)
		note_progress(bridge, now_mono_ns);
	if (bridge->has_pair_ended && !bridge->is_broken)
		say_end(bridge, now_mono_ns);
	bridge->is_over = bridge->is_broken || is_past(bridge, now_mono_ns) ||
	                  (bridge->has_said_end && bridge->has_peer_ended);
}

void tls_bridge_step(struct tls_bridge *bridge, int64_t now_mono_ns)
{
	if (bridge->is_over)
		return;
	if (bridge->connection)
		shake_hands(bridge);
	if (!bridge->is_over && !bridge->connection)
		serve(bridge, now_mono_ns);
}
