#!/usr/bin/env python3
"""HTTP/2 on the one port: what HTTP/1.1 answers, at once on one connection; and everything a peer may do to it."""
import os
import re
import signal
import socket
import struct
import threading
import time
import unittest

import hpack
import harness
from http2_client import (ACK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
                          MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE, NO_ERROR, PADDED, PING, PREFACE, PRIORITY, PROTOCOL_ERROR,
                          REFUSED_STREAM, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, Http2, Http2Case, frame, framed)
from test_grpc import EXPORT, PUSH, TYPE, push_message


def stack_of(size):
    """A folded line of that many bytes."""
    return b"a" * (size - 2) + b" 1"


class Served(Http2Case):
    """Its log and its memory are looked at."""

    def metric(self, pattern):
        found = re.search(pattern + r" (\S+)$", self.server.get("/metrics").text, re.M)
        return float(found[1]) if found else 0.0

    def cut(self, reason):
        return self.metric(r'^vramscope_connections_cut_total\{reason="%s"\}' % reason)

    def log(self):
        with open(self.server.log) as file:
            return file.read()


class Requests(Served):
    def test_answers_are_those_of_http1(self):
        peer = self.peer()
        for method, path, body, headers in (
                ("GET", "/ready", None, {}), ("GET", "/nothing", None, {}), ("GET", "/api/nothing", None, {}), ("PUT", "/ready", None, {}),
                ("POST", "/ingest", b"a 1", {}), ("POST", "/ingest?name=http2%7Bx=1%7D", b"a;b 1", {}),
                ("POST", "/querier.v1.QuerierService/LabelNames", b"{}", {"Content-Type": "application/json"}),
                ("POST", "/querier.v1.QuerierService/LabelNames", b"{}", {"Content-Type": "text/plain"}),
                ("GET", "/querier.v1.QuerierService/LabelNames", None, {}),
                ("GET", "/pyroscope/render?query=x", None, {}), ("GET", "/%zz", None, {})):
            with self.subTest(method=method, path=path):
                first = self.server.request(method, path, body, headers)
                second = peer.request(method, path, body, headers)
                self.assertEqual(second.status, first.status)
                self.assertEqual(second.body, first.body)
                for name in ("Content-Type", "Content-Length", "Allow", "Accept-Post", "X-Content-Type-Options"):
                    self.assertEqual(second.header(name.lower()), first.headers.get(name), name)
                self.assertRegex(second.header("date"), r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")

    def test_a_wrong_method_is_told_the_right_one(self):
        """RFC 9110, 15.5.6."""
        for method, path, allowed in (("PUT", "/ready", "GET"), ("GET", "/ingest", "POST"), ("GET", PUSH, "POST"), ("GET", EXPORT, "POST"),
                                      ("POST", "/pyroscope/render", "GET")):
            with self.subTest(path=path):
                answer = self.peer().request(method, path)
                self.assertEqual((answer.status, answer.header("allow")), (405, allowed))
                self.assertEqual(self.server.request(method, path).headers["Allow"], allowed)

    def test_head_has_the_length_and_no_body(self):
        answer = self.peer().request("HEAD", "/metrics")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertGreater(int(answer.header("content-length")), 1000)

    def test_the_preface_may_come_in_pieces(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as raw:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(PREFACE)):
                raw.sendall(PREFACE[i:i + 1])
            raw.sendall(frame(SETTINGS))
            head = raw.recv(9, socket.MSG_WAITALL)
            self.assertEqual((head[3], head[4]), (SETTINGS, 0))

    def test_what_is_announced(self):
        peer = self.peer()
        peer.ping()
        self.assertEqual(peer.settings[MAX_CONCURRENT_STREAMS], 100)
        self.assertEqual(peer.settings[INITIAL_WINDOW_SIZE], 1 << 20)
        self.assertGreaterEqual(peer.settings[MAX_HEADER_LIST_SIZE], 16 << 10)
        self.assertEqual(peer.own_window, 16 << 20)

    def test_bodies_in_any_pieces_arrive_whole(self):
        peer, body = self.peer(), b"main;work 3\nmain;rest 4\n"
        for pieces in ([body[i:i + 1] for i in range(len(body))], [b""] + [body] + [b""], [body[:7], body[7:]]):
            stream = peer.begin("POST", "/ingest?name=http2pieces", end=False)
            for piece in pieces:
                peer.send(frame(DATA, PADDED, stream.id, bytes([3]) + piece + b"\0\0\0"))
            peer.send_data(stream, end=True)
            self.assertEqual(peer.wait_for(stream).status, 200, stream)

    def test_heads_in_pieces_and_unknown_frames_are_tolerated(self):
        peer = self.peer()
        block = hpack.encode(peer.fields("GET", "/ready"))
        peer.send(frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 15)) + frame(0xbe, 0, 1, b"?") + frame(0xbe, 0, 0))
        out = frame(HEADERS, END_STREAM, 1, block[:1])
        for i in range(1, 5):
            out += frame(CONTINUATION, 0, 1, block[i:i + 1])
        peer.send(out + frame(CONTINUATION, END_HEADERS, 1, block[5:]))
        stream = peer.expect()
        self.assertEqual(peer.wait_for(stream).body, b"ready")

    def test_trailers_of_a_request_say_nothing(self):
        peer = self.peer()
        stream = peer.begin("POST", "/ingest?name=http2trailers", end=False)
        peer.send_data(stream, b"a 1")
        peer.send(frame(HEADERS, END_STREAM | END_HEADERS, stream.id, hpack.encode([("x-sum", "1")])))
        self.assertEqual(peer.wait_for(stream).status, 200)

    def test_who_waits_for_100_gets_it(self):
        peer = self.peer()
        stream = peer.begin("POST", "/ingest?name=http2continue", {"expect": "100-continue"}, end=False)
        while not stream.continued:
            peer.read()
        peer.send_data(stream, b"a 1", end=True)
        self.assertEqual(peer.wait_for(stream).status, 200)

    def test_a_hundred_streams_at_a_time(self):
        peer = self.peer()
        streams = [peer.begin("POST", "/ingest?name=http2many%d" % i, end=False) for i in range(100)]
        peer.ping()
        for i, stream in enumerate(reversed(streams)):
            peer.send_data(stream, b"a %d" % (i + 1), end=True)
        for stream in streams:
            self.assertEqual(peer.wait_for(stream).status, 200, stream)

    def test_one_more_than_that_is_refused_and_may_come_again(self):
        """From who has not heard of the limit yet."""
        peer = self.peer()
        streams = [peer.begin("POST", "/ingest?name=http2more", end=False) for _ in range(101)]
        self.assertEqual(peer.wait_for(streams[100]).reset, REFUSED_STREAM)
        peer.send_data(streams[0], b"a 1", end=True)
        self.assertEqual(peer.wait_for(streams[0]).status, 200)
        self.assertEqual(peer.request("GET", "/ready").status, 200)

    def test_a_large_body_passes_the_windows(self):
        peer = self.peer()
        line = stack_of(1000) + b"\n"
        answer = peer.request("POST", "/ingest?name=http2large", line * 20000)
        self.assertEqual(answer.status, 200, answer)

    def test_a_large_answer_passes_a_small_window(self):
        body = "".join("main;%s%d 1\n" % ("f" * 50, i) for i in range(3000)).encode()
        now = int(time.time() * 1000)
        self.assertEqual(self.server.ingest("http2answer", body).status, 200)
        message = {"profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "labelSelector": '{service_name="http2answer"}',
                   "start": now - 3600000, "end": now + 10000, "maxNodes": 100000}
        path, headers = "/querier.v1.QuerierService/SelectMergeStacktraces", {"content-type": "application/json"}
        expected = self.server.rpc("SelectMergeStacktraces", message).body
        self.assertGreater(len(expected), 150000)
        peer = self.peer(settings={INITIAL_WINDOW_SIZE: 999})
        answer = peer.request("POST", path, harness.json.dumps(message).encode(), headers)
        self.assertEqual(answer.body, expected)

    def test_an_answer_before_the_end_ends_the_request(self):
        peer = self.peer()
        stream = peer.begin("POST", "/nothing", end=False)
        self.assertEqual(peer.wait_for(stream).status, 404)
        while stream.reset is None:
            peer.read()
        self.assertEqual(stream.reset, NO_ERROR)
        self.assertEqual(peer.request("GET", "/ready").status, 200)

    def test_a_body_over_the_limit_is_told_so_at_once(self):
        peer = self.peer()
        stream = peer.begin("POST", "/ready", {"content-length": str(1 << 40)}, end=False)
        self.assertEqual(peer.wait_for(stream).status, 405)
        stream = peer.begin("POST", "/ingest?name=a", {"content-length": str(1 << 40)}, end=False)
        self.assertEqual(peer.wait_for(stream).status, 413)

    def test_heads_have_a_limit(self):
        peer = self.peer()
        self.assertEqual(peer.request("GET", "/ready", headers={"x": "y" * (16 << 10)}).status, 200)
        self.assertEqual(peer.request("GET", "/ready", headers=[("x", "y" * (30 << 10))] * 3).status, 431)
        self.assertEqual(peer.request("GET", "/ready", headers=[("x", "y")] * 1100).status, 431)
        self.assertEqual(peer.request("GET", "/ready").status, 200)
        peer.begin("GET", "/ready", headers={"x": "y" * (70 << 10)})
        peer.read_to_end()
        self.assertNotEqual(peer.goaways[-1][1], NO_ERROR)

    def test_malformed_requests_are_reset(self):
        peer, good = self.peer(), Http2.fields("GET", "/ready")
        for fields in (good[:2] + good[3:], good + [("X-Upper", "1")], good + [("x", "a\0b")], good + [("connection", "close")],
                       good + [("transfer-encoding", "chunked")], good + [(":path", "/")], [("x", "y")] + good, good + [(":new", "1")],
                       good + [("te", "gzip")]):
            with self.subTest(fields=fields[-1]):
                self.assertEqual(peer.wait_for(peer.begin_with(fields)).reset, PROTOCOL_ERROR)
        stream = peer.begin("POST", "/ingest?name=a", {"content-length": "5"}, end=False)
        peer.send_data(stream, b"a 1", end=True)
        self.assertEqual(peer.wait_for(stream).reset, PROTOCOL_ERROR)
        self.assertEqual(peer.request("GET", "/ready").status, 200)

    def test_a_broken_frame_ends_the_connection(self):
        for bytes_ in (frame(DATA, 0, 0, b"x"), frame(SETTINGS, 0, 0, b"12345"), frame(PING, 0, 0, b"1"),
                       frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\xff\xff"), frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\0"),
                       b"\xff\xff\xff" + frame(DATA, 0, 1)[3:]):
            peer = self.peer()
            peer.send(bytes_)
            peer.read_to_end()
            self.assertNotEqual(peer.goaways[-1][1], NO_ERROR)
        self.assertEqual(self.server.get("/ready").status, 200)

    def test_a_half_closed_peer_still_gets_its_answer(self):
        peer = self.peer()
        stream = peer.begin("POST", "/ingest?name=http2half", end=False)
        peer.send_data(stream, b"a 1", end=True)
        peer.socket.shutdown(socket.SHUT_WR)
        peer.opens_windows = False
        kinds = [kind for kind, *_ in self.end_of(peer)]
        self.assertIn(HEADERS, kinds)
        self.assertEqual(stream.status, 200)

    @staticmethod
    def end_of(peer):
        """read_to_end() of one that may not send."""
        frames = []
        peer.send = lambda data: None
        try:
            while True:
                frames.append(peer.read())
        except Closed:
            return frames

    def test_what_a_gone_peer_left_is_given_back(self):
        before = self.metric("^vramscope_memory_used_bytes")
        for _ in range(20):
            with Http2(self.server.port) as peer:
                stream = peer.begin("POST", "/ingest?name=http2gone", end=False)
                peer.send_data(stream, b"x" * 60000)
        harness.wait_until(lambda: self.metric("^vramscope_memory_used_bytes") < before + (1 << 20), 30, "the memory to come back")
        harness.wait_until(lambda: self.metric('^pyroscope_inflight_requests{method="POST",route="ingest"}') == 0, 30, "no request")


class Shortage(Served):
    """One connection holds more than is left for all: there is no room for its answers."""
    LIMIT = 32 << 20
    options = ("-memory.limit=32MiB",)

    def hold(self, peer, size):
        """A body of which a byte is missing."""
        stream = peer.begin("POST", "/ingest?name=http2held", {"content-length": str(size + 1)}, end=False)
        peer.send_data(stream, b"x" * size)
        peer.ping()

    def fill(self, most):
        while self.LIMIT - self.metric("^vramscope_memory_used_bytes") > most:
            self.hold(self.peer(), 2 << 20)

    def test_what_is_stored_is_answered_so(self):
        """Told to come again, a sender would store it twice."""
        peer, now = self.peer(), int(time.time() * 1000)
        plain = peer.begin("POST", "/ingest?name=http2short", end=False)
        peer.send_data(plain, b"main;work 7\n")
        grpc = peer.begin("POST", PUSH, {"content-type": "application/grpc", "te": "trailers"}, end=False)
        peer.send_data(grpc, framed(push_message("grpc-short", 5)))
        self.hold(peer, 10 << 20)
        self.fill(9 << 20)
        for stream in (plain, grpc):
            peer.send_data(stream, end=True)
        self.assertEqual((peer.wait_for(plain).status, plain.body), (200, b""))
        self.assertEqual(peer.wait_for(grpc).grpc, (0, ""))
        self.assertEqual(peer.request("GET", "/ready").body, b"ready")
        self.assertEqual(peer.request("GET", "/metrics").status, 503)  # there is really no room
        self.assertEqual(self.server.get("/api/v1/rejects").json, {"rejects": []})
        for service, expected in (("http2short", {"main;work": 70000000}), ("grpc-short", {"a;b": 5})):
            self.assertEqual(self.server.totals(TYPE, '{service_name="%s"}' % service, now - 600000, now + 60000), expected)


class Deadlines(Served):
    options = ("-server.http-read-header-timeout=1s", "-server.http-read-timeout=1s", "-server.http-write-timeout=1s",
               "-server.http-idle-timeout=2s")

    def test_a_body_that_does_not_come_is_given_up(self):
        before = self.cut("body_timeout")
        peer = self.peer()
        stream = peer.begin("POST", "/ingest?name=a", end=False)
        peer.send_data(stream, b"a")
        self.assertEqual(peer.wait_for(stream).reset, CANCEL)
        self.assertEqual(peer.request("GET", "/ready").status, 200)
        self.assertEqual(self.cut("body_timeout"), before + 1)

    def test_a_window_that_never_opens_is_given_up(self):
        before, peer = self.cut("write_timeout"), self.peer(settings={INITIAL_WINDOW_SIZE: 0})
        streams = [peer.begin("GET", "/metrics") for _ in range(50)]
        for stream in streams:
            self.assertEqual(peer.wait_for(stream).reset, CANCEL)
            self.assertEqual((stream.status, stream.body), (200, b""))
        self.assertEqual(self.cut("write_timeout"), before + 50)

    def test_a_head_that_does_not_end_ends_the_connection(self):
        peer = self.peer()
        peer.ping()
        peer.send(frame(HEADERS, END_STREAM, 1, hpack.encode(peer.fields("GET", "/ready"))))
        peer.read_to_end()
        self.assertGreaterEqual(self.cut("header_timeout"), 1)

    def test_a_preface_without_settings_is_closed(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as raw:
            raw.sendall(PREFACE)
            while raw.recv(4096):
                pass

    def test_an_idle_connection_is_said_goodbye(self):
        peer = self.peer()
        self.assertEqual(peer.request("GET", "/ready").status, 200)
        peer.read_to_end()
        self.assertEqual(peer.goaways[-1], (1, NO_ERROR))

    def test_pings_keep_a_connection(self):
        peer = self.peer()
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            peer.ping()
            threading.Event().wait(0.1)
        self.assertEqual(peer.request("GET", "/ready").status, 200)

    def test_who_never_reads_is_closed(self):
        """Each request is answered with some KiB, and nothing is taken: what waits is bounded, and ends."""
        peer = self.peer(settings={INITIAL_WINDOW_SIZE: (1 << 31) - 1}, window=(1 << 31) - 65536, buffer=4096)
        before = self.server.memory("VmRSS")
        peer.socket.settimeout(0.5)
        try:
            for _ in range(100000):
                peer.begin("GET", "/metrics")
        except OSError:
            pass
        self.assertLess(self.server.memory("VmRSS") - before, 64 << 20)
        peer.socket.settimeout(30)
        with self.assertRaises((Closed, OSError)):
            while True:
                peer.read()
        self.assertEqual(self.server.get("/ready").status, 200)


class Floods(Served):
    """Each is ended by GOAWAY, long before it is over, and leaves one line in the log."""
    FRAMES = 10 ** 6

    def flood(self, name, make, code=ENHANCE_YOUR_CALM, setup=lambda peer: None, **more):
        peer = self.peer(**more)
        peer.ping()
        setup(peer)
        sent = 0
        peer.socket.settimeout(60)
        reader = threading.Thread(target=peer.read_to_end)
        peer.opens_windows = False
        peer._settings = lambda payload: None
        reader.start()
        try:
            while sent < self.FRAMES:  # what comes behind the GOAWAY is thrown away for a second
                peer.send(b"".join(make(sent + i) for i in range(500)))
                sent += 500
        except OSError:
            pass
        reader.join()
        self.assertIn(code, [reason for _, reason in peer.goaways], name)
        self.assertEqual(self.server.get("/ready").status, 200)

    def test_floods_are_ended_and_logged_once(self):
        before = self.server.memory("VmRSS")
        cut = self.cut("http2_error")

        def open_stream(peer):
            peer.begin("POST", "/ingest?name=a", end=False)
        head = hpack.encode(Http2.fields("POST", "/ingest?name=a"))
        self.flood("ping", lambda i: frame(PING, 0, 0, b"12345678"))
        self.flood("settings", lambda i: frame(SETTINGS))
        self.flood("priority", lambda i: frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1)))
        self.flood("window update", lambda i: frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)), setup=open_stream)
        self.flood("empty data", lambda i: frame(DATA, 0, 1), setup=open_stream)
        self.flood("rapid reset", lambda i: frame(HEADERS, END_HEADERS, 2 * i + 1, head) + frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", CANCEL)))
        pathless = hpack.encode(Http2.fields("GET", "/")[:2])  # resets that the server has to make
        self.flood("made you reset", lambda i: frame(HEADERS, END_HEADERS, 2 * i + 1, pathless), code=PROTOCOL_ERROR)

        def have_a_stream_reset(peer):
            stream = peer.begin("POST", "/nothing", end=False)
            while stream.reset is None:
                peer.read()

        def answer_a_stream(peer):
            """It stays: nothing of its answer may be sent."""
            peer.begin("POST", "/nothing", end=False)
        useless = 2 * frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1))
        self.flood("data of a closed stream", lambda i: frame(DATA, 0, 1, b"x") + useless, setup=have_a_stream_reset)
        self.flood("padding", lambda i: frame(DATA, PADDED, 1, b"\0") + useless, setup=open_stream)
        self.flood("data of an answered stream", lambda i: frame(DATA, 0, 1, b"x") + useless, setup=answer_a_stream,
                   settings={INITIAL_WINDOW_SIZE: 0})
        self.assertEqual(self.cut("http2_error"), cut + 10)
        lines = [line for line in self.log().splitlines() if "HTTP/2" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("too many", lines[0].lower())
        self.assertLess(self.server.memory("VmRSS") - before, 64 << 20)

    def test_a_flood_of_continuations_is_ended(self):
        """At once, not when the head has taken too long."""
        peer, late = self.peer(), self.cut("header_timeout")
        peer.ping()
        peer.send(frame(HEADERS, END_STREAM, 1, hpack.encode(peer.fields("GET", "/ready"))))
        try:
            for _ in range(10000):
                peer.send(frame(CONTINUATION, 0, 1, b""))
        except OSError:
            pass
        peer.read_to_end()
        self.assertEqual([code for _, code in peer.goaways], [PROTOCOL_ERROR])
        self.assertEqual(self.cut("header_timeout"), late)
        self.assertEqual(self.server.get("/ready").status, 200)

    def test_a_head_that_unpacks_to_megabytes_is_refused(self):
        """An entry of the table of 4 KB, and a byte for each repetition."""
        peer = self.peer()
        big = b"\x40" + hpack.integer(1, 7, 0) + b"x" + hpack.integer(4000, 7, 0) + b"y" * 4000
        block = hpack.encode(peer.fields("GET", "/ready")) + big + b"\xbe" * 8000
        before = self.server.memory("VmRSS")
        out = [block[i:i + 16000] for i in range(0, len(block), 16000)]
        stream = peer.expect()
        self.assertEqual(len(out), 1)
        peer.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, out[0]))
        self.assertEqual(peer.wait_for(stream).status, 431)
        self.assertLess(self.server.memory("VmRSS") - before, 16 << 20)
        self.assertEqual(peer.request("GET", "/ready").status, 200)

    def test_streams_of_a_gone_peer_do_not_add_up(self):
        """Requests reset at once: not more of them run at a time than a connection may have streams."""
        peer = self.peer()
        peer.ping()
        head = hpack.encode(Http2.fields("POST", "/querier.v1.QuerierService/LabelNames", {"content-type": "application/json"}))
        peer.send(b"".join(frame(HEADERS, END_HEADERS, i, head) + frame(DATA, END_STREAM, i, b"{}") + frame(RST_STREAM, 0, i, struct.pack(">I", CANCEL))
                           for i in range(1, 1600, 2)))
        peer.next_id = 1601
        harness.wait_until(lambda: peer.request("GET", "/ready").status == 200, 30, "room for one more")
        harness.wait_until(lambda: self.metric("^vramscope_worker_queue_length") == 0, 30, "the queue to be empty")


class Stopping(unittest.TestCase):
    def test_goaway_and_what_runs_is_finished(self):
        with harness.Server() as server:
            idle, busy = Http2(server.port), Http2(server.port)
            self.assertEqual(idle.request("GET", "/ready").status, 200)
            stream = busy.begin("POST", "/ingest?name=http2stop", end=False)
            busy.ping()
            server.process.send_signal(signal.SIGTERM)
            while not busy.goaways:
                busy.read()
            self.assertEqual(busy.goaways[0], ((1 << 31) - 1, NO_ERROR))
            while len(busy.goaways) < 2:
                busy.read()
            self.assertEqual(busy.goaways[1], (1, NO_ERROR))
            idle.read_to_end()
            self.assertEqual(idle.goaways[-1], (1, NO_ERROR))
            busy.send_data(stream, b"a 1", end=True)
            self.assertEqual(busy.wait_for(stream).status, 200)
            busy.read_to_end()
            self.assertEqual(server.process.wait(60), 0)

    def test_a_peer_that_does_not_answer_holds_nothing_up(self):
        with harness.Server() as server:
            peer = Http2(server.port)
            peer.ping()
            began = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - began, 10)
            peer.read_to_end()
            self.assertEqual(peer.goaways[-1][1], NO_ERROR)


if __name__ == "__main__":
    harness.main()
