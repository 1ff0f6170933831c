"""Real profiles in, the right totals out: the commands of README.md, word for word, judged by what Go's own tool says."""
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import harness

DATA = os.path.join(harness.TESTS, "data")
FOLDED = os.path.join(DATA, "folded/python.folded")
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def go_top(name, scale):
    """{function: (flat, cum)} of a recorded `go tool pprof -top`, and the total; values times scale."""
    rows, total = {}, 0
    with open(os.path.join(DATA, "go", name)) as file:
        for line in file:
            found = re.match(r"Showing nodes accounting for .* of (\d+)\w* total", line)
            total = int(found[1]) * scale if found else total
            found = re.match(r"\s*(\d+)\w*\s+\S+\s+\S+\s+(\d+)\w*\s+\S+\s+(.*?)( \((partial-)?inline\))?$", line)
            if found:
                # The store takes the compiler's shapes of type arguments off (ingest specification, 2.5).
                function = re.sub(r"\[go\.shape\..*\]", "", found[3])
                rows[function] = (int(found[1]) * scale, int(found[2]) * scale)
    return rows, total


def fresh_copy(name, folder):
    """A recorded pprof as if taken now: of a field that is there twice, readers take the last (time_nanos is field 9)."""
    with open(os.path.join(DATA, "go", name), "rb") as file:
        message = gzip.decompress(file.read()) + harness.cases.Proto.field(9, 0, time.time_ns())
    with open(os.path.join(folder, name), "wb") as file:
        file.write(gzip.compress(message))


def readme_commands():
    """The lines of README.md that begin with curl, continued lines joined."""
    with open(os.path.join(harness.ROOT, "README.md")) as file:
        text = file.read().replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if re.match(r"\s*curl ", line)]


class MainJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.folder = tempfile.mkdtemp(prefix="vramscope-test-")
        for name in ("cpu.pb.gz", "heap.pb.gz"):
            fresh_copy(name, cls.folder)
        shutil.copy(FOLDED, os.path.join(cls.folder, "stacks.folded"))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        shutil.rmtree(cls.folder)

    def shell(self, command):
        """A command of README.md against this server; gives what it prints."""
        command = command.replace("127.0.0.1:4040", "127.0.0.1:%d" % self.server.port)
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, "%s\n%s%s" % (command, done.stdout, done.stderr))
        return done.stdout

    def query(self, query, *more):
        status, out, err = harness.vramscope("query", "-q", query, "-o", "json", "-n", "0", "--url", self.server.url, *more)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def same_as_go(self, answer, top):
        rows, total = top
        self.assertEqual(answer["total"], total)
        self.assertEqual({f["name"]: (f["self"], f["total"]) for f in answer["functions"]},
                         {name: values for name, values in rows.items() if values != (0, 0)})

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_the_commands_of_the_readme_store_and_show_what_go_says(self):
        commands = readme_commands()
        writes = [c for c in commands if "/ingest" in c]
        reads = [c for c in commands if "/pyroscope/render" in c]
        self.assertTrue(writes and reads, "README.md shows no curl command")
        for command in writes:
            self.shell(command)
        for command in reads:
            document = json.loads(self.shell(command))
            wanted = go_top("cpu.top.txt", 10**6)[1] if ":cpu:" in command else go_top("heap.inuse_space.top.txt", 1)[1]
            self.assertEqual(document["flamebearer"]["numTicks"], wanted, command)
            self.assertEqual(document["metadata"]["format"], "single")

    def test_a_cpu_profile_reads_back_as_gos_own_tool_has_it(self):
        status, _, err = harness.vramscope("push", os.path.join(self.folder, "cpu.pb.gz"), "--service", "go-cpu", "--url", self.server.url)
        self.assertEqual(status, 0, err)
        self.same_as_go(self.query(CPU + '{service_name="go-cpu"}'), go_top("cpu.top.txt", 10**6))

    def test_a_heap_profile_reads_back_as_gos_own_tool_has_it(self):
        status, _, err = harness.vramscope("push", os.path.join(DATA, "go/heap.pb.gz"), "--service", "go-heap", "--override-timestamp",
                                           "--url", self.server.url)
        self.assertEqual(status, 0, err)
        for kind, unit in (("inuse_space", "bytes"), ("alloc_space", "bytes"), ("inuse_objects", "count")):
            answer = self.query('memory:%s:%s:space:bytes{service_name="go-heap"}' % (kind, unit))
            self.same_as_go(answer, go_top("heap.%s.top.txt" % kind, 1))

    def test_folded_stacks_of_a_sampler_keep_their_sum(self):
        with open(FOLDED) as file:
            rows = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        period = 10**9 // 97
        status, _, err = harness.vramscope("push", FOLDED, "--service", "folded", "--sample-rate", "97", "--url", self.server.url)
        self.assertEqual(status, 0, err)
        answer = self.query(CPU + '{service_name="folded"}')
        self.assertEqual(answer["total"], sum(int(n) for _, n in rows) * period)
        leaves = {}
        for stack, count in rows:
            leaf = stack.split(";")[-1]
            leaves[leaf] = leaves.get(leaf, 0) + int(count) * period
        self.assertEqual({f["name"]: f["self"] for f in answer["functions"] if f["self"]}, leaves)


if __name__ == "__main__":
    harness.main()
