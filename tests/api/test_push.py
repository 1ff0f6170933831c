"""`collector` and the server that it pushes to: away, slow, busy, wrong, hostile.

The servers are sockets of this file, which say byte by byte what the test wants. What is pushed comes of the demo's recording, so that no right is
needed: its ticks, in their order, each as one request.
"""
import gzip
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

import harness

DEMO = os.path.join(harness.ROOT, "deploy/demo/llm_server.recording")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
MEMORY_MORE = 64 << 10  # what a hostile answer may cost, in KiB


def answer(status, *headers, body=b""):
    lines = ["HTTP/1.1 %d Some Reason" % status, "Content-Length: %d" % len(body), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Peer:
    """A server that reads each request whole and does with the n-th what the n-th behaviour says; the last one stands for all that follow.

    A behaviour is bytes to be sent, or a function of the connection; None closes it without a word.
    """

    def __init__(self, *behaviours, port=0):
        self.behaviours, self.requests, self.lock = behaviours, [], threading.Lock()
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def accept(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()
        except OSError:
            pass

    def serve(self, connection):
        with connection, connection.makefile("rb") as file:
            try:
                while self.one(connection, file):
                    pass
            except OSError:
                pass

    def one(self, connection, file):
        head = []
        while line := file.readline():
            if line == b"\r\n":
                break
            head.append(line.decode("latin-1"))
        length = re.search(r"(?i)^content-length: (\d+)", "".join(head), re.M)
        if not length:
            return False
        body = file.read(int(length[1]))
        if len(body) < int(length[1]):
            return False
        with self.lock:
            number = len(self.requests)
            self.requests.append((time.monotonic(), body))
        behaviour = self.behaviours[min(number, len(self.behaviours) - 1)]
        if behaviour is None:
            return False
        if callable(behaviour):
            return behaviour(self, connection)
        connection.sendall(behaviour)
        return True

    def bodies(self):
        with self.lock:
            return [body for _, body in self.requests]

    def times(self):
        with self.lock:
            return [when for when, _ in self.requests]

    def close(self):
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)  # else it listens as long as somebody waits in accept()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def hang(peer, _):
    peer.over.wait()
    return False


def drip(*parts):
    """Sends the parts, and then a byte each second until the other side has enough."""
    def behave(peer, connection):
        for part in parts:
            connection.sendall(part)
        while not peer.over.wait(1):
            connection.sendall(b"x")
        return False
    return behave


def flood(begin, more):
    """Sends without an end; at most 1 GB."""
    def behave(_, connection):
        connection.sendall(begin)
        for _ in range((1 << 30) // len(more)):
            connection.sendall(more)
        return False
    return behave


class Collector:
    """`collector`, of the demo's recording, to a URL."""

    def __init__(self, url, *options, source="-collector.replay=" + DEMO):
        self.process = subprocess.Popen(
            [harness.PROGRAM, "collector", "-push.url=" + url, "-metrics.listen=127.0.0.1:0", *([source] if source else []), *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.log, self.lines = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.port = int(self.says(r"metrics on port (\d+)")[1])

    def read(self):
        for line in self.process.stderr:
            with self.lines:
                self.log.append(line.decode("utf-8", "backslashreplace"))
                self.lines.notify_all()

    @property
    def text(self):
        with self.lines:
            return "".join(self.log)

    def says(self, pattern, seconds=60):
        return harness.wait_until(lambda: re.search(pattern, self.text), seconds, "the collector to say %r" % pattern)

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port, timeout=60) as response:
            return response.read().decode()

    def ends(self, seconds=60):
        status = self.process.wait(seconds)
        self.reader.join(60)
        return status

    def stop(self, seconds=60):
        """Gives its status and how long it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.ends(seconds), time.monotonic() - begin

    @property
    def memory(self):
        """The most that it took, in KiB; 0 when it has ended."""
        with open("/proc/%d/status" % self.process.pid) as file:
            found = re.search(r"VmHWM:\s+(\d+)", file.read())
        return int(found[1]) if found else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(60)
        self.process.stderr.close()


def deduplicated(bodies):
    """In the order in which they came first; a body that comes again later than its successor is a fault."""
    order = []
    for body in bodies:
        if not order or order[-1] != body:
            order.append(body)
    return order


class Urls(unittest.TestCase):
    def test_what_is_no_url_is_refused_at_once(self):
        for url in ("http://127.0.0.1:0", "http://127.0.0.1:70000", "http://127.0.0.1:-1", "http://127.0.0.1:http", "http://[::1", "http://[::gg]:80",
                    "http://[::1]x", "http://", "http:///x", "http://:4040", "http://a b:1", "http://127.0.0.1/a b", "ftp://127.0.0.1:1",
                    "127.0.0.1:4040", "localhost", "http://a\nb"):
            status, out, error = harness.vramscope("collector", "-push.url=" + url)
            self.assertEqual((status, out), (2, ""), (url, error))
            self.assertRegex(error, r"\Avramscope: -push\.url: '.*' is no URL: http://HOST:PORT is expected \(.+\)\n\Z")

    def test_where_metrics_cannot_be(self):
        for address in ("127.0.0.1:99999", "nonsense", "127.0.0.1", "[::1:80", "127.0.0.1:", ":x"):
            status, out, error = harness.vramscope("collector", "-push.url=http://127.0.0.1:1", "-metrics.listen=" + address)
            self.assertEqual((status, out), (2, ""), error)
            self.assertIn("-metrics.listen=" + address, error)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            status, out, error = harness.vramscope("collector", "-push.url=http://127.0.0.1:1", "-metrics.listen=" + address)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("-metrics.listen=%s: Address already in use" % address, error)


class Signals(unittest.TestCase):
    def test_a_hup_reads_the_log_level_again(self):
        """A collector that waits for its server, which is not there."""
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
            config = os.path.join(folder, "config.yaml")

            def write(level):
                with open(config, "w") as file:
                    file.write("log:\n  level: %s\n" % level)
            write("info")
            collector = Collector("http://127.0.0.1:%d" % silent.getsockname()[1], "-config.file=" + config)
            write("loud")
            collector.process.send_signal(signal.SIGHUP)
            collector.says("reloading: .*loud.*; what was in force stays")
            write("debug")
            collector.process.send_signal(signal.SIGHUP)
            collector.says("the log level is reloaded")
            self.assertIsNone(collector.process.poll())
            collector.stop()


class Servers(unittest.TestCase):
    """A recording's ticks depend on the clock: mostly there is one, at the end."""

    def all_in_order(self, peer, collector, more):
        """All ticks came, in order, after as many requests more; how many there were."""
        self.assertEqual(collector.ends(120), 0, collector.text)
        bodies = peer.bodies()
        self.assertGreaterEqual(len(set(bodies)), 1)
        self.assertEqual(len(deduplicated(bodies)), len(set(bodies)))
        self.assertEqual(len(bodies), len(set(bodies)) + more)
        self.assertNotIn("not delivered", collector.text)

    def test_away_at_start(self):
        with Peer(OK) as peer:
            url, port = peer.url, peer.port
        with Collector(url) as collector:
            collector.says("push: .*Couldn't connect to server; it is tried again")
            with Peer(OK, port=port) as peer:
                self.all_in_order(peer, collector, 0)
                collector.says("push: delivered, failures before: [1-9]")

    def test_what_may_be_tried_again(self):
        for again in (answer(429), answer(500), answer(502), answer(503, "Retry-After: 0"), answer(408), None, b"", b"SSH-2.0-OpenSSH_9.2\r\n",
                      b"\x15\x03\x01\x00\x02\x02\x46", b"\0" * 100, b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 2"):
            def behave(_, connection, text=again):
                if text:
                    connection.sendall(text)
                return False
            with self.subTest(again=again), Peer(behave, OK) as peer, Collector(peer.url) as collector:
                self.all_in_order(peer, collector, 1)
                self.assertIn("it is tried again", collector.text)

    def test_a_pause_that_is_asked_for(self):
        with Peer(answer(503, "Retry-After: 2"), OK) as peer, Collector(peer.url) as collector:
            self.all_in_order(peer, collector, 1)
            self.assertGreaterEqual(peer.times()[1] - peer.times()[0], 2)

    def test_what_is_refused_is_dropped_and_said(self):
        for refusal, said in ((answer(400, body=b"no such thing"), "answered 400: no such thing; what was sent is dropped"),
                              (answer(404), "answered 404"), (answer(413), "answered 413"), (answer(501), "answered 501"),
                              (answer(301, "Location: http://127.0.0.1:1/"), "answered 301: redirects are not followed")):
            with self.subTest(refusal=refusal), Peer(refusal, OK) as peer, Collector(peer.url) as collector:
                self.all_in_order(peer, collector, 0)
                self.assertIn(said, collector.text)

    def test_the_status_is_all_that_counts(self):
        """Whatever comes behind a 200, the profiles are stored: they are not sent again."""
        for behave in (flood(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), flood(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n", b"x" * 65536),
                       flood(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 0x8000 + b"\r\n"),
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk", b"HTTP/1.1 204 No Content\r\n\r\n"):
            with Peer(behave, OK) as peer, Collector(peer.url) as collector:
                self.all_in_order(peer, collector, 0)

    def test_heads_without_an_end_cost_nothing(self):
        with Peer(hang) as peer, Collector(peer.url) as collector:
            harness.wait_until(peer.bodies, 60, "a push")
            usual = collector.memory
        for behave in (flood(b"HTTP/1.1 503 Busy\r\nX: ", b"x" * 65536), flood(b"HTTP/1.1 503 Busy\r\n", b"X-More: and more\r\n" * 4096),
                       flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2048), flood(b"", b"x" * 65536)):
            with Peer(behave, behave, OK) as peer, Collector(peer.url) as collector:
                memory = []
                harness.wait_until(lambda: collector.process.poll() is not None or memory.append(collector.memory), 120, "its end")
                self.all_in_order(peer, collector, 2)
                self.assertLess(max(memory), usual + MEMORY_MORE)

    def test_another_protocol(self):
        """Neither TLS where HTTP was meant, nor HTTP where TLS was."""
        with Peer(OK) as peer, Collector(peer.url.replace("http:", "https:")) as collector:
            collector.says("push: https://.*; it is tried again")
            self.assertEqual(collector.stop()[0], 0)
            self.assertEqual(peer.bodies(), [])

    def test_an_end_does_not_wait(self):
        """For a server that is away, hangs, or speaks a byte a second."""
        for behave in (hang, drip(), drip(b"HTTP/1.1 503 Busy\r\nX: "), drip(b"HTTP/1.1 500 Error\r\n\r\n"), answer(503, "Retry-After: 300"), answer(500)):
            with Peer(behave) as peer, Collector(peer.url) as collector:
                harness.wait_until(peer.bodies, 60, "a push")
                status, seconds = collector.stop()
                self.assertEqual(status, 0, collector.text)
                self.assertLess(seconds, 20)  # 5 s, and what a sanitizer takes; a request may take 30 s
                self.assertRegex(collector.text, r"\d+ push(es were| was) not delivered")
                self.assertEqual(len(set(peer.bodies())), 1)

    def test_an_end_has_another_try(self):
        """The pause that was asked for is over when it should end: what waits goes out."""
        with Peer(answer(503, "Retry-After: 300"), OK) as peer, Collector(peer.url) as collector:
            harness.wait_until(peer.bodies, 60, "a push")
            self.assertEqual(collector.stop()[0], 0)
            self.assertEqual(len(peer.bodies()), len(set(peer.bodies())) + 1)
            self.assertNotIn("not delivered", collector.text)


def fields(data):
    """(number, value) of a protobuf message, one level deep."""
    at = 0
    while at < len(data):
        tag, at = harness.cases.Proto.read_varint(data, at)
        if tag & 7 == 2:
            length, at = harness.cases.Proto.read_varint(data, at)
            yield tag >> 3, data[at:at + length]
            at += length
        else:
            value, at = harness.cases.Proto.read_varint(data, at)
            yield tag >> 3, value


def times_of(body):
    """When the profiles of a push were made: PushRequest.series[].samples[].rawProfile, Profile.time_nanos."""
    def inside(data, number):
        return [value for found, value in fields(data) if found == number]

    return {time_ns for series in inside(body, 1) for sample in inside(series, 2) for raw in inside(sample, 1)
            for time_ns in inside(gzip.decompress(raw), 9)}


def tick_times(bodies):
    """Of those pushes that have a node's heartbeat: reports of others' failed allocations come between them, with times of their own."""
    return [max(times_of(body)) for body in bodies if b"vramscope-collector" in body]


class Live(unittest.TestCase):
    """Where the driver may be watched: ticks go on while the server is busy, hangs or is away."""

    def collect(self, url, *options):
        collector = Collector(url, "-collector.interval=1s", *options, source=None)
        self.addCleanup(collector.__exit__)
        if harness.wait_until(lambda: re.search("watching|error", collector.text), 60, "its start")[0] == "error":
            self.skipTest("the driver may not be watched: " + collector.text)
        harness.wait_until(lambda: "cuda_collector_push_waiting_bytes" in collector.metrics(), 60, "its metrics")
        return collector

    def metric(self, collector, name):
        return int(re.search(r"^cuda_collector_%s (\d+)$" % re.escape(name), collector.metrics(), re.M)[1])

    def test_the_loop_does_not_wait_for_the_server(self):
        with Peer(hang) as peer:
            collector = self.collect(peer.url)
            harness.wait_until(peer.bodies, 60, "a push")
            one = len(peer.bodies()[0])
            harness.wait_until(lambda: self.metric(collector, "push_waiting_bytes") > 3 * one, 60, "ticks that wait")
            self.assertEqual(len(peer.bodies()), 1)
            self.assertEqual(collector.stop()[0], 0)

    def test_what_waited_comes_in_its_order(self):
        is_free = threading.Event()

        def busy(_, connection):
            connection.sendall(OK if is_free.is_set() else answer(503))
            return True

        with Peer(busy) as peer:
            collector = self.collect(peer.url)
            harness.wait_until(lambda: self.metric(collector, 'pushes_total{outcome="retried"}') > 1, 60, "tries")
            is_free.set()
            harness.wait_until(lambda: self.metric(collector, 'pushes_total{outcome="delivered"}') > 4, 60, "deliveries")
            self.assertEqual(collector.stop()[0], 0)
            order = deduplicated(peer.bodies())
            self.assertEqual(len(order), len(set(peer.bodies())))
            ticks = tick_times(order)
            self.assertGreater(len(ticks), 4)
            self.assertEqual(ticks, sorted(set(ticks)))
            self.assertNotIn("dropped", collector.text)

    def test_what_waits_is_bounded_and_the_oldest_goes(self):
        most = 2048  # a tick without a process is some 300 bytes
        away = harness.Port()
        self.addCleanup(away.close)
        collector = self.collect(away.url, "-push.max-bytes=%d" % most)
        harness.wait_until(lambda: self.metric(collector, 'pushes_total{outcome="dropped"}') > 1, 120, "the oldest to be dropped")
        waiting = self.metric(collector, "push_waiting_bytes")
        with Peer(OK, port=away.number) as peer:
            # metrics are made beside a tick, which may wait then
            harness.wait_until(lambda: self.metric(collector, "push_waiting_bytes") < waiting // 2, 120, "the rest to be delivered")
            self.assertEqual(collector.stop()[0], 0)
            kept = peer.bodies()
            largest = max(len(body) for body in kept)  # of ticks with other processes; one may be over the bound
            self.assertLessEqual(waiting, max(most, largest) + largest)  # the one that is tried is not dropped
            self.assertGreater(waiting, len(kept[0]))
            times = tick_times(kept)
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[1] - times[0], 1.5e9)  # there was more between them
            self.assertIn("profiles wait for their server: the oldest were dropped", collector.text)


if __name__ == "__main__":
    harness.main_alone()
