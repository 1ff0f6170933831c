"""/api/gpu/oom and /api/gpu/growth, against arithmetic on profiles that are pushed by hand."""
import random
import time
import unittest
import urllib.parse
from fractions import Fraction

import gpu_profiles
import harness

GB, MB = 10**9, 10**6
INTERVAL = 15
BASE = int(time.time()) // INTERVAL * INTERVAL - 50 * 60
A, B = "node-a", "node-b"
SERVER = gpu_profiles.Process(A, 101, "llm-gpu", k8s_podName="llm-0")
TRAINER = gpu_profiles.Process(A, 102, "train-gpu")
OTHER_GPU = gpu_profiles.Process(A, 103, "other-gpu")
REMOTE = gpu_profiles.Process(B, 101, "llm-gpu")
NAMELESS = gpu_profiles.Process(B, 9, "batch-gpu")  # whose node tells no pids
del NAMELESS.labels["pid"]
LOAD, STEP = "main;load;cuMemAlloc_v2", "main;step;cuMemAlloc_v2"


def at_ms(second):
    return int(second * 1000)


class Trouble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-validation.reject-older-than=0").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @classmethod
    def push(cls, *series):
        cls.server.keep(*series)

    def get(self, path, **query):
        answer = self.server.get(path, query)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return answer.json

    def refused(self, path, status, code, said, **query):
        answer = self.server.get(path, query)
        self.assertEqual((answer.status, answer.json["code"]), (status, code), (query, answer))
        self.assertIn(said, answer.json["message"])
        self.assertEqual(answer.headers["Cache-Control"], "no-store")


class OutOfMemory(Trouble):
    # exact: a double has no nanoseconds
    FIRST, SECOND, THIRD, FOURTH = (BASE + Fraction(ms, 1000) for ms in (100123, 400500, 700250, 900750))
    FIRST += Fraction(456789, 10**9)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for tick in range(8):
            cls.push(SERVER.heap(BASE + tick * INTERVAL, live={LOAD: (3 * GB, 1), STEP: (GB, 4)}),
                     *([TRAINER.heap(BASE + tick * INTERVAL, live={LOAD: (2 * GB, 1)})] if tick > 2 else []))
        cls.push(SERVER.oom(cls.FIRST, 8 * GB, STEP, device=(7 * GB, 10 * GB)),
                 SERVER.held(cls.FIRST, {LOAD: 3 * GB, STEP: GB}, reason="oom"),
                 TRAINER.held(cls.FIRST, {LOAD: 2 * GB}, reason="oom"),
                 # neither another GPU, nor another node, nor another moment, nor a peak for itself
                 OTHER_GPU.held(cls.FIRST, {LOAD: 90 * GB}, gpu="1", reason="oom"),
                 REMOTE.held(cls.FIRST, {LOAD: 91 * GB}, reason="oom"),
                 TRAINER.held(cls.FIRST + Fraction(1, 1000), {LOAD: 92 * GB}, reason="oom"),
                 TRAINER.held(cls.FIRST, {LOAD: 93 * GB}))
        cls.push(REMOTE.oom(cls.SECOND, 5 * GB, LOAD, recovered="true"))
        cls.push(TRAINER.oom(cls.THIRD, GB, LOAD), TRAINER.held(cls.THIRD, {"main;%d;cuMemAlloc_v2" % i: i * MB for i in range(1, 31)},
                                                               reason="oom"))
        cls.push(NAMELESS.oom(cls.FOURTH, 7, LOAD))

    def events(self, **query):
        return self.get("/api/gpu/oom", **{"from": at_ms(BASE), **query})

    def test_every_field(self):
        event = self.events(until=at_ms(BASE + 200))["events"]
        self.assertEqual(event, [{
            "id": "%s:101:%d" % (A, at_ms(self.FIRST)), "time_ms": at_ms(self.FIRST),
            "labels": {"service_name": "llm-gpu", "hostname": A, "pid": "101", "proc_comm": "python3", "k8s_podName": "llm-0"},
            "gpu": "0", "cuda_error": "CUDA_ERROR_OUT_OF_MEMORY", "requested_bytes": 8 * GB, "live_bytes": 6 * GB,
            "device_used_bytes": 7 * GB, "device_total_bytes": 10 * GB, "recovered": False, "stack": STEP.split(";"),
            # two processes hold by the same stack
            "top": [{"bytes": 5 * GB, "stack": LOAD.split(";")}, {"bytes": GB, "stack": STEP.split(";")}]}])

    def test_the_newest_comes_first_and_what_is_not_told_is_null(self):
        answer = self.events(selector='{hostname=~"node-(a|b)"}')
        self.assertEqual([event["time_ms"] for event in answer["events"]],
                         [at_ms(when) for when in (self.FOURTH, self.THIRD, self.SECOND, self.FIRST)])
        self.assertEqual(answer["next"], None)
        second = answer["events"][2]
        self.assertEqual((second["recovered"], second["live_bytes"], second["top"], second["device_used_bytes"], second["device_total_bytes"]),
                         (True, None, [], None, None))
        self.assertEqual(answer["events"][0]["id"], "%s:batch-gpu:%d" % (B, at_ms(self.FOURTH)))
        self.assertEqual([row["bytes"] for row in answer["events"][1]["top"]], [i * MB for i in range(30, 20, -1)])
        self.assertEqual(answer["events"][1]["live_bytes"], sum(range(1, 31)) * MB)

    def test_pages_go_on_where_the_last_one_ended_whatever_came_meanwhile(self):
        chosen = '{hostname=~"node-(a|b)"}'
        whole = [event["id"] for event in self.events(selector=chosen)["events"]]
        for limit in (1, 2, 3):
            seen, cursor = [], None
            while True:
                page = self.events(limit=limit, selector=chosen, **({"cursor": cursor} if cursor else {}))
                seen += [event["id"] for event in page["events"]]
                cursor = page["next"]
                if not cursor:
                    break
                self.assertEqual(len(page["events"]), limit)
            self.assertEqual(seen, whole)
        cursor = self.events(limit=1, selector=chosen, until=at_ms(BASE + 800))["next"]
        late = gpu_profiles.Process("node-late", 1, "late-gpu")
        self.push(late.oom(BASE + 790, GB), late.oom(BASE + 650, GB))
        page = self.events(limit=1, until=at_ms(BASE + 800), cursor=cursor, selector='{hostname=~"node-(a|b|late)"}')
        self.assertEqual([event["labels"]["hostname"] for event in page["events"]], ["node-late"])
        self.assertEqual(page["events"][0]["time_ms"], at_ms(BASE + 650))

    def test_many_of_one_moment_are_each_on_one_page(self):
        moment = BASE - Fraction(2001, 2)
        self.push(*[gpu_profiles.Process("node-storm", pid, "storm-gpu").oom(moment, pid) for pid in range(1, 41)])
        seen, cursor = [], ""
        while cursor is not None:
            page = self.events(limit=7, cursor=cursor, selector='{hostname="node-storm"}', **{"from": at_ms(moment) - 1, "until": at_ms(moment) + 1})
            seen += [event["requested_bytes"] for event in page["events"]]
            cursor = page["next"]
        self.assertEqual(sorted(seen), list(range(1, 41)))

    def test_a_selector_chooses(self):
        self.assertEqual([event["labels"]["pid"] for event in self.events(selector='{service_name="train-gpu"}')["events"]], ["102"])
        self.assertEqual(self.events(selector='{recovered="true"}')["events"][0]["requested_bytes"], 5 * GB)
        self.assertEqual(self.events(selector='{pid="none"}'), {"events": [], "next": None})

    def test_one_event_has_its_processes(self):
        event = self.get("/api/gpu/oom/%s:101:%d" % (A, at_ms(self.FIRST)))
        processes = event.pop("processes")
        self.assertEqual(event, self.events(until=at_ms(BASE + 200))["events"][0])
        self.assertEqual(processes, [
            {"id": "%s:101:%d" % (A, at_ms(BASE)), "labels": event["labels"], "live_bytes": 4 * GB,
             "top": [{"bytes": 3 * GB, "stack": LOAD.split(";")}, {"bytes": GB, "stack": STEP.split(";")}]},
            {"id": "%s:102:%d" % (A, at_ms(BASE + 3 * INTERVAL)),
             "labels": {"service_name": "train-gpu", "hostname": A, "pid": "102", "proc_comm": "python3"}, "live_bytes": 2 * GB,
             "top": [{"bytes": 2 * GB, "stack": LOAD.split(";")}]}])
        self.assertEqual(self.get("/api/gpu/oom/%s:101:%d" % (B, at_ms(self.SECOND)))["processes"], [])
        name = urllib.parse.quote("%s:batch-gpu:%d" % (B, at_ms(self.FOURTH)), safe="")
        self.assertEqual(self.get("/api/gpu/oom/" + name)["requested_bytes"], 7)

    def test_where_the_gpu_is_unknown_all_of_the_node_counts(self):
        one, other, remote = (gpu_profiles.Process(*who) for who in (("node-many", 1, "one-gpu"), ("node-many", 2, "other-gpu"), (B, 3, "remote-gpu")))
        moment = BASE + 820
        self.push(one.oom(moment, GB, STEP, gpu="unknown"), one.held(moment, {LOAD: GB}, gpu="unknown", reason="oom"),
                  other.held(moment, {LOAD: 2 * GB}, gpu="GPU-a", reason="oom"), remote.held(moment, {LOAD: 5 * GB}, gpu="GPU-a", reason="oom"))
        event = self.events(selector='{hostname="node-many"}')["events"][0]
        self.assertEqual((event["gpu"], event["live_bytes"]), ("unknown", 3 * GB))
        processes = self.get("/api/gpu/oom/" + event["id"])["processes"]
        self.assertEqual([one["live_bytes"] for one in processes], [2 * GB, GB])

    def test_what_is_no_event_is_not_found(self):
        for name in ("x", "node-a:101", "node-a:101:", "node-a:101:-1", "node-a:101:0", "node-a:101:%d" % (at_ms(self.FIRST) + 1), "node-a:101:" + "9" * 30,
                     "node-a:101:9223372036854775807", "node-b:101:%d" % at_ms(self.FIRST), "%00%ff"):
            self.refused("/api/gpu/oom/" + name, 404, "not_found", "there is no OOM")
        answer = self.server.get("/api/gpu/oom/")
        self.assertEqual((answer.status, answer.json["code"]), (404, 5))
        self.assertEqual(self.server.request("POST", "/api/gpu/oom/x", b"").status, 405)

    def test_bad_parameters_are_named(self):
        for cursor in ("x", "1", "1-", "-1-0123456789abcdef", "1-0123456789abcde", "1-0123456789abcdeg", "1-0123456789abcdef0",
                       "99999999999999999999-0123456789abcdef", "1-0123456789ABCDEF"):
            self.refused("/api/gpu/oom", 400, "invalid_argument", "is none that was given out", cursor=cursor)
        for limit in ("0", "101", "x"):
            self.refused("/api/gpu/oom", 400, "invalid_argument", "is no number from 1 to 100", limit=limit)
        self.refused("/api/gpu/oom", 400, "invalid_argument", "parsing label selector", selector='{pid=~"("}')

    def test_an_answer_that_is_known_is_not_sent_again(self):
        query = {"from": at_ms(BASE), "until": at_ms(BASE + 200)}
        tag = self.server.get("/api/gpu/oom", query).headers["ETag"]
        self.assertEqual(self.server.get("/api/gpu/oom", query, headers={"If-None-Match": tag}).status, 304)

    def test_the_timeline_marks_it(self):
        markers = self.get("/api/gpu/timeline", until=at_ms(BASE + 200), selector='{hostname="node-a"}', **{"from": at_ms(BASE)})["markers"]
        self.assertEqual([(one["t_ms"], one["process"], one["bytes"]) for one in markers if one["kind"] == "oom"],
                         [(at_ms(self.FIRST), "%s:101:%d" % (A, at_ms(BASE)), 8 * GB)])

    def test_what_was_held_then_is_no_second_process(self):
        peaks = 'gpu_memory_peak:peak_space:bytes:space:bytes{hostname="node-a",pid="101"}'
        self.push(SERVER.held(BASE + 60, {LOAD: 3 * GB, STEP: GB + 5}))
        answer = self.server.get("/pyroscope/render", {"query": peaks, "from": at_ms(BASE), "until": at_ms(BASE + 200)})
        self.assertEqual(answer.json["flamebearer"]["numTicks"], 4 * GB + 5)
        row = self.get("/api/gpu/processes", at=at_ms(BASE + 110), selector='{hostname="node-a"}', **{"from": at_ms(BASE)})["processes"]
        self.assertEqual({one["labels"]["pid"]: one["peak_bytes"] for one in row}["101"], 4 * GB + 5)


class Growth(Trouble):
    """One minute between ticks, seven hours of them; what holds is decided by chance, and by a naive model."""
    TICKS, STEP_S, PAUSES = 7 * 60, 60, (range(100, 110), range(300, 303))
    END = int(time.time()) // 60 * 60 - 120
    STACKS = ["main;f%d;cuMemAlloc_v2" % i for i in range(6)]
    PIDS = ("1", "2", "3")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(20260101)
        cls.held = {}  # (pid, tick) -> {stack: bytes}
        processes = {pid: gpu_profiles.Process("grow", pid, "grow-gpu") for pid in cls.PIDS}
        lives = {"1": range(cls.TICKS), "2": range(150, cls.TICKS), "3": range(0, 380)}
        for tick in range(cls.TICKS):
            if any(tick in pause for pause in cls.PAUSES):
                continue
            series = [gpu_profiles.heartbeat("grow", cls.second(tick))]
            for pid in cls.PIDS:
                if tick not in lives[pid]:
                    continue
                live = {stack: chance.randrange(1, 1000) * 1000 for stack in cls.STACKS if chance.random() < 0.7}
                live["main;leak;cuMemAlloc_v2"] = 10000 * (tick + 1)  # never given back
                cls.held[pid, tick] = live
                series.append(processes[pid].heap(cls.second(tick), live={stack: (size, 1) for stack, size in live.items()}))
                series.append(processes[pid].heap(cls.second(tick), memory_class="pinned", live={cls.STACKS[0]: (77, 1)}))
            cls.push(*series)

    @classmethod
    def second(cls, tick):
        return cls.END - (cls.TICKS - 1 - tick) * cls.STEP_S

    @classmethod
    def is_tick(cls, tick):
        return 0 <= tick < cls.TICKS and not any(tick in pause for pause in cls.PAUSES)

    def tick_at(self, second):
        """The newest tick at or before; None in a gap: older than two minutes."""
        for tick in range(self.TICKS - 1, -1, -1):
            if self.is_tick(tick) and self.second(tick) <= second:
                return tick if second - self.second(tick) <= 2 * self.STEP_S else None
        return None

    def state(self, pids, tick, stack):
        return sum(self.held.get((pid, tick), {}).get(stack, 0) for pid in pids)

    def floor(self, pids, until, span, stack):
        first = self.tick_at(until - span)
        ticks = [tick for tick in range(self.TICKS) if self.is_tick(tick) and (until - span < self.second(tick) <= until or tick == first)]
        return min((self.state(pids, tick, stack) for tick in ticks), default=None)

    def model(self, pids, start, until):
        rows = []
        first, last = self.tick_at(start), self.tick_at(until)
        for stack in [*self.STACKS, "main;leak;cuMemAlloc_v2"]:
            at_start = None if first is None else self.state(pids, first, stack)
            at_end = None if last is None else self.state(pids, last, stack)
            row = {"stack": stack.split(";"), "start_bytes": at_start, "end_bytes": at_end,
                   "growth_bytes": None if at_start is None or at_end is None else at_end - at_start,
                   "floor": {name: self.floor(pids, until, span, stack) for name, span in
                             (("1m", 60), ("10m", 600), ("1h", 3600), ("6h", 21600))}}
            if at_start or at_end:
                rows.append(row)
        return rows

    def ask(self, pids, start, until, **query):
        if len(pids) == 1:
            query["process"] = "grow:%s:%d" % (pids[0], at_ms(self.second(150) if pids[0] == "2" else self.second(0)))
        else:
            query["selector"] = '{hostname="grow",pid=~"%s"}' % "|".join(pids)
        return self.get("/api/gpu/growth", **query, **{"from": at_ms(start), "until": at_ms(until)})["stacks"]

    def compare(self, pids, start, until):
        got = self.ask(pids, start, until)
        want = self.model(pids, start, until)
        self.assertCountEqual([tuple(row["stack"]) for row in got], [tuple(row["stack"]) for row in want], (pids, start, until))
        by_stack = {tuple(row["stack"]): row for row in want}
        for row in got:
            self.assertEqual(row, by_stack[tuple(row["stack"])], (pids, start, until))
        known = [row["growth_bytes"] for row in got if row["growth_bytes"] is not None]
        self.assertEqual(known, sorted(known, reverse=True))

    def test_it_is_what_a_naive_model_says(self):
        chance = random.Random(7)
        moments = [self.second(0) + 1, self.END, self.END + 100, self.END + 121, self.second(105), self.second(109) + 30, self.second(111)]
        for _ in range(40):
            start, until = sorted(chance.choice(moments) if chance.random() < 0.3 else chance.randrange(self.second(0), self.END + 90)
                                  for _ in range(2))
            pids = chance.choice([("1",), ("1", "2"), ("1", "2", "3")])
            self.compare(pids, start, until)

    def test_a_process_that_came_within_the_range_began_with_nothing(self):
        self.compare(("2",), self.second(140), self.second(160))
        leak = [row for row in self.ask(("2",), self.second(140), self.second(160)) if row["stack"][1] == "leak"][0]
        self.assertEqual((leak["start_bytes"], leak["growth_bytes"], leak["floor"]["1m"], leak["floor"]["1h"]), (0, 1610000, 1600000, 0))

    def test_a_process_that_has_ended_shrank(self):
        leak = [row for row in self.ask(("3",), self.second(370), self.second(390)) if row["stack"][1] == "leak"][0]
        self.assertEqual((leak["start_bytes"], leak["end_bytes"], leak["growth_bytes"]), (3710000, 0, -3710000))

    def test_what_is_never_given_back_has_a_floor(self):
        rows = self.ask(("1",), self.END - 3600, self.END)
        leak = [row for row in rows if row["stack"][1] == "leak"][0]
        self.assertEqual(leak["floor"], {"1m": 10000 * 419, "10m": 10000 * 410, "1h": 10000 * 360, "6h": 10000 * 60})
        self.assertEqual(leak["growth_bytes"], 600000)

    def test_a_range_over_midnight_and_days(self):
        for shift in (86400, 3 * 86400 + 777):
            start = (int(time.time()) - shift) // 86400 * 86400 - 120
            process = gpu_profiles.Process("night-%d" % shift, 5, "night-gpu")
            for i in range(6):
                self.push(process.heap(start + 60 * i, live={LOAD: ((i + 1) * 100, 1)}))
            rows = self.get("/api/gpu/growth", process="night-%d:5:%d" % (shift, at_ms(start)),
                            **{"from": at_ms(start), "until": at_ms(start + 300)})["stacks"]
            self.assertEqual(rows, [{"stack": LOAD.split(";"), "start_bytes": 100, "end_bytes": 600, "growth_bytes": 500,
                                     "floor": {"1m": 500, "10m": 100, "1h": 100, "6h": 100}}])

    def test_classes_count_where_the_selector_speaks_of_them(self):
        rows = self.get("/api/gpu/growth", selector='{hostname="grow",pid="1",cuda_class="pinned"}', until=at_ms(self.END))["stacks"]
        self.assertEqual([(row["stack"], row["end_bytes"], row["floor"]["6h"]) for row in rows], [(self.STACKS[0].split(";"), 77, 77)])

    def test_limit_and_nothing(self):
        self.assertEqual(len(self.get("/api/gpu/growth", limit=1, until=at_ms(self.END), selector='{hostname="grow"}')["stacks"]), 1)
        self.assertEqual(self.get("/api/gpu/growth", selector='{hostname="elsewhere"}'), {"stacks": []})

    def test_bad_parameters_are_named(self):
        for process in ("x", "grow", "grow:1", "grow:1:5", "grow:9:%d" % at_ms(self.second(0)), ":::"):
            self.refused("/api/gpu/growth", 404, "not_found", "there is no process", process=process, until=at_ms(self.END))
        for limit in ("0", "1001", "x"):
            self.refused("/api/gpu/growth", 400, "invalid_argument", "is no number from 1 to 1000", limit=limit)
        self.refused("/api/gpu/growth", 400, "invalid_argument", "is no time", until="soon")


del Trouble  # what both share has no tests

if __name__ == "__main__":
    harness.main()
