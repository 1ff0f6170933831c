"""What the tests of clients share: tools that may be absent, a folder for what they install, a program that is profiled, and what it must read back as.

A program of these tests burns CPU in two functions, light() and heavy(), and prints for each how many seconds it took by the process' CPU clock and by
the wall clock. A profiler that samples CPU finds the first, one that samples threads finds something up to the second.
"""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = ("light", "heavy")
SECONDS = 900  # for an installation or a build, on a busy machine


class ClientTest(unittest.TestCase):
    """A folder of its own, and a server; skipped, with the reason, where a tool is absent."""

    tools = ()

    def setUp(self):
        for tool in self.tools:
            if not shutil.which(tool):
                self.skipTest("%s is not installed" % tool)
        self.folder = tempfile.mkdtemp(prefix="vramscope-client-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = harness.Server().start()
        self.addCleanup(self.server.close)
        self.url = "http://127.0.0.1:%d" % self.server.port
        self.begun_ms = int(time.time() * 1000) - 60000  # senders align their intervals downwards

    def run_tool(self, *command, seconds=SECONDS, **environment):
        """A command's output; what it says when it fails is the failure."""
        done = subprocess.run(command, cwd=self.folder, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="backslashreplace", timeout=seconds, check=False)
        if done.returncode != 0:
            self.fail("%s: exit status %d\n%s" % (" ".join(command), done.returncode, (done.stdout + done.stderr)[-3000:]))
        return done.stdout

    def take(self, *names):
        """Copies sources of this folder into the test's own."""
        for name, as_name in names:
            shutil.copy(os.path.join(HERE, name), os.path.join(self.folder, as_name))

    def replace(self, name, old, new):
        """In a source that was taken: what differs between versions of the client."""
        with open(os.path.join(self.folder, name), "r+") as file:
            text = file.read()
            self.assertIn(old, text)
            file.seek(0)
            file.write(text.replace(old, new))
            file.truncate()

    def run_profiled(self, *command):
        """{function: {"cpu": seconds, "wall": seconds}} as the program itself measured."""
        output = self.run_tool(*command, SERVER=self.url, seconds=180)
        return json.loads(output.strip().splitlines()[-1])

    @contextlib.contextmanager
    def profiled(self, *command, **environment):
        """The same of a program that goes on until its input ends; its output is what it measured, on one line."""
        output = os.path.join(self.folder, "output")
        with open(output, "wb") as out, open(os.path.join(self.folder, "log"), "wb") as log:
            program = subprocess.Popen(command, cwd=self.folder, env=dict(os.environ, **environment), stdin=subprocess.PIPE, stdout=out, stderr=log)

        def line():
            with open(output, "rb") as out:
                text = out.read()
            if program.poll() is not None and not text.endswith(b"\n"):
                raise RuntimeError("the program ended with %d:\n%s" % (program.returncode, self.log_of_program()))
            return text if text.endswith(b"\n") else None
        try:
            yield json.loads(harness.wait_until(line, 180, "what the program measured"))
            program.stdin.close()
            self.assertEqual(program.wait(60), 0, self.log_of_program())
        finally:
            if program.poll() is None:
                program.kill()
                program.wait(60)
            program.stdin.close()

    def log_of_program(self):
        with open(os.path.join(self.folder, "log"), "rb") as log:
            return log.read().decode("utf-8", "backslashreplace")[-3000:]

    def stacks(self, profile_type, selector):
        """{stack: value} of everything since the test began."""
        return self.server.totals(profile_type, selector, self.begun_ms, int(time.time() * 1000) + 60000)

    def by_function(self, profile_type, selector):
        """{light or heavy: value of the stacks that it is in}."""
        stacks = self.stacks(profile_type, selector)
        return {name: sum(value for stack, value in stacks.items() if name in stack) for name in FUNCTIONS}

    def assert_times(self, measured, profile_type, selector, ns=1, seen=0.5):
        """Waits until the profile has come, and holds it against what the program measured; `seen` of it an SDK must have sampled."""
        def found():
            values = self.by_function(profile_type, selector)
            return values if all(values[name] for name in measured) else None
        values = harness.wait_until(found, 30, "%s in %s%s" % (" and ".join(measured), profile_type, selector))
        for name in measured:
            seconds = values[name] * ns / 1e9
            self.assertGreater(seconds, seen * measured[name]["cpu"], (values, measured))
            self.assertLess(seconds, 1.3 * measured[name]["wall"] + 0.2, (values, measured))
        self.assertGreater(values["heavy"], values["light"], (values, measured))

    def labels(self, selector):
        """The label sets of the series, without those that the server makes."""
        answer = self.server.rpc("Series", {"matchers": [selector], "start": self.begun_ms, "end": int(time.time() * 1000) + 60000},
                                 headers={"Accept": "*/*;allow-utf8-labelnames=true"})
        self.assertEqual(answer.status, 200, answer)
        return [{l["name"]: l["value"] for l in s["labels"] if not l["name"].startswith("__")} for s in answer.json["labelsSet"]]

    def assert_nothing_was_refused(self):
        self.assertEqual(self.server.get("/api/v1/rejects").json, {"rejects": []})
