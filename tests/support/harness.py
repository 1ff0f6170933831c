"""What the end-to-end tests share: a server of their own, requests, profiles, and one line of totals.

The program under test is named by the environment variable VRAMSCOPE. Python's standard library only.
"""
import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
PROGRAM = os.path.abspath(os.environ.get("VRAMSCOPE", os.path.join(ROOT, "build/debug/vramscope")))
SKIPPED = 77  # what ctest takes for "skipped"
ALONE = "VRAMSCOPE_TEST_ALONE"  # set in a namespace of its own

sys.path.insert(0, os.path.join(TESTS, "conformance"))
import run as cases  # noqa: E402  (messages and profiles are made as the cases make them)


def wait_until(condition, seconds=10.0, what="a condition"):
    """Asks until the condition gives something true, and gives that. Sanitizers are slow: limits are generous."""
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError("waited %g s for %s" % (seconds, what))
        pause.wait(0.01)


class Port:
    """A port of 127.0.0.1 that the kernel gives nobody until close(). It is bound, not listened on: connections are refused, and whoever
    allows that an address is used again, as our server and Python's do, may listen on it meanwhile."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.number

    def close(self):
        self.socket.close()


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode("utf-8", "backslashreplace")

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %s" % (self.status, self.text[:300])


class Server:
    """A server on a free port with a store of its own; `with Server() as server`."""

    command, program, launcher, environment = "server", PROGRAM, (), {}
    expects_damage = False  # of the store that the test leaves behind

    def __init__(self, *options, store=None):
        self.options, self.process = list(options), None
        self.folder = tempfile.mkdtemp(prefix="vramscope-test-")
        self.store = store or os.path.join(self.folder, "store")
        self.log = os.path.join(self.folder, "log")
        self.port_file = os.path.join(self.folder, "port")
        self.port = 0

    def launch(self):
        """Starts, and does not wait for anything."""
        if os.path.exists(self.port_file):
            os.unlink(self.port_file)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.launcher, self.program, self.command, "-server.http-listen-port=0", "-server.http-port-file=" + self.port_file,
                 "-storage.path=" + self.store, *self.options], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, **self.environment))

    def start(self):
        """Starts and waits until it is ready."""
        self.launch()
        self.port = int(wait_until(self._port, 60, "the server's port"))
        wait_until(lambda: self._alive() and self._ready(), 60, "the server to be ready")
        return self

    def _alive(self):
        if self.process.poll() is not None:
            raise RuntimeError("the server ended with %d:\n%s" % (self.process.returncode, self.log_text()))
        return True

    def _port(self):
        self._alive()
        if not os.path.exists(self.port_file):
            return ""
        with open(self.port_file) as file:
            return file.read().strip()

    def _ready(self):
        try:
            return self.get("/ready").status == 200
        except OSError:
            return False

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    @property
    def pid(self):
        return self.process.pid

    def log_text(self):
        with open(self.log, "rb") as file:
            return file.read().decode("utf-8", "backslashreplace")[-4000:]

    def stop(self):
        """Asks it to end; gives its exit status."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        return self.process.returncode if self.process else 0

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def close(self):
        """Ends it; a server that does not end well (or whose sanitizer found something) fails the test."""
        try:
            status = self.stop()
            if status not in (0, -signal.SIGKILL):
                raise RuntimeError("the server ended with %d:\n%s" % (status, self.log_text()))
            # a data race is told as it happens, and a killed server has no status to tell it by
            with open(self.log, "rb") as file:
                if b"ThreadSanitizer: " in file.read():
                    raise RuntimeError("the thread sanitizer found something:\n%s" % self.log_text())
            self.verify_store()
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def verify_store(self):
        """Whatever a test did to the server, its store is whole."""
        if self.expects_damage or not os.path.exists(os.path.join(self.store, "STORE")):
            return
        status, out, err = vramscope("verify", "--quiet", self.store)
        if status:
            raise RuntimeError("the store that is left behind is damaged:\n%s%s" % (out, err))

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    def memory(self, key="VmHWM"):
        """Bytes of the process: VmRSS now, VmHWM at most so far."""
        with open("/proc/%d/status" % self.pid) as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
        return 0

    def request(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, query=None, **more):
        return self.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""), **more)

    def ingest(self, name, body, headers=None, **query):
        """POST /ingest."""
        query = dict({"name": name}, **{k: str(v) for k, v in query.items()})
        return self.request("POST", "/ingest?" + urllib.parse.urlencode(query), body, headers)

    def rpc(self, method, message, service="querier.v1.QuerierService", headers=None):
        """A Connect call in JSON."""
        headers = dict({"Content-Type": "application/json"}, **(headers or {}))
        return self.request("POST", "/%s/%s" % (service, method), json.dumps(message).encode(), headers)

    def push(self, *series, headers=None):
        """Each series is (labels, [pprof bytes or (pprof bytes, id)])."""
        message = {"series": [{
            "labels": [{"name": k, "value": v} for k, v in (labels.items() if isinstance(labels, dict) else labels)],
            "samples": [{"rawProfile": as_base64(s if isinstance(s, bytes) else s[0]), "ID": "" if isinstance(s, bytes) else s[1]}
                        for s in samples]} for labels, samples in series]}
        body = cases.Proto.encode(message, "PushRequest")
        headers = dict({"Content-Type": "application/proto"}, **(headers or {}))
        return self.request("POST", "/push.v1.PusherService/Push", body, headers)

    def keep(self, *series, headers=None):
        """Pushes what has to be there for a test."""
        answer = self.push(*series, headers=headers)
        if answer.status != 200:
            raise AssertionError("%r" % answer)

    def metric(self, name):
        """The value of a family without labels."""
        return float(re.search(r"^%s (\S+)$" % name, self.get("/metrics").text, re.M)[1])

    def totals(self, profile_type, selector, start_ms, end_ms, headers=None):
        """{function path: self value} of a merge, root first and joined by ';'."""
        answer = self.rpc("SelectMergeStacktraces", {
            "profileTypeID": profile_type, "labelSelector": selector, "start": start_ms, "end": end_ms, "maxNodes": 65536},
            headers=headers)
        if answer.status != 200:
            raise AssertionError("%r" % answer)
        return folded(answer.json.get("flamegraph", {}))


def as_base64(data):
    return base64.b64encode(data).decode()


def pprof(samples, **spec):
    """The bytes of a profile: samples are {"a;b": value} or rows as conformance/README.md says."""
    if isinstance(samples, dict):
        samples = [{"stack": stack, "values": [value]} for stack, value in samples.items()]
    return cases.Pprof(dict({"samples": samples}, **spec)).bytes


def folded(flame):
    """A flame graph's levels -> {stack: self value}; 'total' is left out."""
    names, rows, above = flame.get("names", []), {}, None
    for level in flame.get("levels", []):
        values, x, row, parent = [int(v) for v in level.get("values", [])], 0, [], 0
        for i in range(0, len(values), 4):
            x += values[i]
            begin, x = x, x + values[i + 1]
            path = ()
            if above is not None:
                while not (above[parent][0] <= begin and x <= above[parent][1]):
                    parent += 1
                path = above[parent][2] + (names[values[i + 3]],)
            row.append((begin, x, path))
            if values[i + 2] and path:
                rows[";".join(path)] = rows.get(";".join(path), 0) + values[i + 2]
        above = row
    return rows


def vramscope(*arguments, stdin=None, environment=None, timeout=120):
    """Runs a sub-command; gives its exit status, standard output and standard error."""
    merged = dict(os.environ, **(environment or {}))
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, env=merged, timeout=timeout, check=False)
    return done.returncode, done.stdout.decode("utf-8", "backslashreplace"), done.stderr.decode("utf-8", "backslashreplace")


def main():
    """Runs the test cases of the calling file and ends with the line that the totals are made of."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    if len(sys.argv) > 1:
        suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:], sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    for test, reason in result.skipped:
        print("skipped: %s: %s" % (test.id().removeprefix("__main__."), reason))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = max(0, result.testsRun - failed - len(result.skipped))
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(result.skipped)))
    sys.exit(1 if failed else SKIPPED if not passed else 0)


def main_alone():
    """The same where no process of others is: what a collector counts is then the test's own. Without the right to that, as main()."""
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if ALONE in os.environ or subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        main()
    sys.exit(subprocess.run([*alone, *sys.orig_argv], env=dict(os.environ, **{ALONE: "1"}), check=False).returncode)
