"""OTLP profiles by real exporters: the collector's own, and the clients generated from the protocol's definitions, each at versions that differ in layout.

The profile is the same in each of them, written as JSON of its version, which the exporter itself encodes.
"""
import base64
import json
import os
import time

import client_kit
import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
PERIOD = 10_000_000  # ns
COUNTS = {"main;light": 12, "main;heavy": 30}
SPAN = "b7ad6b7169203331"  # that of the samples of heavy()
TRACE = "0af7651916cd43dd8448eb211c80319c"

STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "main", "light", "heavy", "thread.name"]
KIND = {"typeStrindex": 1, "unitStrindex": 2}
PERIOD_KIND = {"typeStrindex": 3, "unitStrindex": 4}
FUNCTIONS = [{}, {"nameStrindex": 5}, {"nameStrindex": 6}, {"nameStrindex": 7}]
LINES = [[], [{"functionIndex": 1, "line": 10}], [{"functionIndex": 2, "line": 20}], [{"functionIndex": 3, "line": 30}]]
THREAD = {"stringValue": "worker"}


def resource(service, profile):
    attributes = [{"key": "service.name", "value": {"stringValue": service}}, {"key": "env", "value": {"stringValue": "test"}}]
    return {"resource": {"attributes": attributes}, "scopeProfiles": [{"scope": {"name": "exporters"}, "profiles": [profile]}]}


def in_base64(hexadecimal):
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


def of_before():
    """A profile and its tables, up to version 1.7: stacks are ranges of one list of locations, leaf first."""
    samples = [{"locationsStartIndex": 0, "locationsLength": 2, "value": [COUNTS["main;light"]]},
               {"locationsStartIndex": 2, "locationsLength": 2, "value": [COUNTS["main;heavy"]], "attributeIndices": [0], "linkIndex": 1}]
    profile = {"sampleType": [KIND], "sample": samples, "locationIndices": [2, 1, 3, 1], "timeNanos": time.time_ns(), "durationNanos": 10**9,
               "periodType": PERIOD_KIND, "period": PERIOD}
    tables = {"mappingTable": [{}], "locationTable": [{"mappingIndex": 0, "line": line} for line in LINES], "functionTable": FUNCTIONS,
              "attributeTable": [{"key": "thread.name", "value": THREAD}],
              "linkTable": [{}, {"traceId": in_base64(TRACE), "spanId": in_base64(SPAN)}], "stringTable": STRINGS}
    return profile, tables


def tables_in_profile(service):
    """Version 1.5."""
    profile, tables = of_before()
    return {"resourceProfiles": [resource(service, dict(profile, **tables))]}


def tables_in_request(service):
    """Version 1.7."""
    profile, tables = of_before()
    return {"resourceProfiles": [resource(service, profile)], "dictionary": tables}


def stacks_in_table(service):
    """Version 1.9 and 1.10, which differ in nothing that JSON shows."""
    samples = [{"stackIndex": 1, "values": [COUNTS["main;light"]]},
               {"stackIndex": 2, "values": [COUNTS["main;heavy"]], "attributeIndices": [1], "linkIndex": 1}]
    profile = {"sampleType": KIND, "samples": samples, "timeUnixNano": str(time.time_ns()), "durationNano": str(10**9), "periodType": PERIOD_KIND,
               "period": str(PERIOD)}
    tables = {"mappingTable": [{}], "locationTable": [{"lines": lines} for lines in LINES], "functionTable": FUNCTIONS, "stringTable": STRINGS,
              "attributeTable": [{}, {"keyStrindex": 8, "value": THREAD}], "linkTable": [{}, {"traceId": TRACE, "spanId": SPAN}],
              "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [3, 1]}]}
    return {"resourceProfiles": [resource(service, profile)], "dictionary": tables}


class Exporter(client_kit.ClientTest):
    tools = ("go",)

    def build(self, source, *modules):
        self.take((source, "main.go"))
        self.run_tool("go", "mod", "init", "example.test/exporter")
        self.run_tool("go", "get", *modules)
        self.run_tool("go", "build", "-mod=mod", "-o", "exporter", ".")

    def send(self, *arguments):
        self.run_tool(os.path.join(self.folder, "exporter"), *arguments, seconds=60)

    def requests_of(self, layout):
        wanted = 'vramscope_otlp_requests_total{revision="%s"} ' % layout
        return sum(float(line[len(wanted):]) for line in self.server.get("/metrics").text.splitlines() if line.startswith(wanted))

    def in_span(self, selector):
        now_ms = int(time.time() * 1000) + 60000
        answer = self.server.rpc("SelectMergeSpanProfile", {"profileTypeID": CPU, "labelSelector": selector, "spanSelector": [SPAN],
                                                            "start": self.begun_ms, "end": now_ms})
        self.assertEqual(answer.status, 200, answer)
        return harness.folded(answer.json["flamegraph"])

    def check(self, service, layout, before):
        """The profile of this service is there, whole; its layout was recognised."""
        selector = '{service_name="%s"}' % service
        totals = {stack: count * PERIOD for stack, count in COUNTS.items()}
        self.assertEqual(self.stacks(CPU, selector), totals)
        self.assertEqual(self.in_span(selector), {"main;heavy": totals["main;heavy"]})
        common = {"env": "test", "service.name": service, "service_name": service}
        self.assertCountEqual(self.labels(selector), [common, dict(common, **{"thread.name": "worker"})])
        self.assertEqual(self.requests_of(layout), before + 1)
        self.assert_nothing_was_refused()


class Generated(Exporter):
    """The clients that are generated from the protocol's definitions."""

    def check_version(self, version, layout, request):
        self.build("otlp_proto.go", "go.opentelemetry.io/proto/otlp@" + version)
        for transport in ("grpc", "grpc-gzip", "http"):
            with self.subTest(transport=transport):
                service, before = "proto-" + transport, self.requests_of(layout)
                self.send(transport, "127.0.0.1:%d" % self.server.port, json.dumps(request(service)))
                self.check(service, layout, before)

    def test_tables_in_each_profile(self):
        self.check_version("v1.5.0", "1.5", tables_in_profile)

    def test_a_dictionary(self):
        self.check_version("v1.7.0", "1.7", tables_in_request)


class Collector(Exporter):
    """The collector's exporters: gRPC, and HTTP in every encoding and compression that it has."""

    def check_version(self, version, layout):
        self.build("otlp_collector.go", "go.opentelemetry.io/collector/exporter/otlpexporter@" + version,
                   "go.opentelemetry.io/collector/exporter/otlphttpexporter@" + version)
        # failures are told at once, instead of being queued and tried again
        at_once = {"sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}
        grpc = dict(at_once, endpoint="127.0.0.1:%d" % self.server.port, tls={"insecure": True})
        http = dict(at_once, endpoint=self.url)
        sent = (("grpc", layout, "otlp", grpc), ("grpc-plain", layout, "otlp", dict(grpc, compression="none")), ("http", layout, "otlphttp", http),
                ("http-zstd", layout, "otlphttp", dict(http, compression="zstd")),
                # names are the same in both versions: JSON counts as the newest
                ("http-json", "1.10", "otlphttp", dict(http, encoding="json")))
        for name, seen, exporter, settings in sent:
            with self.subTest(name):
                service, before = "collector-" + name, self.requests_of(seen)
                self.send(exporter, json.dumps(settings), json.dumps(stacks_in_table(service)))
                self.check(service, seen, before)

    def test_newest(self):
        self.check_version("v0.165.0", "1.10")

    def test_of_before(self):
        """Values are the second field of a sample, and the fourth in the newest."""
        self.check_version("v0.147.0", "1.9")


if __name__ == "__main__":
    harness.main()
