"""`run`: two halves of one program, on a machine where the CUDA driver may be watched or not.

With rights (and a stub of the driver) the bytes of a Python program come out as it allocated them. Without, the server serves
all the same and says what is missing. Whoever ends first, the other ends too.
"""
import os
import re
import signal
import subprocess
import sys
import unittest

import harness

STUB = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")

WORKLOAD = """
import ctypes, select, sys
driver = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_uint64()
def allocate(size):
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer.value
def kv_cache():
    return [allocate(1000) for _ in range(20)]
def weights():
    return allocate(1 << 30)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    driver.cuInit(0)  # of a real driver it takes long enough to be seen the first time
    driver.cuMemFree_v2(ctypes.c_uint64(0))  # does nothing, and is seen
sys.stdin.readline()
held = weights(), kv_cache()
for block in held[1][:5]:
    assert driver.cuMemFree_v2(ctypes.c_uint64(block)) == 0
print("done", flush=True)
sys.stdin.readline()
"""


class Run(harness.Server):
    """Both halves."""

    command = "run"

    def __init__(self, *options, store=None):
        super().__init__("-collector.interval=1s", *options, store=store)

    @property
    def collector_pid(self):
        with open("/proc/%d/task/%d/children" % (self.pid, self.pid)) as file:
            return int(file.read().split()[0])

    def metric(self, name, pid=None):
        """The sum of a family (of one process), or None while it is not there. Others may use a driver beside the test."""
        labels = r'\{pid="%d",[^}]*\}' % pid if pid else r"(?:\{[^}]*\})?"
        values = re.findall(r"^%s%s (\S+)$" % (name, labels), self.get("/metrics").text, re.MULTILINE)
        return sum(float(value) for value in values) if values else None

    def is_up(self):
        harness.wait_until(lambda: self.metric("cuda_collector_up") is not None, 60, "the collector half's metrics")
        return self.metric("cuda_collector_up") == 1


def status_of(pid):
    with open("/proc/%d/status" % pid) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def is_gone(pid):
    try:
        return status_of(pid)["State"].startswith("Z")
    except OSError:
        return True


class Options(unittest.TestCase):
    def test_what_cannot_be_is_said_before_anything_is_opened(self):
        push = "-push.url=http://127.0.0.1:1"
        for command, options, expected in (
                ("run", ["-collector.interval=0.1s"], "-collector.interval=0.1s is not within 1s and 1h"),
                ("collector", [push, "-collector.interval=1000000h"], "-collector.interval=1000000h is not within 1s and 1h"),
                ("collector", [push, "-collector.interval=0"], "-collector.interval=0 is not within 1s and 1h")):
            status, out, error = harness.vramscope(command, *options)
            self.assertEqual((status, out), (2, ""))
            self.assertEqual(error, "vramscope: %s\n" % expected)

    def test_a_url_with_a_password_is_refused_and_not_shown(self):
        for url in ("http://user:secret@127.0.0.1:1", "http://127.0.0.1:1/?x=secret", "http://127.0.0.1:1/#secret"):
            status, out, error = harness.vramscope("collector", "-push.url=" + url)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("http://HOST:PORT is expected", error)
            self.assertNotIn("secret", error)


class Halves(unittest.TestCase):
    def test_it_serves_and_says_whether_it_watches(self):
        with Run() as run:
            if not run.is_up():
                self.assertIn("GPU memory is not watched: ", run.log_text())
            self.assertEqual(run.get("/ready").status, 200)
            self.assertIn("pyroscope_build_info", run.get("/metrics").text)
            collector = run.collector_pid
            self.assertEqual(run.stop(), 0)
            self.assertTrue(is_gone(collector))

    def test_the_half_that_serves_has_no_privilege(self):
        with Run() as run:
            status = status_of(run.pid)
            self.assertEqual(status["NoNewPrivs"].strip(), "1")
            if os.geteuid() == 0:
                self.assertNotIn("0", status["Uid"].split())
                for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
                    self.assertEqual(int(status[name], 16), 0, name)
                self.assertEqual(status["Groups"].strip(), "")

    def test_without_its_collector_half_the_server_ends(self):
        run = Run().start()
        try:
            run.is_up()
            os.kill(run.collector_pid, signal.SIGKILL)
            self.assertEqual(run.process.wait(60), 1)  # a supervisor starts it again
            self.assertIn("the collector half has ended", run.log_text())
            self.assertIn("the collector half was killed by signal 9", run.log_text())
            run.start()
            run.is_up()
            self.assertEqual(run.stop(), 0)
        finally:
            run.close()

    def test_without_its_server_half_the_collector_ends(self):
        run = Run().start()
        try:
            run.is_up()
            collector = run.collector_pid
            run.kill()
            harness.wait_until(lambda: is_gone(collector), 60, "the collector half to end")
        finally:
            run.close()

    def test_bytes_come_out_as_they_were_allocated(self):
        with Run() as run:
            if not run.is_up():
                self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])
            if not os.path.exists(STUB):
                self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
            with subprocess.Popen([sys.executable, "-c", WORKLOAD, STUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as work:
                def metric(name):
                    return run.metric(name, work.pid)

                harness.wait_until(lambda: metric("mem_alloc_bytes_total") == 0, 60, "the process to be seen")
                work.stdin.write("\n")
                work.stdin.flush()
                self.assertEqual(work.stdout.readline(), "done\n")
                live = (1 << 30) + 15 * 1000
                harness.wait_until(lambda: metric("gpu_memory_inuse_bytes") == live, 60, "a tick with what lives")
                self.assertEqual(metric("mem_alloc_bytes_total"), (1 << 30) + 20 * 1000)
                self.assertEqual(metric("mem_free_bytes_total"), 5 * 1000)
                stacks = harness.wait_until(lambda: self.stacks(run, work.pid), 60, "the profile of that tick")
                self.assertEqual(sum(stacks.values()), live)
                self.assertEqual(sum(value for stack, value in stacks.items() if ";weights;" in stack), 1 << 30)
                self.assertEqual(sum(value for stack, value in stacks.items() if ";kv_cache;" in stack), 15 * 1000)
                self.assertTrue(all(stack.endswith(";cuMemAlloc_v2") for stack in stacks), stacks)
                work.stdin.write("\n")
                work.stdin.flush()
                work.wait(60)
                harness.wait_until(lambda: metric("gpu_memory_inuse_bytes") == 0, 60, "a tick after its end")
                self.assertEqual(metric("mem_implicit_free_bytes_total"), live)

    def stacks(self, run, pid):
        """What the process held at the newest tick, by folded stack; None while nothing is stored."""
        status, text, _ = harness.vramscope("query", "--url", run.url, "-q", 'memory:inuse_space:bytes:space:bytes{pid="%d"}' % pid,
                                            "--from", "now-5m", "-o", "folded", "--instant", "last")
        lines = [line.rpartition(" ") for line in text.splitlines()] if status == 0 else []
        return {stack: int(value) for stack, _, value in lines} or None


if __name__ == "__main__":
    harness.main()
