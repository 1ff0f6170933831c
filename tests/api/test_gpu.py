"""/api/gpu/processes and /api/gpu/timeline: every field, against arithmetic on profiles that are pushed by hand.

Two nodes tick every 15 seconds. Node a: 101 holds weights and grows, 102 comes at tick 4 and is gone behind tick 9; 103 fails only. Node
b: 201 holds memory on two GPUs and on the host, and the node is not heard of behind tick 11. Times are seconds of ticks from BASE on.
"""
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
import unittest

import gpu_profiles
import harness

INTERVAL = 15
TICKS = 40  # of node a
DEAD = 12  # the first tick that node b lacks
GB, MB = 10**9, 10**6
BASE = int(time.time()) // INTERVAL * INTERVAL - 45 * 60
FIRST, LAST = BASE, BASE + (TICKS - 1) * INTERVAL
BIG = 2**53 + 1

A, B = "node-a", "node-b"
SERVER = gpu_profiles.Process(A, 101, "llm-gpu", k8s_podName="llm-0", k8s_namespace="prod")
TRAINER = gpu_profiles.Process(A, 102, "train-gpu")
FAILING = gpu_profiles.Process(A, 103, "fails-gpu")
REMOTE = gpu_profiles.Process(B, 201, "llm-gpu", k8s_podName="llm-1", k8s_namespace="prod")
WEIGHTS, LEAK = "main;load;cuMemAlloc_v2", "main;step;leak;cuMemAlloc_v2"


def second(tick):
    return BASE + tick * INTERVAL


def ms(tick):
    return second(tick) * 1000


def server_live(tick):
    """Weights that stay, and 10 MB more at each tick."""
    return 4 * GB + 10 * MB * tick


def trainer_live(tick):
    return 2 * GB + (GB if tick == 7 else 0) if 4 <= tick <= 9 else 0


def tick_of_a(tick):
    yield SERVER.heap(second(tick), live={WEIGHTS: (4 * GB, 1), LEAK: (10 * MB * tick, tick)},
                      alloc={WEIGHTS: (4 * GB, 1)} if tick == 0 else {LEAK: (50 * MB, 5)})
    yield SERVER.heap(second(tick), memory_class="pinned", live={"main;pin;cuMemAllocHost_v2": (64 * MB, 2)})
    if 4 <= tick <= 9:
        yield TRAINER.heap(second(tick), live={WEIGHTS: (trainer_live(tick), 3)},
                           alloc={WEIGHTS: (2 * GB, 3)} if tick == 4 else {"main;step;cuMemAlloc_v2": (7 * MB, 1)})
    if tick in (5, 6):
        yield FAILING.failed(second(tick), 3)
    if tick == 6:
        yield SERVER.failed(second(tick), 2, error="CUDA_ERROR_INVALID_VALUE")
        yield FAILING.oom(second(tick) - 2, 80 * GB)
    if tick == 8:
        yield TRAINER.peak(second(tick), 4 * GB)
        yield gpu_profiles.device(A, "0", second(tick), 80 * GB, used=50 * GB)
        yield gpu_profiles.device(A, "1", second(tick), 40 * GB)


def tick_of_b(tick):
    yield REMOTE.heap(second(tick), gpu="0", live={WEIGHTS: (GB, 1)})
    yield REMOTE.heap(second(tick), gpu="1", memory_class="vmm", live={WEIGHTS: (500 * MB, 5)})
    yield REMOTE.heap(second(tick), gpu="unknown", memory_class="registered", live={WEIGHTS: (9 * GB, 1)})


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-validation.reject-older-than=0").start()
        for tick in range(TICKS):
            cls.push(*tick_of_a(tick), *(tick_of_b(tick) if tick < DEAD else ()))
        # another heap of the same type that knows nothing of CUDA must not count, nor tick
        cls.push(({"__name__": "memory", "service_name": "go", "hostname": A, "pid": "101"},
                  [harness.pprof({"main": 123}, sample_types=["inuse_space/bytes"], period_type="space/bytes", period=1,
                                 time_nanos=(LAST + 7) * 10**9)]))

    @classmethod
    def push(cls, *series):
        cls.server.keep(*series)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def processes(self, **query):
        answer = self.server.get("/api/gpu/processes", query)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def rows(self, **query):
        return {row["labels"]["pid"]: row for row in self.processes(**query)["processes"]}

    def timeline(self, **query):
        answer = self.server.get("/api/gpu/timeline", query)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def refused(self, path, said, **query):
        answer = self.server.get(path, query)
        self.assertEqual(answer.status, 400, (query, answer))
        self.assertEqual(answer.json["code"], "invalid_argument")
        self.assertIn(said, answer.json["message"])
        self.assertEqual(answer.headers["Cache-Control"], "no-store")


class Processes(Gpu):
    def test_every_field_of_a_running_process(self):
        list_ = self.processes(at=ms(10), **{"from": ms(3)})
        self.assertEqual((list_["tick_ms"], list_["interval_ms"]), (ms(10), INTERVAL * 1000))
        row = next(row for row in list_["processes"] if row["labels"]["pid"] == "101")
        self.assertEqual(row, {
            "id": "%s:101:%d" % (A, ms(0)),
            "labels": {"service_name": "llm-gpu", "hostname": A, "pid": "101", "proc_comm": "python3",
                       "k8s_podName": "llm-0", "k8s_namespace": "prod"},
            "state": "running", "first_ms": ms(0), "last_ms": ms(10),
            "live_bytes": server_live(10), "live_blocks": 11,
            "by_class": {"device": server_live(10), "pinned": 64 * MB}, "by_gpu": {"0": server_live(10)},
            "peak_bytes": server_live(10), "peak_ms": ms(10),
            "alloc_bytes": 7 * 50 * MB, "alloc_calls": 7 * 5,
            "freed_bytes": 7 * 50 * MB - 7 * 10 * MB, "failures": 2, "growth_bytes": 7 * 10 * MB})

    def test_a_process_ends_with_its_last_tick(self):
        row = self.rows(at=ms(14), **{"from": ms(2)})["102"]
        self.assertEqual((row["state"], row["first_ms"], row["last_ms"]), ("exited", ms(4), ms(9)))
        self.assertEqual((row["live_bytes"], row["live_blocks"], row["by_class"], row["by_gpu"]), (0, 0, {}, {}))
        # all that it got is back; the peak that it told of is higher than any tick
        self.assertEqual((row["alloc_bytes"], row["freed_bytes"], row["growth_bytes"]), (2 * GB + 35 * MB, 2 * GB + 35 * MB, 0))
        self.assertEqual((row["peak_bytes"], row["peak_ms"]), (4 * GB, ms(8)))
        self.assertEqual(self.rows(at=ms(9))["102"]["state"], "running")
        self.assertEqual(self.rows(at=ms(7))["102"]["peak_bytes"], 3 * GB)
        self.assertNotIn("102", self.rows(at=ms(3)))
        self.assertNotIn("102", self.rows(at=ms(20), **{"from": ms(12)}))

    def test_what_left_within_the_range_shrinks_by_what_it_held(self):
        row = self.rows(at=ms(14), **{"from": ms(5)})["102"]
        self.assertEqual((row["growth_bytes"], row["alloc_bytes"], row["freed_bytes"]), (-2 * GB, 4 * 7 * MB, 2 * GB + 4 * 7 * MB))

    def test_a_process_that_only_fails_is_seen(self):
        row = self.rows(at=ms(6), **{"from": ms(0)})["103"]
        self.assertEqual((row["failures"], row["live_bytes"], row["peak_bytes"], row["peak_ms"]), (6, 0, 0, None))

    def test_memory_of_several_gpus_and_of_the_host(self):
        row = self.rows(at=ms(11))["201"]
        self.assertEqual(row["live_bytes"], GB + 500 * MB)
        self.assertEqual(row["live_blocks"], 6)
        self.assertEqual(row["by_class"], {"device": GB, "registered": 9 * GB, "vmm": 500 * MB})
        self.assertEqual(row["by_gpu"], {"0": GB, "1": 500 * MB})
        only = self.rows(at=ms(11), selector='{cuda_class="registered"}')["201"]
        self.assertEqual((only["live_bytes"], only["by_gpu"]), (9 * GB, {"unknown": 9 * GB}))

    def test_a_node_that_is_not_heard_of_is_a_gap_after_two_intervals(self):
        for at in (11, 12, 13):
            self.assertEqual(self.rows(at=ms(at))["201"]["state"], "running", at)
        row = self.rows(at=ms(13) + 1)["201"]
        self.assertEqual(row["state"], "gap")
        self.assertEqual((row["live_bytes"], row["live_blocks"], row["freed_bytes"], row["growth_bytes"]), (None,) * 4)
        self.assertEqual((row["by_class"], row["last_ms"]), ({}, ms(11)))
        # its neighbour goes on
        self.assertEqual(self.rows(at=ms(30))["101"]["state"], "running")

    def test_what_changed_since_a_gap_is_not_known(self):
        self.push(REMOTE.heap(second(35), live={WEIGHTS: (2 * GB, 1)}, alloc={WEIGHTS: (3 * GB, 2)}))
        row = self.rows(at=ms(35), **{"from": ms(20)})["201"]
        self.assertEqual((row["state"], row["live_bytes"], row["alloc_bytes"]), ("running", 2 * GB, 3 * GB))
        self.assertEqual((row["freed_bytes"], row["growth_bytes"]), (None, None))

    def test_the_first_tick_is_found_however_far_back(self):
        old = gpu_profiles.Process("node-old", 7, "old-gpu")
        first = BASE - 3 * 86400 - 1234
        for at in (first, first + INTERVAL, BASE - 2 * 86400, BASE - 86400 - 5, BASE - 600, second(30)):
            self.push(old.heap(at, live={WEIGHTS: (MB, 1)}))
        # the same pid, days before: a whole day without a tick lies between
        self.push(old.heap(first - 3 * 86400, live={WEIGHTS: (MB, 1)}))
        for start in (ms(29), ms(30), (BASE - 700) * 1000):
            row = self.rows(at=ms(30), **{"from": start})["7"]
            self.assertEqual((row["first_ms"], row["id"]), (first * 1000, "node-old:7:%d" % (first * 1000)))

    def test_a_node_that_only_says_that_it_is_watched_is_no_gap(self):
        node = "node-quiet"
        alone = gpu_profiles.Process(node, 9, "alone-gpu")
        for tick in range(6):
            self.push(gpu_profiles.heartbeat(node, second(tick)), *([alone.heap(second(tick), live={WEIGHTS: (MB, 1)})] if tick < 2 else []))
        rows = self.processes(at=ms(5), selector='{hostname="%s"}' % node)["processes"]
        self.assertEqual([(row["labels"]["pid"], row["state"], row["live_bytes"]) for row in rows], [("9", "exited", 0)])
        self.assertEqual(self.rows(at=ms(9), selector='{pid="9"}')["9"]["state"], "exited")
        line = self.timeline(step=15, until=ms(8), selector='{hostname="%s"}' % node, **{"from": ms(0)})
        self.assertEqual(line["total"], [MB, MB, 0, 0, 0, 0, 0, 0, None])

    def test_order_and_limit(self):
        def pids(**query):
            return [row["labels"]["pid"] for row in self.processes(at=ms(9), selector='{hostname=~"%s|%s"}' % (A, B), **query)["processes"]]

        self.assertEqual(pids(), ["101", "102", "201", "103"])
        self.assertEqual(pids(limit=1), ["101"])
        self.assertEqual(pids(sort="failures")[:2], ["103", "101"])
        self.assertEqual(pids(sort="peak_bytes")[:3], ["101", "102", "201"])
        self.assertEqual(pids(sort="first_ms")[0], "103")
        self.assertEqual(pids(sort="alloc_bytes", **{"from": ms(4)})[0], "101")

    def test_a_selector_keeps_the_ticks_of_the_node(self):
        row = self.rows(at=ms(14), selector='{pid="102"}')["102"]
        self.assertEqual(row["state"], "exited")
        self.assertEqual(list(self.rows(at=ms(9), selector='{k8s_namespace="prod"}')), ["101", "201"])
        self.assertEqual(self.rows(at=ms(9), selector='{pid="none"}'), {})

    def test_devices_stand_beside_what_is_held_of_them(self):
        first = {"hostname": A, "gpu": "0", "used_bytes": 50 * GB, "total_bytes": 80 * GB, "live_bytes": server_live(8) + trainer_live(8)}
        second_ = {"hostname": A, "gpu": "1", "used_bytes": None, "total_bytes": 40 * GB, "live_bytes": 0}
        self.assertEqual(self.processes(at=ms(8))["devices"], [first, second_])
        # what is live there is that of all, whoever is asked for
        self.assertEqual(self.processes(at=ms(8), selector='{pid="101"}')["devices"], [first, second_])
        self.assertEqual(self.processes(at=ms(8), selector='{gpu="1"}')["devices"], [second_])
        self.assertEqual(self.processes(at=ms(8), selector='{hostname="%s"}' % B)["devices"], [])
        # at the next tick they said nothing
        self.assertEqual(self.processes(at=ms(9))["devices"], [])

    def test_nothing_at_all(self):
        self.assertEqual(self.processes(at="1000000000", limit=5), {"tick_ms": None, "interval_ms": None, "processes": [], "devices": []})

    def test_numbers_past_two_to_the_53_are_strings(self):
        big = gpu_profiles.Process("node-big", 1, "big-gpu")
        self.push(big.heap(second(0) - 7200, live={WEIGHTS: (BIG, 1)}))
        row = self.rows(at=(second(0) - 7200) * 1000)["1"]
        self.assertEqual((row["live_bytes"], row["live_blocks"]), (str(BIG), 1))

    def test_an_answer_that_is_known_is_not_sent_again(self):
        query = {"at": ms(10)}
        first = self.server.get("/api/gpu/processes", query)
        tag = first.headers["ETag"]
        self.assertEqual(first.headers["Cache-Control"], "no-store")
        again = self.server.get("/api/gpu/processes", query, headers={"If-None-Match": 'W/"x", ' + tag})
        self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag))
        other = self.server.get("/api/gpu/processes", {"at": ms(11)}, headers={"If-None-Match": tag})
        self.assertEqual(other.status, 200)
        self.assertNotEqual(other.headers["ETag"], tag)

    def test_bad_parameters_are_named(self):
        path = "/api/gpu/processes"
        self.refused(path, "at: 'yesterday' is no time", at="yesterday")
        self.refused(path, "from: '-1h' is no time", **{"from": "-1h"})
        self.refused(path, "is before 1970", at="now-999999999999999999y")
        self.refused(path, "start time is after end time", at=ms(0), **{"from": ms(1)})
        self.refused(path, "sort: 'size' is none of live_bytes, peak_bytes", sort="size")
        for limit in ("0", "-1", "1000000000", "99999999999999999999999", "ten", "1.5"):
            self.refused(path, "is no number from 1 to 10000", limit=limit)
        self.refused(path, "parse error", selector="{pid=")
        self.refused(path, "parsing label selector", selector='{pid=~"("}')
        answer = self.server.get(path, {"at": "now-1h\x00", "selector": "x" * 200})
        self.assertEqual(answer.status, 400)


class Timeline(Gpu):
    def test_every_field(self):
        line = self.timeline(by="process", step="15s", top=2, until=ms(16), **{"from": ms(2)})
        self.assertEqual((line["start_ms"], line["step_ms"]), (ms(2), 15000))
        self.assertEqual(line["capacity_bytes"], 120 * GB)
        ticks = range(2, 17)
        remote = [GB + 500 * MB if tick < DEAD + 2 else None for tick in ticks]
        self.assertEqual([one["key"] for one in line["series"]], ["%s:101:%d" % (A, ms(0)), "%s:201:%d" % (B, ms(0))])
        self.assertEqual(line["series"][0]["labels"]["k8s_podName"], "llm-0")
        self.assertEqual(line["series"][0]["values"], [server_live(tick) for tick in ticks])
        self.assertEqual(line["series"][1]["values"], remote)
        self.assertEqual(line["other"], [trainer_live(tick) for tick in ticks])
        self.assertEqual(line["total"], [server_live(tick) + trainer_live(tick) + (held or 0) for tick, held in zip(ticks, remote)])

    def test_what_happened(self):
        line = self.timeline(until=ms(16), **{"from": ms(2)})
        trainer, server = "%s:102:%d" % (A, ms(4)), "%s:101:%d" % (A, ms(0))
        failing, remote = "%s:103:%d" % (A, ms(5)), "%s:201:%d" % (B, ms(0))
        self.assertEqual([tuple(one[key] for key in ("t_ms", "kind", "process", "bytes")) for one in line["markers"]], [
            (ms(2), "peak", remote, GB + 500 * MB),
            (ms(4), "start", trainer, 2 * GB),
            (ms(5), "start", failing, 0),
            (ms(6) - 2000, "oom", failing, 80 * GB),
            (ms(6), "exit", failing, 0),
            (ms(8), "peak", trainer, 4 * GB),
            (ms(9), "exit", trainer, 2 * GB),
            (ms(16), "peak", server, server_live(16))])

    def test_it_says_what_the_list_of_processes_says(self):
        for step, at in ((15, 9), (60, 8), (300, 20), (7, 5)):
            line = self.timeline(step=step, until=ms(at), top=100, **{"from": ms(0)})
            for i, total in enumerate(line["total"]):
                now = self.processes(at=line["start_ms"] + i * step * 1000)["processes"]
                self.assertEqual(total, sum(row["live_bytes"] or 0 for row in now), (step, i))
            self.assertEqual(len(line["total"]), (ms(at) - line["start_ms"]) // (step * 1000) + 1)

    def test_groups(self):
        def at_nine(by):
            line = self.timeline(by=by, step=15, until=ms(9), **{"from": ms(9)})
            return {one["key"]: one["values"][0] for one in line["series"]}

        self.assertEqual(at_nine("service_name"), {"llm-gpu": server_live(9) + GB + 500 * MB, "train-gpu": 2 * GB})
        self.assertEqual(at_nine("k8s_podName"), {"llm-0": server_live(9), "llm-1": GB + 500 * MB, "": 2 * GB})
        self.assertEqual(at_nine("k8s_namespace"), {"prod": server_live(9) + GB + 500 * MB, "": 2 * GB})
        self.assertEqual(at_nine("gpu"), {"0": server_live(9) + 3 * GB, "1": 500 * MB})
        self.assertEqual(at_nine("cuda_class"), {"device": server_live(9) + 3 * GB, "vmm": 500 * MB})
        self.assertEqual(at_nine("pid"), {"101": server_live(9), "102": 2 * GB, "201": GB + 500 * MB})

    def test_a_step_shorter_than_the_interval_repeats_the_last_tick(self):
        line = self.timeline(step=5, until=ms(3), selector='{pid="101"}', **{"from": ms(1)})
        self.assertEqual(line["series"][0]["values"], [server_live(1)] * 3 + [server_live(2)] * 3 + [server_live(3)])

    def test_a_node_alone_is_a_gap(self):
        line = self.timeline(step=15, until=ms(15), selector='{hostname="%s"}' % B, **{"from": ms(12)})
        self.assertEqual(line["total"], [GB + 500 * MB] * 2 + [None] * 2)
        self.assertEqual(line["other"], [0, 0, None, None])
        self.assertEqual(line["capacity_bytes"], None)

    def test_the_default_step_suits_the_range(self):
        self.assertEqual(self.timeline(until=ms(39), **{"from": ms(0)})["step_ms"], 15000)
        day = self.timeline(until=ms(39), **{"from": ms(39) - 86400 * 1000})
        self.assertEqual(day["step_ms"], 180000)
        self.assertLessEqual(len(day["total"]), 500)

    def test_a_range_between_two_steps_has_none(self):
        line = self.timeline(step="1h", until=ms(0) + 1, **{"from": ms(0) + 1})
        self.assertEqual((line["total"], line["other"]), ([], []))

    def test_bad_parameters_are_named(self):
        path = "/api/gpu/timeline"
        for step in ("0", "0s", "-5", "10ms", "nothing", "1e9", "99999999999999999999", "9e99h"):
            self.refused(path, "is no duration of a second or more", step=step)
        self.refused(path, "11001 steps are more than 11000", step=1, until=ms(0), **{"from": ms(0) - 11000 * 1000})
        self.refused(path, "steps are more than", step=1, until="9223372036854775807", **{"from": 1})
        self.refused(path, "by: 'color' is none of process, pid", by="color")
        for top in ("0", "1000000000", "-1"):
            self.refused(path, "is no number from 1 to 100", top=top)
        self.assertEqual(self.timeline(until="9223372036854775807", step="999999999", **{"from": 1})["markers"][0]["kind"], "start")

    def test_other_methods_and_tenants(self):
        self.assertEqual(self.server.request("POST", "/api/gpu/timeline", b"").status, 405)
        with harness.Server("-auth.multitenancy-enabled") as server:
            self.assertEqual(server.get("/api/gpu/processes").status, 401)
            mine = server.get("/api/gpu/processes", headers={"X-Scope-OrgID": "one"})
            self.assertEqual((mine.status, json.loads(mine.body)["processes"]), (200, []))
            self.assertEqual(server.get("/api/gpu/timeline", headers={"X-Scope-OrgID": "a|b"}).status, 400)


class Top(unittest.TestCase):
    """`vramscope top --gpu` on ticks of now."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.now = int(time.time()) // INTERVAL * INTERVAL
        gone = gpu_profiles.Process(A, 102, "train-gpu")
        # ticks of five minutes to come: however slow this machine is, there is a fresh one
        for back in range(9, -21, -1):
            at = cls.now - back * INTERVAL
            pushed = [SERVER.heap(at, live={"main;Engine.__init__;cuMemAlloc_v2": (3 << 30, 1), "main;\x1b[31mstep;cuMemAlloc_v2": (1 << 30, 4)},
                                  alloc={"main;step;cuMemAlloc_v2": (15 << 20, 3)}),
                      SERVER.heap(at, memory_class="pinned", live={"main;pin": (1 << 40, 1)})]
            if back >= 2:
                pushed.append(gone.heap(at, live={"main;train;cuMemAlloc_v2": (5 << 30 if back == 8 else 2 << 30, 1)}))
            if back == 8:
                pushed.append(SERVER.failed(at, 7))
                pushed += [SERVER.oom(at, 80 << 30, "main;\x1b[31mstep;cuMemAlloc_v2", recovered="true"),
                           SERVER.held(at, {"main;step;cuMemAlloc_v2": 4 << 30}, reason="oom")]
            answer = cls.server.push(*pushed)
            assert answer.status == 200, answer

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def top(self, *flags, status=0):
        code, out, err = harness.vramscope("top", "--gpu", "--url", self.server.url, *flags)
        self.assertEqual(code, status, err)
        return out if status == 0 else err

    def test_one_picture_where_nobody_watches(self):
        lines = self.top("--last", "10m").splitlines()
        self.assertRegex(lines[0], r"^4\.00 GiB live in 1 process, tick \d+ s ago$")
        self.assertEqual(lines[1].split(), ["PID", "LIVE", "PEAK", "ALLOC/S", "FAILED", "SEEN", "STATE", "PROCESS"])
        # 15 MiB at each tick of 15 s
        self.assertRegex(lines[2], r"^> +101 +4\.00 GiB +4\.00 GiB +1\.00 MiB +7 +\d+ s  running  llm-gpu \(python3\) @ node-a$")
        self.assertRegex(lines[3], r"^ +102 +0 B +5\.00 GiB +0 B +0 +\d+ s  exited   train-gpu \(python3\) @ node-a$")
        self.assertRegex(lines[4], r"^out of memory [23] min ago: 80\.0 GiB for 101 llm-gpu, 4\.00 GiB live, recovered: "
                                   r"main > \\x1b\[31mstep > cuMemAlloc_v2$")
        self.assertEqual(lines[5:7], ["", "4.00 GiB of 101 llm-gpu by stack"])
        # names are strangers': what would move a cursor is shown
        self.assertEqual(lines[7:], ["   3.00 GiB   75.0%  main > Engine.__init__ > cuMemAlloc_v2",
                                     "   1.00 GiB   25.0%  main > \\x1b[31mstep > cuMemAlloc_v2"])

    def test_another_process(self):
        lines = self.top("--last", "10m", "--pid", "102").splitlines()
        self.assertTrue(lines[3].startswith(">"), lines)
        self.assertEqual(lines[6:], ["2.00 GiB of 102 train-gpu at its last tick", "   2.00 GiB  100.0%  main > train > cuMemAlloc_v2"])
        self.assertIn("no process 7 among the", self.top("--pid", "7", status=1))
        self.assertEqual(len(self.top("--last", "10m", "-n", "1").splitlines()), 9)
        self.assertIn("No GPU memory was seen", self.top("-q", '{hostname="elsewhere"}'))

    def test_what_does_not_go_together(self):
        self.assertIn("is a selector", self.top("-q", "memory:inuse_space:bytes:space:bytes{}", status=2))
        self.assertIn("asks a server", self.top("--store", self.server.store, status=1))
        code, _, err = harness.vramscope("top", "--pid", "3")
        self.assertEqual((code, "--pid belongs to --gpu" in err), (2, True))

    def test_keys_choose_and_end(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        before = termios.tcgetattr(slave)
        process = subprocess.Popen([harness.PROGRAM, "top", "--gpu", "--last", "10m", "--every", "1h", "--url", self.server.url],
                                   stdin=slave, stdout=slave, stderr=slave, env=dict(os.environ, TERM="xterm"))
        shown = b""

        def shows(text):
            nonlocal shown
            if select.select([master], [], [], 0)[0]:
                shown += os.read(master, 65536)
            return text in shown

        try:
            harness.wait_until(lambda: shows(b"of 101 llm-gpu"), what="the first picture")
            os.write(master, b"\x1b[B")
            harness.wait_until(lambda: shows(b"of 102 train-gpu"), what="the second process")
            os.write(master, b"q")
            self.assertEqual(process.wait(60), 0)
            self.assertEqual(termios.tcgetattr(slave), before)
        finally:
            process.kill()
            process.wait(60)
            os.close(master)
            os.close(slave)


del Gpu  # what both share has no tests

if __name__ == "__main__":
    harness.main()
