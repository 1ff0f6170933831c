"""An hour of churn in minutes: processes start and end, load drivers and let them go, fork, run other programs, thousands of times beside
a collector, and it takes no more at the end than at the beginning.

    test_churn.py [SECONDS]     how long is looked at, behind the time until its tables have been full once

Its table of processes keeps those that have ended for ten minutes, or until it is half full: so all begins when it has been so full, and
forgets. In a pid namespace of its own: whatever else runs on the machine is no part of it.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

STUB = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
CHURNER = os.environ.get("VRAMSCOPE_CHURNER", "")
SECONDS = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 120
ROUNDS_A_SECOND = 150
DRIVERS = 6
FULL = 4096  # processes that the collector keeps before it forgets: half of GPU_PROCESSES_MAX
GROWTH = 1.05

# What is compared with its first quarter by more than that, and why: times, and so many beside.
LOOSER = {
    "resident KiB": (GROWTH, 4096),  # of a second that has more processes than all before it, the heap keeps what they took
    "bytes of stacks": (2, 0),  # the table is made anew when half of it is of no use
    "bytes of blocks": (1, 65536),  # of those that run just now: nothing but a few
    "descriptors": (GROWTH, 64),  # files of processes that run just now
}

# Code objects that nobody has seen before, in an interpreter that ends.
PYTHON = """
import ctypes, os, sys
driver = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_uint64()
driver.cuInit(0)
name = "grow_" + os.urandom(8).hex()
exec("def %s(n):\\n    return %s(n - 1) if n else driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(5000))" % (name, name))
globals()[name](20)
"""


def setUpModule():
    if not (os.path.exists(STUB) and os.path.exists(CHURNER)):
        raise unittest.SkipTest("VRAMSCOPE_STUB_DRIVER or VRAMSCOPE_CHURNER names no file")


class Collector(harness.Server):
    """`run`, whose server half has to take what is churned; its collector half is what is looked at."""

    command = "run"

    def __init__(self):
        super().__init__("-collector.interval=1s", "-collector.pid-label=false", "-collector.nvml=off")

    @property
    def half(self):
        with open("/proc/%d/task/%d/children" % (self.pid, self.pid)) as file:
            return int(file.read().split()[0])

    def metrics(self):
        """{name or name{labels}: value} of what the collector says of itself."""
        found = re.findall(r"(?m)^(cuda_collector_\w+(?:\{[^}]*\})?) (\S+)$", self.get("/metrics").text)
        return {name: float(value) for name, value in found}


def look(half, metrics):
    """What it takes, by name."""
    with open("/proc/%d/status" % half) as file:
        status = file.read()
    sizes = {name: int(re.search(r"^%s:\s+(\d+)" % name, status, re.M)[1]) for name in ("RssAnon", "RssShmem", "Threads")}
    return {
        "resident KiB": sizes["RssAnon"] + sizes["RssShmem"],
        "threads": sizes["Threads"],
        "descriptors": len(os.listdir("/proc/%d/fd" % half)),
        "libraries": metrics["cuda_collector_attached_libraries"],
        "probes": metrics["cuda_collector_attached_probes"],
        "bytes of stacks": metrics['cuda_collector_table_bytes{table="stacks"}'],
        "bytes of blocks": metrics['cuda_collector_table_bytes{table="blocks"}'],
    }


class Churn:
    """The processes, from when it is entered to when it is left."""

    def __init__(self, drivers):
        self.drivers = drivers
        self.pythons = 0
        self.is_over = threading.Event()
        self.others = threading.Thread(target=self.run_pythons)

    def run_pythons(self):
        while not self.is_over.wait(0.5):
            subprocess.run([sys.executable, "-S", "-c", PYTHON, self.drivers[self.pythons % len(self.drivers)]], check=True)
            self.pythons += 1

    def __enter__(self):
        self.process = subprocess.Popen([CHURNER, *self.drivers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tell(ROUNDS_A_SECOND)
        self.others.start()
        return self

    def tell(self, rate):
        self.process.stdin.write("%d\n" % rate)
        self.process.stdin.flush()

    def __exit__(self, *_):
        self.is_over.set()
        self.others.join()
        self.tell(0)
        self.done = json.loads(self.process.stdout.read().splitlines()[-1])
        self.process.wait(60)


class AnHour(unittest.TestCase):
    def test_it_takes_no_more_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder, Collector() as run:
            drivers = [os.path.join(folder, str(i), "libcuda.so.1") for i in range(DRIVERS)]
            for driver in drivers:
                os.mkdir(os.path.dirname(driver))
                shutil.copy(STUB, driver)
            harness.wait_until(lambda: "cuda_collector_up" in run.metrics(), 60, "the collector half's metrics")
            if not run.metrics()["cuda_collector_up"]:
                self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])
            with Churn(drivers) as churn:
                looks = self.watch(run)
            print("%d processes and %d interpreters" % (churn.done["processes"], churn.pythons), flush=True)
            self.judge(looks)
            self.judge_end(run, churn)

    def watch(self, run):
        half = run.half
        ended = lambda: run.metrics()['cuda_collector_events_total{kind="exit"}']
        harness.wait_until(lambda: ended() > 4 * FULL, 600, "tables to have been full some times")
        looks = []
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            looks.append(look(half, run.metrics()))
            time.sleep(0.5)
        self.assertEqual(run.half, half)
        return looks

    def judge(self, looks):
        quarter = len(looks) // 4
        for name in looks[0]:
            first, last = (statistics.mean(one[name] for one in part) for part in (looks[:quarter], looks[-quarter:]))
            course = [one[name] for one in looks[::max(1, len(looks) // 10)]]
            print("%-16s %.0f at first, %.0f at last: %s" % (name, first, last, " ".join("%.0f" % value for value in course)), flush=True)
            with self.subTest(name):
                times, beside = LOOSER.get(name, (GROWTH, 0))
                self.assertLessEqual(last, first * times + beside)

    def judge_end(self, run, churn):
        """Nobody's end was missed, told by an event or by the kernel's counters."""
        harness.wait_until(lambda: run.metrics()["cuda_collector_processes"] == 0, 60, "all to have ended")
        self.assertGreater(churn.done["processes"], 4 * FULL)
        self.assertEqual(run.metrics()["cuda_collector_up"], 1)


if __name__ == "__main__":
    if sys.argv[1:] == [str(SECONDS)]:
        del sys.argv[1]
    harness.main_alone()
