"""Recordings: what a collector saw, shown on a machine that saw nothing of it.

The demo's recording was made of deploy/demo/llm_server.py on the stub driver. What that program said of itself stands here as the
expected value; unwinding, names and accounting are those of this build.
"""
import os
import re
import subprocess
import sys
import unittest
import urllib.request

import harness

STUB = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
DEMO = os.path.join(harness.ROOT, "deploy/demo/llm_server.recording")

DEMO_READY_BYTES = 5259657216  # "live_bytes" when the recorded program was ready: model and caches; nothing was freed by then

ALLOCATED = "memory:alloc_space:bytes:space:bytes{%s}"

WORKLOAD = """
import ctypes, select, sys
driver = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_uint64()
def allocate(size):
    assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer.value
class Cache:
    def grow(self):
        return list(map(lambda _: allocate(1000), range(20)))
while not select.select([sys.stdin], [], [], 0.01)[0]:
    driver.cuInit(0)
    driver.cuMemFree_v2(ctypes.c_uint64(0))
held = allocate(1 << 30), Cache().grow()
for block in held[1][:5]:
    driver.cuMemFree_v2(ctypes.c_uint64(block))
"""


def folded(server, matchers=""):
    status, text, error = harness.vramscope("query", "--url", server.url, "-q", ALLOCATED % matchers, "--from", "now-5m", "-o", "folded")
    assert status == 0, error
    lines = [line.rpartition(" ") for line in text.splitlines()]
    return {stack: int(value) for stack, _, value in lines}


def collector(server, *options):
    return [harness.PROGRAM, "collector", "-push.url=" + server.url, "-metrics.listen=", *options]


def replay(server, path):
    return subprocess.run(collector(server, "-collector.replay=" + path), capture_output=True, text=True, timeout=300, check=False)


class Recordings(unittest.TestCase):
    def test_the_demo_has_the_bytes_and_the_code_that_it_had(self):
        with harness.Server() as server:
            done = replay(server, DEMO)
            self.assertEqual(done.returncode, 0, done.stderr)
            stacks = folded(server)
            self.assertEqual(sum(value for stack, value in stacks.items() if ";Engine.__init__;" in stack), DEMO_READY_BYTES)
            self.assertGreater(sum(value for stack, value in stacks.items() if ";ModelRunner.load_model;" in stack), 0)
            self.assertTrue(any("tensor::empty(" in stack for stack in stacks), "no C++ between the Python frames")
            for stack in stacks:
                self.assertTrue(stack.startswith("_start;__libc_start_main;"), stack)
                self.assertTrue(stack.endswith(";cuMemAlloc_v2"), stack)
                self.assertIn(";<module>;main;", stack)

    def test_a_replay_is_what_was_seen(self):
        with harness.Server() as seen, harness.Server() as shown:
            path = os.path.join(seen.folder, "recording")
            process = 'pid="%d"' % self.record(seen, path)  # others may use a driver beside the test
            expected = folded(seen, process)
            self.assertEqual(sum(expected.values()), (1 << 30) + 20 * 1000)
            self.assertTrue(any(";Cache.grow;" in stack for stack in expected), expected)
            done = replay(shown, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(folded(shown, process), expected)

    def record(self, server, path):
        """The workload under a collector that writes down what it sees; its process id."""
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        command = [*collector(server), "-metrics.listen=127.0.0.1:0", "-collector.record=" + path, "-collector.interval=1s"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watching:
            try:
                port = re.search(r"metrics on port (\d+)", watching.stderr.readline())[1]
                line = watching.stderr.readline()
                if "watching" not in line:
                    self.skipTest("the driver may not be watched: " + line.rstrip().split("msg=")[-1])
                pid = self.allocate(port)
            finally:
                watching.terminate()
            self.assertEqual(watching.wait(60), 0)
            return pid

    def allocate(self, port):
        with subprocess.Popen([sys.executable, "-c", WORKLOAD, STUB], stdin=subprocess.PIPE, text=True) as work:
            def is_seen():
                with urllib.request.urlopen("http://127.0.0.1:%s/metrics" % port, timeout=60) as answer:
                    return 'mem_alloc_bytes_total{pid="%d"' % work.pid in answer.read().decode()

            # of a real driver cuInit takes long enough to be seen the first time
            harness.wait_until(is_seen, 60, "the process to be seen")
            work.stdin.write("\n")
            work.stdin.close()
            self.assertEqual(work.wait(60), 0)
            return work.pid


if __name__ == "__main__":
    harness.main()
