"""The calls of Grafana's data source, made by the clients that are generated from its protocol's own definitions."""
import json
import os
import time

import client_kit
import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


class GrafanaCalls(client_kit.ClientTest):
    tools = ("go",)

    def setUp(self):
        super().setUp()
        self.take(("grafana_calls.go", "main.go"))
        self.run_tool("go", "mod", "init", "example.test/calls")
        self.run_tool("go", "get", "github.com/grafana/pyroscope/api@v1.6.0", "connectrpc.com/connect@v1.19.2")
        self.run_tool("go", "build", "-mod=mod", "-o", "calls", ".")

    def call(self, protocol, service, file, start_ms, end_ms):
        return json.loads(self.run_tool(os.path.join(self.folder, "calls"), protocol, service, file, str(start_ms), str(end_ms), SERVER=self.url, seconds=60))

    def test_every_protocol_gives_what_was_pushed(self):
        now_ms = int(time.time()) // 15 * 15 * 1000  # a point of the series
        file = os.path.join(self.folder, "profile.pb")
        with open(file, "wb") as out:
            out.write(harness.pprof({"main;work": 30, "main;idle": 12}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1,
                                    time_nanos=now_ms * 10**6))
        for protocol in ("connect", "json", "gzip", "grpc-web", "connect-h2c", "grpc-web-h2c", "grpc", "grpc-gzip"):
            with self.subTest(protocol=protocol):
                got = self.call(protocol, "calls-" + protocol, file, now_ms - 60000, now_ms + 60000)
                self.assertIn(CPU, [t["ID"] for t in got["types"]["profile_types"]])
                self.assertLessEqual({"region", "service_name"}, set(got["names"]["names"]))
                self.assertEqual(got["values"]["names"], ["eu"])
                self.assertEqual(got["merge"]["flamegraph"]["total"], 42)
                self.assertEqual(sorted(got["merge"]["flamegraph"]["names"]), ["idle", "main", "total", "work"])
                (series,) = got["series"]["series"]
                self.assertEqual(series["labels"], [{"name": "region", "value": "eu"}])
                self.assertEqual(sum(p["value"] for p in series["points"]), 42)
                self.assertEqual(sorted(s["value"][0] for s in got["pprof"]["sample"]), [12, 30])
                self.assertEqual(got["refusal"], "invalid_argument")


if __name__ == "__main__":
    harness.main()
