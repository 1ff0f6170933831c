"""backup copies a store while it is written, restore brings it back: what was answered is there, a kill leaves nothing half."""
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import harness
from test_kill import Writer

TYPE = "memory:alloc_space:bytes::"
DAY_S = 86400
PAST = ("2024-10-04", 1728043200)  # a day and its noon


def ingest_at(server, name, seconds, count=1):
    body = "".join("main;%s%d %d\n" % (name, n, n + 1) for n in range(count))
    answer = server.ingest("shop.alloc_space", body.encode(), **{"from": seconds, "until": seconds})
    assert answer.status == 200, answer


def names(target):
    """Whole backups, the oldest first."""
    return sorted(n for n in os.listdir(target) if not n.startswith(".") and os.path.exists(os.path.join(target, n, "BACKUP")))


class Backup(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="vramscope-test-")
        self.folder = self.temporary.name
        self.store, self.target = os.path.join(self.folder, "store"), os.path.join(self.folder, "backups")

    def tearDown(self):
        self.temporary.cleanup()

    def server(self, *options, store=None):
        return harness.Server("-validation.reject-older-than=0", "-storage.retention=0", *options, store=store or self.store)

    def filled(self, days=1, count=5):
        with self.server() as server:
            for day in range(days):
                ingest_at(server, "day%d_" % day, PAST[1] + day * DAY_S, count)

    def backup(self, *options, status=0):
        got, out, err = harness.vramscope("backup", "--store", self.store, *options, self.target)
        self.assertEqual(got, status, out + err)
        return out + err

    def restore(self, *options, source=None, store=None, status=0):
        got, out, err = harness.vramscope("restore", "--store", store or self.store, *options, source or self.target)
        self.assertEqual(got, status, out + err)
        return out + err

    def verified(self, path, status=0):
        got, out, err = harness.vramscope("verify", "--quiet", path)
        self.assertEqual((got, err), (status, ""), out)
        return out

    def found(self, server, selector='{service_name="shop"}'):
        return server.totals(TYPE, selector, (PAST[1] - DAY_S) * 1000, int(time.time() * 1000) + 2000)

    def newest(self):
        return os.path.join(self.target, names(self.target)[-1])

    # --- while a server writes

    def test_what_was_answered_before_is_in_it_and_nothing_else(self):
        begin_ms = int(time.time() * 1000) - 10 * DAY_S * 1000  # profiles are of several days: several files
        with self.server() as server:
            writers = [Writer(server, number, 0) for number in range(4)]
            for writer in writers:
                writer.start()
            restored = []
            for _ in range(3):
                before = sum(len(w.answered) for w in writers)
                harness.wait_until(lambda: sum(len(w.answered) for w in writers) > before + 50, 60, "answers")
                answered = [set(w.answered) for w in writers]
                self.backup()
                restored.append((names(self.target)[-1], answered))
            for writer in writers:
                writer.go_on = False
            for writer in writers:
                writer.join(30)
            self.assertEqual([w.refused for w in writers], [[]] * 4)
            sent = [w.sent for w in writers]
        self.verified(self.target)
        for name, answered in restored:
            store = os.path.join(self.folder, name)
            self.restore(source=os.path.join(self.target, name), store=store)
            self.verified(store)
            with self.server(store=store) as server:
                for writer, wanted in enumerate(answered):
                    rows = self.found_of(server, writer, begin_ms)
                    self.assertEqual(sorted(wanted - set(rows)), [], "answered before the backup, and not in it")
                    self.assertEqual({n: v for n, v in rows.items() if v != 1}, {}, "more than once")
                    self.assertLessEqual(max(rows), sent[writer])

    def found_of(self, server, writer, begin_ms):
        found = server.totals(TYPE, '{service_name="kill",writer="%d"}' % writer, begin_ms, int(time.time() * 1000) + 2000)
        return {int(stack.split(";")[1][1:]): value for stack, value in found.items()}

    def test_a_restored_store_answers_as_the_other_one(self):
        with self.server() as server:
            for day in range(3):
                ingest_at(server, "day%d_" % day, PAST[1] + day * DAY_S, 20)
            self.assertEqual(server.rpc("Set", {"setting": {"name": "theme", "value": "dark"}},
                                        service="settings.v1.SettingsService").status, 200)
            wanted = self.found(server)
            self.assertEqual(len(wanted), 60)
            self.backup()
        other = os.path.join(self.folder, "other")
        self.restore(store=other)
        with self.server(store=other) as server:
            self.assertEqual(self.found(server), wanted)
            settings = server.rpc("Get", {}, service="settings.v1.SettingsService").json
            self.assertEqual([(s["name"], s["value"]) for s in settings["settings"]], [("theme", "dark")])
            ingest_at(server, "later", PAST[1])  # and goes on
            self.assertEqual(len(self.found(server)), 61)

    def test_a_backup_can_be_asked_and_not_written(self):
        self.filled()
        self.backup()
        status, out, err = harness.vramscope("query", "-q", TYPE + "{}", "--from", "2024-10-04", "--to", "2024-10-05", "--store", self.newest(),
                                             "-o", "folded")
        self.assertEqual((status, sorted(out.split("\n"))[-1]), (0, "main;day0_4 5"), err)
        self.assertEqual(sorted(os.listdir(os.path.join(self.newest(), "tenants/anonymous"))), ["2024-10-04.db"])  # nothing is left beside it
        server = self.server(store=self.newest())
        self.assertRaisesRegex(RuntimeError, "is a backup: vramscope restore makes a store of it", server.start)
        server.process.wait(10)

    @unittest.skipUnless(shutil.which("xxh128sum"), "xxh128sum is not installed")
    def test_hashes_are_those_of_another_program(self):
        self.filled(days=2)
        self.backup()
        with open(os.path.join(self.newest(), "BACKUP")) as file:
            lines = [line.split() for line in file if line.startswith("file ")]
        self.assertEqual([line[4] for line in lines], ["tenants/anonymous/2024-10-0%d.db" % d for d in (4, 5)])
        for _, size, digest, _, name in lines:
            path = os.path.join(self.newest(), name)
            said = subprocess.run(["xxh128sum", path], capture_output=True, text=True, check=True).stdout
            self.assertEqual((digest, int(size)), (said.split()[0], os.path.getsize(path)))

    # --- again and again

    def test_what_did_not_change_is_linked(self):
        self.filled(days=3)
        # a file that was changed just now is copied again: its next change might not show
        harness.wait_until(lambda: "unchanged and linked: 3," in self.backup(), 30, "stamps to be of some age")
        before, after = names(self.target)[-2:]
        for day in range(3):
            file = "tenants/anonymous/2024-10-0%d.db" % (4 + day)
            self.assertEqual(os.stat(os.path.join(self.target, before, file)).st_ino, os.stat(os.path.join(self.target, after, file)).st_ino)
        with self.server() as server:
            ingest_at(server, "more", PAST[1] + DAY_S)
            out = self.backup()
        self.assertIn("3 files", out)
        self.assertIn("unchanged and linked: 2,", out)
        self.verified(self.target)

    def test_older_ones_go(self):
        self.filled()
        for _ in range(3):
            self.backup()
        self.assertEqual(len(names(self.target)), 3)
        kept = names(self.target)[1:]
        self.assertIn("2 older removed", self.backup("--keep", "2"))
        self.assertEqual(names(self.target)[:-1], kept[1:])
        self.assertEqual([n for n in os.listdir(self.target) if n.startswith(".")], [])

    def test_nothing_old_goes_while_something_is_damaged(self):
        self.filled()
        self.backup()
        with open(os.path.join(self.store, "tenants/anonymous/2024-10-04.db"), "r+b") as file:
            file.write(b"not a database, " * 64)
        out = self.backup("--keep", "1", status=1)
        self.assertIn("tenants/anonymous/2024-10-04.db: 2024-10-04.db: file is not a database", out)
        self.assertIn("no older one is removed while something is damaged", out)
        self.assertEqual(len(names(self.target)), 2)

    def test_a_copy_that_is_damaged_is_named(self):
        self.filled()
        database = sqlite3.connect(os.path.join(self.store, "tenants/anonymous/2024-10-04.db"))
        database.execute("DELETE FROM sample")
        database.commit()
        database.close()
        out = self.backup(status=1)
        self.assertIn("tenants/anonymous/2024-10-04.db: profile group 0, time 1728043200000000000, number 0: its samples, 1, are missing", out)
        self.assertEqual(len(names(self.target)), 1)
        self.backup("--no-check")

    # --- kills

    def started(self, *arguments):
        return subprocess.Popen([harness.PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_when(self, process, condition):
        """True when it was killed; False when it was faster."""
        while process.poll() is None:
            if condition():
                process.send_signal(signal.SIGKILL)
                break
        return process.wait(60) == -signal.SIGKILL

    def incoming(self):
        """Files of a backup that is being made."""
        if not os.path.isdir(self.target):
            return 0
        return sum(len(files) for name in os.listdir(self.target) if name.startswith(".incoming-")
                   for _, _, files in os.walk(os.path.join(self.target, name)))

    def test_a_killed_backup_is_none(self):
        self.filled(days=12, count=2000)
        self.backup()
        killed = 0
        for wanted in (1, 3, 6, 9, 12):
            process = self.started("backup", "--store", self.store, self.target)
            killed += self.kill_when(process, lambda: self.incoming() >= wanted)
            self.verified(self.target)
        self.assertGreater(killed, 0)
        whole = len(names(self.target))
        self.backup()
        self.assertEqual(len(names(self.target)), whole + 1)
        self.assertEqual(self.incoming(), 0)
        self.restore("--force")
        with self.server() as server:
            self.assertEqual(len(self.found(server)), 24000)

    def test_a_killed_restore_says_so(self):
        self.filled(days=12, count=2000)
        self.backup()
        other = os.path.join(self.folder, "other")

        def restoring():
            return sum(len(files) for _, _, files in os.walk(os.path.join(other, "restoring")))

        killed = 0
        for wanted in (1, 4, 8, 12):
            shutil.rmtree(other, ignore_errors=True)
            process = self.started("restore", "--store", other, self.target)
            if not self.kill_when(process, lambda: restoring() >= wanted):
                continue
            killed += 1
            server = self.server(store=other)
            self.assertRaisesRegex(RuntimeError, "a restore into .* is not finished", server.start)
            self.assertEqual(harness.vramscope("verify", other)[0], 2)
            self.restore(store=other)
            self.verified(other)
        self.assertGreater(killed, 0)
        with self.server(store=other) as server:
            self.assertEqual(len(self.found(server)), 24000)
        self.assertEqual([n for n in os.listdir(other) if n not in ("LOCK", "STORE", "tenants")], [])

    # --- restore

    def test_a_folder_in_use_is_refused(self):
        with self.server() as server:
            ingest_at(server, "a", PAST[1])
            self.backup()
            for options in ((), ("--force",), ("--window", "anonymous/2024-10-04")):
                self.assertIn("is in use by another process, pid %d" % server.pid if options else "is not empty",
                              self.restore(*options, status=1))

    def test_a_folder_with_something_in_it_is_refused(self):
        self.filled()
        self.backup()
        os.makedirs(os.path.join(self.folder, "full"))
        with open(os.path.join(self.folder, "full", "mine"), "w") as file:
            file.write("mine")
        self.assertIn("is not empty: --force replaces what is there", self.restore(store=os.path.join(self.folder, "full"), status=1))
        self.assertEqual(os.listdir(os.path.join(self.folder, "full")), ["mine"])
        self.restore("--force", store=os.path.join(self.folder, "full"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "full"))), ["LOCK", "STORE", "mine", "tenants"])

    def test_force_replaces_a_store(self):
        self.filled()
        self.backup()
        with self.server() as server:
            ingest_at(server, "newer", PAST[1])
            ingest_at(server, "newest", PAST[1] + DAY_S)
            self.assertEqual(len(self.found(server)), 7)
        self.restore("--force")
        with self.server() as server:
            self.assertEqual(len(self.found(server)), 5)
        self.verified(self.store)

    def test_a_damaged_backup_leaves_the_folder_as_it_was(self):
        self.filled(days=2)
        self.backup()
        file = os.path.join(self.newest(), "tenants/anonymous/2024-10-05.db")
        os.chmod(file, 0o640)
        with open(file, "r+b") as copy:
            copy.seek(5000)
            byte = copy.read(1)
            copy.seek(5000)
            copy.write(bytes([byte[0] ^ 1]))
        self.assertIn("is not what was backed up: its hash differs", self.verified(self.target, status=1))
        other = os.path.join(self.folder, "other")
        self.assertIn("tenants/anonymous/2024-10-05.db of the backup is not what was backed up", self.restore(store=other, status=1))
        self.assertEqual(os.listdir(other), ["LOCK"])
        self.restore("--force", status=1)
        with self.server() as server:
            self.assertEqual(len(self.found(server)), 10)

    def test_a_backup_that_lacks_something_is_named(self):
        self.filled(days=2)
        self.backup()
        os.unlink(os.path.join(self.newest(), "tenants/anonymous/2024-10-05.db"))
        self.assertIn("/tenants/anonymous/2024-10-05.db: is missing", self.verified(self.target, status=1))
        with open(os.path.join(self.newest(), "BACKUP"), "r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace(b"2024-10-04", b"2024-10-14"))
        self.assertIn("/BACKUP: is not what a backup writes", self.verified(self.target, status=1).replace(self.newest() + "/BACKUP: ", ""))

    # --- one window

    def test_a_window_that_was_set_aside_comes_back(self):
        self.filled(days=2)
        self.backup()
        window = os.path.join(self.store, "tenants/anonymous/2024-10-04.db")
        with open(window, "r+b") as file:
            file.write(b"not a database, " * 64)
        with self.server() as server:
            harness.wait_until(lambda: os.path.exists(window + ".damaged") or not server.rpc(
                "ProfileTypes", {"start": PAST[1] * 1000, "end": (PAST[1] + 1) * 1000}), 10, "it to be set aside")
            self.assertEqual(len(self.found(server)), 5)
            ingest_at(server, "anew", PAST[1])  # the day begins anew
            server.expects_damage = True
        refused = self.restore("--window", "anonymous/2024-10-04", status=1)
        self.assertIn("tenants/anonymous/2024-10-04.db is there already: --force puts it beside that one", refused)
        self.assertIn("2024-10-04.2.db now", self.restore("--window", "anonymous/2024-10-04", "--force"))
        with self.server() as server:
            self.assertEqual(len(self.found(server)), 11)
            server.expects_damage = True
        self.assertIn("2024-10-04.db.damaged: was set aside", self.verified(self.store, status=1))
        os.unlink(window + ".damaged")
        self.verified(self.store)

    def test_a_window_takes_the_name_that_it_had(self):
        self.filled(days=2)
        self.backup()
        os.unlink(os.path.join(self.store, "tenants/anonymous/2024-10-05.db"))
        self.assertIn("/tenants/anonymous/2024-10-05.db now", self.restore("--window", "tenants/anonymous/2024-10-05.db"))
        with self.server() as server:
            self.assertEqual(len(self.found(server)), 10)

    # --- wrong input

    def test_wrong_targets(self):
        self.filled()
        for target, said in ((self.store, "is a store, not a folder for backups"), (self.folder, "is not empty and holds no backups")):
            status, _, err = harness.vramscope("backup", "--store", self.store, target)
            self.assertEqual(status, 1)
            self.assertIn(said, err)
        self.backup()
        other = os.path.join(self.folder, "other")
        with self.server(store=other):
            pass
        status, _, err = harness.vramscope("backup", "--store", other, self.target)
        self.assertEqual(status, 1)
        self.assertIn("holds backups of another store", err)

    def test_wrong_sources(self):
        self.filled()
        self.backup()
        for command, arguments, status, said in (
                ("backup", [], 2, "which TARGET?"), ("backup", ["a", "b"], 2, "one TARGET only"), ("restore", [], 2, "which SOURCE?"),
                ("backup", ["--keep", "0", self.target], 2, "--keep keeps one backup at least"),
                ("backup", ["--keep", "x", self.target], 2, "'x' is no count"),
                ("backup", ["--store", os.path.join(self.folder, "nowhere"), self.target], 1, "holds no store"),
                ("restore", ["--store", os.path.join(self.folder, "new"), os.path.join(self.folder, "nowhere")], 1, "nowhere"),
                ("restore", ["--store", os.path.join(self.folder, "new"), self.store], 1, "holds no backup that is whole"),
                ("restore", ["--store", self.store, "--window", "anonymous/1999-01-01", self.target], 1, "has no window anonymous/1999-01-01"),
                ("restore", ["--store", os.path.join(self.folder, "new"), "--window", "a/2024-10-04", self.target], 1, "holds no store")):
            with self.subTest(arguments=arguments):
                got, out, err = harness.vramscope(command, *arguments)
                self.assertEqual(got, status, out + err)
                self.assertIn(said, err)

    def test_one_backup_at_a_time(self):
        self.filled()
        self.backup()
        holder = subprocess.Popen(["flock", os.path.join(self.target, "BACKUPS"), "cat"], stdin=subprocess.PIPE)
        try:
            harness.wait_until(lambda: subprocess.run(["flock", "-n", os.path.join(self.target, "BACKUPS"), "true"], check=False).returncode, 10, "the lock")
            self.assertIn("another backup into %s is under way" % self.target, self.backup(status=1))
        finally:
            holder.stdin.close()
            holder.wait(10)

    def test_a_small_disk_leaves_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("a small disk cannot be mounted without root")
        self.filled(days=4, count=3000)
        os.makedirs(self.target)
        for size in range(32, 112, 16):  # it is full in each of the steps
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % size, "none", self.target], capture_output=True, check=False).returncode:
                self.skipTest("a small disk cannot be mounted")
            try:
                self.assertIn("full", self.backup(status=1))
                self.assertEqual(os.listdir(self.target), ["BACKUPS"])
            finally:
                subprocess.run(["umount", "-l", self.target], check=False)


if __name__ == "__main__":
    harness.main()
