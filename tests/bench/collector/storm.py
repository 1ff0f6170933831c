#!/usr/bin/env python3
"""storm.py PROGRAM BUILD_FOLDER : what the collector keeps, and costs, when it is stormed.

Prints a line for each measure, beside its bound from the same run, and fails when one is missed:
  exact    10,000 calls a second from 64 threads: every byte is told, none by the kernel's counters alone
  storm    64 threads as fast as they can: processor time of the collector; the workload beside the same storm under empty probes
  memory   100 processes, one of which holds 50,000 blocks: resident memory
"""
import os
import statistics
import subprocess
import sys

import measure

THREADS = 64
RATE = 10000
RATE_SECONDS = 10
STORM_SECONDS = 5
STORMS = 3
STORM_CORES = 1.0
SLOWER = 2.0
PROCESSES = 100
BLOCKS = 50000


class Stormer:
    def __init__(self, build, kind):
        path = os.path.join(build, "tests/bench/collector", kind, "storm_caller")
        self.process = subprocess.Popen([path, str(THREADS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, words):
        self.process.stdin.write(words + "\n")

    def answer(self):
        parts = self.process.stdout.readline().split()
        return {name: float(value) for name, value in zip(parts[::2], parts[1::2])}

    def storm(self, seconds, rate=0):
        self.tell("storm %d %d" % (seconds, rate))
        return self.answer()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def speed(stormer):
    """Pairs a second, the median of some storms."""
    taken = [stormer.storm(STORM_SECONDS) for _ in range(STORMS)]
    return statistics.median(storm["pairs"] / storm["seconds"] for storm in taken)


def exact(program, build, sink_port):
    stormer = Stormer(build, "push")
    collector = measure.Collector(program, sink_port)
    collector.wait_for("cuda_collector_attached_libraries", 1)
    done = stormer.storm(RATE_SECONDS, RATE)
    stormer.stop()
    pid = stormer.process.pid
    collector.wait_for("mem_free_bytes_total", done["bytes"], pid=pid)
    told, freed = (collector.metric_of_process(name, pid) for name in ("mem_alloc_bytes_total", "mem_free_bytes_total"))
    lost = collector.metric_of("cuda_collector_dropped_total", 'reason="event_lost"')
    print("%.0f pairs a second from %d threads: %.0f bytes allocated, %.0f told, %.0f freed, %.0f calls known by counters alone (bound 0)" %
          (done["pairs"] / done["seconds"], THREADS, done["bytes"], told, freed, lost))
    collector.stop()
    return ["exact"] if told != done["bytes"] or freed != told or lost else []


def storm(program, build, sink_port):
    missed = []
    for kind in ("push", "mov"):
        library = os.path.join(build, "tests/bench/collector", kind, "libcuda.so.1")
        stormer = Stormer(build, kind)
        bare = speed(stormer)
        empty = measure.EmptyProbes(build, library)
        pair = speed(stormer)
        empty.stop()
        collector = measure.Collector(program, sink_port)
        collector.wait_for("cuda_collector_attached_libraries", 1)
        cpu = collector.cpu_seconds()
        watched = speed(stormer)
        cores = (collector.cpu_seconds() - cpu) / (STORMS * STORM_SECONDS)
        collector.stop()
        stormer.stop()
        print("storm of %d threads, first instruction %s: %.0f pairs a second, %.0f under empty probes, %.0f without: "
              "%.2f times slower (bound %.1f), %.2f of a core (bound %.1f)" %
              (THREADS, kind, watched, pair, bare, pair / watched, SLOWER, cores, STORM_CORES))
        if pair / watched > SLOWER or cores > STORM_CORES:
            missed.append("storm " + kind)
    return missed


def memory(program, build, sink_port):
    callers = [Stormer(build, "mov") for _ in range(PROCESSES)]
    collector = measure.Collector(program, sink_port)
    collector.wait_for("cuda_collector_attached_libraries", 1)
    for number, caller in enumerate(callers):
        caller.tell("hold %d" % (BLOCKS if number == 0 else 10))
    for caller in callers:
        collector.wait_for("gpu_memory_inuse_bytes", caller.answer()["bytes"], pid=caller.process.pid)
    resident = collector.resident_mib()
    print("%d processes, %d blocks live in one: %.1f MiB resident (bound %d)" % (PROCESSES, BLOCKS, resident, measure.RESIDENT_MIB))
    collector.stop()
    for caller in callers:
        caller.stop()
    return ["memory"] if resident > measure.RESIDENT_MIB else []


if __name__ == "__main__":
    sys.exit(measure.main((exact, storm, memory)))
