"""Gauges over time: 10 GB that stay 10 GB read 10 GB, whoever holds them, in every answer, over any range.

Expected values are arithmetic: the sum over a source's snapshots / the number of its ticks, rounded half up once a stack.
"""
import json
import time
import unittest

import harness

GAUGE = "memory:inuse_space:bytes:space:bytes"
GB10 = 10 * 10**9
TICK = 300
DAY = 86400
TICKS = 2 * DAY // TICK
BASE = int(time.time()) // DAY * DAY - 2 * DAY - DAY // 2  # noon: the range lies in three days
START, END = (BASE - 1) * 1000, (BASE + 2 * DAY) * 1000
SERVICE = "train"


def snapshots(first, last, value, stack="main;cudaMalloc", shift=0):
    """Profiles of one value at the ticks from `first` up to `last`."""
    return [harness.pprof({stack: value}, sample_types=["inuse_space/bytes"], period_type="space/bytes", period=524288,
                          time_nanos=(BASE + tick * TICK + shift) * 10**9) for tick in range(first, last)]


def rounded(value, parts):
    return (2 * value + parts) // (2 * parts)


class Gauges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-validation.reject-older-than=0").start()
        third = TICKS // 3
        cls.push("a", "1", snapshots(0, TICKS, GB10))
        # the same 10 GB, handed from one process to the next, at other times of the clock
        cls.push("b", "1", snapshots(0, third, GB10, shift=7))
        cls.push("b", "2", snapshots(third, TICKS, GB10, shift=7))
        # beside a process of the whole range one that was there for 5 ticks, one of them on the last day: 4 * 400 / 576 and
        # 400 / 576 are 3 and 1 when each is rounded, and 3 together
        cls.push("c", "1", snapshots(0, TICKS, 64))
        cls.push("c", "2", snapshots(10, 14, 400, "short") + snapshots(TICKS - 1, TICKS, 400, "short"))

    @classmethod
    def push(cls, node, pid, profiles):
        labels = {"__name__": "memory", "service_name": SERVICE, "node": node, "pid": pid}
        cls.server.keep((labels, profiles))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def ask(self, method, instant, matchers, **more):
        query = {"profileTypeID": GAUGE, "labelSelector": '{service_name="%s"%s}' % (SERVICE, matchers), "start": START, "end": END, **more}
        if method == "Diff":
            query = {"left": query, "right": query}
        answer = self.server.rpc(method + "?instant=" + instant, query)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def everywhere(self, instant, matchers, value):
        """Every answer that merges says the value."""
        graph = self.ask("SelectMergeStacktraces", instant, matchers)["flamegraph"]
        profile = self.ask("SelectMergeProfile", instant, matchers)
        diff = self.ask("Diff", instant, matchers)["flamegraph"]
        render = self.server.get("/pyroscope/render", {
            "query": '%s{service_name="%s"%s}' % (GAUGE, SERVICE, matchers), "from": START, "until": END, "instant": instant}).json
        self.assertEqual(int(graph["total"]), value)
        self.assertEqual(sum(int(sample["value"][0]) for sample in profile["sample"]), value)
        self.assertEqual(int(diff["leftTicks"]), value)
        self.assertEqual(int(diff["rightTicks"]), value)
        self.assertEqual(render["flamebearer"]["numTicks"], value)

    def on_command_line(self, matchers, *flags):
        """What `query` says: of the server, and of the folder beside it."""
        totals = []
        for source in (("--url", self.server.url), ("--store", self.server.store)):
            status, out, err = harness.vramscope("query", "-q", '%s{service_name="%s"%s}' % (GAUGE, SERVICE, matchers), "-o", "json",
                                                 "--from", str(START), "--to", str(END), *source, *flags)
            self.assertEqual(status, 0, err)
            totals.append(json.loads(out)["total"])
        return totals

    def points(self, instant, matchers, step):
        series = self.ask("SelectSeries", instant, matchers, step=step).get("series", [])
        return [point.get("value", 0) for one in series for point in one["points"]]

    def test_a_constant_gauge_reads_the_same_in_every_answer(self):
        for instant in ("mean", "last", "max"):
            self.everywhere(instant, ',node="a"', GB10)
            self.assertEqual(self.points(instant, ',node="a"', (END - START) / 1000), [GB10])
            self.assertEqual(set(self.points(instant, ',node="a"', 3600)), {GB10})

    def test_it_does_not_matter_which_process_holds_it(self):
        for instant in ("mean", "last"):
            self.everywhere(instant, ',node="b"', GB10)
            self.everywhere(instant, ',node=~"a|b"', 2 * GB10)
            self.assertEqual(self.points(instant, ',node="b"', (END - START) / 1000), [GB10])
            self.assertEqual(set(self.points(instant, ',node="b"', 3600)), {GB10})

    def test_a_process_counts_for_the_time_that_it_was_there(self):
        self.everywhere("mean", ',node="b",pid="1"', rounded(GB10, 3))
        self.everywhere("mean", ',node="c",pid="2"', rounded(5 * 400, TICKS))
        self.everywhere("mean", ',node="c"', 64 + rounded(5 * 400, TICKS))
        self.assertEqual(self.points("mean", ',node="c",pid="2"', (END - START) / 1000), [5 * 400 / TICKS])

    def test_the_last_state_has_no_process_that_ended(self):
        self.assertNotIn("total", self.ask("SelectMergeStacktraces", "last", ',node="b",pid="1"')["flamegraph"])
        self.everywhere("last", ',node="c"', 64 + 400)

    def test_the_largest_of_each_series_is_added_up(self):
        self.everywhere("max", ',node="b"', 2 * GB10)

    def test_the_reference_adds_snapshots_up(self):
        self.everywhere("sum", ',node="a"', TICKS * GB10)
        self.assertEqual(self.points("sum", ',node="a"', 3600)[1:3], [3600 // TICK * GB10] * 2)

    def test_the_command_line_has_the_same_rules_for_servers_and_folders(self):
        for flags, value in (((), rounded(GB10, 3)), (("--instant", "mean"), rounded(GB10, 3)), (("--instant", "sum"), TICKS // 3 * GB10),
                             (("--instant", "last"), 0), (("--instant", "max"), GB10)):
            self.assertEqual(self.on_command_line(',node="b",pid="1"', *flags), [value] * 2, flags)


if __name__ == "__main__":
    harness.main()
