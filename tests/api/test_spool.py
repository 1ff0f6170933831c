"""Pushes that wait on disk while their server is away: kills, restarts, full disks, folders that cannot be; each byte once.

    test_spool.py [KILLS]     (5)

What the driver does is a workload's on the stub, which says what it allocated; a recording stands for it where no bytes are counted.
"""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from test_push import DEMO, OK, Collector, Peer, answer, deduplicated, hang, times_of
from test_run import STUB

KILLS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 5
RECORDING = "-collector.replay=" + DEMO
DISK_BYTES = 16 << 20
ALLOCATED = "memory:alloc_space:bytes:space:bytes"

# Allocates as many bytes as a line says, and answers; in between it calls the driver, so that whoever comes sees it.
WORKLOAD = """
import ctypes, select, sys
driver = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_uint64()
while True:
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        driver.cuInit(0)
        driver.cuMemFree_v2(ctypes.c_uint64(0))
    size = int(sys.stdin.readline() or 0)
    if size == 0:
        break
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    print("done", flush=True)
"""


class Workload:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", WORKLOAD, STUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid, self.allocated = self.process.pid, 0

    def allocate(self, size):
        self.process.stdin.write("%d\n" % size)
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"
        self.allocated += size

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def read_spool(folder):
    """[(number, time, request)] of docs/formats/spool.md, in order."""
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".push"):
            continue
        try:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            continue  # it was delivered
        magic, number, when, length, _ = struct.unpack_from("<8sQqQQ", data)
        assert (magic, number, len(data)) == (b"vrampsh\x01", int(name[:16], 16), 40 + length), name
        found.append((number, when, data[40:]))
    return found


def number(text, name):
    found = re.search(r"^%s (\d+)$" % re.escape(name), text, re.M)
    return int(found[1]) if found else None


def allocated_of(text, pid):
    """What the collector's metrics say of a process, or None."""
    values = re.findall(r'^mem_alloc_bytes_total\{pid="%d",[^}]*\} (\d+)$' % pid, text, re.M)
    return sum(int(value) for value in values) if values else None


def waiting(text, place):
    return number(text, 'cuda_collector_pushes_waiting{place="%s"}' % place)


def pushes(text):
    """How many were made until the last tick, and how many of them are on disk or settled."""
    settled = sum(number(text, 'cuda_collector_pushes_total{outcome="%s"}' % outcome) for outcome in ("delivered", "refused", "dropped"))
    return settled + waiting(text, "spool") + waiting(text, "memory"), settled + waiting(text, "spool")


class Spooled(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vramscope-spool-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.spool = os.path.join(self.folder, "spool")
        self.away = harness.Port()  # where nobody listens yet
        self.addCleanup(self.away.close)

    def start(self, url, *options, source=None, spool=None):
        """A collector whose ticks are a second apart, with a spool."""
        collector = Collector(url, "-collector.interval=1s", "-push.spool=" + (spool or self.spool), *options, source=source)
        self.addCleanup(collector.__exit__)
        return collector

    def watch(self, url, *options, spool=None):
        """The same, watching the driver."""
        collector = self.start(url, *options, spool=spool)
        if harness.wait_until(lambda: re.search("watching|error.*thread=collector", collector.text), 60, "its start")[0] != "watching":
            self.skipTest("the driver may not be watched: " + collector.text)
        return collector

    def kill(self, collector):
        collector.process.kill()
        collector.process.wait(60)
        collector.__exit__()


class Bytes(Spooled):
    """Each byte that a workload allocates is in the store, once, whoever was away or killed."""

    def setUp(self):
        super().setUp()
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        self.work = Workload()
        self.addCleanup(self.work.close)
        self.url = self.away.url
        self.server = harness.Server("-server.http-listen-port=%d" % self.away.number)
        self.addCleanup(lambda: self.server.close() if self.server.process else shutil.rmtree(self.server.folder))
        self.begin_ms = int(time.time() * 1000) - 2000

    def allocate(self, collector, size):
        """Allocates, and returns when that is safe: delivered or on disk."""
        before = int(harness.wait_until(lambda: self.seen(collector), 60, "the process to be seen"))
        self.work.allocate(size)
        harness.wait_until(lambda: self.seen(collector) == str(before + size), 60, "a tick with the bytes")
        made = pushes(collector.metrics())[0]
        harness.wait_until(lambda: pushes(collector.metrics())[1] > made, 60, "them to be safe")

    def seen(self, collector):
        """What the collector has seen it allocate, as text; None before."""
        allocated = allocated_of(collector.metrics(), self.work.pid)
        return None if allocated is None else str(allocated)

    def drain(self, collector):
        """Waits until no more than the newest tick waits; then the end delivers that."""
        harness.wait_until(lambda: (lambda text: waiting(text, "spool") + waiting(text, "memory") <= 1)(collector.metrics()), 120,
                           "what waits to be delivered")
        self.assertEqual(collector.stop()[0], 0)
        self.assertNotIn("not delivered", collector.text)
        self.assertNotIn("wait in the spool", collector.text)

    def stored(self):
        stacks = self.server.totals(ALLOCATED, '{pid="%d"}' % self.work.pid, self.begin_ms, int(time.time() * 1000) + 2000)
        return sum(stacks.values())

    def judge(self):
        self.assertEqual(self.stored(), self.work.allocated)

    def test_away_and_back(self):
        collector = self.watch(self.url)
        for size in (1000, 20000, 300000):
            self.allocate(collector, size)
        text = collector.metrics()
        self.assertGreaterEqual(waiting(text, "spool"), 3)
        self.assertGreaterEqual(number(text, "cuda_collector_push_oldest_seconds"), 1)
        self.assertEqual(number(text, "cuda_collector_push_spool_up"), 1)
        self.server.start()
        self.allocate(collector, 4000000)
        self.drain(collector)
        self.judge()
        self.assertEqual(os.listdir(self.spool), ["lock"])
        self.assertEqual(len(re.findall("it is tried again", collector.text)), 1, collector.text)  # said when it began, and no more

    def test_an_end_while_the_server_is_away(self):
        collector = self.watch(self.url)
        self.allocate(collector, 1000)
        status, _ = collector.stop()
        self.assertEqual(status, 0)
        self.assertRegex(collector.text, r"\d+ push(es wait| waits) in the spool " + re.escape(self.spool))
        self.assertNotIn("not delivered", collector.text)
        self.server.start()
        collector = self.watch(self.url)
        self.allocate(collector, 20000)
        self.drain(collector)
        self.judge()

    def test_kills_on_both_sides(self):
        """Server and collector are killed at any moment, mostly while what waits goes out."""
        rng = random.Random(1)
        for _ in range(KILLS):
            collector = self.watch(self.url)
            self.allocate(collector, rng.randrange(1, 1 << 30))
            if rng.random() < 0.7 and not (self.server.process and self.server.process.poll() is None):
                self.server.start()
                delivered = number(collector.metrics(), 'cuda_collector_pushes_total{outcome="delivered"}')
                if rng.random() < 0.5:  # not before something has gone out
                    harness.wait_until(lambda: number(collector.metrics(), 'cuda_collector_pushes_total{outcome="delivered"}') > delivered, 60,
                                       "a delivery")
            if rng.random() < 0.5:
                self.kill(collector)
            if rng.random() < 0.5 and self.server.process and self.server.process.poll() is None:
                self.server.kill()
            self.kill(collector)
            read_spool(self.spool)  # whole, all of them
        if not (self.server.process and self.server.process.poll() is None):
            self.server.start()
        collector = self.watch(self.url)
        self.allocate(collector, 1)
        self.drain(collector)
        self.judge()
        self.assertNotIn("dropped", collector.text)
        print("%d kills, %d bytes" % (KILLS, self.work.allocated))

    def small_disk(self):
        """A folder on it, and what fills it."""
        mount = os.path.join(self.folder, "disk")
        os.mkdir(mount)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK_BYTES, "none", mount], capture_output=True,
                                               check=False).returncode:
            self.skipTest("a small disk cannot be mounted without root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=False)
        filler = open(os.path.join(mount, "filler"), "wb", buffering=0)
        self.addCleanup(filler.close)
        return os.path.join(mount, "spool"), filler

    def fill(self, filler):
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass

    def test_a_full_disk(self):
        spool, filler = self.small_disk()
        collector = self.watch(self.url, spool=spool)
        self.allocate(collector, 1000)
        harness.wait_until(lambda: self.fill(filler) or re.search(
            r"level=error .*spool file .*No space left on device; profiles wait in memory", collector.text), 60, "the disk to be full")
        self.work.allocate(20000)
        harness.wait_until(lambda: allocated_of(collector.metrics(), self.work.pid) == 21000, 60, "a tick with the bytes")
        self.assertEqual(number(collector.metrics(), "cuda_collector_push_spool_up"), 0)
        filler.truncate(0)
        collector.says("it is written again")
        self.allocate(collector, 300000)
        self.server.start()
        self.drain(collector)
        self.judge()
        self.assertNotIn("dropped", collector.text)

    def test_a_full_disk_while_the_server_is_there(self):
        """What cannot be kept goes out all the same."""
        spool, filler = self.small_disk()
        self.server.start()
        collector = self.watch(self.url, spool=spool)
        self.allocate(collector, 1000)
        harness.wait_until(lambda: self.fill(filler) or "profiles wait in memory" in collector.text, 60, "the disk to be full")
        self.work.allocate(20000)
        harness.wait_until(lambda: allocated_of(collector.metrics(), self.work.pid) == 21000, 60, "a tick with the bytes")
        self.drain(collector)
        self.judge()

    def test_a_folder_that_is_removed(self):
        collector = self.watch(self.url)
        self.allocate(collector, 1000)
        shutil.rmtree(self.spool)
        lost, self.work.allocated = self.work.allocated, 0
        self.allocate(collector, 20000)
        self.assertGreater(len(read_spool(self.spool)), 0)
        self.server.start()
        harness.wait_until(lambda: number(collector.metrics(), 'cuda_collector_pushes_dropped_total{reason="damaged"}') > 0, 60, "what is lost")
        self.drain(collector)
        self.assertIn(self.stored(), (self.work.allocated, self.work.allocated + lost))  # the one that was read already


class Order(Spooled):
    def test_what_waited_goes_before_what_comes(self):
        """The very bytes of the files, in their order, and then the new ticks; over a restart, and a server that is busy in between."""
        collector = self.watch(self.away.url)
        harness.wait_until(lambda: os.path.isdir(self.spool) and len(read_spool(self.spool)) >= 3, 60, "ticks that wait")
        self.kill(collector)
        waited = [request for _, _, request in read_spool(self.spool)]
        with Peer(OK, answer(503), OK, None, OK, port=self.away.number) as peer:
            collector = self.watch(self.away.url)
            harness.wait_until(lambda: len(set(peer.bodies())) >= len(waited) + 2, 60, "new ticks")
            self.assertEqual(collector.stop()[0], 0)
            order = deduplicated(peer.bodies())
        self.assertEqual(order[:len(waited)], waited)
        self.assertEqual(len(order), len(set(order)))
        ticks = [max(times_of(body)) for body in order]  # reports of other processes' failures have times of their own
        self.assertEqual(ticks, sorted(set(ticks)))

    def test_the_bound_drops_the_oldest(self):
        collector = self.watch(self.away.url, "-push.spool-max-bytes=64KiB")
        harness.wait_until(lambda: (number(collector.metrics(), 'cuda_collector_pushes_dropped_total{reason="spool_full"}') or 0) > 1, 300,
                           "the oldest to be dropped")
        collector.says("pushes were dropped: [1-9][0-9]* over its bound")
        sizes = [-(-(40 + len(request)) // 4096) * 4096 for _, _, request in read_spool(self.spool)]
        self.assertLessEqual(sum(sizes), (64 << 10) + max(sizes))  # one may be larger, and one is tried
        self.assertEqual(collector.stop()[0], 0)

    def test_what_is_too_old_is_not_sent(self):
        collector = self.watch(self.away.url)
        harness.wait_until(lambda: os.path.isdir(self.spool) and len(read_spool(self.spool)) >= 2, 60, "ticks that wait")
        self.kill(collector)
        old = {request for _, _, request in read_spool(self.spool)}
        with Peer(OK, port=self.away.number) as peer:
            collector = self.watch(self.away.url, "-push.max-age=1ms")
            collector.says("pushes were dropped: 0 over its bound, %d too old" % len(old))
            self.assertEqual(collector.stop()[0], 0)
            self.assertEqual(old.intersection(peer.bodies()), set())


class Folders(Spooled):
    """A spool that cannot be stops nothing: the log says why, and what is pushed arrives."""

    def goes_on(self, said, spool=None):
        with Peer(OK) as peer:
            collector = self.start(peer.url, source=RECORDING, spool=spool)
            collector.says("level=error thread=spool msg=.*" + said + ".*; profiles wait in memory")
            self.assertEqual(collector.ends(120), 0, collector.text)
            self.assertGreater(len(peer.bodies()), 0)
            self.assertNotIn("not delivered", collector.text)

    def test_rights(self):
        os.mkdir(self.spool, 0o755)
        self.goes_on(r"mode 0755\) is not this user's alone: uid \d+ and mode 0700 are expected")

    def test_a_file(self):
        with open(self.spool, "w"):
            pass
        self.goes_on("is no folder")

    def test_a_folder_above_that_is_missing(self):
        self.goes_on("cannot be made: No such file or directory", os.path.join(self.folder, "none/spool"))

    def test_a_disk_that_is_read_only(self):
        mount = os.path.join(self.folder, "disk")
        os.mkdir(mount)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", mount], capture_output=True, check=False).returncode:
            self.skipTest("a disk cannot be mounted without root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=False)
        self.goes_on("Read-only file system", os.path.join(mount, "spool"))

    def test_two_collectors(self):
        """The second does without; when the first has ended, it has the folder."""
        with Peer(hang) as away:
            first = self.start(away.url, source=RECORDING)
            first.says("push(es wait| waits) there")
            second = self.start(away.url, source=RECORDING)
            second.says("is in use by another process, pid %d; profiles wait in memory" % first.process.pid)
            first.process.send_signal(signal.SIGKILL)
            first.process.wait(60)
            waited = len(read_spool(self.spool))
            second.says("spool %s: %d push(es wait| waits) there" % (re.escape(self.spool), waited))
            self.assertEqual(second.stop()[0], 0)
            self.assertGreater(len(read_spool(self.spool)), waited)

    def test_files_that_are_not_pushes(self):
        """Whatever lies there: nothing of it is sent."""
        os.mkdir(self.spool, 0o700)
        rng = random.Random(1)
        for i in range(50):
            with open(os.path.join(self.spool, "%016x.push" % i), "wb") as file:
                file.write(b"vrampsh\x01" * rng.randrange(2) + rng.randbytes(rng.randrange(3000)))
        with open(os.path.join(self.spool, "letter"), "w") as file:
            file.write("mine")
        os.symlink(os.path.join(self.spool, "letter"), os.path.join(self.spool, "%016x.push" % 99))
        with Peer(OK) as peer:
            collector = self.start(peer.url, source=RECORDING)
            collector.says("0 over its bound, 0 too old, 50 damaged")
            self.assertEqual(collector.ends(120), 0, collector.text)
            for body in peer.bodies():
                self.assertGreater(len(times_of(body)), 0)
        with open(os.path.join(self.spool, "letter")) as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(sorted(os.listdir(self.spool)), ["%016x.push" % 99, "letter", "lock"])


if __name__ == "__main__":
    harness.main()
