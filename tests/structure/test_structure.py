#!/usr/bin/env python3
"""Every rule of structure.py fails on a tree that breaks it, and a tree that breaks none passes."""
import os
import subprocess
import tempfile
import unittest

import structure

GOOD = {
    "base/README.md": "# base/\n",
    "base/hash.h": "#include <xxhash.h>\n",
    "base/json.c": '#include "base/json.h"\n#include <jansson.h>\n',
    "profile/README.md": "# profile/\n",
    "profile/label.c": '#include "profile/label.h"\n#include "base/str.h"\n',
    "storage/README.md": "# storage/\n",
    "storage/page.c": '#include <sqlite3.h>\n#include "profile/label.h"\n',
    "proto/README.md": "# proto/\n",
    "proto/a.proto": "message A {\n  bytes name = 1; // a string on the wire\n  repeated bytes names = 2;\n}\n",
    "server/README.md": "# server/\n",
    "server/query/README.md": "# server/query/\n",
    "server/main.c": '#include <microhttpd.h>\n#include "storage/store.h"\n#include "types.pb-c.h"\n',
    "run.sh": 'cd "$here/work/out"\n',
    "web/README.md": "# web/\n",
    "web/src/app.tsx": "\n" * 500,
    "tests/api/CMakeLists.txt": "add_driver_test(api/a api ${here}/test_a.py)\n",
    "tests/api/test_a.py": "\n",
    "tests/unit/base/CMakeLists.txt": "add_unit_test(a base)\nadd_unit_test(bc base)\n",
    "tests/unit/base/test_a.c": "\n",
    "tests/README.md": "# tests/\n",
    "tests/clients/README.md": "| `test_bc.py` | clients |\n",
    "tests/captures/body.txt": "/work/app TODO pypi.org\n",
}

# What is added to the good tree, and what must be said of it.
BAD = [
    ("base/a.c", '#include "profile/label.h"\n', "base must not know profile/label.h"),
    ("profile/b.h", '#  include "storage/store.h"\n', "profile must not know storage/store.h"),
    ("storage/c.c", '#include "formats/folded.h"\n', "storage must not know formats/folded.h"),
    ("api/README.md", '#\n', None),
    ("server/d.c", "#include <sqlite3.h>\n", "sqlite3.h belongs in storage/"),
    ("storage/e.c", "#include <zstd.h>\n", "zstd.h belongs in base/zstd.c"),
    ("base/f.c", "#include <xxhash.h>\n", "xxhash.h belongs in base/hash.h"),
    ("profile/g.c", '#include "types.pb-c.h"\n', "types.pb-c.h belongs in proto/"),
    ("formats/h.c", "\n", "formats has no README.md"),
    ("cmake/README.md", "line\n" * 61, "cmake/README.md has 61 lines"),
    ("web/src/app.tsx", "\n" * 501, "web/src/app.tsx has 501 lines"),
    ("web/src/b.tsx", "// TODO\n", "web/src/b.tsx:1: a note about work not done"),
    ("profile/i.c", "/* see /work/notes */\n", "profile/i.c:1: a path of one machine"),
    ("run2.sh", "cp x /root/y\n", "run2.sh:1: a path of one machine"),
    ("docs/README.md", "see shared/spec/read-api.md\n", "docs/README.md:1: a path outside the project"),
    ("base/j.h", "\n/* TODO */\n", "base/j.h:2: a note about work not done"),
    ("server/k.py", "# FIXME later\n", "server/k.py:1: a note about work not done"),
    ("run3.sh", "curl https://pypi.org/simple\n", "run3.sh:1: the host of a package registry"),
    ("proto/b.proto", "message B {\n  string name = 1;\n}\n", "proto/b.proto:2: a string that is not bytes"),
    ("proto/c.proto", "  repeated string names = 1;\n", "proto/c.proto:1: a string that is not bytes"),
    ("tests/api/test_b.py", "\n", "tests/api/test_b.py: no line of tests/api/CMakeLists.txt runs it"),
    ("tests/unit/base/test_b.c", "\n", "tests/unit/base/test_b.c: no line"),
    ("server/query/a.c", '#include "server/http/exchange.h"\n', "server/query/ must not know server/http/exchange.h"),
    ("server/http/a.c", "\n", "server/http has no README.md"),
    ("server/query/json.c", "\n", "base/json.c has that name"),
    ("storage/json.c", "\n", "base/json.c has that name"),
    ("tests/clients/test_c.py", "\n", "tests/clients/test_c.py: tests/clients/README.md does not name it"),
    ("tests/clients/test_bc.py", "\n", None),
    ("storage/d.bpf.h", "\n", "storage/d.bpf.h: storage/README.md does not name it"),
    ("proto/d.proto", "  map<string, int64> m = 1;\n", "proto/d.proto:1: a string that is not bytes"),
]


def write(top, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
        with open(os.path.join(top, path), "w", encoding="utf-8") as file:
            file.write(text)


class StructureTest(unittest.TestCase):
    def problems_of(self, files):
        with tempfile.TemporaryDirectory() as top:
            write(top, files)
            return structure.problems(top)

    def test_a_good_tree_passes(self):
        self.assertEqual(self.problems_of(GOOD), [])

    def test_each_rule_can_fail(self):
        for path, text, said in BAD:
            with self.subTest(path=path):
                found = self.problems_of({**GOOD, path: text})
                if said is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(said, found[0])

    def test_only_tracked_files_count(self):
        with tempfile.TemporaryDirectory() as top:
            write(top, GOOD)
            subprocess.run(["git", "init", "-q", top], check=True)
            subprocess.run(["git", "-C", top, "add", "."], check=True)
            write(top, {"base/bad.c": "/* TODO */\n"})
            self.assertEqual(structure.problems(top), [])
            subprocess.run(["git", "-C", top, "add", "."], check=True)
            self.assertEqual(len(structure.problems(top)), 1)


if __name__ == "__main__":
    unittest.main()
