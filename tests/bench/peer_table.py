#!/usr/bin/env python3
"""Each line of workload/PEER.md with ours beside it, measured in one sitting.

    tests/bench/peer_table.py BUILD [--real-seconds N] [--hours-scale F] [--only WORKLOAD]...

BUILD is a release build with the targets vramscope, profbench and limits. Prints PEER.md's tables with one column more, in Markdown;
"-" is what this run did not measure. Exit status 1 when a request failed, a profile was lost or an answer was wrong.
Figures are as good as the machine is quiet: compare the ratios with the bound, which is measured in the same sitting.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
PEER = os.path.join(HERE, "workload", "PEER.md")
SHAPE = os.path.join(HERE, "workload", "shapes", "go.shape.gz")
WARM_RUNS = 40  # the kernel counts CPU time of a process in hundredths of a second


class Workload:
    """name: profbench's; rate: profiles a second at real speed; hours: of history that the queries ask for; count: when saturated."""

    def __init__(self, name, rate, hours, count, bounded):
        self.name, self.rate, self.hours, self.count, self.bounded = name, rate, hours, count, bounded


WORKLOADS = {
    "W1": Workload("cpu-fleet", 13.3, 24, 4000, True),
    "W2": Workload("gpu-box", 0.53, 24, 2000, True),
    "W3": Workload("continuous-ebpf", 33.3, 1, 10000, False),
    "W4": Workload("tiny", 6.7, 1, 10000, False),
}


class Sitting:
    """Runs the programs, keeps what they said by name, and remembers whether anything was wrong."""

    def __init__(self, build, arguments):
        self.build, self.arguments, self.failed, self.figures = build, arguments, False, {}

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def run(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0 or re.search(r"WRONG|errors=[1-9]", done.stdout):
            self.failed = True
            print("FAILED: %s\n%s" % (" ".join(command), done.stdout), file=sys.stderr)
        return done.stdout

    def profbench(self, verb, workload, server, *options):
        return self.run(self.program("profbench"), verb, workload.name, "--server", "localhost:%d" % server.port, "--pid", str(server.process.pid),
                        "--shape", SHAPE, *[str(option) for option in options])


def numbers(line):
    """name=number pairs of one line of profbench or limits."""
    return {name: float(value) for name, value in re.findall(r"([A-Za-z0-9_]+)=(-?[0-9.]+)", line)}


def resident_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
        return int(re.search(r"^Rss:\s+(\d+)", file.read(), re.M).group(1)) / 1000


def disk_bytes(folder):
    return sum(os.path.getsize(path) for path in glob.glob(folder + "/**", recursive=True) if os.path.isfile(path))


# ---- what is measured ----

def bound(sitting, workload):
    """CPU ms a profile of gunzip and one walk."""
    with tempfile.TemporaryDirectory() as folder:
        sitting.run(sitting.program("profbench"), "gen", workload.name, "--count", "200", "--route", "ingest", "--shape", SHAPE, "--out", folder)
        said = numbers(sitting.run(sitting.program("limits"), "decode", *sorted(glob.glob(folder + "/*"))))
    return (said["gunzip_us"] + said["walk_us"]) / 1000


def server_for(*options):
    import harness  # pylint: disable=import-outside-toplevel  # it looks for the program when it is read
    return harness.Server("-validation.reject-older-than=0", "-log.level=warn", *options)


def saturated(sitting, key, workload):
    with server_for() as server:
        idle = resident_mb(server.process.pid)
        said = numbers(sitting.profbench("load", workload, server, "--count", workload.count, "--connections", 128))
    sitting.figures[key, "saturated"] = said
    sitting.figures[key, "idle"] = idle


def connections(sitting, key, workload):
    rates = []
    for count in (1, 8, 128):
        with server_for() as server:
            said = numbers(sitting.profbench("load", workload, server, "--count", 1000 * (1 + (count > 1)), "--connections", count))
        rates.append(said["profiles_per_s"])
    sitting.figures[key, "connections"] = rates


def real_rate(sitting, key, workload):
    count = int(workload.rate * sitting.arguments.real_seconds)
    with server_for() as server:
        said = numbers(sitting.profbench("load", workload, server, "--count", count, "--connections", 16, "--rate", workload.rate))
        said["bytes_a_profile"] = disk_bytes(server.store) / said["profiles"]
    sitting.figures[key, "real"] = said


def metric(server, name):
    return int(re.search(r"^%s (\d+)" % name, server.get("/metrics").text, re.M).group(1))


def backlog(server):
    return metric(server, "vramscope_store_compaction_backlog")


def compacted(server):
    return metric(server, "vramscope_store_profiles_compacted_total")


def history(sitting, key, workload):
    """Fills, waits until everything lies in blocks, has the days sealed, starts again, asks. What "sealed" says is the store's size then."""
    import harness  # pylint: disable=import-outside-toplevel
    hours = max(1, round(workload.hours * sitting.arguments.hours_scale))
    end = int(time.time()) // 86400 * 86400  # whole days that are over
    with server_for("-storage.compact-after=0s") as server:
        said = numbers(sitting.profbench("fill", workload, server, "--services", 2, "--hours", hours, "--connections", 32, "--end", end))
        harness.wait_until(lambda: compacted(server) >= said["profiles"] and backlog(server) == 0, 900, "blocks")
        server.stop()
        server.options.append("-storage.seal-after=0s")
        server.start()
        harness.wait_until(lambda: metric(server, "vramscope_store_sealed_windows") == metric(server, "vramscope_store_windows"), 900, "sealed days")
        server.stop()
        sitting.figures[key, "sealed"] = disk_bytes(server.store) / said["profiles"]
        began = time.monotonic()
        server.start()
        sitting.figures[key, "ready"] = time.monotonic() - began
        answer = sitting.profbench("query", workload, server, "--services", 2, "--hours", hours, "--end", end, "--repeat", WARM_RUNS)
    for line in answer.splitlines():
        label = re.split(r"\s{2,}|\scold_ms", line)[0].strip()
        sitting.figures[key, label] = numbers(line)


# ---- the table ----

def figure(sitting, key, what, name, form="%.2f", scale=1.0):
    said = sitting.figures.get((key, what))
    if said is None:
        return "-"
    return form % (scale * (said[name] if isinstance(said, dict) else said))


def cpu_beside_bound(sitting, key, what):
    text = figure(sitting, key, what, "cpu_s_per_1000_settled")
    limit = sitting.figures.get((key, "bound"))
    return text if text == "-" or not limit else "%s (%.1f × %.2f)" % (text, float(text) / limit, limit)


def ours(sitting):
    """What stands beside each line of PEER.md, by the line's first cell."""
    real, full = "real", "saturated"
    f = lambda *a, **k: figure(sitting, *a, **k)  # noqa: E731
    return {
        "W1 at the real rate (13.3/s), CPU s per 1,000": cpu_beside_bound(sitting, "W1", real),
        "W1 saturated": cpu_beside_bound(sitting, "W1", full),
        "W2": cpu_beside_bound(sitting, "W2", full),
        "W3": cpu_beside_bound(sitting, "W3", full),
        "W4 (1 KB folded)": cpu_beside_bound(sitting, "W4", full),
        "answer p50 / p99 ms at the real rate": "%s / %s" % (f("W1", real, "p50_ms", "%.1f"), f("W1", real, "p99_ms", "%.0f")),
        "W1 profiles/s with 1 / 8 / 128 connections": " / ".join("%.0f" % rate for rate in sitting.figures.get(("W1", "connections"), [])) or "-",
        "resident MB: idle / real rate / W1 saturated / W3 saturated": "%s / %s / %s / %s" % (
            f("W1", "idle", "", "%.0f"), f("W1", real, "rss_max_MB", "%.0f"), f("W1", full, "rss_max_MB", "%.0f"), f("W3", full, "rss_max_MB", "%.0f")),
        "W1 sealed": f("W1", "sealed", "", "%.0f"),
        "W1 fresh (≤ 1 h), real rate": f("W1", real, "bytes_a_profile", "%.0f"),
        "W2 sealed": f("W2", "sealed", "", "%.0f"),
        "W3 sealed": f("W3", "sealed", "", "%.0f"),
        "merge W1 6 h (4.2 M rows)": f("W1", "SelectMergeStacktraces 6h", "cpu_ms", "%.1f"),
        "merge W1 24 h (16.7 M rows)": f("W1", "SelectMergeStacktraces 24h", "cpu_ms", "%.1f"),
        "merge W2 24 h (6.9 M rows)": f("W2", "SelectMergeStacktraces 24h", "cpu_ms", "%.1f"),
        "merge W3 1 h": f("W3", "SelectMergeStacktraces 1h", "cpu_ms", "%.1f"),
        "SelectMergeProfile W1 6 h": f("W1", "SelectMergeProfile 6h", "cpu_ms", "%.1f"),
        "SelectSeries 15 s over 24 h, W1 / W2": "%s / %s" % (
            f("W1", "SelectSeries 15s 24h", "cpu_ms", "%.1f"), f("W2", "SelectSeries 15s 24h", "cpu_ms", "%.1f")),
        "Diff of halves, W1 6 h": f("W1", "Diff of halves 6h", "cpu_ms", "%.1f"),
        "ProfileTypes / LabelValues / Series, wall ms": "%s / %s / %s" % (
            f("W1", "ProfileTypes 1h", "p50_ms", "%.1f"), f("W1", "LabelValues service_name 1h", "p50_ms", "%.1f"),
            f("W1", "Series by service 1h", "p50_ms", "%.1f")),
        "start to ready with history": f("W1", "ready", "", "%.2f s"),
    }


def print_tables(beside):
    known = set()
    with open(PEER, encoding="utf-8") as file:
        for line in file:
            if line.startswith("## What they say"):
                break
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if not cells:
                if line.startswith("##"):
                    print("\n" + line)
                continue
            label = cells[0]
            known.add(label)
            last = "ours" if label == "" else "---" if set(label) == {"-"} else beside.get(label, "-")
            print("| %s | %s |" % (" | ".join(cells), last))
    missing = set(beside) - known
    if missing:
        raise SystemExit("PEER.md has no line %s" % sorted(missing))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--real-seconds", type=float, default=180, help="of load at the real rate")
    parser.add_argument("--hours-scale", type=float, default=1, help="of the history that is asked for; lines of other ranges stay empty")
    parser.add_argument("--only", action="append", choices=sorted(WORKLOADS))
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    os.environ["VRAMSCOPE"] = os.path.join(build, "vramscope")
    sitting = Sitting(build, arguments)
    for key in arguments.only or sorted(WORKLOADS):
        workload = WORKLOADS[key]
        if workload.bounded:
            sitting.figures[key, "bound"] = bound(sitting, workload)
        saturated(sitting, key, workload)
        if key == "W1":
            connections(sitting, key, workload)
            real_rate(sitting, key, workload)
        history(sitting, key, workload)
    print_tables(ours(sitting))
    return 1 if sitting.failed else 0


if __name__ == "__main__":
    sys.exit(main())
