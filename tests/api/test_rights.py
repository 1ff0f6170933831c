"""`run` with fewer rights: each capability alone, no right at all, user namespaces, filters of system calls, small and closed folders.

It serves in each of these cases, says in one sentence what is missing where it cannot watch, and `doctor` says the same. The half with the port
has no capability, whoever starts it.
"""
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from test_run import Run, status_of

CAPABILITIES = "+bpf,+perfmon,+sys_ptrace,+dac_read_search"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Runs a program under a filter that lets the named system calls fail with EPERM: load the number of the call, compare, return.
FILTERED = """
import ctypes, os, struct, sys
numbers = [int(n) for n in sys.argv[1].split(",")]
code = [(0x20, 0, 0, 0)]
for number in numbers:
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 1)]
code += [(0x06, 0, 0, 0x7fff0000)]
filters = b"".join(struct.pack("HBBI", *c) for c in code)
held = ctypes.create_string_buffer(filters)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(len(code), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], sys.argv[2:])
"""
BPF, PERF_EVENT_OPEN, UNSHARE, MOUNT = 321, 298, 272, 165  # of x86-64


def filtered(*numbers):
    return [sys.executable, "-c", FILTERED, ",".join(str(n) for n in numbers)]


class Less(Run):
    """`run` behind a launcher; the program and the folders are where anybody reaches them."""

    def __init__(self, launcher, program, *options, store=None):
        super().__init__(*options, store=store)
        self.launcher, self.program = launcher, program
        os.chmod(self.folder, 0o777)


@unittest.skipUnless(os.geteuid() == 0, "needs root to have less")
class Rights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="vramscope-rights-")
        os.chmod(cls.folder, 0o755)
        cls.program = os.path.join(cls.folder, "vramscope")
        shutil.copy(harness.PROGRAM, cls.program)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def judge(self, launcher, user):
        """Starts both ways; gives whether it watches and what it warns of."""
        probe = subprocess.run([*launcher, self.program, "version"], capture_output=True, text=True, timeout=60, check=False)
        if probe.returncode != 0:
            self.skipTest("%s: %s" % (" ".join(launcher[:1]), probe.stderr.strip()))
        doctor = subprocess.run([*launcher, self.program, "doctor"], capture_output=True, text=True, timeout=120, check=False)
        self.assertIn(doctor.returncode, (0, 1), doctor.stderr)
        run = Less(launcher, self.program)
        with run:
            self.assertEqual(run.is_up(), doctor.returncode == 0, doctor.stdout + run.log_text())
            self.assertEqual(run.get("/ready").status, 200)
            self.assertEqual(run.ingest("less.alloc_space", b"a;b 1\n").status, 200)
            serving = status_of(run.pid)
            self.assertEqual(set(serving["Uid"].split()), {str(user)})
            for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                self.assertEqual(int(serving[name], 16), 0, name)
            self.assertEqual(serving["NoNewPrivs"].strip(), "1")
            self.assertEqual(run.stop(), 0)
            said = re.findall(r'level=(?:warn|error) thread=\S+ msg="(.*)"', run.log_text())
        unwatched = [line for line in said if line.startswith("GPU memory is not watched: ")]
        self.assertEqual(len(unwatched), doctor.returncode, said)
        for line in unwatched:
            self.agree(line, doctor.stdout)
        return doctor.returncode == 0, [line for line in said if line not in unwatched and "has no probes" not in line]

    def agree(self, line, doctor):
        """What it names is what `doctor` finds missing first, with the same words; the sentence is one."""
        name, found = re.search(r"\(([\w -]+): (.+?); ", line).groups()
        told = re.search(r"^  NO   (.{24}) (.*)$", doctor, re.M)
        self.assertEqual((name, found), (told[1].strip(), told[2]))
        self.assertTrue(line.endswith("; the server goes on without"), line)

    def test_nobody(self):
        self.assertEqual(self.judge(NOBODY, 65534), (False, []))

    def test_capabilities_of_another_user(self):
        _, said = self.judge([*NOBODY, "--inh-caps=" + CAPABILITIES, "--ambient-caps=" + CAPABILITIES], 65534)
        self.assertEqual(said, [])

    def test_root_of_a_container(self):
        """User 0 with the capabilities that watching takes, and no other."""
        _, said = self.judge(["setpriv", "--bounding-set=-all," + CAPABILITIES], 0)
        self.assertEqual(said, ["the half that serves stays user 0, without capabilities: CAP_CHOWN is missing"])

    def test_root_without_any(self):
        watches, said = self.judge(["setpriv", "--bounding-set=-all"], 0)
        self.assertFalse(watches)
        self.assertEqual(said, ["the half that serves stays user 0, without capabilities: CAP_CHOWN is missing"])

    def test_root_that_may_not_mount(self):
        for number, name in ((UNSHARE, "a mount namespace of our own"), (MOUNT, "make mounts our own")):
            _, said = self.judge(filtered(number), 0)
            self.assertEqual(said, ["the half that serves stays user 0, without capabilities: %s: %s" % (name, os.strerror(errno.EPERM))])

    def test_root_of_a_user_namespace(self):
        watches, said = self.judge(["unshare", "-Ur"], 0)
        self.assertFalse(watches)
        self.assertEqual(len(said), 1, said)
        self.assertIn("stays user 0, without capabilities: this user namespace has no user 65534", said[0])

    def test_filters(self):
        for number, name in ((BPF, "bpf"), (PERF_EVENT_OPEN, "perf_event_open")):
            watches, said = self.judge(filtered(number), self.serving_user())
            self.assertFalse(watches, name)
            self.assertEqual(said, [])

    def serving_user(self):
        with open("/etc/passwd") as file:
            found = re.search(r"^vramscope:[^:]*:(\d+):", file.read(), re.M)
        return int(found[1]) if found else 65534


if __name__ == "__main__":
    harness.main()
