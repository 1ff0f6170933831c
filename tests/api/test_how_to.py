"""Every command under docs/how-to that a page marks as runnable (`sh`), page by page, each on a machine of its own (examples.py).

What pages say of programs and figures is held against sources and other pages, too.
"""
import glob
import json
import os
import shutil
import unittest

import examples
import harness
from test_main_job import FOLDED, fresh_copy

PAGES = sorted(os.path.relpath(path, harness.ROOT) for path in glob.glob(os.path.join(harness.ROOT, "docs/how-to/*.md")))
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SECRET = "0123456789abcdef" * 4


def process_id(machine):
    """Of the process that holds most: /api/gpu/processes gives it."""
    def listed():
        status, out, _ = machine.run("curl -sG http://127.0.0.1:4040/api/gpu/processes -d from=now-1h")
        return not status and json.loads(out)["processes"]
    return harness.wait_until(listed, 60, "a process")[0]["id"]


NAMES = {"TYPE{": CPU + "{", "HOST:PID:FIRST_MS": process_id}


def prepare(machine):
    """The files that pages name, and a service whose profiles they ask for."""
    for name in ("cpu.pb.gz", "heap.pb.gz"):
        fresh_copy(name, machine.path("work"))
    shutil.copy(FOLDED, machine.path("work/stacks.folded"))
    os.symlink(examples.RECORDING, machine.path("work/seen.recording"))
    with open(machine.path("etc/vramscope/credentials"), "w", encoding="utf-8") as file:
        file.write("operator admin * %s\n" % SECRET)
    for labels, name in (("env=prod,version=1", "cpu.pb.gz"), ("env=prod,version=2", "cpu.pb.gz"), ("env=prod,version=2", "heap.pb.gz")):
        status, out, err = machine.run("curl -sf --data-binary @%s 'http://127.0.0.1:4040/ingest?name=shop%%7B%s%%7D&format=pprof'" % (name, labels))
        if status:
            raise RuntimeError(out + err)


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class Commands(unittest.TestCase):
    maxDiff = None

    def run_page(self, page):
        with examples.Machine(NAMES) as machine:
            self.assertEqual(machine.run("vramscope server"), (0, "", ""))
            prepare(machine)
            for example in examples.of_page(page):
                with self.subTest(command=example.command):
                    self.assertEqual(machine.misses(example), "")


for each in PAGES:
    def test(self, page=each):
        self.run_page(page)
    if examples.of_page(each):
        setattr(Commands, "test_" + os.path.basename(each)[:-3].replace("-", "_"), test)

if __name__ == "__main__":
    harness.main()
