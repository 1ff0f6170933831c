"""Files of a store that are cut, changed, emptied or something else: the server starts or says what is wrong, and serves the rest.

    test_damaged_files.py [ROUNDS]     (3)

What the pages of a window hold is checked when it is read (docs/formats/store.md), so nothing is served that was not sent. What of the damaged file
itself can still be read is not said: at least the answered profiles of all other files are there.
"""
import glob
import os
import random
import re
import shutil
import sys
import tempfile
import time
import unittest

import harness

ROUNDS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 3
TYPE = "memory:alloc_space:bytes::"
OPTIONS = ("-validation.reject-older-than=0", "-auth.multitenancy-enabled=true", "-storage.max-bytes=1GiB")
TENANTS, DAYS, EACH = ("a", "b"), (0, 1, 2), 12
TRIES = 4  # of a question or a write: each finds one damaged file at most


def truncate(rng, data):
    return data[:rng.randrange(len(data))]


def flip(rng, data):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def flip_the_head(rng, data):
    data[rng.randrange(min(100, len(data)))] ^= 1 << rng.randrange(8)
    return data


def clear_a_page(rng, data):
    at = rng.randrange(len(data)) & ~4095
    data[at:at + 4096] = bytes(len(data[at:at + 4096]))
    return data


def overwrite(rng, data):
    at = rng.randrange(len(data))
    noise = rng.randbytes(1 + rng.randrange(5000))
    data[at:at + len(noise)] = noise
    return data


def grow(rng, data):
    return data + rng.randbytes(1 + rng.randrange(10000))


def replace(rng, data):
    return rng.randbytes(len(data))


def empty(_rng, _data):
    return b""


DAMAGES = [truncate, flip, flip_the_head, clear_a_page, overwrite, grow, replace, empty]


class Damaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A store of two tenants with three windows each, killed: `sent` has what was answered, by tenant and day."""
        cls.sent, cls.folder, number = {}, tempfile.mkdtemp(prefix="vramscope-damaged-"), 0
        rng = random.Random(1)
        with harness.Server(*OPTIONS) as server:
            for _ in range(EACH):
                for tenant in TENANTS:
                    for day in DAYS:
                        number += 1
                        at = int(time.time()) - day * 86400
                        body = b"found;p%d 1\nnoise;%x 1\n" % (number, rng.getrandbits(2000))
                        answer = server.ingest("damage.alloc_space", body, {"X-Scope-OrgID": tenant}, **{"from": at, "until": at})
                        if answer.status != 200:
                            raise AssertionError(repr(answer))
                        cls.sent.setdefault((tenant, time.strftime("%Y-%m-%d", time.gmtime(at))), set()).add(number)
            for tenant in TENANTS:
                answer = server.rpc("Set", {"setting": {"name": "colour", "value": "red"}}, "settings.v1.SettingsService", {"X-Scope-OrgID": tenant})
                if answer.status != 200:
                    raise AssertionError(repr(answer))
            server.kill()
            shutil.copytree(server.store, os.path.join(cls.folder, "killed"))
            server.start()
            if server.stop() != 0:
                raise AssertionError(server.log_text())
            shutil.copytree(server.store, os.path.join(cls.folder, "ended"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def rounds(self, state, pattern, judge):
        """Damages one of the files each time, in every way; judge(server, tenant and day of the damaged file or None)."""
        rng = random.Random(pattern)
        for damage in DAMAGES:
            for number in range(ROUNDS):
                server = harness.Server(*OPTIONS)
                try:
                    shutil.copytree(os.path.join(self.folder, state), server.store)
                    path = rng.choice(sorted(glob.glob(os.path.join(server.store, pattern))))
                    with open(path, "rb") as file:
                        data = bytearray(file.read())
                    with open(path, "wb") as file:
                        file.write(damage(rng, data))
                    name = os.path.relpath(path, server.store)
                    with self.subTest(damage=damage.__name__, number=number, file=name):
                        found = re.fullmatch(r"tenants/(\w+)/([\d-]{10})\.db.*", name)
                        judge(server, found.groups() if found else None)
                        if server.process.poll() is None:
                            self.assertEqual(server.stop(), 0, server.log_text())
                finally:
                    if server.process and server.process.poll() is None:
                        server.kill()
                    shutil.rmtree(server.folder, ignore_errors=True)

    def found(self, server, tenant):
        """What is read in the end: the numbers found."""
        now_ms = int(time.time() * 1000)
        for _ in range(TRIES):
            answer = server.rpc("SelectMergeStacktraces", {
                "profileTypeID": TYPE, "labelSelector": '{service_name="damage"}', "start": now_ms - 6 * 86400000, "end": now_ms + 2000,
                "maxNodes": 65536}, headers={"X-Scope-OrgID": tenant})
            if answer.status == 200:
                break
            self.assertEqual(answer.status, 500, answer)
            self.assertIn(server.process.poll(), (None,), server.log_text())
        self.assertEqual(answer.status, 200, answer)
        stacks = harness.folded(answer.json.get("flamegraph", {}))
        return {int(stack.split(";")[1][1:]) for stack in stacks if stack.startswith("found;")}

    def judge_rest(self, server, damaged):
        """All windows but the damaged one are whole; nothing else is found; every day takes profiles."""
        server.start()
        for tenant in TENANTS:
            found = self.found(server, tenant)
            for (owner, day), sent in self.sent.items():
                if owner == tenant and (owner, day) != damaged:
                    self.assertLessEqual(sent, found, "%s %s" % (owner, day))
            self.assertLessEqual(found, set().union(*(sent for (owner, _), sent in self.sent.items() if owner == tenant)))
        for tenant in TENANTS:
            for day in DAYS:
                at = int(time.time()) - day * 86400
                for _ in range(TRIES):
                    answer = server.ingest("after.alloc_space", b"after;p%d 1\n" % day, {"X-Scope-OrgID": tenant}, **{"from": at, "until": at})
                    if answer.status == 200:
                        break
                self.assertEqual(answer.status, 200, answer)
        for tenant in TENANTS:
            now_ms = int(time.time() * 1000)
            after = server.totals(TYPE, '{service_name="after"}', now_ms - 6 * 86400000, now_ms + 2000, {"X-Scope-OrgID": tenant})
            self.assertEqual(after, {"after;p%d" % day: 1 for day in DAYS})

    def test_databases(self):
        self.rounds("ended", "tenants/*/????-??-??.db", self.judge_rest)

    def test_databases_with_their_logs(self):
        self.rounds("killed", "tenants/*/????-??-??.db", self.judge_rest)

    def test_logs(self):
        self.rounds("killed", "tenants/*/*.db-wal", self.judge_rest)

    def test_indexes_of_logs(self):
        """They are made anew: nothing at all is missing."""
        self.rounds("killed", "tenants/*/*.db-shm", lambda server, damaged: self.judge_rest(server, None))

    def test_settings(self):
        def judge(server, _):
            self.judge_rest(server, None)
            for tenant in TENANTS:
                answers = [server.rpc("Get", {}, "settings.v1.SettingsService", {"X-Scope-OrgID": tenant}) for _ in range(TRIES)]
                self.assertIn(answers[-1].status, (200, 500), answers[-1])
                answer = server.rpc("Set", {"setting": {"name": "shape", "value": "round"}}, "settings.v1.SettingsService", {"X-Scope-OrgID": tenant})
                self.assertEqual(answer.status, 200, answer)
        self.rounds("ended", "tenants/*/settings.db", judge)

    def test_the_lock(self):
        self.rounds("killed", "LOCK", self.judge_rest)

    def test_the_stores_own_file(self):
        """It says what a folder is and has the key of the hashes; any key will do, and nothing is served by a guess."""
        def judge(server, _):
            try:
                self.judge_rest(server, None)
            except RuntimeError:
                self.assertEqual(server.process.returncode, 1, server.log_text())
                self.assertRegex(server.log_text(), r'level=error thread=main msg="\S+/STORE (is not what a store writes|has format \d+, this program reads up to \d+)')
        self.rounds("ended", "STORE", judge)


if __name__ == "__main__":
    harness.main()
