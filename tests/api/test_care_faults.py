"""Backups and restores on a disk that fails: whichever system call it is, there is a whole one or none, and the next run brings it.

    test_care_faults.py [STEP]     (1: every call; 10: every tenth)
"""
import os
import re
import shutil
import tempfile
import unittest

import faults
import harness
import test_disk_faults as disk

NAME = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


class Care(disk.Faulty):
    @classmethod
    def setUpClass(cls):
        cls.tenants, cls.folder = [disk.Tenant("a"), disk.Tenant("b")], tempfile.mkdtemp(prefix="vramscope-care-")
        cls.store, cls.backups = os.path.join(cls.folder, "store"), os.path.join(cls.folder, "backups")
        with harness.Server(*disk.OPTIONS, store=cls.store) as server:
            for tenant in cls.tenants:
                for days_ago in (0, 1, 0, 1):
                    if tenant.send(server, days_ago).status != 200:
                        raise AssertionError("a store cannot be made: " + server.log_text())
                tenant.put_setting(server, "red")
        status, out, err = harness.vramscope("backup", "--quiet", "--store", cls.store, cls.backups)
        if status:
            raise AssertionError(out + err)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def command(self, *arguments):
        """Under whatever goes wrong: gives its status, and there is a sentence unless that is 0."""
        status, out, err = harness.vramscope(*arguments, environment=self.server.environment)
        self.assertIn(status, (0, 1), err)
        if status:
            self.assertRegex(out + err, r"\S[^\n]{20,}")
        return status

    def works(self, *arguments):
        status, out, err = harness.vramscope(*arguments)
        self.assertEqual(status, 0, out + err)

    def named(self, target):
        return sorted(name for name in os.listdir(target) if NAME.fullmatch(name)) if os.path.exists(target) else []

    def backup_one(self, kind, n):
        self.server = server = faults.FaultyServer()
        target = os.path.join(server.disk, "backups")
        try:
            shutil.copytree(self.store, server.store)
            server.faults.arm(kind, n)
            status = self.command("backup", "--quiet", "--store", server.store, target)
            failed = server.faults.disarm()
            if status == 0:
                self.assertEqual(len(self.named(target)), 1)
            for name in self.named(target):
                self.works("verify", "--quiet", os.path.join(target, name))
            self.works("backup", "--quiet", "--store", server.store, target)
            self.works("verify", "--quiet", os.path.join(target, self.named(target)[-1]))
            self.works("verify", "--quiet", server.store)
            return failed
        finally:
            shutil.rmtree(server.folder)

    def restore_one(self, kind, n):
        self.server = server = faults.FaultyServer(*disk.OPTIONS)
        try:
            server.faults.arm(kind, n)
            status = self.command("restore", "--quiet", "--store", server.store, self.backups)
            failed = server.faults.disarm()
            if status != 0:
                self.works("restore", "--quiet", "--force", "--store", server.store, self.backups)
            server.start()
            self.judge(server, self.tenants)
            self.over(server)
            return failed
        finally:
            server.close()


def add_tests():
    for kind in faults.KINDS:
        if kind == "memory":
            continue
        setattr(Care, "test_%s_while_a_backup_is_made" % kind, lambda self, kind=kind: self.sweep(kind, lambda n: self.backup_one(kind, n)))
        setattr(Care, "test_%s_while_one_is_restored" % kind, lambda self, kind=kind: self.sweep(kind, lambda n: self.restore_one(kind, n)))


add_tests()

if __name__ == "__main__":
    harness.main()
