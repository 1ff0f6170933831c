"""Workloads that lie, storm or end badly, beside a neighbour that does none of that.

The neighbour allocates and frees all the time, in a Python function of its own; whatever the others do, each of its bytes is seen, by the
stack that it came from, and the collector goes on: what a new tick says is never old.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import harness

STUB = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
EMBEDDER = os.environ.get("VRAMSCOPE_EMBEDDER", "")
CHURNER = os.environ.get("VRAMSCOPE_CHURNER", "")
OTHER_PYTHON = os.environ.get("VRAMSCOPE_OTHER_PYTHON", "")

# Each begins with waiting: until the process is seen, no call counts.
BEGIN = """
import ctypes, mmap, os, select, sys, threading, time
driver = ctypes.CDLL(sys.argv[1])
address = ctypes.c_uint64()
def allocate(size):
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    return address.value
while not select.select([sys.stdin], [], [], 0.01)[0]:
    driver.cuInit(0)  # of a real driver it takes long enough to be seen the first time
    driver.cuMemFree_v2(ctypes.c_uint64(0))
sys.stdin.readline()
"""

NEIGHBOUR = BEGIN + """
allocated = live = 0
stop = []
def neighbour():
    global allocated, live
    for i in range(10**9):
        if stop:
            return
        allocate(1000 + i % 7)
        block = allocate(5000 + i % 11)
        assert driver.cuMemFree_v2(ctypes.c_uint64(block)) == 0
        allocated += 6000 + i % 7 + i % 11
        live += 1000 + i % 7
        time.sleep(0.02)
thread = threading.Thread(target=neighbour)
thread.start()
print("begun", flush=True)
sys.stdin.readline()
stop.append(1)
thread.join()
print(allocated, live, flush=True)
sys.stdin.readline()
"""

WHOLE = r"^[^\[]*;neighbour;allocate;[^\[]*cuMemAlloc_v2$"  # its stack, with no frame that stands for others

SOME_CALLS = BEGIN + """
for _ in range(20):
    allocate(1000)
print("done", flush=True)
sys.stdin.readline()
"""

# 30,000 files of code, each of one page.
MANY_FILES = BEGIN + """
import struct
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
page = bytearray(4096)
page[:16] = b"\\x7fELF\\x02\\x01\\x01" + bytes(9)
struct.pack_into("<HHIQQQIHHHHHH", page, 16, 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
struct.pack_into("<IIQQQQQQ", page, 64, 1, 5, 0, 0, 0, 4096, 4096, 4096)
for i in range(30000):
    file = os.memfd_create("code%d" % i)
    os.write(file, page)
    if libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file, 0) == ctypes.c_size_t(-1).value:
        break
    os.close(file)
for _ in range(20):
    allocate(1000)
print("done", flush=True)
sys.stdin.readline()
"""

# A name file that is no file, and calls from code made at run time that would be looked up in it.
PERF_MAP = BEGIN + """
path = "/tmp/perf-%d.map" % os.getpid()
kind = sys.argv[2]
if kind == "fifo":
    os.mkfifo(path)
elif kind == "device":
    os.symlink("/dev/zero", path)
elif kind == "loop":
    os.symlink(path, path)
elif kind == "folder":
    os.mkdir(path)
elif kind == "sparse":
    with open(path, "w") as file:
        file.truncate(1 << 30)
elif kind == "lines":
    with open(path, "w") as file:
        for i in range(1 << 19):
            file.write("%x 10 name_of_a_function_that_is_not_there_%d\\n" % (0x7f0000000000 + 16 * i, i))
made = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
entry = ctypes.cast(driver.cuMemAlloc_v2, ctypes.c_void_p).value
made.write(b"\\x48\\x83\\xec\\x08\\x48\\xb8" + entry.to_bytes(8, "little") + b"\\xff\\xd0\\x48\\x83\\xc4\\x08\\xc3")
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(ctypes.addressof(ctypes.c_char.from_buffer(made)))
for _ in range(20):
    assert call(ctypes.addressof(address), 1000) == 0
print("done", flush=True)
sys.stdin.readline()
(os.rmdir if kind == "folder" else os.unlink)(path)
"""

EXEC = BEGIN + """
allocate(12345)
os.execv(sys.executable, ["python3", "-c", sys.argv[2], sys.argv[1]])
"""

SHORT = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
driver.cuInit(0)
driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(4096))
"""


class Run(harness.Server):
    """Both halves of `run`, with a tick a second."""

    command = "run"

    def __init__(self):
        super().__init__("-collector.interval=1s")
        os.chmod(self.folder, 0o777)  # the half that serves may be another user

    def metric(self, name, pid):
        values = re.findall(r'^%s\{pid="%d",[^}]*\} (\S+)$' % (name, pid), self.get("/metrics").text, re.MULTILINE)
        return sum(map(float, values)) if values else None

    def is_watching(self):
        value = harness.wait_until(lambda: re.search(r"^cuda_collector_up (\d)$", self.get("/metrics").text, re.MULTILINE), 60, "the collector half")
        return value[1] == "1"

    def stacks(self, pid, kind="alloc_space", *options):
        """Bytes by folded stack, or nothing."""
        status, text, _ = harness.vramscope("query", "--url", self.url, "-q", 'memory:%s:bytes:space:bytes{pid="%d"}' % (kind, pid),
                                            "--from", "now-1h", "-o", "folded", *options)
        return {stack: int(value) for stack, _, value in (line.rpartition(" ") for line in text.splitlines())} if status == 0 else {}


class Workload:
    """A program that says when it has come to a line, and waits for one."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.pid = self.process.pid

    @classmethod
    def python(cls, program, *arguments, driver=None, env=None):
        return cls(sys.executable, "-c", program, driver or STUB, *arguments, env=env)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()


class Beside(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(STUB):
            self.skipTest("VRAMSCOPE_STUB_DRIVER names no file")
        self.folder = tempfile.mkdtemp(prefix="vramscope-hostile-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_ = Run().start()
        self.addCleanup(self.run_.close)
        if not self.run_.is_watching():
            self.skipTest("the driver may not be watched here")
        self.neighbour = self.start(NEIGHBOUR)
        self.assertEqual(self.neighbour.go_on(), "begun")

    def start(self, program, *arguments, **options):
        """Starts a program and waits until it is seen."""
        workload = Workload.python(program, *arguments, **options)
        self.addCleanup(workload.close)
        self.wait_seen(workload)
        return workload

    def wait_seen(self, workload):
        harness.wait_until(lambda: self.run_.metric("mem_alloc_bytes_total", workload.pid) is not None, 60, "a process to be seen")

    def wait_bytes(self, pid, total):
        harness.wait_until(lambda: self.run_.metric("mem_alloc_bytes_total", pid) == total, 60, "%d bytes of process %d" % (total, pid))

    def go_and_call(self, workload, total=20000):
        """Lets it do what it does: then its own bytes are known too."""
        self.assertEqual(workload.go_on(), "done")
        self.wait_bytes(workload.pid, total)

    def check_neighbour(self):
        """All of its bytes were seen, each with its stack, and what it holds is known."""
        for stack in self.stacks_of_neighbour():
            self.assertRegex(stack, WHOLE)

    def check_crowded_neighbour(self):
        """All of its bytes were seen. Where others left its stacks no room, a metric says so."""
        stacks = self.stacks_of_neighbour()
        self.assertTrue(any(re.match(WHOLE, stack) for stack in stacks), stacks)
        lost = [stack for stack in stacks if not re.match(WHOLE, stack)]
        self.assertLessEqual(set(lost), {"[stack lost];cuMemAlloc_v2"})
        if lost:
            dropped = re.findall(r'^cuda_collector_dropped_total\{reason="(?:ring_full|stack_dropped)"\} (\d+)$', self.run_.get("/metrics").text, re.M)
            self.assertGreater(sum(map(int, dropped)), 0)

    def stacks_of_neighbour(self):
        """The stacks of all that it allocated and of all that it holds, when their bytes are exact."""
        before = self.run_.metric("mem_alloc_bytes_total", self.neighbour.pid)
        harness.wait_until(lambda: self.run_.metric("mem_alloc_bytes_total", self.neighbour.pid) > before, 60, "the numbers to go on")
        allocated, live = map(int, self.neighbour.go_on().split())
        pid = self.neighbour.pid
        self.wait_bytes(pid, allocated)
        harness.wait_until(lambda: self.run_.metric("gpu_memory_inuse_bytes", pid) == live, 60, "the live bytes of the neighbour")
        stacks = harness.wait_until(lambda: self.whole(pid, "alloc_space", allocated), 60, "its profiles")
        held = harness.wait_until(lambda: self.whole(pid, "inuse_space", live, "--instant", "last"), 60, "what it holds")
        return [*stacks, *held]

    def whole(self, pid, kind, total, *options):
        stacks = self.run_.stacks(pid, kind, *options)
        return stacks if sum(stacks.values()) == total else None

    def library(self, name):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        return shutil.copy(STUB, os.path.join(folder, "libcuda.so.1"))


class Odd(Beside):
    """Programs, drivers, interpreters and names that are not what they seem."""

    def test_drivers_whose_tables_lie(self):
        def lie(name, change):
            path = self.library(name)
            with open(path, "r+b") as file:
                image = bytearray(file.read())
                offset, count = struct.unpack_from("<Q", image, 0x28)[0], struct.unpack_from("<H", image, 0x3c)[0]
                for i in range(count):
                    change(image, offset + 64 * i)
                file.seek(0)
                file.write(image)
            workload = Workload.python(SHORT, driver=path)
            workload.process.wait(60)
            workload.close()

        lie("sizes", lambda image, at: struct.pack_into("<Q", image, at + 32, 1 << 62))
        lie("places", lambda image, at: struct.pack_into("<Q", image, at + 24, 0))
        lie("links", lambda image, at: struct.pack_into("<I", image, at + 40, 0xffffffff))
        lie("all", lambda image, at: struct.pack_into("<QQ", image, at + 24, 0, len(image)))
        self.check_neighbour()

    def test_a_driver_that_is_cut_and_one_that_becomes_a_pipe(self):
        cut = self.library("cut")
        replaced = self.library("replaced")
        first = self.start(SOME_CALLS, driver=cut)
        second = self.start(SOME_CALLS, driver=replaced)
        os.truncate(cut, 100)
        os.unlink(replaced)
        os.mkfifo(replaced)
        self.go_and_call(second)
        self.check_neighbour()
        first.close()

    def test_perf_maps_that_are_none(self):
        for kind in ("fifo", "device", "loop", "folder", "sparse", "lines"):
            workload = self.start(PERF_MAP, kind)
            self.go_and_call(workload)
            workload.go_on()
        self.check_neighbour()

    def test_names_of_all_kinds(self):
        for value in (b"x" * 10240, b"a\x01b\nc\"d\\e", b"\xff\xfe\x80abc", b"", b'";drop{}', b"  \t "):
            for variable in (b"OTEL_SERVICE_NAME", b"PYROSCOPE_APPLICATION_NAME"):
                self.go_and_call(self.start(SOME_CALLS, env={**os.environb, variable: value}))
        big = {"BIG%d" % i: "z" * 100000 for i in range(10)}
        self.go_and_call(self.start(SOME_CALLS, env={**os.environ, **big}))
        self.check_neighbour()

    def test_a_program_that_becomes_another(self):
        names = {"OTEL_SERVICE_NAME": "before-exec"}
        workload = self.start(EXEC.replace("allocate(12345)", "allocate(12345); os.environ['OTEL_SERVICE_NAME'] = 'behind-exec'"),
                              SOME_CALLS, env={**os.environ, **names})
        workload.process.stdin.write("\n")
        workload.process.stdin.flush()

        def bytes_of(service):
            status, text, _ = harness.vramscope("query", "--url", self.run_.url, "--from", "now-1h", "-o", "folded",
                                                "-q", 'memory:alloc_space:bytes:space:bytes{service_name="%s-gpu"}' % service)
            return sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) if status == 0 else 0

        harness.wait_until(lambda: bytes_of("before-exec") == 12345, 60, "what the first program allocated")
        harness.wait_until(lambda: self.run_.metric("mem_alloc_bytes_total", workload.pid) == 0, 60, "the second one")
        self.go_and_call(workload)
        harness.wait_until(lambda: bytes_of("behind-exec") == 20000, 60, "what the second program allocated")
        self.assertEqual(bytes_of("before-exec"), 12345)
        self.check_neighbour()

    def test_an_interpreter_of_a_version_that_nobody_knows(self):
        """Its frames are native ones, and one line says why, however many processes have it."""
        with subprocess.Popen([CHURNER, STUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, LD_PRELOAD=OTHER_PYTHON)) as churner:
            churner.stdin.write("20\n")
            churner.stdin.flush()
            expected = "%s: Python 3.99 without its table of offsets; its Python frames are shown as native ones" % OTHER_PYTHON[-120:]
            harness.wait_until(lambda: expected in self.run_.log_text(), 60, "the line")
            self.check_neighbour()
            churner.stdin.close()
            churner.wait(60)
        self.assertLessEqual(len(re.findall("Python 3.99", self.run_.log_text())), 2)  # another one after a minute

    def test_an_interpreter_that_is_loaded_late(self):
        library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LDLIBRARY") or "")
        if not library.endswith(".so") and ".so." not in library or not os.path.exists(library):
            self.skipTest("this Python is no library")
        if not os.path.exists(EMBEDDER):
            self.skipTest("VRAMSCOPE_EMBEDDER names no file")
        workload = Workload(EMBEDDER, STUB, library, env={**os.environ, "PYTHONHOME": sys.base_prefix})
        self.addCleanup(workload.close)
        self.wait_seen(workload)
        self.assertEqual(workload.go_on(), "called")
        self.wait_bytes(workload.pid, 10000)
        for i in range(10):
            self.assertEqual(workload.go_on(), "embedded")
            self.wait_bytes(workload.pid, 11000 + 1000 * i)
        self.assertEqual(workload.go_on(), "done")
        self.wait_bytes(workload.pid, 30000)
        stacks = harness.wait_until(lambda: self.whole(workload.pid, "alloc_space", 30000), 60, "its profile")

        def bytes_of(pattern):
            return sum(value for stack, value in stacks.items() if re.search(pattern, stack))

        self.assertEqual(bytes_of(r";main;(call_from_c;)?cuMemAlloc_v2$"), 10000)
        self.assertEqual(bytes_of(r";in_thread;(.*;)?call;"), 10000)
        # by the first one it is seen that there is an interpreter
        self.assertGreaterEqual(bytes_of(r";embedded;(.*;)?call;"), 9000)
        self.check_neighbour()


class Crowds(Beside):
    """So many or so large that who measures beside them measures them."""

    def test_a_driver_of_ten_gigabytes(self):
        path = self.library("sparse")
        os.truncate(path, 10 << 30)
        self.go_and_call(self.start(SOME_CALLS, driver=path))
        self.check_neighbour()

    def test_thousands_of_files_of_code(self):
        self.go_and_call(self.start(MANY_FILES))
        self.check_neighbour()

    def test_many_processes_that_live_for_a_moment(self):
        """More than there are descriptions of programs; then a new one's Python is known all the same."""
        if os.environ.get("VRAMSCOPE_SANITIZE"):
            self.skipTest("a sanitizer makes the collector too slow for a flood")
        with open(os.path.join(self.folder, "short.c"), "w") as file:
            file.write("int cuInit(unsigned); int cuMemAlloc_v2(unsigned long *, unsigned long);\n"
                       "int main(void) { unsigned long a; cuInit(0); return cuMemAlloc_v2(&a, 4096); }\n")
        short = os.path.join(self.folder, "short")
        made = subprocess.run(["cc", "-o", short, file.name, STUB, "-Wl,-rpath," + os.path.dirname(STUB)], capture_output=True, text=True)
        if made.returncode:
            self.skipTest("no compiler: " + made.stderr[-200:])
        running = []
        for _ in range(4500):
            running.append(subprocess.Popen([short]))
            if len(running) == 8:
                self.assertEqual(running.pop(0).wait(60), 0)
        for process in running:
            self.assertEqual(process.wait(60), 0)
        # what the collector is behind with costs others their stacks
        harness.wait_until(lambda: "\ncuda_collector_processes 1\n" in self.run_.get("/metrics").text, 120, "the ends of all but the neighbour")
        workload = self.start(SOME_CALLS)
        self.go_and_call(workload)
        stacks = harness.wait_until(lambda: self.whole(workload.pid, "alloc_space", 20000), 60, "its profile")
        self.assertTrue(all(";<module>;allocate;" in stack for stack in stacks), stacks)
        self.check_crowded_neighbour()


if __name__ == "__main__":
    harness.main_alone()
