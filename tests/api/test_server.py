#!/usr/bin/env python3
"""What the server answers by itself, below which prefix, and how it starts, reloads and ends."""
import os
import signal
import socket
import time
import unittest

import harness
from http1_client import READY, Http1Case, Raw, post


class Forms(Http1Case):
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


class Prefix(Http1Case):
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


if __name__ == "__main__":
    harness.main()
