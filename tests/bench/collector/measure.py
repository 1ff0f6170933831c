#!/usr/bin/env python3
"""measure.py PROGRAM BUILD_FOLDER : what the collector costs a driver call, an idle machine, and a start.

Prints a line for each measure, beside its bound from the same run, and fails when one is missed:
  call    of a thread 40 Python and some 30 native frames deep, over an empty entry + return pair on the same instruction
  idle    processor time and resident memory with 20 processes watched
  rate    processor time at 1,000 calls a second
  start   until a call of a running process is recorded, with 500 processes on the machine
  switch  of the current context: in a process that sees several devices over an empty pair, in any other over no probe at all
"""
import http.server
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

CALL_BOUND = 2.0  # times the empty pair
IDLE_CORES = 0.005
RATE_CORES = 0.05
RESIDENT_MIB = 60
START_SECONDS = 2.0
SWITCH_BOUND = 2.0  # times the empty pair
UNWATCHED_BOUND = 1.5  # times no probe: what a run differs by, a probe is ten times as much

ROUNDS = 7
SWITCHES = 20000
CALLS = 1000  # a round; below the storm limit's burst, so that each has its stack
WATCHED = 20
PROCESSES = 500
IDLE_SECONDS = 20
RATE_SECONDS = 10
CALLS_A_SECOND = 1000

HERE = os.path.dirname(os.path.abspath(__file__))


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes pushes and forgets them."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/proto")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def free_port():
    server = http.server.HTTPServer(("127.0.0.1", 0), Sink)
    port = server.server_address[1]
    server.server_close()
    return port


class Collector:
    def __init__(self, program, sink_port):
        self.metrics_port = free_port()
        self.process = subprocess.Popen([program, "collector", "-push.url=http://127.0.0.1:%d" % sink_port, "-log.level=warn",
                                         "-metrics.listen=127.0.0.1:%d" % self.metrics_port])

    def metric_of(self, name, label):
        """The value of the one series of that name with that label alone."""
        return self.metric(name, r"\{%s\}" % re.escape(label))

    def metric(self, name, labels=r"(?:\{[^}]*\})?"):
        """The sum over all series of that name; None while there is none."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.metrics_port, timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return None
        found = re.findall(r"^%s%s (\S+)$" % (re.escape(name), labels), text, re.M)
        return sum(map(float, found)) if found else None

    def metric_of_process(self, name, pid):
        return self.metric(name, r'\{pid="%d",[^}]*\}' % pid)

    def wait_for(self, name, at_least, seconds=60, pid=None):
        """Until the sum over all series, or those of a process, is as large."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if ((self.metric_of_process(name, pid) if pid else self.metric(name)) or 0) >= at_least:
                return
            if self.process.poll() is not None:
                raise SystemExit("the collector ended with %s" % self.process.returncode)
            time.sleep(0.01)
        raise SystemExit("%s did not reach %s" % (name, at_least))

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        """Anonymous pages and rings: not the files that are mapped."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            text = file.read()
        return sum(int(re.search(r"^%s:\s+(\d+) kB" % name, text, re.M)[1]) for name in ("RssAnon", "RssShmem")) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Caller:
    def __init__(self, folder):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "caller.py"), os.path.join(folder, "nested_caller.so")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdout.readline() == "ready\n"

    def call(self, count):
        return self.tell("%d" % count)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        return [float(part) for part in self.process.stdout.readline().split()]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class EmptyProbes:
    def __init__(self, build, library, functions="cuMem(Alloc|Free)_v2"):
        listed = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
        offsets = ["0x" + line.split()[0] for line in listed.splitlines() if re.search(r" T %s$" % functions, line)]
        self.process = subprocess.Popen([os.path.join(build, "bin", "empty_probe"), library, *offsets],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "attached\n"

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def rounds(caller):
    """Medians of an allocation and a free, in nanoseconds."""
    caller.call(CALLS)  # the first stacks of a process are dearer, and named
    taken = [caller.call(CALLS) for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*taken)]


def measure_call(program, build, sink_port):
    missed = []
    for kind in ("push", "mov"):
        folder = os.path.join(build, "tests/bench/collector", kind)
        library = os.path.join(folder, "libcuda.so.1")
        caller = Caller(folder)
        bare = rounds(caller)
        empty = EmptyProbes(build, library)
        pair = rounds(caller)
        empty.stop()
        collector = Collector(program, sink_port)
        collector.wait_for("cuda_collector_attached_probes", 1)
        collector.wait_for("cuda_collector_attached_libraries", 1)
        probed = rounds(caller)
        collector.stop()
        caller.stop()
        for name, none, two, ours in zip(("alloc", "free"), bare, pair, probed):
            ratio = ours / two
            print("call %s, first instruction %s: %.2f us, empty pair %.2f us, no probe %.3f us: %.2f times the pair (bound %.1f)" %
                  (name, kind, ours / 1e3, two / 1e3, none / 1e3, ratio, CALL_BOUND))
            if ratio > CALL_BOUND:
                missed.append("call %s %s" % (name, kind))
    return missed


def measure_idle_and_rate(program, build, sink_port):
    callers = [Caller(os.path.join(build, "tests/bench/collector/mov")) for _ in range(WATCHED)]
    collector = Collector(program, sink_port)
    collector.wait_for("cuda_collector_attached_libraries", 1)
    for caller in callers:
        caller.call(10)
    collector.wait_for("cuda_collector_processes", WATCHED)
    began, cpu = time.monotonic(), collector.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    idle = (collector.cpu_seconds() - cpu) / (time.monotonic() - began)
    resident = collector.resident_mib()
    print("idle, %d processes: %.3f %% of a core (bound %.1f %%), %.1f MiB resident (bound %d)" %
          (WATCHED, idle * 100, IDLE_CORES * 100, resident, RESIDENT_MIB))

    began, cpu, made = time.monotonic(), collector.cpu_seconds(), 0
    while time.monotonic() - began < RATE_SECONDS:
        callers[0].call(CALLS_A_SECOND // 100)
        made += CALLS_A_SECOND // 100
        time.sleep(max(0, began + made / CALLS_A_SECOND - time.monotonic()))
    seconds = time.monotonic() - began
    rate = (collector.cpu_seconds() - cpu) / seconds
    print("%.0f calls a second: %.2f %% of a core (bound %.0f %%)" % (made / seconds, rate * 100, RATE_CORES * 100))
    collector.stop()
    for caller in callers:
        caller.stop()
    return [name for name, missed in (("idle", idle > IDLE_CORES), ("resident", resident > RESIDENT_MIB), ("rate", rate > RATE_CORES))
            if missed]


def measure_start(program, build, sink_port):
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(PROCESSES)]
    caller = Caller(os.path.join(build, "tests/bench/collector/mov"))
    began = time.monotonic()
    collector = Collector(program, sink_port)
    while not collector.metric("cuda_collector_events_total"):
        caller.call(1)
        if time.monotonic() - began > 30:
            break
    seconds = time.monotonic() - began
    print("start with %d processes: recording after %.2f s (bound %.0f)" % (PROCESSES, seconds, START_SECONDS))
    collector.stop()
    caller.stop()
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()
    return ["start"] if seconds > START_SECONDS else []


def switches(caller):
    """The median of a switch, in nanoseconds."""
    return statistics.median(caller.tell("switch %d" % SWITCHES)[0] for _ in range(ROUNDS))


def measure_switch(program, build, sink_port):
    missed = []
    for kind in ("push", "mov"):
        folder = os.path.join(build, "tests/bench/collector", kind)
        one, several = Caller(folder), Caller(folder)
        bare = switches(several)
        empty = EmptyProbes(build, os.path.join(folder, "libcuda.so.1"), "cuCtxSetCurrent")
        pair = switches(several)
        empty.stop()
        collector = Collector(program, sink_port)
        collector.wait_for("cuda_collector_attached_libraries", 1)
        one.tell("devices 1")
        deadline = time.monotonic() + 60
        while not collector.metric("cuda_collector_context_processes") and time.monotonic() < deadline:
            several.tell("devices 2")
        unwatched, watched = switches(one), switches(several)
        collector.stop()
        one.stop()
        several.stop()
        print("switch, first instruction %s: %.2f us in a process with several devices, empty pair %.2f us: %.2f times the pair (bound %.1f); "
              "%.4f us with one, no probe %.4f us: %.2f times (bound %.1f)" %
              (kind, watched / 1e3, pair / 1e3, watched / pair, SWITCH_BOUND, unwatched / 1e3, bare / 1e3, unwatched / bare, UNWATCHED_BOUND))
        if watched / pair > SWITCH_BOUND or unwatched / bare > UNWATCHED_BOUND:
            missed.append("switch " + kind)
    return missed


def main(measures):
    program, build = sys.argv[1:3]
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    port = sink.server_address[1]
    missed = []
    for measure in measures:
        missed += measure(program, build, port)
    print("missed: %s" % ", ".join(missed) if missed else "all within their bounds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main((measure_call, measure_idle_and_rate, measure_start, measure_switch)))
