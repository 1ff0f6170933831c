#!/usr/bin/env python3
"""The server as a peer on a socket sees it: HTTP as it should be and as it should not, deadlines, start and stop."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import harness

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
READY = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"


class Raw:
    """A socket that sends what it is told."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)
        return self

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def answer(self):
        """(status, headers in lower case, body) of the next response; None at the end."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", "0")) if status >= 200 else 0
        while len(self.buffer) < length:
            if not self._more():
                raise AssertionError("the body was cut")
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return status, headers, body

    def rest(self):
        """Everything until the peer closes."""
        while self._more():
            pass
        return self.buffer


def post(path, headers, body=b""):
    return ("POST %s HTTP/1.1\r\nHost: x\r\n" % path).encode() + headers + b"\r\n" + body


class WithServer(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*cls.options)
        try:
            cls.server.start()
        except Exception:
            cls.server.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def raw(self):
        raw = Raw(self.server.port)
        self.addCleanup(raw.socket.close)
        return raw

    def metric(self, pattern):
        found = re.search(pattern + r" (\S+)$", self.server.get("/metrics").text, re.M)
        return float(found.group(1)) if found else 0.0


class Forms(WithServer):
    def test_ready_says_ready_without_a_line_end(self):
        answer = self.server.get("/ready")
        self.assertEqual((answer.status, answer.body), (200, b"ready"))
        self.assertEqual(answer.headers["Content-Type"], "text/plain")

    def test_the_root_leads_to_the_pages(self):
        answer = self.server.get("/")
        self.assertEqual((answer.status, answer.headers["Location"]), (302, "/ui/"))
        self.assertIn("<title>vramscope</title>", self.server.get("/ui/").text)

    def test_an_unknown_path_is_a_plain_404(self):
        for path in ("/nope", "/ready/", "/READY", "//ready", "/favicon.ico", "/%72eady/x", "/ready%00"):
            answer = self.server.get(path)
            self.assertEqual((path, answer.status, answer.body), (path, 404, b"404 page not found\n"))
            self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8")

    def test_an_unknown_api_path_is_json(self):
        answer = self.server.get("/api/v1/nope")
        self.assertEqual((answer.status, answer.json), (404, {"code": 5, "message": "Not Found", "details": []}))
        self.assertEqual(answer.headers["Content-Type"], "application/json")

    def test_a_path_is_decoded_before_it_is_matched(self):
        self.assertEqual(self.server.get("/%72eady").status, 200)
        self.assertEqual(self.server.get("/ready?x=%zz&%").status, 200)
        self.assertEqual(self.server.get("/rea%dy").status, 400)

    def test_other_methods_are_405_without_a_body(self):
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"):
            answer = self.server.request(method, "/ready")
            self.assertEqual((method, answer.status, answer.body), (method, 405, b""))
            self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_metrics_take_any_method(self):
        for method in ("GET", "POST", "PUT", "DELETE"):
            self.assertEqual(self.server.request(method, "/metrics", b"x" if method == "POST" else None).status, 200)
        self.assertEqual(self.server.request("HEAD", "/metrics").body, b"")

    def test_other_methods_on_status_are_501(self):
        for path in ("buildinfo", "config", "config/diff", "config/default"):
            answer = self.server.request("POST", "/api/v1/status/" + path, b"")
            self.assertEqual((answer.status, answer.json["code"]), (501, 12))

    def test_status_config_is_yaml_of_all_options(self):
        text = self.server.get("/api/v1/status/config").text
        self.assertIn("http_listen_port: 0\n", text)
        self.assertIn("path: " + self.server.store, text)
        changed = self.server.get("/api/v1/status/config/diff").text
        self.assertIn("http_listen_port: 0\n", changed)
        self.assertNotIn("retention", changed)
        self.assertIn("http_listen_port: 4040\n", self.server.get("/api/v1/status/config/default").text)

    def test_requests_are_counted_by_route(self):
        self.server.get("/healthz")
        self.assertGreaterEqual(self.metric(
            r'^pyroscope_request_duration_seconds_count\{method="GET",route="healthz",status_code="200",ws="false"\}'), 1)
        self.server.request("BREW", "/nope")
        self.assertGreaterEqual(self.metric(
            r'^pyroscope_request_duration_seconds_count\{method="other",route="other",status_code="404",ws="false"\}'), 1)

    def test_an_absolute_target_is_its_path(self):
        raw = self.raw().send(b"GET http://example.org:1/ready?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(raw.answer()[0], 200)


class Http(WithServer):
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


class Deadlines(WithServer):
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


class Full(WithServer):
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


class Prefix(WithServer):
    options = ("-server.path-prefix=/profiles/",)

    def start_url(self):
        return "/profiles/ready"

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*cls.options)
        cls.server._ready = lambda: cls.server.get("/profiles/ready").status == 200
        cls.server.start()

    def test_all_routes_are_below_the_prefix(self):
        self.assertEqual(self.server.get("/profiles/ready").body, b"ready")
        self.assertEqual(self.server.get("/ready").status, 404)
        self.assertEqual(self.server.get("/profilesready").status, 404)
        self.assertEqual(self.server.get("/profiles/api/nope").json["code"], 5)


class Life(unittest.TestCase):
    def test_sigterm_ends_it_with_0_and_idle_connections_do_not_hold_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with harness.Server() as server, Raw(server.port) as idle, Raw(server.port):
                self.assertEqual(idle.send(READY).answer()[0], 200)
                start = time.monotonic()
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(30), 0)
                self.assertLess(time.monotonic() - start, 10)

    def test_a_request_in_flight_is_answered_before_the_end(self):
        with harness.Server() as server, Raw(server.port) as raw:
            raw.send(post("/metrics", b"Content-Length: 8\r\nExpect: 100-continue\r\n"))
            self.assertEqual(raw.answer()[0], 100)
            server.process.send_signal(signal.SIGTERM)
            harness.wait_until(lambda: "stopping" in server.log_text(), what="the server to stop accepting")
            raw.send(b"abcdefgh")
            status, headers, _ = raw.answer()
            self.assertEqual((status, headers.get("connection")), (200, "close"))
            self.assertEqual(server.process.wait(30), 0)

    def test_a_request_that_does_not_end_is_cut(self):
        with harness.Server("-server.graceful-shutdown-timeout=300ms") as server, Raw(server.port) as raw:
            raw.send(post("/metrics", b"Content-Length: 8\r\nExpect: 100-continue\r\n"))
            self.assertEqual(raw.answer()[0], 100)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(30), 0)

    def test_sighup_reloads_limits_and_says_what_needs_a_restart(self):
        with harness.Server() as server:
            server.stop()
            config = os.path.join(server.folder, "config.yaml")
            with open(config, "w") as file:
                file.write("log:\n  level: info\n")
            server.options = ["-config.file=" + config]
            server.start()
            server.get("/ready")
            self.assertNotIn("GET ready", server.log_text())
            with open(config, "w") as file:
                file.write("log:\n  level: debug\nmemory:\n  limit: 100MiB\n")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_until(lambda: "are reloaded" in server.log_text())
            self.assertIn("-memory.limit changed; that needs a restart", server.log_text())
            server.get("/ready")
            harness.wait_until(lambda: "GET ready" in server.log_text())
            with open(config, "w") as file:
                file.write("log:\n  level: loud\n")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_until(lambda: "what was in force stays" in server.log_text())
            self.assertEqual(server.get("/ready").status, 200)

    def test_sighup_puts_another_retention_into_force(self):
        with harness.Server() as server:
            server.stop()
            config = os.path.join(server.folder, "config.yaml")
            with open(config, "w") as file:
                file.write("storage:\n  retention: 0\nvalidation:\n  reject_older_than: 0\n")
            server.options = ["-config.file=" + config]
            server.start()
            old = int(time.time()) - 10 * 86400
            answer = server.push(({"__name__": "process_cpu", "service_name": "old"}, [harness.pprof(
                {"a;b": 1}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=old * 10**9)]))
            self.assertEqual(answer.status, 200, answer)

            def types():
                return server.rpc("ProfileTypes", {"start": (old - 60) * 1000, "end": (old + 60) * 1000}).json
            self.assertIn("profileTypes", types())
            with open(config, "w") as file:
                file.write("storage:\n  retention: 3d\nvalidation:\n  reject_older_than: 0\n")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_until(lambda: "profileTypes" not in types(), what="the old day to go")

    def test_the_service_manager_is_told(self):
        with harness.Server() as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            server.stop()
            path = os.path.join(server.folder, "notify")
            manager.bind(path)
            manager.settimeout(30)
            os.environ["NOTIFY_SOCKET"] = path
            try:
                server.start()
            finally:
                del os.environ["NOTIFY_SOCKET"]
            self.assertEqual(manager.recv(256), b"READY=1")
            server.process.send_signal(signal.SIGHUP)
            self.assertRegex(manager.recv(256), rb"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertEqual(manager.recv(256), b"READY=1")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(manager.recv(256), b"STOPPING=1")

    def test_an_address_in_use_is_said(self):
        with harness.Server() as server:
            status, _, err = harness.vramscope("server", "-server.http-listen-port=%d" % server.port,
                                               "-storage.path=" + os.path.join(server.folder, "other"))
            self.assertEqual(status, 1)
            self.assertIn("another program listens on port %d of 127.0.0.1" % server.port, err)

    def test_ipv6_is_served(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        with harness.Server() as server:
            server.stop()
            server.options = ["-server.http-listen-address=::1"]
            server._ready = lambda: True
            server.start()
            with socket.create_connection(("::1", server.port), timeout=20) as client:
                client.sendall(READY)
                self.assertIn(b"200 OK", client.recv(4096))

    def test_every_address_is_both_families(self):
        with harness.Server("-server.http-listen-address=") as server:
            self.assertEqual(server.get("/ready").status, 200)


class CommandLine(unittest.TestCase):
    def test_unknown_flags_and_commands_are_2_with_a_hint(self):
        for arguments, hint in ((["-server.http-listen-prot=1"], "did you mean -server.http-listen-port?"),
                                (["--storage-path=x"], "did you mean -storage.path?"),
                                (["-zzz"], "unknown flag -zzz"),
                                (["serve"], "did you mean 'server'?"),
                                (["-server.http-listen-port=x"], "not a port"),
                                (["-server.http-listen-port"], "needs a value"),
                                (["-storage.retention=1x"], "not a duration"),
                                (["-target=ingester"], "not one of all"),
                                (["server", "x"], "unexpected argument"),
                                (["-config.file=/nowhere/at.yaml"], "/nowhere/at.yaml")):
            status, _, err = harness.vramscope(*arguments)
            self.assertEqual((arguments, status), (arguments, 2))
            self.assertIn(hint, err)

    def test_help_is_0_on_standard_output(self):
        for arguments in (["-h"], ["--help"], ["help"], ["help", "server"], ["server", "-h"], ["server", "-help-all"],
                          ["help", "config"], ["config", "-h"], ["-version"], ["server", "--version"]):
            status, out, err = harness.vramscope(*arguments)
            self.assertEqual((arguments, status, err), (arguments, 0, ""))
            self.assertTrue(out)
        self.assertIn("-validation.reject-older-than", harness.vramscope("server", "-help-all")[1])
        self.assertNotIn("-validation.reject-older-than", harness.vramscope("server", "-h")[1])

    def test_the_committed_documents_are_what_the_tables_give(self):
        for what in ("options", "metrics"):
            with open(os.path.join(harness.ROOT, "docs", what + ".md")) as file:
                self.assertEqual(harness.vramscope("config", "print-docs", what)[1], file.read())

    def test_the_printed_defaults_are_a_configuration(self):
        with harness.Server() as server:
            path = os.path.join(server.folder, "defaults.yaml")
            with open(path, "w") as file:
                file.write(harness.vramscope("config", "print-defaults")[1])
            self.assertEqual(harness.vramscope("config", "check", path)[0], 0)
            with open(path, "a") as file:
                file.write("storrage:\n  path: x\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 2)
            self.assertIn("did you mean storage.path?", err)

    def test_config_says_which_words_it_expects(self):
        for arguments, hint in ((["chek", "x"], "did you mean 'check'?"), (["check"], "which FILE?"), (["check", "a", "b"], "one FILE is expected"),
                                (["print-docs"], "other words")):
            status, out, err = harness.vramscope("config", *arguments)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn(hint, err, arguments)

    def test_a_variable_that_nobody_replaces_is_told(self):
        with tempfile.TemporaryDirectory(prefix="vramscope-test-") as folder:
            path = os.path.join(folder, "config.yaml")
            with open(path, "w") as file:
                file.write("server:\n  http_listen_port: ${PORT:-4040}\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 2)
            self.assertIn("-config.expand-env", err)
            self.assertEqual(harness.vramscope("config", "check", "-config.expand-env", path)[0], 0)
            with open(path, "w") as file:
                file.write("storage:\n  path: ${HOME}/store\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 0)
            self.assertIn("-config.expand-env", err)

    def test_what_stands_in_the_way_is_named(self):
        with tempfile.NamedTemporaryFile(prefix="vramscope-test-") as file:
            status, _, err = harness.vramscope("server", "-server.http-listen-port=0", "-storage.path=" + file.name)
            self.assertEqual(status, 1)
            self.assertIn("is a file; a folder is expected", err)
        with tempfile.TemporaryDirectory(prefix="vramscope-test-") as folder:
            for arguments, hint in ((["server", "-server.http-listen-address=256.0.0.1"], "-server.http-listen-address=256.0.0.1: "),
                                    (["run", "-collector.replay=/nosuch/file"], "-collector.replay=/nosuch/file: ")):
                status, _, err = harness.vramscope(*arguments, "-server.http-listen-port=0", "-storage.path=" + folder)
                self.assertEqual(status, 1, err)
                self.assertIn(hint, err)

    def test_help_lists_what_a_command_looks_at(self):
        collector, server = (harness.vramscope(command, "-help-all")[1] for command in ("collector", "server"))
        self.assertIn("-collector.interval", collector)
        self.assertNotIn("-storage.retention", collector)
        self.assertNotIn("-collector.interval", server)
        self.assertTrue(harness.vramscope("doctor", "-h")[1].startswith("usage: vramscope doctor\n\nEach"))

    def test_flags_of_pyroscope_without_meaning_are_passed_over(self):
        with harness.Server("-self-profiling.disable-push", "-memberlist.join", "x", "-target=all",
                            "-storage.backend=filesystem") as server:
            self.assertEqual(server.log_text().count("passed over"), 1)
            self.assertIn("-memberlist.join", server.log_text())

    def test_flags_without_a_command_are_the_server(self):
        with harness.Server() as server:
            server.stop()
            server.process = subprocess.Popen(
                [harness.PROGRAM, "-server.http-listen-port", "0", "--server.http-port-file", server.port_file + "2",
                 "-storage.path=" + server.store], stderr=subprocess.DEVNULL)
            harness.wait_until(lambda: os.path.exists(server.port_file + "2"), 30)
            with open(server.port_file + "2") as file:
                server.port = int(file.read())
            self.assertEqual(server.get("/ready").status, 200)


if __name__ == "__main__":
    harness.main()
