"""Every example under docs/api, run in order against an empty server: an sh block, and the answer in the block behind it.

JSON answers may have more keys than the page shows; text answers are whole.
"""
import shutil
import unittest

import examples
import harness

PAGES = ("write.md", "rejects.md", "querier.md", "legacy.md", "status.md", "gpu.md", "flamegraph.md", "services.md", "delete.md")


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class DocumentedExamples(unittest.TestCase):
    def test_every_example_gives_the_answer_that_stands_behind_it(self):
        with examples.Machine() as machine:
            self.assertEqual(machine.run("vramscope server")[0], 0)
            count = 0
            for page in PAGES:
                for example in examples.of_page("docs/api/" + page):
                    if not example.kind:
                        continue
                    with self.subTest(page=page, command=example.command):
                        status, out, err = machine.run(example.command)
                        self.assertEqual(status, 0, err)
                        self.assertEqual(example.misses(out), "")
                    count += 1
            self.assertGreaterEqual(count, 10)


if __name__ == "__main__":
    harness.main()
