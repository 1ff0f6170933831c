"""Thousands of connections at a time, served, waiting and slow: others are answered, memory stays below its limit, and all is given back.

    test_many_connections.py [CONNECTIONS]     (10000)
"""
import os
import re
import resource
import select
import socket
import sys
import time
import unittest

import harness

CONNECTIONS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 10000
READY = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"
LIMIT = 512 << 20
# A sanitizer's shadow memory is not ours to judge.
JUDGES_MEMORY = not os.environ.get("VRAMSCOPE_SANITIZE")
PATIENCE = ("-server.http-read-header-timeout=1h", "-server.http-idle-timeout=1h")  # the first waits until the last is connected
DEAF = 8
SPARE = 500  # descriptors of either process that are no connections


def raise_limit(wanted):
    """Descriptors of this process, and of the servers that it starts; the reason when there are too few."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        if most < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return None
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0]), most))
    except (ValueError, OSError):
        return "%d open files are allowed; the test needs %d" % (most, wanted)
    return None


def ingest(number):
    body = b"many;p%d 1\n" % number
    return b"POST /ingest?name=many.alloc_space HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def status(connection):
    """Of the next answer; it is read whole, which is one piece on this machine's own network."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) if b"ontent-" in head else 0
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split()[1])


class ManyConnections(unittest.TestCase):
    def setUp(self):
        reason = raise_limit(CONNECTIONS + SPARE)
        if reason:
            self.skipTest(reason)
        self.connections = []
        self.addCleanup(self.close)

    def close(self):
        for connection in self.connections:
            connection.close()
        self.connections = []

    def connect(self, server, count):
        for _ in range(count):
            self.connections.append(socket.create_connection(("127.0.0.1", server.port), 120))

    def open_connections(self, server):
        return int(re.search(r'^pyroscope_tcp_connections\{protocol="http"\} (\d+)$', server.get("/metrics").text, re.M)[1])

    def others_are_answered(self, server, limit=LIMIT):
        begin = time.monotonic()
        for _ in range(10):
            self.assertEqual(server.get("/ready").status, 200)
            self.assertEqual(server.ingest("other.alloc_space", b"other 1\n").status, 200)
        if JUDGES_MEMORY:
            self.assertLess(time.monotonic() - begin, 10)
            self.assertLess(server.memory("VmRSS"), limit)

    def test_all_are_served(self):
        with harness.Server("-server.max-connections=%d" % (CONNECTIONS + 100), "-memory.limit=4GiB", *PATIENCE) as server:
            before = server.memory("VmRSS")
            self.connect(server, CONNECTIONS)
            for connection in self.connections:
                connection.sendall(READY)
            self.assertEqual({status(connection) for connection in self.connections}, {200})
            self.others_are_answered(server, 4 << 30)
            for number, connection in enumerate(self.connections):
                connection.sendall(ingest(number))
            answers = [status(connection) for connection in self.connections]
            self.assertLessEqual(set(answers), {200, 503})
            self.others_are_answered(server, 4 << 30)
            now_ms = int(time.time() * 1000)
            found = server.totals("memory:alloc_space:bytes::", '{service_name="many"}', now_ms - 600000, now_ms + 2000)
            stored = {int(stack.split(";")[1][1:]) for stack in found}
            self.assertEqual([n for n, answer in enumerate(answers) if answer == 200 and n not in stored], [])
            whole = server.memory("VmRSS")
            self.close()
            harness.wait_until(lambda: self.open_connections(server) < 10, 60, "the connections to be closed")
            print("%d connections: %.1f KB each" % (CONNECTIONS, (whole - before) / 1024 / CONNECTIONS))

    def test_more_than_there_is_room_for_have_their_turn(self):
        """Nobody closes his connection: those that were served make room for those that wait."""
        with harness.Server("-server.http-read-header-timeout=120s") as server:
            for _ in range(CONNECTIONS):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(("127.0.0.1", server.port))
                self.connections.append(connection)
            waiting, deadline = {c.fileno(): c for c in self.connections}, time.monotonic() + 300
            ready = select.epoll()
            self.addCleanup(ready.close)
            for connection in self.connections:
                ready.register(connection, select.EPOLLOUT | select.EPOLLONESHOT)
            while waiting and time.monotonic() < deadline:
                for number, events in ready.poll(1):
                    if events & select.EPOLLOUT and not events & select.EPOLLIN:
                        waiting[number].send(READY)
                        ready.modify(number, select.EPOLLIN | select.EPOLLONESHOT)
                    else:
                        connection = waiting.pop(number)
                        connection.setblocking(True)
                        self.assertEqual(status(connection), 200)
            self.assertEqual(len(waiting), 0)
            self.others_are_answered(server)

    def test_slow_ones_hold_nobody_up(self):
        """Heads that never end, in thousands: others are answered meanwhile, and each of these is cut in time."""
        with harness.Server("-server.http-read-header-timeout=5s", "-server.max-connections=%d" % (CONNECTIONS + 100), "-memory.limit=4GiB") as server:
            self.connect(server, CONNECTIONS // 2)
            begin = time.monotonic()
            for connection in self.connections:
                connection.sendall(b"GET /ready HTTP/1.1\r\nHost: x\r\nX: ")
            while time.monotonic() - begin < 4:
                self.others_are_answered(server)
                for connection in self.connections[::50]:
                    connection.send(b"a")
            for connection in self.connections:
                connection.settimeout(60)
                try:
                    self.assertIn(status(connection), (None, 408))
                except ConnectionResetError:
                    pass
            self.others_are_answered(server)

    def test_who_never_reads_is_cut(self):
        """Answers that are larger than what the kernel takes for a peer."""
        with harness.Server("-server.http-write-timeout=2s", "-memory.limit=4GiB") as server:  # room for all of them at once
            for part in range(6):
                stacks = b"".join(b"%s%d 1\n" % (b"x" * 200, part * 10000 + n) for n in range(10000))
                self.assertEqual(server.ingest("large.alloc_space", stacks).status, 200)
            for _ in range(DEAF):
                connection = socket.socket()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.connect(("127.0.0.1", server.port))
                connection.sendall(b"GET /pyroscope/render?query=memory:alloc_space:bytes::%7Bservice_name%3D%22large%22%7D&from=now-1h&max-nodes=200000"
                                   b" HTTP/1.1\r\nHost: x\r\n\r\n")
                self.connections.append(connection)

            def cut():
                found = re.search(r'^vramscope_connections_cut_total\{reason="write_timeout"\} (\d+)$', server.get("/metrics").text, re.M)
                return found and int(found[1]) == DEAF
            harness.wait_until(cut, 60, "all of them to be cut")
            self.others_are_answered(server)


if __name__ == "__main__":
    harness.main()
