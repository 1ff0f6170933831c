"""/api/v1/flamegraph and /api/v1/diff: every field, against arithmetic on profiles that are pushed by hand.

One node ticks every 15 seconds, from BASE on. 101 holds weights and grows by 10 MB at each tick; 102 is there at the ticks 4 to 9 only. A Go
service tells its goroutines once a minute. CPU is a delta: 100 stacks below one function, of which a cut graph shows few.
"""
import json
import time
import unittest

import gpu_profiles
import harness

INTERVAL, TICKS = 15, 20
GB, MB = 10**9, 10**6
BASE = int(time.time()) // 60 * 60 - 3600
LIVE = "memory:inuse_space:bytes:space:bytes"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SERVER = gpu_profiles.Process("node-a", 101, "llm-gpu")
TRAINER = gpu_profiles.Process("node-a", 102, "train-gpu")
WEIGHTS, LEAK = "main;load;cuMemAlloc_v2", "main;step;cuMemAlloc_v2"
BIG = 2**53 + 1


def ms(tick):
    return (BASE + tick * INTERVAL) * 1000


def tick(number):
    second = BASE + number * INTERVAL
    yield SERVER.heap(second, live={WEIGHTS: (4 * GB, 1), LEAK: (10 * MB * number, 1)} if number else {WEIGHTS: (4 * GB, 1)})
    if 4 <= number <= 9:
        yield TRAINER.heap(second, live={WEIGHTS: (2 * GB, 1)})


def cpu(service, samples, **spec):
    body = harness.pprof(samples, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=BASE * 10**9, **spec)
    return {"__name__": "process_cpu", "service_name": service}, [body]


def frame(name, file="", line=0, **more):
    return {"name": name, "file": file, "line": line, **more}


KINDS = {"mappings": [{"start": 4096, "limit": 8192, "file": "/usr/lib/libcuda.so.1"}, {"start": 8192, "limit": 9000, "file": "/usr/bin/python3.12"},
                      {"start": 9000, "limit": 10000, "file": "[kernel.kallsyms]"}, {"start": 10000, "limit": 11000, "file": "/opt/libtorch.so"}]}
STACK = [frame("main", "train.py", 7), frame("_PyEval_EvalFrameDefault", mapping=2, address=8200), frame("step", "train.py", 20),
         frame("at::empty", mapping=4, address=10010), frame("cuMemAlloc_v2", mapping=1, address=4100), frame("ioctl", mapping=3, address=9001)]


class FlameGraph(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-validation.reject-older-than=0").start()
        for number in range(TICKS):
            cls.push(*tick(number))
        # the node is watched on when its processes are gone
        cls.push(*(gpu_profiles.heartbeat("node-a", BASE + n * INTERVAL) for n in range(TICKS, TICKS + 4)))
        for minute in range(3):
            cls.push(({"__name__": "goroutines", "service_name": "go", "instance": "i"}, [
                harness.pprof({"main;serve": 100 * (minute + 1)}, sample_types=["goroutine/count"], period_type="goroutine/count", period=1,
                              time_nanos=(BASE + 60 * minute) * 10**9)]))
        cls.push(cpu("wide", {"main;f%02d" % n: 1 + n for n in range(100)}))
        cls.push(cpu("deep", {"main;f;g;f": 4, "main;f": 2}))
        cls.push(cpu("big", {"main": BIG}))
        second = [frame("main", "train.py", 8), *STACK[1:2], frame("step", "train.py", 21), frame("step", "other.py", 5)]
        cls.push(cpu("kinds", [{"stack": STACK, "values": [30]}, {"stack": second, "values": [12]}], **KINDS))

    @classmethod
    def push(cls, *series):
        cls.server.keep(*series)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def ask(self, path="/api/v1/flamegraph", **query):
        answer = self.server.get(path, query)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return json.loads(answer.body)

    def live(self, selector='{hostname="node-a"}', **query):
        return self.ask(query=LIVE + selector, **query)

    def cpu(self, service, **query):
        return self.ask(query='%s{service_name="%s"}' % (CPU, service), **{"from": ms(-1), "until": ms(1), **query})

    def refused(self, message, path="/api/v1/flamegraph", **query):
        answer = self.server.get(path, query)
        self.assertEqual(answer.status, 400, answer)
        self.assertEqual(json.loads(answer.body)["code"], "invalid_argument")
        self.assertIn(message, json.loads(answer.body)["message"])

    def rows(self, graph):
        return {graph["names"][frame]: values for frame, *values in graph["table"]}

    # ---- moments ----

    def test_a_moment_is_each_nodes_newest_tick(self):
        for at, server, trainer in ((ms(3), 3, 0), (ms(5) + 14999, 5, 2 * GB), (ms(9), 9, 2 * GB), (ms(10), 10, 0)):
            graph = self.live(at=at)
            self.assertEqual(graph["total"], 4 * GB + 10 * MB * server + trainer)
            self.assertEqual((graph["tick_ms"], graph["snapshots"], graph["exact"]), (ms(server), 1, True))
            self.assertEqual(self.rows(graph)["load"], [0, 4 * GB + trainer])
            self.assertEqual(self.rows(graph)["cuMemAlloc_v2"], [graph["total"]] * 2)

    def test_a_process_that_has_gone_holds_nothing_while_its_node_is_watched(self):
        self.assertEqual(self.live('{pid="102"}', at=ms(9))["total"], 2 * GB)
        gone = self.live('{pid="102"}', at=ms(10))
        self.assertEqual((gone["total"], gone["levels"], gone["table"]), (0, [[0, 0, 0, 0]], []))
        # the heartbeats of its node alone say that 101 has gone
        self.assertEqual(self.live(at=ms(TICKS))["total"], 0)
        self.assertEqual(self.live(at=ms(TICKS - 1))["total"], 4 * GB + 10 * MB * (TICKS - 1))

    def test_a_tick_of_more_than_two_intervals_ago_is_a_gap(self):
        at = ms(TICKS + 3)
        self.assertIsNotNone(self.live('{service_name=~"vramscope-collector.*"}', at=at + 30000)["tick_ms"])
        gap = self.live(at=at + 30001)
        self.assertEqual((gap["total"], gap["tick_ms"], gap["snapshots"]), (0, None, 0))

    def test_moments_agree_with_the_list_of_processes(self):
        for number in (0, 4, 9, 10, TICKS - 1):
            listed = json.loads(self.server.get("/api/gpu/processes", {"at": ms(number), "from": ms(0) - 60000}).body)["processes"]
            self.assertEqual(len(listed), 1 if number < 4 else 2)
            for process in listed:
                graph = self.live('{pid="%s"}' % process["labels"]["pid"], at=ms(number))
                self.assertEqual(graph["total"], sum(process["by_class"].values()))

    def test_a_moment_at_the_end_of_the_scale_is_empty(self):
        for at in (2**63 - 1, "now+9999y", 1):
            self.assertEqual(self.live(at=at)["total"], 0)

    def test_other_gauges_have_ticks_of_their_own(self):
        query = 'goroutines:goroutine:count:goroutine:count{service_name="go"}'
        for second, total in ((0, 100), (59, 100), (60, 200), (120, 300), (240, 300)):
            graph = self.ask(query=query, at=(BASE + second) * 1000)
            self.assertEqual((graph["unit"], graph["total"], graph["snapshots"]), ("count", total, 1))
        self.assertEqual(self.ask(query=query, at=(BASE + 241) * 1000)["total"], 0)

    # ---- ranges ----

    def test_gauges_over_a_range(self):
        span = {"from": ms(0), "until": ms(3)}
        mean = self.live('{pid="101"}', **span)
        # the ticks 0, 1, 2 and 3: 10 MB * (0 + 1 + 2 + 3) / 4
        self.assertEqual((mean["total"], mean["snapshots"], mean["exact"], mean["tick_ms"]), (4 * GB + 15 * MB, 4, False, ms(3)))
        for instant, total, snapshots in (("last", 4 * GB + 30 * MB, 1), ("max", 4 * GB + 30 * MB, 1), ("sum", 16 * GB + 60 * MB, None)):
            graph = self.live('{pid="101"}', instant=instant, **span)
            self.assertEqual((graph["total"], graph["snapshots"], graph["exact"]), (total, snapshots, True), instant)
        one = self.live('{pid="101"}', **{"from": ms(3), "until": ms(3)})
        self.assertEqual((one["total"], one["snapshots"], one["exact"]), (4 * GB + 30 * MB, 1, True))

    def test_totals_are_those_of_the_querier(self):
        graph = self.live(**{"from": ms(0), "until": ms(TICKS)})
        flat = self.server.totals(LIVE, '{hostname="node-a"}', ms(0), ms(TICKS))
        self.assertEqual(graph["total"], sum(flat.values()))

    # ---- frames and tables ----

    def test_frames_say_kind_file_and_line(self):
        graph = self.cpu("kinds")
        got = {(n, f): (k, l) for n, k, f, l in zip(graph["names"], graph["kinds"], graph["files"], graph["lines"])}
        self.assertEqual(got, {
            ("total", ""): ("root", 0),
            ("main", "train.py"): ("python", 7),  # 30 went through line 7, 12 through line 8
            ("_PyEval_EvalFrameDefault", "/usr/bin/python3.12"): ("interpreter", 0),
            ("step", "train.py"): ("python", 20),
            ("step", "other.py"): ("python", 5),
            ("at::empty", "/opt/libtorch.so"): ("native", 0),
            ("cuMemAlloc_v2", "/usr/lib/libcuda.so.1"): ("cuda", 0),
            ("ioctl", "[kernel.kallsyms]"): ("kernel", 0)})

    def test_by_line_each_line_is_a_frame(self):
        graph = self.cpu("kinds", frames="line")
        lines = {(n, f, l): t for (_, _, t), n, f, l in zip(graph["table"], graph["names"][1:], graph["files"][1:], graph["lines"][1:])}
        self.assertEqual({key: total for key, total in lines.items() if key[1].endswith(".py")},
                         {("main", "train.py", 7): 30, ("main", "train.py", 8): 12, ("step", "train.py", 20): 30,
                          ("step", "train.py", 21): 12, ("step", "other.py", 5): 12})

    def test_a_cut_graph_has_the_whole_table(self):
        whole, cut = self.cpu("wide", maxNodes="all"), self.cpu("wide", maxNodes=11)
        total = 100 * 101 // 2
        self.assertEqual((whole["total"], whole["folded_nodes"], len(whole["levels"][2])), (total, 0, 400))
        # main and the ten largest, 91 to 100; 1 + ... + 90 are folded
        self.assertEqual((cut["folded_nodes"], cut["names"][-1], cut["kinds"][-1]), (90, "other", "folded"))
        self.assertEqual(cut["levels"][2][-4:], [0, 90 * 91 // 2, 90 * 91 // 2, len(cut["names"]) - 1])
        self.assertEqual(cut["table"], whole["table"])
        self.assertEqual([value for _, value, _ in cut["table"]], list(range(100, 0, -1)) + [0])

    def test_recursion_counts_once(self):
        graph = self.cpu("deep", sandwich="f")
        self.assertEqual(self.rows(graph), {"f": [6, 6], "main": [0, 6], "g": [0, 4]})
        sandwich, at = graph["sandwich"], {name: number for number, name in enumerate(graph["names"])}
        self.assertEqual((sandwich["frame"], sandwich["self"], sandwich["total"]), (at["f"], 6, 6))
        self.assertEqual(sandwich["callers"], [[0, 6, 0, at["f"]], [0, 6, 6, at["main"]]])
        self.assertEqual(sandwich["callees"], [[0, 6, 2, at["f"]], [2, 4, 0, at["g"]], [2, 4, 4, at["f"]]])
        self.assertEqual(self.cpu("deep", sandwich="nowhere")["sandwich"],
                         {"frame": None, "self": 0, "total": 0, "folded_nodes": 0, "callers": [], "callees": []})

    def test_focus_takes_what_begins_so(self):
        graph = self.server.get("/api/v1/flamegraph?focus=main&focus=f&focus=g&from=%d&until=%d&query=%s" % (ms(-1), ms(1), CPU + "%7B%7D"))
        self.assertEqual(json.loads(graph.body)["total"], 4)

    def test_numbers_beyond_doubles_are_texts(self):
        self.assertEqual(self.cpu("big")["total"], str(BIG))

    # ---- comparisons ----

    def test_a_diff_has_both_sides(self):
        diff = self.ask("/api/v1/diff", query=LIVE + '{hostname="node-a"}', leftAt=ms(3), rightAt=ms(9), maxNodes=3)
        self.assertEqual(diff["left"], {"total": 4 * GB + 30 * MB, "tick_ms": ms(3), "snapshots": 1, "exact": True})
        self.assertEqual(diff["right"]["total"], 6 * GB + 90 * MB)
        rows = {diff["names"][frame]: values for frame, *values in diff["table"]}
        self.assertEqual(rows["load"], [0, 4 * GB, 0, 6 * GB])
        self.assertEqual(rows["step"], [0, 30 * MB, 0, 90 * MB])
        # main, load and its cuMemAlloc_v2 are drawn, step and its own are folded
        other = len(diff["names"]) - 1
        self.assertEqual((diff["folded_nodes"], diff["kinds"][other]), (2, "folded"))
        self.assertEqual(diff["levels"][2][7:], [0, 30 * MB, 30 * MB, 0, 90 * MB, 90 * MB, other])

    def test_sides_may_be_of_any_time_and_type_of_one_unit(self):
        diff = self.ask("/api/v1/diff", leftQuery=LIVE + '{pid="101"}', leftAt=ms(2), rightQuery=LIVE + '{pid="101"}', rightFrom=ms(0),
                        rightUntil=ms(3))
        self.assertEqual((diff["left"]["total"], diff["right"]["total"], diff["right"]["exact"]), (4 * GB + 20 * MB, 4 * GB + 15 * MB, False))
        self.refused("the left side is in bytes, the right one in nanoseconds", "/api/v1/diff", leftQuery=LIVE + "{}", rightQuery=CPU + "{}")

    # ---- how it is asked ----

    def test_what_is_not_understood_is_refused_by_name(self):
        self.refused('"query" is required')
        self.refused('"query" must contain a profile-type selection', query="{}")
        self.refused("at: %s is no type of live things" % CPU, query=CPU + "{}", at="now")
        self.refused("at: 'noon' is no time", query=LIVE + "{}", at="noon")
        self.refused("maxNodes: '0' is no number from 1 to 1048576", query=LIVE + "{}", maxNodes=0)
        self.refused("maxNodes: '1048577' is no number", query=LIVE + "{}", maxNodes=1048577)
        self.refused("frames: 'file' is none of function, line", query=LIVE + "{}", frames="file")
        self.refused("instant must be", query=LIVE + "{}", instant="median")
        self.refused("query start time is after end time", query=LIVE + "{}", **{"from": ms(2), "until": ms(1)})
        self.refused('failed to parse "rightQuery"', "/api/v1/diff", leftQuery=LIVE + "{}", rightQuery="{")

    def test_the_same_answer_is_not_sent_twice(self):
        query = {"query": LIVE + "{}", "at": ms(3)}
        first = self.server.get("/api/v1/flamegraph", query)
        again = self.server.get("/api/v1/flamegraph", query, headers={"If-None-Match": first.headers["ETag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertNotEqual(self.server.get("/api/v1/flamegraph", {**query, "at": ms(4)}).headers["ETag"], first.headers["ETag"])

    def test_tenants_are_apart(self):
        with harness.Server("-auth.multitenancy-enabled", "-validation.reject-older-than=0") as server:
            self.assertEqual(server.get("/api/v1/flamegraph", {"query": LIVE + "{}"}).status, 401)
            self.assertEqual(server.push(cpu("mine", {"main": 1}), headers={"X-Scope-OrgID": "one"}).status, 200)
            query = {"query": CPU + "{}", "from": ms(-1), "until": ms(1)}
            totals = [json.loads(server.get("/api/v1/flamegraph", query, headers={"X-Scope-OrgID": who}).body)["total"] for who in ("one", "two")]
            self.assertEqual(totals, [1, 0])


class Top(unittest.TestCase):
    """`vramscope top --gpu` and the routes of the pages say the same, to the byte: below 1 KiB nothing is rounded."""

    def test_processes_and_stacks_agree(self):
        now = int(time.time()) // INTERVAL * INTERVAL
        stacks = {"main;load;cuMemAlloc_v2": 700, "main;step;cuMemAlloc_v2": 211, "main;step;grow;cuMemAlloc_v2": 89}
        with harness.Server() as server:
            # ticks of the minutes to come, too: however slow this machine is, the newest one is fresh and says the same
            for number in range(-4, 21):
                second = now + number * INTERVAL
                answer = server.push(SERVER.heap(second, live={stack: (size, 1) for stack, size in stacks.items()}),
                                     SERVER.heap(second, memory_class="pinned", live={"main;pin": (444, 1)}),
                                     TRAINER.heap(second, live={"main;train": (1000, 3)}))
                self.assertEqual(answer.status, 200, answer)
            code, out, err = harness.vramscope("top", "--gpu", "--url", server.url, "--last", "10m", "--pid", "101", "-n", "100")
            self.assertEqual(code, 0, err)
            listed = json.loads(server.get("/api/gpu/processes").body)["processes"]
            device = '{pid="101",cuda_class!~"pinned|registered|graph"}'
            graph = json.loads(server.get("/api/v1/flamegraph", {"query": LIVE + device, "at": "now"}).body)
        lines = out.splitlines()
        for process in listed:
            row = next(line.split() for line in lines if process["labels"]["pid"] in line.split())
            at = row.index(process["labels"]["pid"])
            self.assertEqual(row[at + 1:at + 3], ["%d" % process["live_bytes"], "B"], out)
        self.assertEqual({p["labels"]["pid"]: p["live_bytes"] for p in listed}, {"101": sum(stacks.values()), "102": 1000})
        self.assertEqual(graph["total"], sum(stacks.values()))
        shown = {line.split("%")[1].strip().replace(" > ", ";"): int(line.split()[0]) for line in lines if " > " in line and "%" in line}
        self.assertEqual(shown, stacks)
        flame = {"names": graph["names"], "levels": [{"values": level} for level in graph["levels"]]}
        self.assertEqual(harness.folded(flame), stacks)


if __name__ == "__main__":
    harness.main()
