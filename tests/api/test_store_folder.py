"""Folders that a store cannot be in: used by another server, read-only, on a network. Each is said in a sentence, and whoever is there goes on."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import faults
import harness

TYPE = "memory:alloc_space:bytes::"
NETWORKS = {"NFS": 0x6969, "CIFS": 0xff534d42, "SMB2": 0xfe534d42, "FUSE": 0x65735546, "9p": 0x01021997, "Ceph": 0x00c36400, "Lustre": 0x0bd00bd0}
EXT4 = 0xef53


class StoreFolder(unittest.TestCase):
    def refused(self, server, said):
        """It ends with 1 and one line, which says so."""
        try:
            with self.assertRaises(RuntimeError):
                server.start()
            self.assertEqual(server.process.returncode, 1, server.log_text())
            self.assertRegex(server.log_text(), r'level=error thread=main msg="[^\n]*' + said)
            self.assertEqual(server.log_text().count("level=error"), 1, server.log_text())
        finally:
            server.process = None
            server.close()

    def found(self, server):
        now_ms = int(time.time() * 1000)
        return set(server.totals(TYPE, '{service_name="folder"}', now_ms - 600000, now_ms + 2000))

    def send(self, server, name):
        self.assertEqual(server.ingest("folder.alloc_space", b"%s 1\n" % name.encode()).status, 200)

    def test_the_second_of_two_servers_is_refused(self):
        with harness.Server() as first:
            self.send(first, "one")
            self.refused(harness.Server(store=first.store), "is in use by another process, pid %d" % first.pid)
            self.send(first, "two")
            self.assertEqual(self.found(first), {"one", "two"})

    def test_whoever_was_killed_holds_no_folder(self):
        with harness.Server() as first:
            self.send(first, "one")
            first.kill()
            with harness.Server(store=first.store) as second:
                self.assertEqual(self.found(second), {"one"})
                self.refused(harness.Server(store=first.store), "is in use by another process, pid %d" % second.pid)

    def test_of_ten_that_start_at_once_one_serves(self):
        folder = tempfile.mkdtemp(prefix="vramscope-one-of-ten-")
        self.addCleanup(shutil.rmtree, folder)
        processes = [subprocess.Popen(
            [harness.PROGRAM, "server", "-server.http-listen-port=0", "-server.http-port-file=%s/port%d" % (folder, n), "-storage.path=%s/store" % folder],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) for n in range(10)]
        try:
            harness.wait_until(lambda: sum(p.poll() is not None for p in processes) == 9, 120, "nine of them to end")
            self.assertEqual(sorted(p.poll() for p in processes if p.poll() is not None), [1] * 9)
            for process in processes:
                if process.poll() is not None:
                    self.assertIn(b"is in use by another process", process.stderr.read())
        finally:
            for process in processes:
                process.terminate()
                process.wait(60)
                process.stderr.close()

    def test_a_disk_that_is_read_only(self):
        mount = tempfile.mkdtemp(prefix="vramscope-read-only-")
        self.addCleanup(os.rmdir, mount)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "none", mount], capture_output=True, check=False).returncode:
            self.skipTest("a disk cannot be mounted without root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=False)
        store = os.path.join(mount, "store")
        with harness.Server(store=store) as server:
            self.send(server, "one")
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        self.refused(harness.Server(store=store), "cannot be written|Read-only file system")
        self.refused(harness.Server(store=store + "2"), "cannot be made: Read-only file system")

    def test_a_disk_that_becomes_read_only(self):
        """As disks with errors do: reads go on, writes are refused, and taken again when they can be."""
        mount = tempfile.mkdtemp(prefix="vramscope-read-only-")
        self.addCleanup(os.rmdir, mount)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "none", mount], capture_output=True, check=False).returncode:
            self.skipTest("a disk cannot be mounted without root")
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=False)
        below = os.path.join(mount, "below")
        os.mkdir(below)
        subprocess.run(["mount", "--bind", below, below], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", below], check=False)
        with harness.Server(store=os.path.join(below, "store")) as server:
            self.send(server, "one")
            # a bind mount may become read-only under those who have files open
            subprocess.run(["mount", "-o", "remount,ro,bind", below], check=False, capture_output=True)
            old = int(time.time()) - 1800
            answer = server.ingest("folder.alloc_space", b"two 1\n", **{"from": old, "until": old})
            self.assertIn(answer.status, (200, 500), answer)
            self.assertLessEqual({"one"}, self.found(server))
            subprocess.run(["mount", "-o", "remount,rw,bind", below], check=False, capture_output=True)
            harness.wait_until(lambda: server.ingest("folder.alloc_space", b"three 1\n").status == 200, 30, "writes to be taken again")
            self.assertLessEqual({"one", "three"}, self.found(server))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
    def test_a_folder_of_somebody_else(self):
        folder = tempfile.mkdtemp(prefix="vramscope-others-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "vramscope")
        shutil.copy(harness.PROGRAM, program)
        server = harness.Server(store=os.path.join(folder, "store"))
        os.mkdir(server.store, 0o755)
        os.chmod(server.folder, 0o777)
        server.program, server.launcher = program, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.refused(server, r"store folder \S+ \(uid 0, gid 0, mode 0755\) cannot be written by uid 65534, gid 65534")

    @unittest.skipUnless(os.path.exists(faults.LIBRARY), "VRAMSCOPE_DISK_FAULTS names no file")
    def test_file_systems_of_a_network(self):
        for name, magic in NETWORKS.items():
            server = faults.FaultyServer()
            server.faults.file_system(magic)
            self.refused(server, "store folder %s is on %s: a store needs a local disk" % (server.store, name))
        with faults.FaultyServer("-storage.allow-network-fs=true") as server:
            server.stop()
            server.faults.file_system(NETWORKS["NFS"])
            server.start()
            self.send(server, "asked for")
        server = faults.FaultyServer()
        server.faults.file_system(EXT4)
        with server:
            self.send(server, "local")


if __name__ == "__main__":
    harness.main()
