"""Days that are over are sealed: one file each with nothing beside it, that answers as before; what comes late, what is deleted, a kill, a backup."""
import os
import random
import shutil
import threading
import time
import unittest

import harness

TYPE = "memory:alloc_space:bytes::"
DAY_S = 86400
NOON = 1728043200  # of 2024-10-04
FIRST, SECOND = "2024-10-04.db", "2024-10-04.2.db"
SEALS = ("-storage.compact-after=0", "-storage.seal-after=0")


class Sealing(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join("/tmp", "vramscope-test-sealing-%d-%d" % (os.getpid(), time.monotonic_ns()))
        self.store = os.path.join(self.folder, "store")
        self.expected = {}
        os.mkdir(self.folder)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def server(self, *options, store=None):
        return harness.Server("-validation.reject-older-than=0", "-storage.retention=0", *options, store=store or self.store)

    def send(self, server, number, seconds):
        """A stack of its own, with its number for a value."""
        answer = server.ingest("shop.alloc_space", b"main;p%d %d\n" % (number, number), **{"from": seconds, "until": seconds})
        self.assertEqual(answer.status, 200, answer)
        self.expected["main;p%d" % number] = number

    def found(self, server, selector='{service_name="shop"}'):
        return server.totals(TYPE, selector, (NOON - DAY_S) * 1000, (NOON + 10 * DAY_S) * 1000)

    def files(self, store=None):
        folder = os.path.join(store or self.store, "tenants", "anonymous")
        return sorted(name for name in os.listdir(folder) if not name.startswith("settings"))

    def windows(self):
        return [name for name in self.files() if name.endswith(".db")]

    def sealed(self, server, count):
        harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") == count, 120, "%d sealed days" % count)

    def fill(self, numbers):
        """Two hours of a day, sealed when this ends."""
        with self.server(*SEALS[:1]) as server:
            for number in numbers:
                self.send(server, number, NOON + number % 2 * 3600)
        with self.server(*SEALS) as server:
            self.sealed(server, 1)
            self.assertEqual(self.found(server), self.expected)
            harness.wait_until(lambda: self.files() == [FIRST], 30, "nothing beside the file")

    # --- one after the other

    def test_what_comes_late_lies_beside_it_and_is_sealed_in_its_turn(self):
        self.fill(range(1, 20))
        inode = os.stat(os.path.join(self.store, "tenants", "anonymous", FIRST)).st_ino
        with self.server() as server:
            self.assertEqual(self.found(server), self.expected)
            for number in range(20, 30):
                self.send(server, number, NOON + 60)
            self.assertEqual(self.found(server), self.expected)
        self.assertEqual(self.windows(), [SECOND, FIRST])
        with self.server(*SEALS) as server:
            self.sealed(server, 2)
            self.assertEqual(self.found(server), self.expected)
        self.assertEqual(self.files(), [SECOND, FIRST])
        self.assertEqual(os.stat(os.path.join(self.store, "tenants", "anonymous", FIRST)).st_ino, inode)

    def test_a_folder_that_may_only_be_read(self):
        self.fill(range(1, 10))
        folder = os.path.join(self.store, "tenants", "anonymous")
        os.chmod(os.path.join(folder, FIRST), 0o400)
        status, out, err = harness.vramscope("query", "--store", self.store, "--from", "2024-10-04T00:00:00Z", "--to", "2024-10-05T00:00:00Z",
                                             "-q", 'memory:alloc_space:bytes::{service_name="shop"}', "-o", "folded")
        self.assertEqual(status, 0, out + err)
        self.assertEqual({line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines()}, self.expected)
        self.assertEqual(self.files(), [FIRST])

    def test_a_deletion_takes_it_out_of_its_seal(self):
        self.fill(range(1, 20))
        with self.server(*SEALS[:1]) as server:
            body = '{"query": "{service_name=\\"shop\\"}", "from": %d, "until": %d}' % (NOON * 1000 + 1800000, NOON * 1000 + 7200000)
            answer = server.request("POST", "/api/v1/delete", body.encode(), {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 200, answer)
            self.expected = {stack: n for stack, n in self.expected.items() if n % 2 == 0}
            self.assertEqual(self.found(server), self.expected)
        with self.server(*SEALS) as server:
            self.sealed(server, 1)
            self.assertEqual(self.found(server), self.expected)
        self.assertEqual(self.files(), [FIRST])

    def test_a_backup_of_sealed_days_is_restored(self):
        self.fill(range(1, 20))
        target, restored = os.path.join(self.folder, "backups"), os.path.join(self.folder, "restored")
        with self.server() as server:
            self.send(server, 30, NOON + 90)
            for _ in range(2):
                status, out, err = harness.vramscope("backup", "--store", self.store, target)
                self.assertEqual(status, 0, out + err)
        self.assertEqual(harness.vramscope("verify", "--quiet", target), (0, "", ""))
        status, out, err = harness.vramscope("restore", "--store", restored, target)
        self.assertEqual(status, 0, out + err)
        with self.server(store=restored) as server:
            self.assertEqual(self.found(server), self.expected)
            self.send(server, 31, NOON + 95)
            self.assertEqual(self.found(server), self.expected)

    def test_a_damaged_one_is_set_aside_and_the_day_begins_anew(self):
        self.fill(range(1, 20))
        path = os.path.join(self.store, "tenants", "anonymous", FIRST)
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"not a page of a database " * 200)
        server = self.server()
        server.expects_damage = True
        with server:
            self.assertEqual(server.rpc("SelectMergeStacktraces", {
                "profileTypeID": TYPE, "labelSelector": "{}", "start": NOON * 1000, "end": NOON * 1000 + 1}).status, 500)
            self.expected = {}
            self.send(server, 40, NOON)
            self.assertEqual(self.found(server), self.expected)
        self.assertIn(FIRST + ".damaged", self.files())

    # --- all at once

    def test_kills_while_days_are_sealed(self):
        """Late profiles come all the time, days are sealed all the time, and it is killed again and again."""
        rng, number = random.Random(1), 0
        with self.server(*SEALS[:1], "-storage.seal-after=200ms") as server:
            for _ in range(8):
                before = server.metric("vramscope_store_sealed_windows")
                for _ in range(rng.randint(5, 30)):
                    number += 1
                    self.send(server, number, NOON + number % 3 * DAY_S)
                if rng.random() < 0.5:
                    harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") > before, 120, "a sealed day")
                threading.Event().wait(rng.random() * 0.3)
                server.kill()
                server.start()
                self.assertEqual(self.found(server), self.expected)
            self.sealed_all(server)
            self.assertEqual(self.found(server), self.expected)
        self.assertEqual([name for name in self.files() if not name.endswith(".db")], [])

    def sealed_all(self, server):
        harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") == server.metric("vramscope_store_windows"), 120, "all days to be sealed")


if __name__ == "__main__":
    harness.main()
