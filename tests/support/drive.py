#!/usr/bin/env python3
"""Runs the recorded cases against a server that is started for them.

    drive.py conformance | tenancy | captures

Conformance cases run through conformance/run.py, recordings of senders through captures/replay.py. What belongs to a
format that is not served yet stands in later.txt beside the cases, a line each: name, blank, reason. Those are run too,
and one that passes is a failure here: the list must not rot.
"""
import os
import re
import subprocess
import sys

import harness

CONFORMANCE = os.path.join(harness.TESTS, "conformance")
CAPTURES = os.path.join(harness.TESTS, "captures")


def later(folder):
    """{name: reason}"""
    listed = {}
    with open(os.path.join(folder, "later.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, _, reason = line.strip().partition(" ")
                listed[name] = reason.strip()
    return listed


def run(command):
    """A runner's output, shown and given; its last line says how many passed."""
    done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", timeout=900, check=False)
    return done.stdout + done.stderr


def conformance(url):
    listed = later(CONFORMANCE)
    root = os.path.join(CONFORMANCE, "cases")
    names = [os.path.relpath(os.path.join(folder, f), root)[:-len(".json")]
             for area in ("read", "ingest") for folder, _, files in os.walk(os.path.join(root, area))
             for f in files if f.endswith(".json")]
    unknown = sorted(set(listed) - set(names))
    runner = [sys.executable, os.path.join(CONFORMANCE, "run.py"), "--url", url, "--verbose"]

    def go(wanted, *more):
        return run([*runner, *more, *(os.path.join(root, n + ".json") for n in sorted(wanted))])
    text = go(set(names) - set(listed), "--jobs", "4")
    # A listed case fails by waiting for what will not come: not for long.
    rest = go(set(listed) & set(names), "--jobs", "8", "--settle", "0.3") if listed else ""
    return text, re.findall(r"^ok   cases/(\S+)\.json$", rest, re.M), listed, unknown


def tenancy(url):
    text = run([sys.executable, os.path.join(CONFORMANCE, "run.py"), "--url", url, "--verbose", os.path.join(CONFORMANCE, "cases/tenancy")])
    return text, [], {}, []


def captures(url):
    """replay.py takes folders; a folder of links leaves out what is listed."""
    listed = later(CAPTURES)
    names = [os.path.relpath(os.path.join(folder, f), CAPTURES)[:-len(".json")] for folder, _, files in os.walk(CAPTURES)
             for f in files if re.fullmatch(r"\d\d\.json", f)]
    unknown = sorted(set(listed) - set(names))

    def go(wanted, wait):
        with harness.tempfile.TemporaryDirectory(prefix="vramscope-captures-") as top:
            for name in sorted(wanted):
                sender, number = os.path.split(name)
                folder = os.path.join(top, sender)
                os.makedirs(folder, exist_ok=True)
                for file in (number + ".json", number + ".body", "expect.json"):
                    if not os.path.lexists(os.path.join(folder, file)):
                        os.symlink(os.path.join(CAPTURES, sender, file), os.path.join(folder, file))
            return run([sys.executable, os.path.join(CAPTURES, "replay.py"), "--url", url, "--wait", wait, top])
    text = go(set(names) - set(listed), "5")
    rest = go(set(listed) & set(names), "0.3") if listed else ""
    return text, re.findall(r"^ok   (\S+)", rest, re.M), listed, unknown


def main():
    what = sys.argv[1]
    # Gauges are summed over time as the recordings have it; the default of the program is their mean.
    options = {"conformance": ["-query.instant=sum"], "tenancy": ["-query.instant=sum", "-auth.multitenancy-enabled"],
               "captures": ["-query.instant=sum"]}[what]
    with harness.Server(*options) as server:
        text, passing, listed, unknown = {"conformance": conformance, "tenancy": tenancy, "captures": captures}[what](server.url)
        alive = server.process.poll() is None
        ended = server.stop()
        log = server.log_text()
    lines = [line for line in text.splitlines() if not line.startswith("ok   ")]
    totals = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
    print("\n".join(lines[:-1] if totals else lines))
    passed, failed = (int(totals[1]), int(totals[2])) if totals else (0, 1)
    for name in passing:
        print("FAIL %s is listed in later.txt and passes: take it off the list" % name)
    for name in unknown:
        print("FAIL %s is listed in later.txt and does not exist" % name)
    if not alive or ended != 0:
        print("FAIL the server ended with %s; the end of its log:\n%s" % (ended, log))
        failed += 1
    failed += len(passing) + len(unknown)
    for name in sorted(set(listed) - set(passing) - set(unknown)):
        print("skipped: %s: %s" % (name, listed[name]))
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(listed) - len(passing) - len(unknown)))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
