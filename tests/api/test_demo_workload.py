"""The demo's server of a language model, on the stub driver: what it says that it holds is what the driver says is taken."""
import json
import os
import signal
import subprocess
import sys
import unittest

import harness

DEMO = os.path.join(harness.ROOT, "deploy/demo")
DRIVER = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
MIB = 1 << 20


@unittest.skipUnless(os.path.exists(DRIVER), "VRAMSCOPE_STUB_DRIVER names no stub driver")
class DemoWorkload(unittest.TestCase):
    def run_until_done(self, script, *flags, seconds="1.5"):
        done = subprocess.run([sys.executable, os.path.join(DEMO, script), "--driver", DRIVER, "--start-seconds", "0", "--seconds", seconds, "--gib",
                               "1", *flags],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stdout

    def judge(self, lines, refused_calls_a_request):
        ready, end = lines
        self.assertEqual((ready["event"], end["event"]), ("ready", "done"))
        for line in lines:
            self.assertEqual(line["live_bytes"], line["driver_used_bytes"])
        # weights and KV cache of one GiB: some five sixths of it
        self.assertGreater(ready["live_bytes"], 600 * MIB)
        self.assertLess(ready["live_bytes"], 1024 * MIB)
        self.assertGreater(end["steps"], 2)
        self.assertGreaterEqual(end["leaked_bytes"], 8 * MIB)
        self.assertGreater(end["refused_requests"], 0)
        self.assertEqual(end["refused_calls"], refused_calls_a_request * end["refused_requests"])
        return ready, end

    def test_python_alone_has_back_all_but_the_leak(self):
        lines, _ = self.run_until_done("llm_server.py", "--absurd-every", "3")
        ready, end = self.judge(lines, 1)
        self.assertEqual(end["live_bytes"] - ready["live_bytes"], end["leaked_bytes"])

    def test_with_tensors_in_cpp(self):
        lines, out = self.run_until_done("gpu_demo.py", "--absurd-every", "3")
        if "no C++ compiler" in out:
            self.skipTest("no C++ compiler")
        self.judge(lines, 2)

    def test_without_a_compiler_it_is_python_alone(self):
        done = subprocess.run([sys.executable, os.path.join(DEMO, "gpu_demo.py"), "--driver", DRIVER, "--start-seconds", "0",
                               "--seconds", "0.2", "--gib", "1"],
                              capture_output=True, text=True, timeout=120, check=False, env={"PATH": os.devnull})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Python alone", done.stdout)

    def test_it_ends_with_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = subprocess.Popen([sys.executable, os.path.join(DEMO, "gpu_demo.py"), "--driver", DRIVER, "--gib", "1", "--start-seconds", "0"],
                                      stdout=subprocess.PIPE, text=True)
            with server:
                line = next(line for line in server.stdout if line.startswith("{"))
                self.assertEqual(json.loads(line)["event"], "ready")
                server.send_signal(number)
                self.assertEqual(json.loads(server.stdout.read().splitlines()[-1])["event"], "done")
                self.assertEqual(server.wait(60), 0)


if __name__ == "__main__":
    harness.main()
