"""/api/v1/services and /api/v1/server: every field, against what was pushed."""
import json
import time
import unittest

import gpu_profiles
import harness

NOW = int(time.time())
BASE = NOW - 3000
MINUTE = 60


def cpu(service, second, **labels):
    body = harness.pprof({"main": 1}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=second * 10**9)
    return {"__name__": "process_cpu", "service_name": service, **labels}, [body]


def malloc(service, second):
    body = harness.pprof({"main": 5}, sample_types=["malloc/bytes"], period_type="process_cuda/bytes", period=1, time_nanos=second * 10**9)
    return {"__name__": "process_cuda", "service_name": service}, [body]


class Services(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        llm = gpu_profiles.Process("node-a", 101, "llm-gpu")
        pushed = [cpu("shop", BASE + minute * MINUTE, pod=pod) for minute in range(10) for pod in ("a", "b")]
        pushed += [cpu("alone", BASE + 9 * MINUTE), cpu("earlier", BASE - 1), malloc("vllm", BASE + MINUTE)]
        pushed += [llm.heap(BASE + second, live={"main": (1, 1)}, alloc={"main": (1, 1)}) for second in (0, 15, 30)]
        answer = cls.server.push(*pushed, headers={"User-Agent": "my-agent/1"})
        assert answer.status == 200, answer

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def ask(self, **query):
        answer = self.server.get("/api/v1/services", {"from": BASE * 1000, "until": (BASE + 10 * MINUTE) * 1000 - 1, **query})
        self.assertEqual((answer.status, answer.headers["Cache-Control"]), (200, "no-store"), answer)
        return json.loads(answer.body)

    def test_services_of_gpus_first_then_the_latest_then_by_name(self):
        self.assertEqual([(s["service_name"], s["is_gpu"]) for s in self.ask()["services"]],
                         [("vllm", True), ("llm-gpu", True), ("alone", False), ("shop", False)])

    def test_what_a_service_has(self):
        listed = self.ask(steps=10)
        self.assertEqual((listed["start_ms"], listed["step_ms"]), (BASE * 1000, MINUTE * 1000))
        rows = {row["service_name"]: row for row in listed["services"]}
        self.assertEqual(rows["shop"], {
            "service_name": "shop", "is_gpu": False, "first_ms": BASE * 1000, "last_ms": (BASE + 9 * MINUTE) * 1000, "series": 2,
            "profile_types": ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"], "profiles": [2] * 10})
        # four sample types are four series, at three ticks of the first minute
        self.assertEqual((rows["llm-gpu"]["series"], rows["llm-gpu"]["profiles"]), (4, [12] + [0] * 9))
        self.assertEqual(rows["llm-gpu"]["profile_types"], [
            "memory:%s:space:bytes" % kind for kind in ("alloc_objects:count", "alloc_space:bytes", "inuse_objects:count", "inuse_space:bytes")])

    def test_ranges_steps_and_selectors(self):
        self.assertEqual([s["service_name"] for s in self.ask(selector='{pod="a"}')["services"]], ["shop"])
        self.assertEqual(sum(self.ask(steps=7)["services"][3]["profiles"]), 20)
        one = self.ask(steps=500, until=BASE * 1000)
        self.assertEqual((one["step_ms"], one["services"][-1]["profiles"][:2]), (1, [2, 0]))
        self.assertNotIn("earlier", [s["service_name"] for s in self.ask(**{"from": BASE * 1000 - 999})["services"]])
        self.assertEqual(self.ask(**{"from": (BASE - 1) * 1000})["services"][-1]["service_name"], "earlier")

    def test_what_is_not_understood_is_refused(self):
        for query, message in (({"steps": 0}, "steps: '0' is no number from 1 to 500"), ({"from": "x"}, "from: 'x' is no time"),
                               ({"selector": "{"}, "parse error")):
            answer = self.server.get("/api/v1/services", query)
            self.assertEqual(answer.status, 400)
            self.assertIn(message, json.loads(answer.body)["message"])

    def test_the_server_itself(self):
        before = int(time.time() * 1000)
        told = json.loads(self.server.get("/api/v1/server").body)
        self.assertEqual((told["version"], told["revision"]), self.build())
        self.assertLessEqual(before, told["now_ms"])
        self.assertLessEqual(told["started_ms"], before)
        # 20 + 2 of CPU, one of malloc, 3 ticks with four types each
        self.assertEqual((told["ingest"]["profiles"], told["ingest"]["deduplicated"]), (26, 0))
        days = {BASE // 86400, (BASE - 1) // 86400, (BASE + 9 * MINUTE) // 86400}
        self.assertEqual([window["day_ms"] for window in told["disk"]["windows"]], sorted((day * 86400000 for day in days), reverse=True))
        self.assertGreaterEqual(told["disk"]["bytes"], sum(window["bytes"] for window in told["disk"]["windows"]))
        self.assertEqual((told["disk"]["retention_ms"], told["disk"]["max_bytes"], told["disk"]["damaged_windows"]), (30 * 86400000, None, 0))
        self.assertEqual((told["memory"]["limit_bytes"], told["queue"]), (512 << 20, {"length": 0, "bytes": 0}))
        sender, = told["senders"]
        self.assertEqual((sender["sender"], sender["user_agent"], sender["route"], sender["writes"]),
                         ("127.0.0.1", "my-agent/1", "/push.v1.PusherService/Push", 1))

    def test_what_was_stored_in_the_last_minute(self):
        with harness.Server() as server:
            self.assertEqual(json.loads(server.get("/api/v1/server").body)["ingest"]["profiles_last_minute"], 0)
            self.assertEqual(server.push(cpu("a", NOW), cpu("b", NOW), cpu("b", NOW - 1)).status, 200)
            self.assertEqual(json.loads(server.get("/api/v1/server").body)["ingest"]["profiles_last_minute"], 3)

    def test_the_last_warnings_of_the_log(self):
        with harness.Server("-memberlist.join=x") as server:
            told = json.loads(server.get("/api/v1/server").body)["errors"]
            self.assertIn(("warn", "without meaning here, and passed over: -memberlist.join"), [(e["level"], e["message"]) for e in told])
            self.assertNotIn("info", [entry["level"] for entry in told])

    def build(self):
        info = json.loads(self.server.get("/api/v1/status/buildinfo").body)["data"]
        return info["version"], info["revision"]

    def test_senders_and_days_of_others_are_not_told(self):
        with harness.Server("-auth.multitenancy-enabled", "-storage.retention=0") as server:
            one, two = {"X-Scope-OrgID": "one"}, {"X-Scope-OrgID": "two"}
            self.assertEqual(server.push(cpu("shop", BASE), headers=one).status, 200)
            mine, other = (json.loads(server.get("/api/v1/server", headers=who).body) for who in (one, two))
            self.assertEqual([len(told["senders"]) for told in (mine, other)], [1, 0])
            self.assertEqual([len(told["disk"]["windows"]) for told in (mine, other)], [1, 0])
            self.assertIsNone(mine["disk"]["retention_ms"])
            self.assertEqual(server.get("/api/v1/server").status, 401)
            self.assertEqual(json.loads(server.get("/api/v1/services", headers=two).body)["services"], [])


if __name__ == "__main__":
    harness.main()
