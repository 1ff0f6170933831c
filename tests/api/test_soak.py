"""Hours of three workloads at once, by a server whose clock runs faster: it keeps no more memory, logs or queues at their end than at their beginning.

    test_soak.py HOURS FACTOR      (24 60: a day in 24 minutes)

The drivers follow the server's clock. Small fleets, since what grows for ever grows with them as well; each workload is a tenant of its own, and
what was sent is asked for and checked at the end.
"""
import glob
import os
import re
import statistics
import subprocess
import sys
import time
import unittest

import harness

HOURS, FACTOR = (int(sys.argv.pop(1)), int(sys.argv.pop(1))) if len(sys.argv) > 2 else (1, 60)
PROFBENCH = os.environ.get("PROFBENCH", "")
HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = os.path.join(os.path.dirname(HERE), "bench", "workload", "shapes", "go.shape.gz")
# 2026-09-21 22:00 UTC. A day from there goes over a midnight; what is kept of the day before is given back by the machine's clock, a quarter of an
# hour after its last profile: in the last quarter nothing is left of it.
START = 1_790_028_000
SLICE = 300  # seconds of the server's clock
WARM_HOURS = 3  # of history before that: a server that has run for a while has met most of what its programs do
FLEETS = {"cpu-fleet": (1, 2), "gpu-box": (1, 1), "continuous-ebpf": (1, 5)}  # services, instances
OPTIONS = ("-auth.multitenancy-enabled=true", "-validation.reject-older-than=0", "-clock.factor=%d" % FACTOR, "-clock.start=%d" % START)
WAL_MAX = 64 << 20
GROWTH_MAX = 1.05  # last quarter beside first
SLOWNESS_MAX = 30  # times longer than the server's clock takes: then nothing comes of it


def profbench(verb, workload, server, hours, end):
    services, instances = FLEETS[workload]
    done = subprocess.run([PROFBENCH, verb, workload, "--server", "localhost:%d" % server.port, "--tenant", workload, "--shape", SHAPE, "--connections", "4",
                           "--services", str(services), "--instances", str(instances), "--hours", repr(hours), "--end", str(end)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    if done.returncode != 0 or re.search(r"WRONG|errors=[1-9]", done.stdout):
        raise AssertionError("profbench %s %s: %s\n%s" % (verb, workload, done.stdout, server.log_text()[-4000:]))
    return done.stdout


class Sample:
    """What the server holds at one moment."""

    def __init__(self, server):
        self.resident = server.memory("VmRSS")
        self.logs = sum(os.path.getsize(path) for path in glob.glob(server.store + "/**/*-wal", recursive=True))
        self.queue = server.metric("vramscope_store_queue_length")
        self.cache = server.metric("vramscope_store_cache_bytes")
        self.blocks = server.metric("vramscope_store_blocks_made_total")
        self.backlog = server.metric("vramscope_store_compaction_backlog")


@unittest.skipIf(os.environ.get("VRAMSCOPE_SANITIZE"), "what a sanitized program keeps says nothing")
@unittest.skipUnless(os.path.exists(PROFBENCH), "PROFBENCH names no program")
class Soak(unittest.TestCase):
    def clock(self, server):
        return server.request("GET", "/api/v1/server", headers={"X-Scope-OrgID": "soak"}).json["now_ms"] / 1000

    def warm(self, server):
        sent = sum(int(re.search(r"profiles=(\d+)", profbench("fill", workload, server, WARM_HOURS, START))[1]) for workload in FLEETS)
        harness.wait_until(lambda: server.metric("vramscope_store_profiles_compacted_total") == sent, 300, "the hours before to be packed")

    def follow(self, server):
        """Sends each slice once the server's clock is past it; a sample behind each."""
        samples = []
        for number in range(1, HOURS * 3600 // SLICE + 1):
            end = START + number * SLICE
            harness.wait_until(lambda end=end: self.clock(server) >= end, SLOWNESS_MAX * SLICE / FACTOR, "the server's clock to get there")
            for workload in FLEETS:
                profbench("fill", workload, server, SLICE / 3600, end)
            samples.append(Sample(server))
        return samples

    def judge(self, samples):
        quarter = len(samples) // 4
        first, last = samples[:quarter], samples[-quarter:]
        resident = [statistics.median(sample.resident for sample in part) for part in (first, last)]  # an hour that is just packed is no growth
        self.assertLessEqual(resident[1], resident[0] * GROWTH_MAX,
                             "resident memory grows, in KiB with that of symbols: %s" % [(s.resident >> 10, int(s.cache) >> 10) for s in samples])
        self.assertLessEqual(max(sample.logs for sample in samples), WAL_MAX)
        self.assertEqual([sample.queue for sample in samples], [0] * len(samples), "every write was answered, and some wait")
        print("%d slices; resident %.1f and %.1f MiB; logs up to %.1f MiB; backlog up to %d"
              % (len(samples), resident[0] / 2**20, resident[1] / 2**20, max(s.logs for s in samples) / 2**20, max(s.backlog for s in samples)))

    def test_nothing_grows(self):
        began = time.monotonic()
        with harness.Server(*OPTIONS) as server:
            self.warm(server)
            samples = self.follow(server)
            harness.wait_until(lambda: server.metric("vramscope_store_blocks_made_total") > samples[0].blocks, 120, "the last hour to be packed")
            for workload in FLEETS:
                self.assertIn(" ok", profbench("query", workload, server, WARM_HOURS + HOURS, START + HOURS * 3600))
            self.judge(samples)
            print("%g hours in %.0f s" % (HOURS, time.monotonic() - began))
            self.assertEqual(server.stop(), 0, server.log_text())


if __name__ == "__main__":
    harness.main()
