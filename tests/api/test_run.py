"""`run`: two halves of one program, on a machine where the CUDA driver may be watched or not.

With rights (and a stub of the driver) the bytes of a Python program come out as it allocated them. Without, the server serves
all the same and says what is missing. Whoever ends first, the other ends too.
"""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
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
            self.judge_bytes([run])

    def test_two_at_once_see_the_same(self):
        with Run() as one, Run() as other:
            self.judge_bytes([one, other])

    def judge_bytes(self, runs):
        """The workload's bytes in each of them, while it lives and when it has ended."""
        for run in runs:
            if not run.is_up():
                self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        with subprocess.Popen([sys.executable, "-c", WORKLOAD, STUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as work:
            for run in runs:
                harness.wait_until(lambda: run.metric("mem_alloc_bytes_total", work.pid) == 0, 60, "the process to be seen")
            work.stdin.write("\n")
            work.stdin.flush()
            self.assertEqual(work.stdout.readline(), "done\n")
            live = (1 << 30) + 15 * 1000
            for run in runs:
                harness.wait_until(lambda: run.metric("gpu_memory_inuse_bytes", work.pid) == live, 60, "a tick with what lives")
                self.assertEqual(run.metric("mem_alloc_bytes_total", work.pid), (1 << 30) + 20 * 1000)
                self.assertEqual(run.metric("mem_free_bytes_total", work.pid), 5 * 1000)
                stacks = harness.wait_until(lambda: self.stacks(run, work.pid), 60, "the profile of that tick")
                self.assertEqual(sum(stacks.values()), live)
                self.assertEqual(sum(value for stack, value in stacks.items() if ";weights;" in stack), 1 << 30)
                self.assertEqual(sum(value for stack, value in stacks.items() if ";kv_cache;" in stack), 15 * 1000)
                self.assertTrue(all(stack.endswith(";cuMemAlloc_v2") for stack in stacks), stacks)
            work.stdin.write("\n")
            work.stdin.flush()
            work.wait(60)
            for run in runs:
                harness.wait_until(lambda: run.metric("gpu_memory_inuse_bytes", work.pid) == 0, 60, "a tick after its end")
                self.assertEqual(run.metric("mem_implicit_free_bytes_total", work.pid), live)

    def test_calls_beyond_the_storm_limit_are_weighted(self):
        with Run("-collector.storm-limit=1") as run:
            self.judge_storm(run)

    def judge_storm(self, run):
        """Most of the workload's stacks are left out: its calls count where others of their function were made."""
        if not run.is_up():
            self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        program = WORKLOAD.replace("range(20)", "range(2000)").replace("[:5]", "[:0]")
        with subprocess.Popen([sys.executable, "-c", program, STUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as work:
            harness.wait_until(lambda: run.metric("mem_alloc_bytes_total", work.pid) == 0, 60, "the process to be seen")
            work.stdin.write("\n")
            work.stdin.flush()
            self.assertEqual(work.stdout.readline(), "done\n")
            live = (1 << 30) + 2000 * 1000
            harness.wait_until(lambda: run.metric("gpu_memory_inuse_bytes", work.pid) == live, 60, "a tick with what lives")
            stacks = harness.wait_until(lambda: self.stacks(run, work.pid), 60, "the profile of that tick")
            self.assertEqual(sum(stacks.values()), live)
            sampled = sum(value for stack, value in stacks.items() if stack.endswith(";[sampled];cuMemAlloc_v2"))
            self.assertGreater(sampled, 1000 * 1000)
            self.assertLess(sampled, 2000 * 1000)
            self.assertFalse([stack for stack in stacks if "[stack lost]" in stack], stacks)
            # a large block has its stack at any rate
            self.assertEqual(sum(value for stack, value in stacks.items() if ";weights;" in stack and "[sampled]" not in stack), 1 << 30)

    def stacks(self, run, pid):
        """What the process held at the newest tick, by folded stack; None while nothing is stored."""
        status, text, _ = harness.vramscope("query", "--url", run.url, "-q", 'memory:inuse_space:bytes:space:bytes{pid="%d"}' % pid,
                                            "--from", "now-5m", "-o", "folded", "--instant", "last")
        lines = [line.rpartition(" ") for line in text.splitlines()] if status == 0 else []
        return {stack: int(value) for stack, _, value in lines} or None


def told(text):
    """The warnings and errors of a log, but for other programs' files that look like a driver."""
    return [line for line in re.findall(r'level=(?:warn|error) thread=\S+ msg="(.*)"', text) if "has no probes" not in line]


class Starts(unittest.TestCase):
    """What cannot be served is said once, at once, and by one of the halves."""

    def refused(self, *options, store):
        status, out, error = harness.vramscope("run", "-storage.path=" + store, *options)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(len(told(error)), 1, error)
        self.assertNotIn("watching", error)
        return told(error)[0]

    def test_a_port_that_is_taken(self):
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            said = self.refused("-server.http-listen-port=%d" % port, store=os.path.join(folder, "store"))
            self.assertIn("another program listens on port %d" % port, said)

    def test_a_store_that_is_taken(self):
        with Run() as run:
            said = self.refused("-server.http-listen-port=0", store=run.store)
            self.assertIn(run.store, said)
            self.assertIn("in use by another process, pid %d" % run.pid, said)
            self.assertEqual(run.get("/ready").status, 200)

    def test_a_folder_that_is_no_store(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "letter"), "w").close()
            owner = os.stat(folder)
            if os.geteuid() == 0:
                self.assertIn("'letter', which is no store's", self.refused("-server.http-listen-port=0", store=folder))
            self.assertEqual((os.stat(folder).st_uid, os.listdir(folder)), (owner.st_uid, ["letter"]))

    def test_a_port_file_that_cannot_be(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.refused("-server.http-listen-port=0", "-server.http-port-file=" + os.path.join(folder, "none/port"),
                                store=os.path.join(folder, "store"))
            self.assertIn("-server.http-port-file: %s" % folder, said)

    def test_the_port_file_lies_where_only_root_writes(self):
        with Run() as run:
            self.assertEqual(os.stat(run.folder).st_mode & 0o777, 0o700)
            self.assertEqual(os.stat(run.folder).st_uid, os.geteuid())

    def test_the_port_file_is_not_written_through_a_link(self):
        run = Run()
        victim = os.path.join(run.folder, "victim")
        with open(victim, "w") as file:
            file.write("mine")
        os.symlink(victim, run.port_file + ".tmp")
        with run:
            with open(victim) as file:
                self.assertEqual(file.read(), "mine")
            self.assertFalse(os.path.islink(run.port_file))

    def test_a_store_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", folder], capture_output=True, check=False).returncode:
                self.skipTest("a folder cannot be mounted read-only without root")
            try:
                self.assertIn("Read-only file system", self.refused("-server.http-listen-port=0", store=os.path.join(folder, "store")))
                self.assertIn("Read-only file system", self.refused("-server.http-listen-port=0", store=folder))
            finally:
                subprocess.run(["umount", "-l", folder], check=True)

    def test_starts_that_are_cut_short(self):
        """A SIGTERM at any moment of the start, to one half or to both, beside others that start."""
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as folder:
            def start(number):
                with open(os.path.join(folder, "log%d" % number), "wb") as log:
                    return subprocess.Popen([harness.PROGRAM, "run", "-server.http-listen-port=0", "-collector.interval=1s",
                                             "-storage.path=" + os.path.join(folder, "store%d" % number)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

            for begin in range(0, 24, 4):
                runs = [start(number) for number in range(begin, begin + 4)]
                for run in runs:
                    threading.Event().wait(rng.random() * 0.3)
                    if rng.random() < 0.5:
                        os.killpg(run.pid, signal.SIGTERM)
                    else:
                        run.send_signal(signal.SIGTERM)
                for number, run in enumerate(runs, begin):
                    status = run.wait(60)
                    with open(os.path.join(folder, "log%d" % number), encoding="utf-8") as file:
                        text = file.read()
                    self.assertIn(status, (0, -signal.SIGTERM), text)  # before it reads its options it ends as any program
                    self.assertEqual([line for line in told(text) if not line.startswith("GPU memory is not watched")], [], text)
                    self.assertNotIn("Sanitizer", text)
                    self.assertRaises(ProcessLookupError, os.killpg, run.pid, 0)  # nobody is left


class Stopped(unittest.TestCase):
    """A half that the system stops for a while holds the other one up for no longer."""

    def delivered(self, run):
        found = re.search(r'^cuda_collector_pushes_total\{outcome="delivered"\} (\d+)$', run.get("/metrics").text, re.M)
        return int(found[1]) if found else 0

    def goes_on(self, run):
        before = self.delivered(run)
        harness.wait_until(lambda: self.delivered(run) > before + 2, 60, "pushes to be delivered")

    def start(self):
        run = Run().start()
        self.addCleanup(run.close)
        if not run.is_up():
            self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])
        return run

    def is_stopped(self, pid):
        return status_of(pid)["State"].startswith("T")

    def test_the_half_that_collects(self):
        run = self.start()
        collector = run.collector_pid
        os.kill(collector, signal.SIGSTOP)
        harness.wait_until(lambda: self.is_stopped(collector), 60, "it to stop")
        self.assertEqual(run.get("/metrics").status, 200)
        self.assertEqual(run.ingest("beside.alloc_space", b"a;b 1\n").status, 200)
        os.kill(collector, signal.SIGCONT)
        self.goes_on(run)

    def test_the_half_that_serves(self):
        run = self.start()
        collector = run.collector_pid
        run.process.send_signal(signal.SIGSTOP)
        harness.wait_until(lambda: self.is_stopped(run.pid), 60, "it to stop")
        ticks = self.switches(collector)
        harness.wait_until(lambda: self.switches(collector) > ticks + 10, 60, "the other one to go on")
        run.process.send_signal(signal.SIGCONT)
        self.goes_on(run)

    def switches(self, pid):
        """How often its first thread, which ticks, has waited for something."""
        with open("/proc/%d/task/%d/status" % (pid, pid)) as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])

    def test_an_end_does_not_wait_for_the_half_that_serves(self):
        run = self.start()
        collector = run.collector_pid
        run.process.send_signal(signal.SIGSTOP)
        harness.wait_until(lambda: self.is_stopped(run.pid), 60, "it to stop")
        begin = time.monotonic()
        os.kill(collector, signal.SIGTERM)
        harness.wait_until(lambda: is_gone(collector), 60, "the collector half to end")
        self.assertLess(time.monotonic() - begin, 30)  # 5 s for what waits; an answer may take 60 s
        run.process.send_signal(signal.SIGCONT)
        self.assertEqual(run.process.wait(60), 0)

    def test_hanging_up_reads_options_again(self):
        run = self.start()
        os.kill(run.collector_pid, signal.SIGHUP)
        run.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: "there is no -config.file" in run.log_text(), 60, "options to be read")
        self.goes_on(run)


if __name__ == "__main__":
    harness.main_alone()
