"""verify names each damaged thing by file, table and id, goes on, and finds nothing in a store that is whole."""
import os
import random
import shutil
import sqlite3
import tempfile
import time
import unittest

import harness

DAY = "2024-10-04"
NOON_NS = 1728043200 * 10**9
WINDOW = "tenants/anonymous/%s.db" % DAY
FRAME = [{"name": "main", "file": "a.c", "mapping": 1, "address": "0x1000"}, {"name": "work", "file": "a.c", "mapping": 1, "address": "0x1010"}]


def profile(number):
    """Two sample types, of which one is no multiple of the other: two series that share rows."""
    return harness.pprof(
        [{"stack": FRAME, "values": [number, 7]}, {"stack": FRAME[:1], "values": [2, 1000 + number]}],
        sample_types=["alloc_objects/count", "alloc_space/bytes"], time_nanos=NOON_NS + number * 10**9, duration_nanos=10**9,
        mappings=[{"start": "0x1000", "limit": "0x2000", "file": "/bin/a", "build_id": "b1"}])


def flip(blob, at=-1):
    changed = bytearray(blob)
    changed[at] ^= 0x40
    return bytes(changed)


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="vramscope-test-")
        with harness.Server("-validation.reject-older-than=0", "-storage.retention=0", store=os.path.join(cls.folder.name, "good")) as server:
            for number in range(1, 4):
                answer = server.push(({"__name__": "memory", "service_name": "shop"}, [profile(number)]))
                assert answer.status == 200, answer
            answer = server.rpc("Set", {"setting": {"name": "theme", "value": "dark"}}, service="settings.v1.SettingsService")
            assert answer.status == 200, answer
            cls.while_served = harness.vramscope("verify", server.store)
        cls.good = os.path.join(cls.folder.name, "good")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.store = os.path.join(self.folder.name, "store")
        shutil.copytree(self.good, self.store)

    def tearDown(self):
        shutil.rmtree(self.store)

    def window(self):
        return os.path.join(self.store, WINDOW)

    def sql(self, *statements):
        database = sqlite3.connect(self.window())
        try:
            for statement in statements:
                database.execute(*statement) if isinstance(statement, tuple) else database.execute(statement)
            database.commit()
        finally:
            database.close()

    def rows(self, query):
        database = sqlite3.connect(self.window())
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def verify(self, *paths):
        status, out, err = harness.vramscope("verify", "--quiet", *(paths or [self.store]))
        self.assertEqual(err, "")
        return status, out.splitlines()[:-1]  # the last line is the sum

    def finds(self, *lines):
        self.assertEqual(self.verify(), (1, list(lines)))

    def at(self, number):
        return "group 0, time %d, number 0" % (NOON_NS + number * 10**9)

    # --- what is whole

    def test_a_store_in_use_is_whole(self):
        self.assertEqual(self.while_served[0], 0, self.while_served)
        self.assertEqual(self.while_served[2], "")
        self.assertRegex(self.while_served[1], r"good: 1 window, 3 profiles, 6 rows, [0-9.]+ KiB: whole\n$")

    def test_a_store_at_rest_is_whole(self):
        self.assertEqual(harness.vramscope("verify", "--quiet", self.store), (0, "", ""))

    def test_a_window_alone_is_whole(self):
        self.assertEqual(harness.vramscope("verify", "--quiet", self.window()), (0, "", ""))

    def test_whoever_reads_for_long_holds_up_no_writes(self):
        """Past 32 MiB of log the writer waits for readers, two seconds at most; not at every commit."""
        rng = random.Random(1)
        with harness.Server("-validation.max-profile-size-bytes=0", "-validation.max-profile-stacktrace-samples=0",
                            store=os.path.join(self.folder.name, "busy")) as server:
            def send():
                """The same stacks each time, with values that do not compress: 180 KB of log."""
                body = "".join("main;s%d %d\n" % (n, rng.getrandbits(60)) for n in range(20000))
                answer = server.ingest("busy.alloc_space", body.encode())
                self.assertEqual(answer.status, 200, answer)

            send()
            window = next(os.path.join(folder, f) for folder, _, files in os.walk(server.store) for f in files if f.endswith(".db"))
            reader = sqlite3.connect("file:%s?mode=ro" % window, uri=True)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM profile").fetchone()
            while os.path.getsize(window + "-wal") < 34 * 1024 * 1024:
                send()
            begin = time.monotonic()
            for number in range(30):
                self.assertEqual(server.ingest("busy.alloc_space", b"main;n%d 1" % number).status, 200)
            self.assertLess(time.monotonic() - begin, 30)  # 60 s when each of them waits
            reader.close()

    # --- pages

    def test_each_kind_of_symbol_page(self):
        kinds = sorted({row[0] >> 32 for row in self.rows("SELECT id FROM page")})
        self.assertEqual(kinds, [1, 2, 3, 4, 5])
        for kind in kinds:
            with self.subTest(kind=kind):
                self.tearDown()
                self.setUp()
                page, body = self.rows("SELECT id, body FROM page WHERE id >> 32 = %d ORDER BY id" % kind)[0]
                self.sql(("UPDATE page SET body = ? WHERE id = ?", (flip(body), page)))
                status, lines = self.verify()
                self.assertEqual((status, len(lines)), (1, 1), lines)
                self.assertRegex(lines[0], r"^%s: page %d/%d: .*check" % (WINDOW, kind, page & 0xffffffff))

    def test_two_damaged_pages_are_both_named(self):
        pages = [self.rows("SELECT id, body FROM page WHERE id >> 32 = %d ORDER BY id" % kind)[0] for kind in (2, 5)]
        for page, body in pages:
            self.sql(("UPDATE page SET body = ? WHERE id = ?", (flip(body), page)))
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertEqual([line.split(": ")[1] for line in lines], ["page %d/%d" % (p >> 32, p & 0xffffffff) for p, _ in pages])

    def test_a_missing_page(self):
        page, count = self.rows("SELECT id, count FROM page WHERE id >> 32 = 1 ORDER BY id")[0]
        self.sql("DELETE FROM page WHERE id = %d" % page)
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertTrue(any("page 2/0" in line for line in lines), lines)  # its functions have no names
        self.assertGreater(count, 0)

    def test_a_page_that_counts_wrong(self):
        self.sql("UPDATE page SET count = count + 1 WHERE id >> 32 = 5")
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertRegex(lines[0], r"^%s: page 5/1: page 5/1 of \d+ entries is damaged$" % WINDOW)

    def test_a_page_of_no_known_kind(self):
        self.sql("INSERT INTO page SELECT 9 << 32, count, body FROM page LIMIT 1")
        self.finds("%s: page %d: is of no kind that is known" % (WINDOW, 9 << 32))

    # --- series

    def test_series(self):
        (labels,), = self.rows("SELECT labels FROM series WHERE id = 1")
        self.sql(("UPDATE series SET labels = ? WHERE id = 1", (labels[:-1],)))
        self.finds("%s: series 1: series of %d bytes is damaged" % (WINDOW, len(labels) - 1))

    def test_a_missing_series(self):
        self.sql("DELETE FROM series WHERE id = 0")
        self.finds("%s: series 1: 1 before it are missing" % WINDOW)

    def test_equal_series(self):
        self.sql("INSERT INTO series SELECT max(id) + 1, (SELECT labels FROM series WHERE id = 0) FROM series")
        self.finds("%s: series 2: is equal to an earlier one" % WINDOW)

    def test_a_group_of_a_series_that_is_not_there(self):
        self.sql("UPDATE series_group SET series = x'0005' WHERE id = 0")
        self.finds("%s: series_group 0: group of 2 bytes is damaged" % WINDOW)

    def test_a_missing_group(self):
        self.sql("DELETE FROM series_group")
        self.finds(*["%s: profile %s: its group is not there" % (WINDOW, self.at(n)) for n in (1, 2, 3)])

    # --- profiles and samples

    def test_a_body(self):
        (sample, body), = self.rows("SELECT id, body FROM sample WHERE id = 2")
        self.sql(("UPDATE sample SET body = ? WHERE id = ?", (flip(body), sample)))
        status, lines = self.verify()
        self.assertEqual((status, len(lines)), (1, 1), lines)
        self.assertRegex(lines[0], r"^%s: sample 2: .*check" % WINDOW)

    def test_totals(self):
        self.sql("UPDATE profile SET totals = x'05' || substr(totals, 2) WHERE sample = 1")  # 3 and 1008
        self.finds("%s: profile %s: the total of series 0 is 5, its samples add up to 3" % (WINDOW, self.at(1)))

    def test_totals_of_too_few_series(self):
        self.sql("UPDATE profile SET totals = substr(totals, 1, 1) WHERE sample = 1")
        self.finds("%s: profile %s: totals are not those of 2 series" % (WINDOW, self.at(1)))

    def test_missing_samples(self):
        self.sql("DELETE FROM sample WHERE id = 3")
        self.finds("%s: profile %s: its samples, 3, are missing" % (WINDOW, self.at(3)))

    def test_samples_of_nobody(self):
        self.sql("INSERT INTO sample SELECT 77, body FROM sample WHERE id = 1")
        self.finds("%s: sample 77: belongs to no profile" % WINDOW)

    def test_samples_of_two_profiles(self):
        self.sql("UPDATE profile SET sample = 1 WHERE sample = 2", "DELETE FROM sample WHERE id = 2")
        self.finds("%s: profile %s: the total of series 0 is 4, its samples add up to 3" % (WINDOW, self.at(2)),
                   "%s: profile %s: the total of series 1 is 1009, its samples add up to 1008" % (WINDOW, self.at(2)),
                   "%s: sample 1: belongs to two profiles" % WINDOW)

    def test_a_stack_that_is_not_there(self):
        self.sql("DELETE FROM page WHERE id >> 32 = 5")
        self.finds(*["%s: sample %d: names stack 2, there are 1" % (WINDOW, n) for n in (1, 2, 3)])

    def test_columns_of_a_profile(self):
        self.sql("UPDATE profile SET id = x'00', origin = x'0102' WHERE sample = 1",
                 "UPDATE profile SET time = time + 86400000000000 WHERE sample = 2", "UPDATE profile SET seq = -1 WHERE sample = 3")
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertEqual({line.split(": ", 2)[2] for line in lines},
                         {"its id has 1 bytes", "its origin has 2 bytes", "its time is of another day", "its number is negative"})

    # --- blocks

    def compact(self):
        with harness.Server("-storage.retention=0", "-storage.compact-after=1ms", store=self.store) as server:
            harness.wait_until(lambda: server.totals("memory:alloc_space:bytes::", "{}", 1728000000000, 1728086399999) and
                               self.rows("SELECT count(*) FROM profile") == [(0,)], 60, "a block")
        self.assertEqual(self.rows("SELECT family, hour, part, profiles FROM block"), [(0, 480012, 0, 3)])

    def test_each_body_of_a_block(self):
        self.compact()
        (bodies,) = self.rows("SELECT heads, sums, detail FROM block")
        for body in bodies:
            (blob,), = self.rows("SELECT body FROM block_page WHERE id = %d" % body)
            self.sql(("UPDATE block_page SET body = ? WHERE id = ?", (flip(blob), body)))
            status, lines = self.verify()
            self.assertEqual((status, len(lines)), (1, 1), lines)
            self.assertRegex(lines[0], r"^%s: block 0/480012/0: .*check" % WINDOW)
            self.sql(("UPDATE block_page SET body = ? WHERE id = ?", (blob, body)))
        self.assertEqual(self.verify()[0], 0)

    def test_a_backup_of_blocks(self):
        self.compact()
        target = os.path.join(self.store, "..", "backups")
        status, out, err = harness.vramscope("backup", "--store", self.store, target)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(harness.vramscope("verify", "--quiet", target), (0, "", ""))
        shutil.rmtree(target)

    # --- the file

    def test_meta(self):
        self.sql("UPDATE meta SET value = 19999 WHERE key = 'day'", "UPDATE meta SET value = CAST('else' AS BLOB) WHERE key = 'tenant'")
        self.finds("%s: meta day: is 19999, the file's name says 20000" % WINDOW,
                   "%s: meta tenant: is that of folder else, the file lies in anonymous" % WINDOW)

    def test_a_table_that_is_gone(self):
        self.sql("DROP TABLE sample")
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertIn("%s: profile: cannot be read to its end: %s.db: no such table: sample" % (WINDOW, DAY), lines)

    def test_a_page_of_the_database(self):
        (root,), = self.rows("SELECT rootpage FROM sqlite_master WHERE name = 'sample'")
        with open(self.window(), "r+b") as file:
            file.seek((root - 1) * 4096 + 3)  # the number of cells of that page
            file.write(b"\x07\x07")
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertTrue(any(line.startswith(WINDOW + ": sqlite: ") for line in lines), lines)

    def test_a_file_that_is_cut(self):
        with open(self.window(), "r+b") as file:
            file.truncate(5 * 4096)
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertTrue(all(line.startswith(WINDOW + ": ") for line in lines) and lines, lines)

    def test_a_file_that_is_no_database(self):
        with open(self.window(), "r+b") as file:
            file.write(b"not a database, " * 64)
        self.finds("%s: %s.db: file is not a database" % (WINDOW, DAY))

    def test_settings(self):
        with open(os.path.join(self.store, "tenants/anonymous/settings.db"), "r+b") as file:
            file.seek(4096)
            file.write(bytes(64))
        status, lines = self.verify()
        self.assertEqual(status, 1)
        self.assertTrue(lines and all(line.startswith("tenants/anonymous/settings.db: ") for line in lines), lines)

    # --- the folder

    def test_what_was_set_aside_is_told(self):
        os.rename(self.window(), self.window() + ".damaged")
        self.finds("%s.damaged: was set aside since it did not read back; it is not served" % WINDOW)

    def test_what_the_server_sets_aside_is_told(self):
        with open(self.window(), "r+b") as file:
            file.write(b"not a database, " * 64)
        with harness.Server("-storage.retention=0", store=self.store) as server:
            harness.wait_until(lambda: server.rpc("ProfileTypes", {"start": 1728000000000, "end": 1728086399999}).status != 200, 10, "damage")
            self.assertRegex(server.get("/metrics").text, r"(?m)^vramscope_store_damaged_windows_total 1$")
            self.finds("%s.damaged: was set aside since it did not read back; it is not served" % WINDOW)
            server.expects_damage = True

    def test_the_store_file(self):
        with open(os.path.join(self.store, "STORE"), "w") as file:
            file.write("something else\n")
        self.finds("STORE: %s/STORE is not what a store writes" % self.store)

    def test_what_cannot_be_checked_has_a_status_of_its_own(self):
        for path in (os.path.join(self.folder.name, "nowhere"), self.folder.name):
            status, out, err = harness.vramscope("verify", path)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(path, err)
        status, _, err = harness.vramscope("verify", "--nonsense")
        self.assertEqual(status, 2)
        self.assertIn("unknown option --nonsense", err)

    def test_several_paths_have_the_worst_status(self):
        os.rename(self.window(), self.window() + ".damaged")
        self.assertEqual(harness.vramscope("verify", self.good, self.store)[0], 1)


if __name__ == "__main__":
    harness.main()
