"""A power cut, at any moment: with -storage.sync=full everything that was answered is there; with normal nothing is damaged, and what is missing is the end.

    test_power_cut.py [CUTS]     (20)

A server writes, and what it changes on disk is recorded. The disk is then made as it might have been after a power cut at some moment
(../support/power_cut.py), and another server starts there.
"""
import os
import random
import shutil
import sys
import tempfile
import time
import unittest

import faults
import harness
import power_cut

CUTS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20
PROFILES = 900
TENANTS, DAYS = ("a", "b"), (0, 1, 2)
TYPE, SETTINGS = "memory:alloc_space:bytes::", "settings.v1.SettingsService"
OPTIONS = ("-validation.reject-older-than=0", "-auth.multitenancy-enabled=true", "-storage.max-bytes=1GiB")
SEALS = ("-storage.compact-after=0", "-storage.seal-after=0")  # days that are over, as soon as all of them is in blocks


def body(rng, number):
    """Profiles of some kilobytes, so that logs are moved while they come."""
    noise = "".join("noise;%s 1\n" % ";".join("%016x" % rng.getrandbits(64) for _ in range(4)) for _ in range(30))
    return ("found;p%d 1\n%s" % (number, noise)).encode()


@unittest.skipUnless(os.path.exists(faults.LIBRARY), "VRAMSCOPE_DISK_FAULTS names no file")
class PowerCut(unittest.TestCase):
    def record(self, sync, *options):
        """A server's life: gives the disk's trace, its folder, which is gone, and (bytes of the trace at the answer, tenant, day, number) of each profile.

        Now and then the tenant's setting becomes the number of the last profile; self.settings has (bytes of the trace, tenant, number).
        """
        rng, answered, self.settings = random.Random(1), [], []
        trace = os.path.join(self.folder, "trace")
        with faults.FaultyServer(*OPTIONS, *options, "-storage.sync=" + sync, trace=trace) as server:
            for number in range(1, PROFILES + 1):
                tenant, day = rng.choice(TENANTS), rng.choice(DAYS)
                at = int(time.time()) - day * 86400
                answer = server.ingest("cut.alloc_space", body(rng, number), {"X-Scope-OrgID": tenant}, **{"from": at, "until": at})
                self.assertEqual(answer.status, 200, answer)
                answered.append((os.path.getsize(trace), tenant, at // 86400, number))
                if number % 50 == 0:
                    answer = server.rpc("Set", {"setting": {"name": "number", "value": str(number)}}, SETTINGS, {"X-Scope-OrgID": tenant})
                    self.assertEqual(answer.status, 200, answer)
                    self.settings.append((os.path.getsize(trace), tenant, number))
            if options == SEALS:  # all but today
                harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") >= len(TENANTS) * (len(DAYS) - 1), 60, "sealed days")
            self.assertEqual(server.stop(), 0)
            shutil.copytree(server.disk, os.path.join(self.folder, "disk"))
            return trace, server.disk, answered

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vramscope-power-cut-")
        self.addCleanup(shutil.rmtree, self.folder)

    def cuts(self, sync, judge, *options):
        trace, top, answered = self.record(sync, *options)
        rng, size = random.Random(2), os.path.getsize(trace)
        at = sorted(rng.randrange(answered[0][0] // 2, size) for _ in range(CUTS))
        disk = power_cut.Disk(top)
        for end, record in power_cut.read(trace):
            disk.replay(record)
            while at and at[0] <= end:
                moment = at.pop(0)
                with self.subTest(sync=sync, byte=moment):
                    self.after_cut(disk, rng, end, answered, judge)
        disk.top = os.path.join(self.folder, "disk")
        self.assertEqual(disk.differences(), [], "the trace does not tell all that was changed")

    def after_cut(self, disk, rng, end, sent, judge):
        server, before = harness.Server(*OPTIONS), [profile for profile in sent if profile[0] <= end]
        try:
            folder = os.path.join(server.folder, "disk")
            disk.cut(rng, folder)
            server.store = os.path.join(folder, "store")
            server.start()
            found = {}
            now_ms = int(time.time() * 1000)
            for tenant in TENANTS:
                stacks = server.totals(TYPE, '{service_name="cut"}', now_ms - 6 * 86400000, now_ms + 2000, {"X-Scope-OrgID": tenant})
                rows = {int(stack.split(";")[1][1:]): value for stack, value in stacks.items() if stack.startswith("found;")}
                self.assertEqual({n: v for n, v in rows.items() if v != 1}, {}, "stored more than once")
                for number in rows:
                    found[number] = tenant
                answer = server.rpc("Get", {}, SETTINGS, {"X-Scope-OrgID": tenant})
                self.assertEqual(answer.status, 200, answer)
                number = int((answer.json.get("settings") or [{"value": "0"}])[0]["value"])
                self.assertGreaterEqual(number, max((n for at, t, n in self.settings if t == tenant and at <= end), default=0), "a setting is lost")
            self.assertEqual({n: t for n, t in found.items() if t != sent[n - 1][1]}, {}, "another tenant's")
            judge(found, before, sent)
            answer = server.ingest("cut.alloc_space", b"found;p0 1\n", {"X-Scope-OrgID": "a"})
            self.assertEqual(answer.status, 200, answer)
            self.assertNotIn("level=error", server.log_text())
            self.assertEqual(server.stop(), 0)
            self.assertEqual(faults.check_databases(server.store), [])
        finally:
            server.close()

    def test_nothing_that_was_answered_is_missing(self):
        def judge(found, before, _):
            self.assertEqual([profile for profile in before if profile[3] not in found], [])
        self.cuts("full", judge)

    def test_nor_is_it_while_days_are_sealed(self):
        def judge(found, before, _):
            self.assertEqual([profile for profile in before if profile[3] not in found], [])
        self.cuts("full", judge, *SEALS)

    def test_only_the_end_is_missing(self):
        """In each window: what is there is all that came before something that is there."""
        def judge(found, _, sent):
            for window in {profile[1:3] for profile in sent}:
                numbers = [profile[3] for profile in sent if profile[1:3] == window]
                here = [number in found for number in numbers]
                self.assertEqual(here, sorted(here, reverse=True), window)
        self.cuts("normal", judge)


if __name__ == "__main__":
    harness.main()
