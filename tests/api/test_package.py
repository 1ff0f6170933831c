"""The Debian package, installed on a minimal Debian, started as its unit says, upgraded, removed and purged.

The package is made of the build that is tested. The machine is a folder with a root of its own; nobody's services start in it.
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import harness

BUILD = os.environ.get("VRAMSCOPE_BUILD", "")
SIZE_MAX = 10 << 20
FILES = {
    "/etc/default/vramscope", "/etc/vramscope/vramscope.yaml", "/usr/bin/vramscope",
    "/usr/lib/systemd/system/vramscope.service", "/usr/lib/systemd/system/vramscope-collector.service", "/usr/lib/sysusers.d/vramscope.conf",
    "/usr/share/doc/vramscope/README.md", "/usr/share/doc/vramscope/copyright",
    "/usr/share/vramscope/grafana/datasource.yaml", "/usr/share/vramscope/grafana/dashboards/gpu-memory.json",
    "/usr/share/vramscope/grafana/dashboards/server-health.json", "/usr/share/vramscope/prometheus/vramscope.rules.yaml",
    "/usr/share/vramscope/prometheus/scrape.yaml",
}


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600, **options)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(command), done.stdout[-4000:]))
    return done.stdout


def make_package(folder):
    run("cpack", "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder)
    found = glob.glob(folder + "/vramscope_*.deb")
    assert len(found) == 1, found
    return found[0]


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "CPackConfig.cmake")), "VRAMSCOPE_BUILD names no build")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "debootstrap"):
            if not shutil.which(tool):
                raise unittest.SkipTest("there is no " + tool)
        if os.geteuid() != 0:
            raise unittest.SkipTest("a root folder of its own takes root")
        cls.folder = tempfile.mkdtemp(prefix="vramscope-package-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.package = make_package(os.path.join(cls.folder, "made"))
        cls.root = os.path.join(cls.folder, "root")
        run("debootstrap", "--variant=minbase", "bookworm", cls.root)
        for name in ("etc/apt/sources.list", "etc/apt/sources.list.d", "etc/apt/apt.conf.d", "etc/resolv.conf", "etc/ssl/certs"):
            if os.path.exists("/" + name):
                run("rm", "-rf", os.path.join(cls.root, name))
                os.makedirs(os.path.dirname(os.path.join(cls.root, name)), exist_ok=True)
                run("cp", "-aL", "/" + name, os.path.join(cls.root, name))
        shutil.copy(cls.package, os.path.join(cls.root, "vramscope.deb"))

    def inside(self, *command, **options):
        return run("unshare", "--mount", "--pid", "--fork", "--mount-proc=" + self.root + "/proc", "chroot", self.root, *command,
                   env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", PATH="/usr/sbin:/usr/bin:/sbin:/bin"), **options)

    def path(self, name):
        return self.root + name

    def start(self):
        """The unit's own command, by its own user, with a socket for what it tells its manager."""
        with open(self.path("/usr/lib/systemd/system/vramscope.service"), encoding="ascii") as file:
            line = next(line for line in file if line.startswith("ExecStart="))
        words = line.partition("=")[2].replace("$ARGS", "-server.http-listen-port=0 -server.http-port-file=/tmp/port").split()
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(self.path("/run/notify"))
        os.chmod(self.path("/run/notify"), 0o777)
        manager.settimeout(60)
        process = subprocess.Popen(["chroot", "--userspec=vramscope:vramscope", self.root, *words],
                                   env={"NOTIFY_SOCKET": "/run/notify", "PATH": "/usr/sbin:/usr/bin"}, stderr=subprocess.PIPE, text=True)
        return process, manager

    def told(self, manager, what):
        harness.wait_until(lambda: what in manager.recv(4096).decode(), 60, what)

    def test_one_life(self):
        self.assertLessEqual(os.path.getsize(self.package), SIZE_MAX)
        listed = {line.split(None, 5)[5][1:] for line in run("dpkg-deb", "-c", self.package).splitlines() if not line.startswith("d")}
        self.assertEqual(listed, FILES)
        self.assertIn("libc6 (>= ", field(self.package, "Depends"))

        self.inside("apt-get", "update", "-q")
        self.inside("apt-get", "install", "-q", "-y", "--no-install-recommends", "/vramscope.deb")
        self.assertIn("is fine", self.inside("vramscope", "config", "check", "/etc/vramscope/vramscope.yaml"))
        self.assertEqual(self.inside("stat", "-c", "%U %G %a", "/var/lib/vramscope").strip(), "vramscope vramscope 750")

        began = time.monotonic()
        process, manager = self.start()
        self.told(manager, "READY=1")
        print("%.2f s from start to ready ... " % (time.monotonic() - began), end="")
        with open(self.path("/tmp/port"), encoding="ascii") as file:
            url = "http://127.0.0.1:" + file.read().strip()
        sent = urllib.request.Request(url + "/ingest?name=shop.cpu&format=folded", b"main;work 3\n", method="POST")
        self.assertEqual(urllib.request.urlopen(sent, timeout=60).status, 200)
        process.send_signal(signal.SIGTERM)
        self.told(manager, "STOPPING=1")
        self.assertEqual(process.wait(60), 0, process.stderr.read())
        process.stderr.close()
        self.assertIn("whole", self.inside("vramscope", "verify", "/var/lib/vramscope"))

        with open(self.path("/etc/vramscope/vramscope.yaml"), "a", encoding="ascii") as file:
            file.write("log:\n  level: warn\n")
        self.inside("apt-get", "install", "-q", "-y", "--reinstall", "/vramscope.deb")
        with open(self.path("/etc/vramscope/vramscope.yaml"), encoding="ascii") as file:
            self.assertIn("\nlog:\n  level: warn\n", file.read())

        self.inside("apt-get", "remove", "-q", "-y", "vramscope")
        self.assertFalse(os.path.exists(self.path("/usr/bin/vramscope")))
        self.assertTrue(glob.glob(self.path("/var/lib/vramscope/tenants/anonymous/*.db")))
        self.inside("apt-get", "purge", "-q", "-y", "vramscope")
        left = [name for name in ("/var/lib/vramscope", "/etc/vramscope", "/etc/default/vramscope") if os.path.exists(self.path(name))]
        self.assertEqual(left, [])


if __name__ == "__main__":
    harness.main()
