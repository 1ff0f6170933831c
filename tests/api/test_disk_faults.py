"""A disk that fails: whichever system call on the store's files it is, what was answered is there, once, and the server goes on or says why not.

    test_disk_faults.py [STEP]     (1: every call; 10: every tenth)

Each scenario is run again and again; the first time its first call on the store's files fails, then its second, until all of it has passed by. The
kinds of faults are those of ../support/faults/fault_plan.h. A write that was refused is sent again, with the same bytes, when the fault is over:
whether it had been stored or not, it is there once.
"""
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest

import faults
import harness

STEP = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 1
CALLS_MAX = 5000  # of a scenario: one that has more does not end
TYPE = "memory:alloc_space:bytes::"
OPTIONS = ("-validation.reject-older-than=0", "-auth.multitenancy-enabled=true", "-storage.max-bytes=1GiB")
REFUSED = {"no_space": (500, 503, 507), "descriptors": (500, 503)}
DAY = 86400


class Tenant:
    """Profiles of one tenant, each a stack of its own: which were sent, and which were answered 200."""

    def __init__(self, name):
        self.name, self.sent, self.refused, self.answered, self.setting = name, {}, {}, set(), None

    @property
    def headers(self):
        return {"X-Scope-OrgID": self.name}

    def post(self, server, number):
        at = self.sent[number]
        return server.ingest("fault.alloc_space", b"found;p%d 1\n" % number, self.headers, **{"from": at, "until": at})

    def send(self, server, days_ago):
        number = len(self.sent) + 1
        self.sent[number] = int(time.time()) - days_ago * DAY
        answer = self.post(server, number)
        if answer.status == 200:
            self.answered.add(number)
        else:
            self.refused[number] = answer
        return answer

    def send_again(self, server):
        """What was refused; it is taken now."""
        for number in sorted(self.refused):
            self.refused[number] = self.post(server, number)
            if self.refused[number].status != 200:
                raise AssertionError("profile %d of %s is still refused: %r" % (number, self.name, self.refused[number]))
            self.answered.add(number)
        self.refused = {}

    def put_setting(self, server, value):
        answer = server.rpc("Set", {"setting": {"name": "colour", "value": value}}, "settings.v1.SettingsService", self.headers)
        if answer.status == 200:
            self.setting = value
        return answer

    def get_setting(self, server):
        answer = server.rpc("Get", {}, "settings.v1.SettingsService", self.headers)
        if answer.status != 200:
            raise AssertionError("%r" % answer)
        return {s["name"]: s["value"] for s in answer.json.get("settings", [])}.get("colour")

    def found(self, server, days=6):
        """{number: value}."""
        now_ms = int(time.time() * 1000)
        stacks = server.totals(TYPE, '{service_name="fault"}', now_ms - days * DAY * 1000, now_ms + 2000, self.headers)
        return {int(stack.split(";")[1][1:]): value for stack, value in stacks.items()}


@unittest.skipUnless(os.path.exists(faults.LIBRARY), "VRAMSCOPE_DISK_FAULTS names no file")
class Faulty(unittest.TestCase):
    def setUp(self):
        self.runs = 0

    def sweep(self, kind, run, stride=1):
        """Runs it with the n-th call failing, for every STEP-th n, until there is no such call. A scenario of many calls goes in strides."""
        n = 1
        while n < CALLS_MAX * stride:
            self.runs += 1
            try:
                if run(n) == 0:
                    break
            except Exception as e:
                raise AssertionError("%s at call %d (%s): %s" % (kind, n, self.server.faults.last_failed, e)) from e
            n += STEP * stride
        self.assertLess(n, CALLS_MAX * stride, "the scenario does not end")
        self.assertGreater(self.runs, 1, "no call of the scenario can fail so")
        print("%d runs, up to %d calls" % (self.runs, n))

    def begins(self, server):
        """Whether it serves; else it has ended with a sentence."""
        before = os.path.getsize(server.log) if os.path.exists(server.log) else 0
        try:
            server.start()
            return True
        except RuntimeError:
            with open(server.log, "rb") as log:
                said = log.read()[before:].decode()
            self.assertEqual(server.process.returncode, 1, said)
            self.assertRegex(said, r'level=error thread=main msg="[^"]{20,}"')
            return False

    def judge(self, server, tenants):
        """Everything that was answered is there once, and nothing that was not sent."""
        for tenant in tenants:
            found = tenant.found(server)
            self.assertEqual({n: v for n, v in found.items() if v != 1}, {}, "stored more than once")
            self.assertEqual(sorted(tenant.answered - set(found)), [], "%s: answered and not found" % tenant.name)
            self.assertLessEqual(set(found), set(tenant.sent))
            if tenant.setting:
                self.assertEqual(tenant.get_setting(server), tenant.setting)

    def over(self, server):
        """Ends it; its files are whole."""
        self.assertEqual(server.stop(), 0, server.log_text())
        self.assertEqual(faults.check_databases(server.disk), [], server.log_text())

    def expect(self, kind, answer):
        if answer.status != 200:
            self.assertIn(answer.status, REFUSED.get(kind, (500, 503, 507)), answer)
            self.assertGreater(len(answer.text), 20)


class Work(Faulty):
    """A server that lives on: each run has tenants of its own, whose windows it makes."""

    ROUNDS = 25  # until it is stopped, and all that it answered is read back by the next one

    def work(self, kind, tenant):
        for days_ago in (0, 1, 2, 0, 1):
            self.expect(kind, tenant.send(self.server, days_ago))
        self.expect(kind, tenant.put_setting(self.server, "red"))
        try:
            tenant.found(self.server)
        except AssertionError:
            pass  # refused, now: below it must be there
        self.expect(kind, tenant.send(self.server, 0))

    def round(self, kind, n, count):
        tenant = Tenant("t%d" % self.runs)
        self.server.faults.arm(kind, n, count)
        self.work(kind, tenant)
        failed = self.server.faults.disarm()
        self.judge(self.server, [tenant])
        tenant.send_again(self.server)
        self.judge(self.server, [tenant])
        self.assertEqual(tenant.put_setting(self.server, "blue").status, 200)
        self.tenants.append(tenant)
        if len(self.tenants) == self.ROUNDS:
            self.read_back()
        return failed

    def read_back(self):
        self.over(self.server)
        self.server.start()
        self.judge(self.server, self.tenants)
        self.tenants = []

    def all_rounds(self, kind, count):
        self.tenants = []
        with faults.FaultyServer(*OPTIONS) as self.server:
            self.sweep(kind, lambda n: self.round(kind, n, count))
            self.read_back()
            self.over(self.server)


class Begin(Faulty):
    """The start on an empty folder."""

    def run_one(self, kind, n):
        tenant = Tenant("first")
        self.server = server = faults.FaultyServer(*OPTIONS)
        try:
            server.faults.arm(kind, n)
            if self.begins(server):
                self.expect(kind, tenant.send(server, 0))
                failed = server.faults.disarm()
            else:
                failed = server.faults.disarm()
                self.assertTrue(self.begins(server))
            tenant.send_again(server)
            self.assertEqual(tenant.send(server, 0).status, 200)
            self.judge(server, [tenant])
            self.over(server)
            return failed
        finally:
            server.close()


class Again(Faulty):
    """Starts and ends of a store that a killed server left, with the logs of its windows."""

    @classmethod
    def setUpClass(cls):
        cls.tenants = [Tenant("a"), Tenant("b")]
        with faults.FaultyServer(*OPTIONS) as server:
            for tenant in cls.tenants:
                for days_ago in (0, 1, 2, 3, 0, 1, 2, 3):
                    if tenant.send(server, days_ago).status != 200:
                        raise AssertionError("a store cannot be made: " + server.log_text())
                tenant.put_setting(server, "red")
                cls.send_pairs(server, tenant)
            server.kill()
            cls.store = tempfile.mkdtemp(prefix="vramscope-store-")
            shutil.copytree(server.store, os.path.join(cls.store, "store"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.store)

    @classmethod
    def send_pairs(cls, server, tenant):
        """Profiles of two types that share their rows, five a day."""
        for days_ago in (0, 1):
            for number in range(5):
                answer = server.push(({"__name__": "memory", "service_name": "pair"}, [harness.pprof(
                    [{"stack": "pair;p%d" % number, "values": [1, 2]}], sample_types=["alloc_objects/count", "alloc_space/bytes"],
                    time_nanos=(int(time.time()) - days_ago * DAY) * 10**9 + number)]), headers=tenant.headers)
                if answer.status != 200:
                    raise AssertionError(repr(answer))

    def pairs(self, server, tenant, kind):
        now_ms = int(time.time() * 1000)
        return server.totals("memory:alloc_%s::" % kind, '{service_name="pair"}', now_ms - 6 * DAY * 1000, now_ms + 2000, tenant.headers)

    def copy(self, *options):
        """A server with the store, not started, and its tenants."""
        self.server = faults.FaultyServer(*OPTIONS, *options)
        self.addCleanup(shutil.rmtree, self.server.folder, True)
        shutil.copytree(os.path.join(self.store, "store"), self.server.store)
        tenants = []
        for tenant in self.tenants:
            copy = Tenant(tenant.name)
            copy.sent, copy.answered, copy.setting = dict(tenant.sent), set(tenant.answered), tenant.setting
            tenants.append(copy)
        return self.server, tenants

    def open_one(self, kind, n):
        server, tenants = self.copy()
        try:
            server.faults.arm(kind, n)
            if self.begins(server):
                for tenant in tenants:
                    try:
                        tenant.found(server)
                    except AssertionError:
                        pass
                    for days_ago in (0, 1):
                        self.expect(kind, tenant.send(server, days_ago))
                failed = server.faults.disarm()
            else:
                failed = server.faults.disarm()
                self.assertTrue(self.begins(server))
            self.judge(server, tenants)
            for tenant in tenants:
                tenant.send_again(server)
            self.judge(server, tenants)
            self.over(server)
            return failed
        finally:
            server.close()

    def close_one(self, kind, n):
        server, tenants = self.copy()
        try:
            server.start()
            for tenant in tenants:
                for days_ago in (0, 1, 2):
                    self.assertEqual(tenant.send(server, days_ago).status, 200)
            server.faults.arm(kind, n)
            self.assertEqual(server.stop(), 0, server.log_text())
            failed = server.faults.disarm()
            server.start()
            self.judge(server, tenants)
            self.over(server)
            return failed
        finally:
            server.close()

    def delete_one(self, kind, n):
        """One of two types that share rows goes: the other one is there, and everything else."""
        server, tenants = self.copy()
        question = json.dumps({"query": 'memory:alloc_objects:count::{service_name="pair"}', "from": "now-6d", "until": "now+1m"}).encode()

        def delete():
            return server.request("POST", "/api/v1/delete", question, dict(tenants[0].headers, **{"Content-Type": "application/json"}))
        kept = {"pair;p%d" % number: 4 for number in range(5)}
        try:
            server.start()
            server.faults.arm(kind, n)
            answer = delete()
            failed = server.faults.disarm()
            self.expect(kind, answer)
            left = self.pairs(server, tenants[0], "objects:count")
            if answer.status == 200:
                self.assertEqual(left, {})
            self.assertEqual(self.pairs(server, tenants[0], "space:bytes"), kept)
            self.judge(server, tenants)
            answer = delete()
            self.assertEqual((answer.status, answer.json["profiles"]), (200, sum(left.values())), answer)
            self.assertEqual(self.pairs(server, tenants[0], "objects:count"), {})
            self.assertEqual(self.pairs(server, tenants[1], "objects:count"), {stack: 2 for stack in kept})
            self.over(server)
            server.start()
            self.assertEqual(self.pairs(server, tenants[0], "objects:count"), {})
            self.assertEqual(self.pairs(server, tenants[0], "space:bytes"), kept)
            self.judge(server, tenants)
            self.over(server)
            return failed
        finally:
            server.close()

    def seal_one(self, kind, n):
        """The days that are over are sealed, or stay as they are; what comes late is taken either way."""
        server, tenants = self.copy("-storage.compact-after=0", "-storage.seal-after=0")
        over = 3 * len(tenants)

        def is_sealed():
            text = server.get("/metrics").text
            return int(re.search(r"^vramscope_store_sealed_windows (\d+)", text, re.M)[1]) >= over
        try:
            server.faults.arm(kind, n)
            if self.begins(server):
                harness.wait_until(lambda: server.faults.get(faults.FAILED, "Q") or is_sealed(), 120, "sealed days")
                failed = server.faults.disarm()
            else:
                failed = server.faults.disarm()
                self.assertTrue(self.begins(server))
            self.judge(server, tenants)
            for tenant in tenants:
                for days_ago in (1, 2):
                    self.assertEqual(tenant.send(server, days_ago).status, 200, server.log_text())
            self.judge(server, tenants)
            self.over(server)
            server.start()
            self.judge(server, tenants)
            self.over(server)
            return failed
        finally:
            server.close()

    def forget_one(self, kind, n):
        """Two days are too old, all at once: those within the time are there whatever happens."""
        server, tenants = self.copy()
        config = os.path.join(server.folder, "config.yaml")
        server.options.append("-config.file=" + config)
        try:
            self.set_retention(config, "0")
            server.start()
            server.faults.arm(kind, n)
            self.set_retention(config, "1d")
            self.reload(server)
            failed = server.faults.disarm()
            for tenant in tenants:
                today = int(time.time()) // DAY
                tenant.answered = {n for n, at in tenant.sent.items() if at // DAY >= today - 1}
            self.judge(server, tenants)
            self.reload(server)
            harness.wait_until(lambda: all(set(tenant.found(server)) == tenant.answered for tenant in tenants), 60, "the old days to go")
            self.over(server)
            return failed
        finally:
            server.close()

    def set_retention(self, config, age):
        with open(config + ".new", "w") as file:
            file.write("storage:\n  retention: %s\n" % age)
        os.rename(config + ".new", config)

    def reload(self, server):
        def count():
            with open(server.log) as log:
                return len(re.findall("are reloaded", log.read()))
        before = count()
        server.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: count() > before, 30, "the options to be read again")


def add_tests():
    for kind in faults.KINDS:
        def tests(kind=kind):
            yield Work, "test_%s_once" % kind, lambda self: self.all_rounds(kind, 1)
            if kind != "interrupted":  # whoever is interrupted for ever tries for ever
                yield Work, "test_%s_from_then_on" % kind, lambda self: self.all_rounds(kind, faults.FOR_EVER)
            yield Begin, "test_%s_at_the_first_start" % kind, lambda self: self.sweep(kind, lambda n: self.run_one(kind, n))
            yield Again, "test_%s_after_a_kill" % kind, lambda self: self.sweep(kind, lambda n: self.open_one(kind, n))
            yield Again, "test_%s_while_days_are_sealed" % kind, lambda self: self.sweep(kind, lambda n: self.seal_one(kind, n), 61)
            yield Again, "test_%s_while_profiles_are_deleted" % kind, lambda self: self.sweep(kind, lambda n: self.delete_one(kind, n))
            if kind != "memory":
                yield Again, "test_%s_at_the_end" % kind, lambda self: self.sweep(kind, lambda n: self.close_one(kind, n))
            if kind in ("io", "descriptors"):  # days are listed and unlinked: nothing is written, and no call of that can be interrupted
                yield Again, "test_%s_while_days_go" % kind, lambda self: self.sweep(kind, lambda n: self.forget_one(kind, n))
        for where, name, test in tests():
            setattr(where, name, test)


add_tests()

if __name__ == "__main__":
    harness.main()
