#!/usr/bin/env python3
"""h2spec, a foreign suite of cases for HTTP/2 servers, at a route that answers when a request is whole."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import harness

MODULE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

# h2spec wants what is no preface of HTTP/2 to be closed without a word. This port speaks HTTP/1.1 too, and says 400 in it.
ANSWERED_IN_HTTP1 = {"Sends invalid connection preface"}


def build(folder):
    """The program, or why there is none."""
    if not shutil.which("go"):
        raise unittest.SkipTest("there is no go")
    done = subprocess.run(["go", "install", MODULE], env=dict(os.environ, GOBIN=folder, GOFLAGS="-mod=mod"), cwd=folder, capture_output=True,
                          text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest("go cannot build h2spec: " + " ".join(done.stderr.split())[-200:])
    return os.path.join(folder, "h2spec")


class H2spec(unittest.TestCase):
    def test_all_cases_pass(self):
        with tempfile.TemporaryDirectory(prefix="vramscope-h2spec-") as folder, harness.Server() as server:
            report = os.path.join(folder, "report.xml")
            done = subprocess.run([build(folder), "-h", "127.0.0.1", "-p", str(server.port), "-P", "/metrics", "-S", "-o", "5", "-j", report],
                                  capture_output=True, text=True, timeout=300, check=False)
            cases = xml.etree.ElementTree.parse(report).getroot().findall(".//testcase")
            failed = {case.get("classname") for case in cases if case.find("failure") is not None or case.find("error") is not None}
            self.assertGreaterEqual(len(cases), 146, done.stdout)
            self.assertEqual(failed - ANSWERED_IN_HTTP1, set(), done.stdout[-5000:])
            print(re.findall(r"\d+ tests, .*", done.stdout)[-1])
            with open(server.log) as file:
                self.assertNotIn("level=error", file.read())

    def test_what_is_no_preface_is_http1(self):
        with harness.Server() as server, socket.create_connection(("127.0.0.1", server.port), 30) as raw:
            raw.sendall(b"INVALID CONNECTION PREFACE\r\n\r\n")
            data = b""
            while more := raw.recv(4096):
                data += more
            self.assertRegex(data, rb"^HTTP/1.1 400 ")


if __name__ == "__main__":
    harness.main()
