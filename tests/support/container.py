"""Containers without an engine: a root of its own (an overlay over this machine's), namespaces, and a control group with any name.

Inside, the driver's library lies where the machine has none, and is another file in each container. Needs root; `missing()` says why not.
"""
import os
import shutil
import subprocess
import tempfile
import textwrap

import harness

ID = "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
OTHER_ID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
UID = "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"
PODS = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/" % UID.replace("-", "_")
DRIVER = "/opt/driver/libcuda.so.1"  # inside

# Run in new mount and pid namespaces: BASE LOWER GROUP DRIVER FILE COMMAND... ; LOWER are folders below the container's, or nothing.
ENTER = textwrap.dedent("""\
    set -e
    base=$1 lower=$2 group=$3 stub=$4
    shift 4
    echo 0 >"$group/cgroup.procs"
    mount -t tmpfs tmpfs "$base"
    mkdir "$base/upper" "$base/work" "$base/root"
    mount -t overlay overlay -o "lowerdir=${lower:+$lower:}/,upperdir=$base/upper,workdir=$base/work" "$base/root"
    if [ -n "$stub" ]; then
        mkdir -p "$base/root/opt/driver"
        cp "$stub" "$base/root/opt/driver/libcuda.so.1"
        cp "$stub" "$base/root/opt/driver/libcuda.so.2"
    fi
    mount -t proc proc "$base/root/proc"
    mount --rbind /dev "$base/root/dev"
    cd "$base/root"
    mkdir -p outside
    pivot_root . outside
    umount -l outside
    exec "$@"
    """)


def group_root():
    """The folder of our own control group, of version 2 where there is one; None without any that can be written."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        paths = {part[1]: part[2] for part in (line.rstrip("\n").split(":", 2) for line in file)}
    for kind, name in (("cgroup2", ""), ("cgroup", "name=systemd")):
        for mount in mounts:
            dash = mount.index("-")
            if mount[dash + 1] != kind or name not in mount[dash + 3].split(",") and name:
                continue
            folder = mount[4] + paths.get(name, "/").rstrip("/")
            if os.access(folder, os.W_OK):
                return folder
    return None


def missing():
    """Why there can be no containers here; empty when there can."""
    if os.geteuid() != 0:
        return "containers need root"
    if not group_root():
        return "there is no control group that may be written"
    for tool in ("unshare", "pivot_root"):
        if not shutil.which(tool):
            return "there is no " + tool
    try:
        with Container("probe", ["true"], driver="") as container:
            status = container.process.wait(60)
            return "" if status == 0 else "no container could be made: " + container.process.stderr.read().strip()
    except OSError as problem:
        return "no container could be made: %s" % problem


class Container:
    """A process in a container whose control group has this path below ours."""

    def __init__(self, group, command, driver, lower="", environment=None):
        self.base = tempfile.mkdtemp(prefix="vramscope-container-")
        self.top = os.path.join(group_root(), "vramscope-test-%d-%s" % (os.getpid(), os.path.basename(self.base)))
        self.group = os.path.join(self.top, group)
        os.makedirs(self.group)
        # a cgroup2 file system inside of folders that threads could not share is none of this test's
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", ENTER, "sh", self.base, lower,
             self.group, driver, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, **(environment or {})))

    def pids(self):
        with open(os.path.join(self.group, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    @property
    def pid(self):
        """As this machine sees it; inside it is 1."""
        return harness.wait_until(self.pids, 60, "the container's process")[0]

    def says(self, line):
        said = self.process.stdout.readline()
        if said != line + "\n":
            raise AssertionError("%r, expected %r; %s" % (said, line, self.process.stderr.read() if not said else ""))

    def tell(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        harness.wait_until(lambda: not self.pids(), 60, "the container to end")
        folder = self.group
        while folder != os.path.dirname(self.top):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
        os.rmdir(self.base)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
