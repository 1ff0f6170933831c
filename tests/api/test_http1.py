#!/usr/bin/env python3
"""HTTP/1.1 as a peer on a socket sees it: as it should be and as it should not, deadlines, and more of it than there is room for."""
import os
import signal
import threading
import time

import harness
from http1_client import PREFACE, READY, Http1Case, Raw, post


class Http(Http1Case):
    def refused(self, data, status=400):
        """The request is answered once, and the connection is closed: nothing behind it is believed."""
        raw = self.raw().send(data + READY)
        answer = raw.answer()
        self.assertIsNotNone(answer, data)
        self.assertIn(answer[0], status if isinstance(status, tuple) else (status,), data)
        self.assertIsNone(raw.answer(), data)

    def test_heads_that_two_servers_read_differently_are_refused(self):
        for headers in (
                b"Content-Length : 4\r\n",
                b"Content-Length: 4\r\nContent-Length: 5\r\n",
                b"Content-Length: 4\r\nContent-Length: 4\r\n",
                b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
                b"Transfer-Encoding: gzip, chunked\r\n",
                b"Transfer-Encoding: chunked, chunked\r\n",
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                b"Transfer-Encoding: xchunked\r\n",
                b"Transfer-Encoding: identity\r\n",
                b"Content-Length: +4\r\n",
                b"Content-Length: -4\r\n",
                b"Content-Length: 0x4\r\n",
                b"Content-Length: 4,4\r\n",
                b"Content-Length: \r\n",
                b"X\x01: 1\r\n",
                b"X(: 1\r\n",
                b"Host: y\r\n"):
            self.refused(post("/metrics", headers, b"abcd"))

    def test_a_length_that_is_no_number_of_ours_is_refused(self):
        self.refused(post("/metrics", b"Content-Length: 99999999999999999999\r\n"), (400, 413))
        self.refused(post("/metrics", b"Content-Length: 9223372036854775808\r\n"), (400, 413))

    def test_a_request_without_host_is_refused(self):
        self.refused(b"GET /ready HTTP/1.1\r\n\r\n")
        self.refused(b"GET /ready HTTP/1.1\r\nHost: a/b\r\n\r\n")
        raw = self.raw().send(b"GET /ready HTTP/1.0\r\n\r\n")
        self.assertEqual(raw.answer()[0], 200)

    def test_unknown_expectations_are_417(self):
        self.refused(post("/metrics", b"Expect: tea\r\nContent-Length: 4\r\n"), 417)

    def test_garbage_is_closed(self):
        for data in (b"\x00\x01\x02\x03\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n"):
            with Raw(self.server.port) as raw:
                raw.send(data).half_close()
                raw.rest()

    def test_a_head_that_is_too_large_is_431(self):
        raw = self.raw()
        try:
            raw.send(b"GET /ready HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"a" * 200000 + b"\r\n\r\n")
        except ConnectionError:
            pass
        answer = raw.answer()
        self.assertIn(answer and answer[0], (431, 414, 413, None))
        self.assertEqual(self.server.get("/ready").status, 200)

    def test_more_than_a_thousand_headers_are_431(self):
        self.refused(b"GET /ready HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(1001)) + b"\r\n", 431)

    def test_a_connection_serves_several_requests(self):
        raw = self.raw()
        for _ in range(5):
            raw.send(READY)
            self.assertEqual(raw.answer()[::2], (200, b"ready"))

    def test_pipelined_requests_are_answered_in_order(self):
        raw = self.raw().send(READY + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET /nope HTTP/1.1\r\nHost: x\r\n\r\n" + READY)
        self.assertEqual([raw.answer()[2] for _ in range(4)], [b"ready", b"ok", b"404 page not found\n", b"ready"])

    def test_a_refused_body_is_skipped_and_the_connection_goes_on(self):
        raw = self.raw().send(post("/nope", b"Content-Length: 100000\r\n", b"x" * 100000) + READY)
        self.assertEqual([raw.answer()[0] for _ in range(2)], [404, 200])

    def test_a_refused_body_that_is_large_ends_the_connection(self):
        raw = self.raw().send(post("/nope", b"Content-Length: 1000000000\r\n", b"x" * 100000))
        self.assertEqual(raw.answer()[0], 404)
        self.assertIsNone(raw.answer())

    def test_expect_continue_is_answered_before_the_body_comes(self):
        raw = self.raw().send(post("/metrics", b"Expect: 100-continue\r\nContent-Length: 4\r\n"))
        self.assertEqual(raw.answer()[0], 100)
        raw.send(b"abcd")
        self.assertEqual(raw.answer()[0], 200)

    def test_expect_continue_is_answered_by_a_refusal(self):
        raw = self.raw().send(post("/nope", b"Expect: 100-continue\r\nContent-Length: 4\r\n"))
        self.assertEqual(raw.answer()[0], 404)

    def test_chunked_bodies_are_read(self):
        raw = self.raw().send(post("/metrics", b"Transfer-Encoding: chunked\r\n", b"4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\nTrailer: x\r\n\r\n") + READY)
        self.assertEqual([raw.answer()[0] for _ in range(2)], [200, 200])

    def test_broken_chunks_end_the_connection(self):
        for body in (b"zz\r\nabcd\r\n", b"fffffffffffffffff\r\nab", b"-4\r\nabcd\r\n"):
            with Raw(self.server.port) as raw:
                raw.send(post("/metrics", b"Transfer-Encoding: chunked\r\n", body)).half_close()
                self.assertNotIn(b" 200 ", raw.rest())

    def test_an_announced_length_over_the_limit_is_refused_at_once(self):
        before = self.server.memory("VmRSS")
        raw = self.raw().send(post("/metrics", b"Content-Length: 4294967296\r\n"))
        status, _, body = raw.answer()
        self.assertEqual(status, 413)
        self.assertIn(b'"code":"invalid_argument"', body)
        self.assertIsNone(raw.answer())
        self.assertLess(self.server.memory("VmRSS") - before, 16 << 20)

    def test_a_chunked_body_over_the_limit_is_refused_while_it_comes(self):
        raw = self.raw().send(post("/metrics", b"Transfer-Encoding: chunked\r\n"))
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(64):
                raw.send(chunk)
        except ConnectionError:
            pass
        answer = raw.answer()
        self.assertTrue(answer is None or answer[0] == 413, answer)
        self.assertGreaterEqual(self.metric(r'^vramscope_requests_refused_total\{reason="too_large"\}'), 1)

    def test_a_client_that_stops_sending_still_gets_its_answer(self):
        raw = self.raw().send(READY).half_close()
        self.assertEqual(raw.answer()[0], 200)
        self.assertIsNone(raw.answer())

    def test_a_body_that_is_cut_leaves_the_server_serving(self):
        with Raw(self.server.port) as raw:
            raw.send(post("/metrics", b"Content-Length: 1000\r\n", b"abc")).half_close()
            self.assertNotIn(b" 200 ", raw.rest())
        self.assertEqual(self.server.get("/ready").status, 200)

    def test_a_method_that_begins_as_the_preface_does_is_http1(self):
        raw = self.raw().send(b"PR").send(b"OPFIND /ready HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(raw.answer()[0], 405)

    def test_half_a_preface_and_a_close_is_closed(self):
        with Raw(self.server.port) as raw:
            raw.send(PREFACE[:10]).half_close()
            self.assertEqual(raw.rest(), b"")

    def test_many_connections_are_served_at_a_time(self):
        raws = [self.raw() for _ in range(200)]
        for raw in raws:
            raw.send(READY)
        self.assertEqual({raw.answer()[0] for raw in raws}, {200})
        for raw in raws:
            raw.send(post("/metrics", b"Content-Length: 100\r\n", b"x" * 50))
        for raw in raws:
            raw.send(b"x" * 50)
        self.assertEqual({raw.answer()[0] for raw in raws}, {200})

    def test_any_number_of_requests_that_come_at_once_is_served(self):
        """libmicrohttpd's own event thread sleeps over just 128 of them."""
        for count in (127, 128, 129, 256):
            raws = [self.raw() for _ in range(count)]
            for raw in raws:
                raw.send(READY)
            self.assertEqual({raw.answer()[0] for raw in raws}, {200})
            os.kill(self.server.pid, signal.SIGSTOP)
            try:
                for raw in raws:
                    raw.send(READY)
            finally:
                os.kill(self.server.pid, signal.SIGCONT)
            for raw in raws:
                raw.socket.settimeout(5)
            self.assertEqual({raw.answer()[0] for raw in raws}, {200})
            for raw in raws:
                raw.socket.close()

    def test_threads_at_full_speed_see_no_error(self):
        failures = []

        def work():
            try:
                with Raw(self.server.port) as raw:
                    for _ in range(30):
                        raw.send(READY)
                        if raw.answer()[2] != b"ready":
                            failures.append("another answer")
            except Exception as e:  # pylint: disable=broad-except
                failures.append(repr(e))
        threads = [threading.Thread(target=work) for _ in range(128)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Deadlines(Http1Case):
    options = ("-server.http-read-header-timeout=400ms", "-server.http-read-timeout=400ms", "-server.http-idle-timeout=400ms",
               "-server.http-write-timeout=400ms")

    def closed_after(self, drip, first=b""):
        """Seconds until the server closes a connection that gets a byte now and then."""
        start, raw = time.monotonic(), self.raw()
        raw.send(first)
        raw.socket.settimeout(0.05)
        while time.monotonic() - start < 15:
            try:
                if not raw.socket.recv(4096):
                    return time.monotonic() - start
            except TimeoutError:
                try:
                    raw.send(drip)
                except ConnectionError:
                    return time.monotonic() - start
            except ConnectionError:
                return time.monotonic() - start
        self.fail("still open after 15 s")

    def test_a_head_that_drips_is_cut(self):
        self.assertGreater(self.closed_after(b"a", b"GET /ready HTTP/1.1\r\nHost: x\r\nX: "), 0.2)
        self.assertGreaterEqual(self.metric(r'^vramscope_connections_cut_total\{reason="header_timeout"\}'), 1)

    def test_a_request_line_that_drips_is_cut(self):
        self.assertGreater(self.closed_after(b"a", b"GET /"), 0.2)

    def test_a_connection_that_says_nothing_is_cut(self):
        self.assertGreater(self.closed_after(b""), 0.2)

    def test_half_a_preface_is_cut(self):
        self.assertGreater(self.closed_after(b"", PREFACE[:12]), 0.2)

    def test_a_body_that_drips_is_cut(self):
        self.assertGreater(self.closed_after(b"a", post("/metrics", b"Content-Length: 100000\r\n")), 0.2)
        self.assertGreaterEqual(self.metric(r'^vramscope_connections_cut_total\{reason="body_timeout"\}'), 1)

    def test_an_idle_connection_is_closed(self):
        self.assertGreater(self.closed_after(b"", READY), 0.2)

    def test_a_slow_writer_in_time_is_served(self):
        raw = self.raw()
        for i in range(0, len(READY), 16):
            raw.send(READY[i:i + 16])
        self.assertEqual(raw.answer()[0], 200)


class Full(Http1Case):
    options = ("-server.max-connections=8", "-server.queue-length=0")

    def test_connections_over_the_limit_wait_their_turn(self):
        raws = [self.raw() for _ in range(8)]
        for raw in raws:
            raw.send(READY)
            self.assertEqual(raw.answer()[0], 200)
        late = self.raw().send(READY)
        late.socket.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            late.socket.recv(1)
        late.socket.settimeout(20)
        raws[0].socket.close()
        self.assertEqual(late.answer()[0], 200)

    def test_a_full_queue_is_503_with_retry_after(self):
        answer = self.server.get("/pyroscope/render?query=x")
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
        self.assertEqual(answer.json["code"], "unavailable")
        answer = self.server.rpc("ProfileTypes", {})
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
        self.assertEqual(answer.json["code"], "unavailable")
        self.assertEqual(self.server.get("/ready").status, 200)


if __name__ == "__main__":
    harness.main()
