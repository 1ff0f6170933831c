"""OTLP profiles over HTTP: what exporters may put around a request, and what breaks servers.

Source: ingest specification, 1.3 to 1.6, 5.1, 5.4, 9 and 11.3. Layouts are the business of unit tests, recorded cases and recorded senders.
"""
import gzip
import json
import os
import time
import unittest

import harness

MIB = 1024 * 1024
# A sanitizer's shadow memory is not ours to judge.
MEMORY_BOUND = None if os.environ.get("VRAMSCOPE_SANITIZE") else 320 * MIB
PATH = "/v1development/profiles"
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
TYPE = "process_cuda:malloc:bytes:process_cuda:bytes"
PROTOBUF = {"Content-Type": "application/x-protobuf"}


def request(service, **changes):
    """A request of one sample of 4096 bytes, main;cuMemAlloc, as JSON names."""
    profile = dict({"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "samples": [{"stackIndex": 1, "values": [4096]}],
                    "timeUnixNano": time.time_ns(), "periodType": {"typeStrindex": 3, "unitStrindex": 2}, "period": 1}, **changes)
    return {
        "resourceProfiles": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
                              "scopeProfiles": [{"profiles": [profile]}]}],
        "dictionary": {"mappingTable": [{}], "locationTable": [{}, {"lines": [{"functionIndex": 1}]}, {"lines": [{"functionIndex": 2}]}],
                       "functionTable": [{}, {"nameStrindex": 4}, {"nameStrindex": 5}], "linkTable": [{}],
                       "stringTable": ["", "malloc", "bytes", "process_cuda", "cuMemAlloc", "main"], "attributeTable": [{}],
                       "stackTable": [{}, {"locationIndices": [1, 2]}]},
    }


def protobuf(message):
    return harness.cases.Proto.encode(message, "ExportRequest")


def field(number, data):
    """A protobuf field of bytes, its length in five of them as the Java agent writes it."""
    length = len(data)
    return bytes([number << 3 | 2] + [length >> 7 * i & 0x7f | 0x80 for i in range(4)] + [length >> 28]) + data


def zstd_frame(*blocks):
    """A frame without its size, of raw blocks (bytes) and repeated bytes (a count up to 128 KiB)."""
    frame = b"\x28\xb5\x2f\xfd\x00\x58"
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        kind, length = (0, len(block)) if isinstance(block, bytes) else (1, block)
        frame += (length << 3 | kind << 1 | last).to_bytes(3, "little") + (block if kind == 0 else b"\0")
    return frame


class Otlp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-memory.limit=256MiB").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), self.server.log_text())
        self.assertEqual(self.server.get("/ready").status, 200)
        if MEMORY_BOUND:
            self.assertLess(self.server.memory("VmHWM"), MEMORY_BOUND)

    def send(self, body, headers=None, path=PATH):
        return self.server.request("POST", path, body, dict(PROTOBUF, **(headers or {})))

    def refused(self, status, body, **headers):
        answer = self.send(body, {name.replace("_", "-"): value for name, value in headers.items()})
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8")
        return answer.text

    def stored(self, service):
        now = int(time.time() * 1000)
        return sum(self.server.totals(TYPE, '{service_name="%s"}' % service, now - 600000, now + 600000).values())

    def test_every_way_to_wrap_a_request_stores_it(self):
        for number, (headers, wrap) in enumerate([
                ({}, lambda body: body),
                ({"Content-Type": "application/protobuf"}, lambda body: body),
                ({"Content-Type": "application/x-protobuf; charset=utf-8"}, lambda body: body),
                ({"Content-Encoding": "gzip"}, gzip.compress),
                ({"Content-Encoding": "GZIP"}, gzip.compress),
                ({"Content-Encoding": "zstd"}, zstd_frame),
                ({"Content-Encoding": "identity"}, lambda body: body)]):
            for path in (PATH, METHOD):
                service = "wrap-%d-%d" % (number, len(path))
                answer = self.send(wrap(protobuf(request(service))), headers, path)
                self.assertEqual((answer.status, answer.body), (200, b""), (headers, answer))
                self.assertEqual(answer.headers["Content-Type"], "application/x-protobuf")
                self.assertEqual(self.stored(service), 4096, headers)

    def test_json_is_answered_with_json(self):
        answer = self.send(json.dumps(request("json")).encode(), {"Content-Type": "application/json"})
        self.assertEqual((answer.status, answer.json), (200, {}))
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(self.stored("json"), 4096)

    def test_other_types_are_415(self):
        for kind in ("text/plain", "application/octet-stream", "application/json-seq", ""):
            self.refused(415, protobuf(request("kind")), Content_Type=kind)

    def test_bombs_stop_at_the_limit(self):
        self.assertIn("exceeds limit", self.refused(413, gzip.compress(bytes(10 * MIB), 9) * 60, Content_Encoding="gzip"))
        self.assertIn("exceeds limit", self.refused(413, zstd_frame(*[128 * 1024] * 8000), Content_Encoding="zstd"))

    def test_what_is_not_compressed_as_it_says_is_400(self):
        body = protobuf(request("broken"))
        self.refused(400, body, Content_Encoding="gzip")
        self.refused(400, body, Content_Encoding="zstd")
        self.refused(400, gzip.compress(body)[:-9], Content_Encoding="gzip")
        self.refused(400, zstd_frame(body)[:-1], Content_Encoding="zstd")

    def test_tables_that_lie_are_400(self):
        self.refused(400, b"\x12\x06\x2a\xff\xff\xff\xff\x0f")  # a string of 4 GiB
        self.refused(400, b"\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")
        for sample in ({"stackIndex": 2**31 - 1, "values": [1]}, {"stackIndex": -1, "values": [1]},
                       {"stackIndex": 1, "values": [1], "attributeIndices": [2**31 - 1]}, {"stackIndex": 1}):
            self.refused(400, protobuf(request("lies", samples=[sample])))

    def test_depth_and_emptiness_are_bounded(self):
        nested = b"[" * 5000 + b"]" * 5000
        self.refused(400, b'{"resourceProfiles":' + nested + b"}", Content_Type="application/json")
        profile = field(1, b"\x08\x01\x10\x02") + b"\x12\x00" * (2 * MIB)
        dictionary = protobuf({"dictionary": request("")["dictionary"]})
        self.assertIn("sample value is required", self.refused(400, field(1, field(2, field(2, profile))) + dictionary))

    def test_an_impossible_time_is_now_and_counted(self):
        before = self.replaced()
        for stamp in (1700000000, 1700000000000000, 2**63):
            self.assertEqual(self.send(protobuf(request("1970", timeUnixNano=stamp))).status, 200)
        self.assertEqual(self.stored("1970"), 3 * 4096)
        self.assertEqual(self.replaced(), before + 3)
        text = self.refused(400, protobuf(request("1971", timeUnixNano=365 * 86400 * 10**9)))
        self.assertIn("outside of ingestion window", text)

    def replaced(self):
        for line in self.server.get("/metrics").text.splitlines():
            if line.startswith("vramscope_otlp_times_replaced_total "):
                return int(line.split()[1])
        return None

    def test_a_good_profile_is_stored_beside_a_bad_one(self):
        message = request("mixed")
        profiles = message["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]
        profiles.append(dict(profiles[0], timeUnixNano=365 * 86400 * 10**9))
        self.assertIn("outside of ingestion window", self.refused(400, protobuf(message)))
        self.assertEqual(self.stored("mixed"), 4096)


class Tenants(unittest.TestCase):
    def test_a_request_names_its_tenant(self):
        with harness.Server("-auth.multitenancy-enabled") as server:
            body = protobuf(request("tenant"))
            answer = server.request("POST", PATH, body, PROTOBUF)
            self.assertEqual((answer.status, answer.json), (401, {"code": "unauthenticated", "message": "no org id"}))
            self.assertEqual(server.request("POST", PATH, body, dict(PROTOBUF, **{"X-Scope-OrgID": "one"})).status, 200)


if __name__ == "__main__":
    harness.main()
