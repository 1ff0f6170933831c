"""Every memory function of the driver, from its call to the profile: bytes by function, by class, by how they ended.

The workload (tests/collector/driver_functions.py) says what each of its steps is to have done; nothing here is taken from what the
program says of itself.
"""
import json
import os
import subprocess
import sys
import unittest

import harness

from test_run import STUB, Run

sys.path.insert(0, os.path.join(harness.TESTS, "collector"))
import other_gadgets  # noqa: E402

WORKLOAD = os.path.join(os.path.dirname(__file__), os.pardir, "collector", "driver_functions.py")
CLASSES = ("device", "managed", "pinned", "registered", "vmm", "pool", "array", "graph")


class Functions(unittest.TestCase):
    def setUp(self):
        self.run_ = self.enterContext(Run())
        if not self.run_.is_up():
            self.skipTest("the driver may not be watched: " + self.run_.log_text().rstrip().split("msg=")[-1])
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        self.work = self.enterContext(subprocess.Popen([sys.executable, WORKLOAD, STUB], stdin=subprocess.PIPE,
                                                       stdout=subprocess.PIPE, text=True))

    def tell(self, word):
        self.work.stdin.write(word + "\n")
        self.work.stdin.flush()

    def is_seen(self):
        self.tell("seen?")
        self.work.stdout.readline()
        return self.run_.metric("mem_alloc_bytes_total", self.work.pid) is not None

    def live(self):
        """By class, what the metrics of the newest tick say."""
        text = self.run_.get("/metrics").text
        values = {}
        for line in text.splitlines():
            if line.startswith("gpu_memory_inuse_bytes{") and 'pid="%d"' % self.work.pid in line:
                memory_class = line.split('cuda_class="')[1].split('"')[0]
                values[memory_class] = values.get(memory_class, 0) + int(line.rpartition(" ")[2])
        return {key: value for key, value in values.items() if value}

    def sums(self):
        """Bytes that were freed and implicitly freed so far, of all classes that have these counters, and calls that failed."""
        names = ("mem_free_bytes_total", "mem_implicit_free_bytes_total")
        failed = self.by_leaf("gpu_memory_failed:failures:count:space:bytes")
        return [self.run_.metric(name, self.work.pid) or 0 for name in names] + [sum(failed.values())]

    def by_leaf(self, profile_type):
        """By leaf frame, the sum of all profiles so far."""
        status, text, _ = harness.vramscope("query", "--url", self.run_.url, "-q", '%s{pid="%d"}' % (profile_type, self.work.pid),
                                            "--from", "now-15m", "-o", "folded")
        sums = {}
        for line in text.splitlines() if status == 0 else ():
            stack, _, value = line.rpartition(" ")
            leaf = stack.rpartition(";")[2]
            sums[leaf] = sums.get(leaf, 0) + int(value)
        return sums

    def test_each_function_does_what_it_says(self):
        harness.wait_until(self.is_seen, 60, "the process to be seen")
        expected = {"alloc": {}, "freed": 0, "implicit": 0, "failed": 0}
        unknown = self.run_.metric("cuda_collector_unknown_frees_total")
        step = None
        self.tell("go")
        while True:
            line = self.work.stdout.readline()
            if not line:
                break
            step = json.loads(line)
            with self.subTest(step=step["step"]):
                self.judge(step, expected)
            unknown += step["unknown_frees"]
            self.tell("go")
        self.assertEqual(step["step"], "reset")
        # of the whole machine: others may free what is unknown, too
        self.assertGreaterEqual(self.run_.metric("cuda_collector_unknown_frees_total"), unknown)
        self.assertEqual(self.work.wait(60), 0)

    def judge(self, step, expected):
        for leaf, size in step["alloc"].items():
            expected["alloc"][leaf] = expected["alloc"].get(leaf, 0) + size
        for name in ("freed", "implicit", "failed"):
            expected[name] += step[name]
        allocated = {leaf: size for leaf, size in expected["alloc"].items() if size}
        sums = [expected["freed"], expected["implicit"], expected["failed"]]
        try:
            harness.wait_until(lambda: self.allocated() == allocated and self.live() == step["live"] and self.sums() == sums, 20,
                               "the step's tick")
        except TimeoutError:
            pass  # the assertions say what is different
        self.assertEqual(self.live(), step["live"])
        self.assertEqual(self.allocated(), allocated)
        self.assertEqual(self.sums(), sums)

    def allocated(self):
        return self.by_leaf("memory:alloc_space:bytes:space:bytes")


class Comparison(unittest.TestCase):
    def test_the_page_about_other_gadgets_is_current(self):
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        with open(os.path.join(harness.ROOT, "docs", "inspektor-gadget.md"), encoding="utf-8") as page:
            self.assertIn(other_gadgets.table(STUB), page.read())


if __name__ == "__main__":
    harness.main_alone()
