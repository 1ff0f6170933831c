"""`vramscope doctor`: every requirement with whether it holds, as any user; the exit status says whether a required one is missing."""
import os
import re
import subprocess
import sys
import unittest

import harness

LINE = re.compile(r"^  (ok|NO|no|\? )   (.{24}) (.*)$", re.M)
RIGHTS = ("ring buffer", "task events", "self-test", "multi-uprobe links", "task storage")  # what only shows with them


def names():
    """(name, level) of each requirement, by its table."""
    with open(os.path.join(harness.ROOT, "collector/watch/requirements.def"), encoding="utf-8") as file:
        return re.findall(r'^REQUIREMENT\(\w+, "([^"]+)", (\w+),', file.read(), re.M)


class Doctor(unittest.TestCase):
    def judge(self, status, out):
        told = {name.strip(): mark for mark, name, _ in LINE.findall(out)}
        self.assertEqual(set(told), {name for name, _ in names()})
        for name, level in names():
            self.assertIn(told[name], ("ok", "NO" if level == "REQUIRED" else "no", *(["? "] if name in RIGHTS else [])), name)
        missing = [name for name, mark in told.items() if mark == "NO"]
        self.assertEqual(status, 1 if missing else 0, out)
        self.assertIn("cannot be watched" if missing else "can be watched", out.splitlines()[-1])
        return told

    def test_everything_is_told(self):
        status, out, err = harness.vramscope("doctor")
        self.assertEqual(err, "")
        self.judge(status, out)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
    def test_somebody_without_rights_is_told_what_to_do(self):
        # by a file that is open: others may not see into the folder of the build
        program = os.open(harness.PROGRAM, os.O_RDONLY)
        try:
            done = subprocess.run(
                [sys.executable, "-c", "import os, sys; fd = int(sys.argv[1]); os.setgroups([]); os.setgid(65534); os.setuid(65534); "
                 "os.execve(fd, ['vramscope', 'doctor'], dict(os.environ, ASAN_OPTIONS='detect_leaks=0'))", str(program)],
                pass_fds=[program], capture_output=True, text=True, timeout=120, check=False)
        finally:
            os.close(program)
        told = self.judge(done.returncode, done.stdout)
        self.assertEqual(told["capabilities"], "NO")
        self.assertIn("run as root, or give CAP_BPF and CAP_PERFMON", done.stdout)
        # nobody needs another kernel for want of rights
        self.assertFalse([name for name in RIGHTS if told[name] not in ("ok", "? ")], done.stdout)
        self.assertNotIn("run a newer kernel", done.stdout)

    def test_usage(self):
        self.assertEqual(harness.vramscope("doctor", "now")[0], 2)
        status, out, _ = harness.vramscope("doctor", "--help")
        self.assertEqual((status, "usage: vramscope doctor" in out), (0, True))


if __name__ == "__main__":
    harness.main()
