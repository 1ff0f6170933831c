#!/usr/bin/env python3
"""Sends real profiles to a running server, so that there is something to see at once: ./run.sh --demo.

What is sent, all of it taken on this machine while the demo runs, but the last:

  demo-client   a Python program that loads the server, by a sampler in the interpreter (python_sampler.py): wall time
  demo-server   the server itself under that load, by `perf`, where perf is installed and allowed: CPU
  demo-go       Go's own benchmark of encoding/json, by `go test -cpuprofile`, where Go is installed: CPU and memory
  demo-recorded profiles of a Go program, recorded earlier (tests/data/go), sent with the present time

demo.load holds what the loading client sends while it is being sampled: the same recorded stacks again and again.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = 5


def say(text):
    print("  " + text, flush=True)


def push(options, files, service, *more):
    done = subprocess.run([options.program, "push", *files, "--service", service, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        say("%s was not stored: %s" % (service, done.stderr.strip()))
        return False
    return True


def fold_perf(text):
    """`perf script` output -> folded stacks."""
    stacks = collections.Counter()
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if len(lines) < 2:
            continue
        frames = [re.sub(r"^\s*[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)? \(.*\)$", r"\1", line) for line in lines[1:]]
        stacks[";".join(f.strip().replace(";", ":") for f in reversed(frames))] += 1
    return "".join("%s %d\n" % row for row in sorted(stacks.items()))


def start_perf(options, folder):
    """perf on the server, or None with the reason said."""
    if not options.pid or not shutil.which("perf"):
        return None
    return subprocess.Popen(["perf", "record", "-q", "-F", "99", "-g", "-p", str(options.pid), "-o", os.path.join(folder, "perf.data"),
                             "--", "sleep", str(SECONDS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish_perf(options, perf, folder):
    if perf is None:
        say("perf is not installed: the server itself is not shown")
        return []
    perf.wait()
    script = subprocess.run(["perf", "script", "-i", os.path.join(folder, "perf.data")], capture_output=True, text=True,
                            errors="replace", check=False)
    folded = fold_perf(script.stdout)
    if perf.returncode or not folded:
        say("perf is not allowed here: the server itself is not shown")
        return []
    path = os.path.join(folder, "server.folded")
    with open(path, "w", encoding="utf-8") as file:
        file.write(folded)
    return ["demo-server"] if push(options, [path], "demo-server", "--type", "cpu", "--sample-rate", "99") else []


def load_and_sample(options, folder):
    say("loading the server for %d s, and sampling the client that does it ..." % SECONDS)
    client = os.path.join(folder, "client.folded")
    perf = start_perf(options, folder)
    subprocess.run([sys.executable, os.path.join(HERE, "python_sampler.py"), "--seconds", str(SECONDS), "--out", client,
                    os.path.join(HERE, "load.py"), options.url], stderr=subprocess.DEVNULL, check=True)
    shown = ["demo-client"] if push(options, [client], "demo-client", "--type", "wall") else []
    return shown + finish_perf(options, perf, folder)


def profile_go(options, folder):
    if not shutil.which("go"):
        return []
    say("running a benchmark of Go's standard library with its profiler ...")
    cpu, memory = os.path.join(folder, "cpu.pb.gz"), os.path.join(folder, "memory.pb.gz")
    done = subprocess.run(["go", "test", "-run", "^$", "-bench", "CodeDecoder|CodeMarshal", "-benchtime", "1s", "-cpuprofile", cpu,
                           "-memprofile", memory, "-o", os.path.join(folder, "json.test"), "encoding/json"],
                          capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        say("go test failed: %s" % done.stderr.strip()[-200:])
        return []
    return ["demo-go"] if push(options, [cpu, memory], "demo-go") else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/vramscope"))
    parser.add_argument("--url", default=os.environ.get("VRAMSCOPE_URL", "http://127.0.0.1:4040"))
    parser.add_argument("--pid", type=int, help="of the server, for perf")
    options = parser.parse_args()
    os.environ["VRAMSCOPE_URL"] = options.url
    with tempfile.TemporaryDirectory(prefix="vramscope-demo-") as folder:
        shown = load_and_sample(options, folder)
        shown += profile_go(options, folder)
        recorded = [os.path.join(ROOT, "tests/data/go", name) for name in ("cpu.pb.gz", "heap.pb.gz")]
        if push(options, recorded, "demo-recorded", "--override-timestamp", "--label", "recorded=true"):
            shown.append("demo-recorded")
    print("\n  Stored: %s. See them:\n" % ", ".join(shown))
    program = os.path.relpath(options.program)
    where = "" if options.url == "http://127.0.0.1:4040" else " --url " + options.url
    for service, profile_type in (("demo-client", "wall:wall:nanoseconds:cpu:nanoseconds"),
                                  ("demo-server", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                  ("demo-go", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                  ("demo-recorded", "memory:inuse_space:bytes:space:bytes")):
        if service in shown:
            print("  %s query -q '%s{service_name=\"%s\"}'%s" % (program, profile_type, service, where))
    print(flush=True)


if __name__ == "__main__":
    main()
