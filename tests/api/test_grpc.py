#!/usr/bin/env python3
"""gRPC over HTTP/2 and HTTP/1.1, and gRPC-Web: the same calls as over Connect, byte for byte."""
import base64
import gzip
import re
import socket
import struct
import time

import harness
from http2_client import RST_STREAM, Http2Case, frame, framed, messages

PUSH = "/push.v1.PusherService/Push"
QUERIER = "/querier.v1.QuerierService/"
EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
TYPE = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def push_message(service, value, more=b""):
    """A PushRequest with one profile of the stack a;b."""
    profile = harness.pprof({"a;b": value}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=10000000,
                            time_nanos=time.time_ns())
    return harness.cases.Proto.encode({"series": [{
        "labels": [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": service}],
        "samples": [{"rawProfile": harness.as_base64(profile), "ID": ""}]}]}, "PushRequest") + more


class Calls(Http2Case):
    def total(self, service):
        now = int(time.time() * 1000)
        return self.server.totals(TYPE, '{service_name="%s"}' % service, now - 600000, now + 60000)

    def is_stored(self, service, value):
        self.assertEqual(self.total(service), {"a;b": value})

    def fails(self, stream, status, text):
        """An answer that is trailers only."""
        self.assertEqual((stream.status, stream.body, stream.trailers), (200, b"", None), stream)
        self.assertRegex(stream.header("content-type"), "^application/grpc")
        self.assertEqual(stream.grpc[0], status, stream)
        self.assertIn(text, stream.grpc[1])


class Plain(Calls):
    def test_a_push_is_stored_and_its_status_is_a_trailer(self):
        answer = self.peer().grpc(PUSH, push_message("grpc-push", 5))
        self.assertEqual((answer.status, answer.body), (200, b"\0\0\0\0\0"), answer)
        self.assertEqual(answer.header("content-type"), "application/grpc")
        self.assertIsNone(answer.header("grpc-status"))
        self.assertEqual(answer.trailers, [("grpc-status", "0")])
        self.is_stored("grpc-push", 5)

    def test_a_frame_may_be_cut_anywhere(self):
        peer, body = self.peer(), framed(push_message("grpc-cut", 7))
        stream = peer.begin("POST", PUSH, {"content-type": "application/grpc+proto", "te": "trailers"}, end=False)
        peer.send_data(stream, body, piece=1)
        peer.send_data(stream, end=True)
        self.assertEqual(peer.wait_for(stream).grpc, (0, ""), stream)
        self.is_stored("grpc-cut", 7)

    def test_messages_may_be_compressed(self):
        packed = gzip.compress(push_message("grpc-gzip", 9))
        answer = self.peer().request("POST", PUSH, framed(packed, 1), {"content-type": "application/grpc", "grpc-encoding": "gzip"})
        self.assertEqual(answer.grpc, (0, ""), answer)
        self.is_stored("grpc-gzip", 9)

    def test_json_messages(self):
        answer = self.peer().grpc(QUERIER + "LabelNames", b'{"start":1,"end":2}', content_type="application/grpc+json")
        self.assertEqual(answer.grpc, (0, ""), answer)
        self.assertEqual(answer.header("content-type"), "application/grpc+json")
        [(flags, message)] = messages(answer.body)
        self.assertEqual((flags, message[:1], message[-1:]), (0, b"{", b"}"))

    def test_every_method_answers_what_it_answers_over_connect(self):
        self.assertEqual(self.peer().grpc(PUSH, push_message("grpc-methods", 11)).grpc, (0, ""))
        now = int(time.time() * 1000)
        times = {"start": now - 600000, "end": now + 60000}
        query = {"profileTypeID": TYPE, "labelSelector": '{service_name="grpc-methods"}', "start": now - 600000, "end": now + 60000}
        peer, compared = self.peer(), 0
        for method, message in (
                ("ProfileTypes", times), ("LabelNames", times), ("LabelValues", dict(times, name="service_name")),
                ("Series", times), ("SelectMergeStacktraces", query), ("SelectMergeProfile", query),
                ("SelectSeries", dict(query, step=15.0)), ("GetProfileStats", {}), ("AnalyzeQuery", {}), ("SelectHeatmap", {}),
                ("SelectMergeSpanProfile", query), ("Diff", {"left": query, "right": query})):
            text = harness.json.dumps(message).encode()
            with self.subTest(method=method):
                connect = self.server.request("POST", QUERIER + method, text, {"Content-Type": "application/json"})
                grpc = peer.grpc(QUERIER + method, text, content_type="application/grpc+json")
                if connect.status == 200:
                    self.assertEqual(grpc.grpc, (0, ""))
                    self.assertEqual(messages(grpc.body), [(0, connect.body)])
                    compared += 1
                else:
                    self.assertEqual(grpc.grpc[1], connect.json["message"])
        self.assertGreaterEqual(compared, 11)

    def test_a_large_answer_may_be_compressed(self):
        body = "".join("main;%s%d 1\n" % ("f" * 40, i) for i in range(500)).encode()
        self.assertEqual(self.server.ingest("grpclarge", body).status, 200)
        now = int(time.time() * 1000)
        message = harness.json.dumps({"profileTypeID": TYPE, "labelSelector": '{service_name="grpclarge"}', "start": now - 600000,
                                      "end": now + 60000}).encode()
        path, peer = QUERIER + "SelectMergeStacktraces", self.peer()
        plain = peer.grpc(path, message, content_type="application/grpc+json")
        packed = peer.grpc(path, message, {"grpc-accept-encoding": "snappy,zstd,gzip"}, content_type="application/grpc+json")
        self.assertIsNone(plain.header("grpc-encoding"))
        self.assertEqual(packed.header("grpc-encoding"), "gzip")
        [(flags, data)] = messages(packed.body)
        self.assertEqual(flags, 1)
        self.assertLess(len(data), len(plain.body))
        self.assertEqual(gzip.decompress(data), messages(plain.body)[0][1])

    def test_paths_that_are_none_are_unimplemented(self):
        peer = self.peer()
        for path in ("/push.v1.PusherService/Pull", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/", "/api/x"):
            self.fails(peer.grpc(path, b""), 12, path)
        self.fails(peer.grpc("/a.B/C", b"", content_type="application/grpc+cbor"), 12, "/a.B/C")

    def test_an_unknown_subtype_is_415_and_another_method_405(self):
        peer = self.peer()
        self.assertEqual(peer.grpc(PUSH, b"", content_type="application/grpc+cbor").status, 415)
        self.assertEqual(peer.request("GET", PUSH, headers={"content-type": "application/grpc"}).status, 405)

    def test_an_unknown_compression_is_unimplemented_and_says_which_are(self):
        answer = self.peer().grpc(PUSH, b"", {"grpc-encoding": "snappy"})
        self.fails(answer, 12, '"snappy"')
        self.assertEqual(answer.header("grpc-accept-encoding"), "gzip, identity")

    def test_bad_messages_are_invalid_arguments(self):
        peer = self.peer()
        self.fails(peer.grpc(PUSH, b""), 3, "no profiles received")
        self.fails(peer.grpc(PUSH, b"\xff"), 3, "unmarshal message")
        for body in (b"", b"\0\0\0\0", b"\0\0\0\0\2a", framed(b"") * 2, framed(b"", 2), framed(b"x", 1)):
            self.fails(peer.request("POST", PUSH, body, {"content-type": "application/grpc"}), 3, "")

    def test_a_huge_length_is_refused_before_its_message_comes(self):
        peer, before = self.peer(), self.server.memory()
        for body in (b"\0\xff\xff\xff\xff", b"\0" + struct.pack(">I", (100 << 20) + 1) + b"some of it"):
            stream = peer.begin("POST", PUSH, {"content-type": "application/grpc"}, end=False)
            peer.send_data(stream, body)
            self.fails(peer.wait_for(stream), 8, "larger than")
        self.assertLess(self.server.memory() - before, 50 << 20)

    def test_a_bomb_is_refused(self):
        packed = gzip.compress(b"\0" * (150 << 20), 9)
        before = self.server.memory()
        self.fails(self.peer().request("POST", PUSH, framed(packed, 1), {"content-type": "application/grpc", "grpc-encoding": "gzip"}),
                   8, "after decompression")
        self.assertLess(self.server.memory() - before, 400 << 20)

    def test_a_deadline_that_passed_is_told(self):
        peer = self.peer()
        for timeout in ("0S", "1n"):
            self.fails(peer.grpc(PUSH, push_message("grpc-late", 1), {"grpc-timeout": timeout}), 4, "deadline exceeded")
        self.fails(peer.grpc(PUSH, b"", {"grpc-timeout": "1x"}), 3, "grpc-timeout")
        self.assertEqual(peer.grpc(PUSH, push_message("grpc-intime", 1), {"grpc-timeout": "4998816u"}).grpc, (0, ""))
        self.assertEqual(self.total("grpc-late"), {})

    def test_a_cancelled_call_is_none(self):
        peer = self.peer()
        stream = peer.begin("POST", PUSH, {"content-type": "application/grpc"}, end=False)
        peer.send_data(stream, framed(push_message("grpc-cancel", 1))[:-1])
        peer.send(frame(RST_STREAM, 0, stream.id, struct.pack(">I", 8)))
        peer.ping()
        self.assertEqual(peer.grpc(PUSH, push_message("grpc-after", 2)).grpc, (0, ""))
        self.assertEqual(self.total("grpc-cancel"), {})

    def test_health(self):
        answer = self.peer().grpc("/grpc.health.v1.Health/Check", b"")
        self.assertEqual((answer.grpc[0], messages(answer.body)), (0, [(0, b"\x08\x01")]))

    def test_the_metrics_tell_failures(self):
        """In each form, though HTTP says 200."""
        def count():
            found = re.search(r'pyroscope_request_duration_seconds_count\{method="POST",route="push_v1_pusherservice_push",status_code="400"[^}]*\} (\d+)',
                              self.server.get("/metrics").text)
            return int(found[1]) if found else 0
        for kind, body in (("application/grpc", framed(b"")), ("application/grpc-web", framed(b"")),
                           ("application/grpc-web-text", base64.b64encode(framed(b"")))):
            with self.subTest(kind=kind):
                before = count()
                self.assertEqual(self.peer().request("POST", PUSH, body, {"content-type": kind, "te": "trailers"}).status, 200)
                harness.wait_until(lambda: count() == before + 1, 10, "the request to be counted")


class Http11(Calls):
    def call(self, body, content_type, headers=()):
        """Raw: the head, the body as the library unchunks it, and the trailers behind the last chunk."""
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as raw:
            raw.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nTe: trailers\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                         % (PUSH, content_type, len(body))).encode() + body)
            data = b""
            while more := raw.recv(65536):
                data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        return head.decode(), rest

    def test_the_status_is_a_trailer_behind_chunks(self):
        head, rest = self.call(framed(push_message("grpc-http11", 5)), "application/grpc")
        self.assertRegex(head, r"^HTTP/1.1 200 OK\r\n")
        self.assertRegex(head, r"(?i)\r\ntransfer-encoding: chunked")
        self.assertRegex(head, r"(?i)\r\ncontent-type: application/grpc\r\n")
        self.assertRegex(rest, rb"(?i)^5\r\n\0\0\0\0\0\r\n0\r\ngrpc-status: 0\r\n\r\n$")
        self.is_stored("grpc-http11", 5)

    def test_a_failure_too(self):
        _, rest = self.call(framed(b""), "application/grpc")
        self.assertRegex(rest, rb"(?i)^0\r\ngrpc-status: 3\r\ngrpc-message: no profiles received\r\n\r\n$")

    def test_grpc_web(self):
        answer = self.server.request("POST", PUSH, framed(push_message("grpc-web", 6)), {"Content-Type": "application/grpc-web+proto"})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/grpc-web+proto"))
        self.assertEqual(messages(answer.body), [(0, b""), (0x80, b"grpc-status: 0\r\n")])
        self.is_stored("grpc-web", 6)
        answer = self.server.request("POST", PUSH, framed(b""), {"Content-Type": "application/grpc-web"})
        self.assertEqual(messages(answer.body), [(0x80, b"grpc-status: 3\r\ngrpc-message: no profiles received\r\n")])

    def test_grpc_web_in_text(self):
        body = base64.b64encode(framed(push_message("grpc-text", 8)))
        answer = self.server.request("POST", PUSH, body, {"Content-Type": "application/grpc-web-text"})
        self.assertEqual(answer.headers["Content-Type"], "application/grpc-web-text")
        self.assertEqual(messages(base64.b64decode(answer.body, validate=True)), [(0, b""), (0x80, b"grpc-status: 0\r\n")])
        self.is_stored("grpc-text", 8)

    def test_grpc_web_over_http2(self):
        answer = self.peer().grpc(PUSH, push_message("grpc-web2", 4), content_type="application/grpc-web+proto")
        self.assertEqual(messages(answer.body), [(0, b""), (0x80, b"grpc-status: 0\r\n")])
        self.is_stored("grpc-web2", 4)

    def test_an_unknown_path(self):
        answer = self.server.request("POST", "/a.B/C", framed(b""), {"Content-Type": "application/grpc-web"})
        self.assertEqual(messages(answer.body), [(0x80, b"grpc-status: 12\r\ngrpc-message: unknown method /a.B/C\r\n")])


class Tenants(Calls):
    options = ("-auth.multitenancy-enabled",)

    def test_a_tenant_is_metadata(self):
        peer = self.peer()
        self.fails(peer.grpc(PUSH, push_message("grpc-tenant", 1)), 16, "no org id")
        self.fails(peer.grpc(PUSH, push_message("grpc-tenant", 1), {"x-scope-orgid": "a|b"}), 16, "multiple org IDs")
        self.fails(peer.grpc(QUERIER + "LabelNames", b""), 16, "no org id")
        self.fails(peer.grpc(EXPORT, b""), 16, "no org id")
        self.assertEqual(peer.grpc(PUSH, push_message("grpc-tenant", 1), {"x-scope-orgid": "a"}).grpc, (0, ""))


class Rates(Calls):
    options = ("-distributor.ingestion-rate-limit-mb=0.00001", "-distributor.ingestion-burst-size-mb=0.00001")

    def test_a_rate_is_resource_exhausted(self):
        self.fails(self.peer().grpc(PUSH, push_message("grpc-rate", 1)), 8, "rate limit")


class Limits(Calls):
    options = ("-server.grpc-max-recv-msg-size-bytes=1000", "-server.grpc-max-concurrent-streams=3")

    def test_messages_have_the_limit_of_the_option(self):
        peer = self.peer()
        self.fails(peer.grpc(PUSH, b"x" * 1001), 8, "1001 vs. 1000")
        self.fails(peer.grpc(PUSH, b"x" * 1000), 3, "no profiles received")
        packed = gzip.compress(b"\0" * 5000)
        self.fails(peer.request("POST", PUSH, framed(packed, 1), {"content-type": "application/grpc", "grpc-encoding": "gzip"}), 8, "1000")
        self.assertEqual(peer.settings[3], 3)


class Otlp(Calls):
    def test_an_empty_export_is_an_invalid_argument(self):
        """Ingest specification, 5.6: a missing dictionary."""
        for message in (b"", b"\xff"):
            self.fails(self.peer().grpc(EXPORT, message), 3, "")

    def test_another_path_of_the_service_is_unimplemented(self):
        self.fails(self.peer().grpc(EXPORT + "s", b""), 12, "unknown method")


if __name__ == "__main__":
    harness.main()
