"""Every example under docs/api, run in order against an empty server: an sh block, and the answer in the block behind it.

JSON answers may have more keys than the page shows; text answers are whole.
"""
import json
import os
import re
import shutil
import subprocess
import unittest

import harness

PAGES = ("write.md", "rejects.md", "querier.md", "legacy.md", "status.md", "gpu.md", "flamegraph.md", "services.md", "delete.md")


def examples(page):
    """[(command, kind, answer)]"""
    with open(os.path.join(harness.ROOT, "docs/api", page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```\n+```(json|text)\n(.*?)^```$", file.read(), re.M | re.S)


def contains(got, want):
    """Objects may have more keys, everything else is equal."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and contains(got[k], v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(contains, got, want))
    return got == want


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class DocumentedExamples(unittest.TestCase):
    def test_every_example_gives_the_answer_that_stands_behind_it(self):
        with harness.Server() as server:
            count = 0
            for page in PAGES:
                for command, kind, want in examples(page):
                    done = subprocess.run(["sh", "-c", command.replace("127.0.0.1:4040", "127.0.0.1:%d" % server.port)],
                                          capture_output=True, text=True, timeout=60, check=False)
                    with self.subTest(page=page, command=command):
                        self.assertEqual(done.returncode, 0, done.stderr)
                        if kind == "json":
                            self.assertTrue(contains(json.loads(done.stdout), json.loads(want)), done.stdout)
                        else:
                            self.assertEqual(done.stdout.strip(), want.strip())
                    count += 1
            self.assertGreaterEqual(count, 10)


if __name__ == "__main__":
    harness.main()
