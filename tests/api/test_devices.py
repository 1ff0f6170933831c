"""What devices say of themselves, beside what is booked: numbers add up to the byte, and a broken library holds up nobody.

The library is a stub that says what stands in a file; the driver is the stub of all tests.
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import test_run

DRIVER = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
LIBRARY = os.environ.get("VRAMSCOPE_STUB_NVML", "")
INITIAL_PIDS = 4026531836  # the first pid namespace's inode, as the kernel has it
MIB, GIB = 1 << 20, 1 << 30
A, B = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-1a2b3c4d-0000-4106-c12f-20bd9faed9f6"
ONE = "device %s 0 %d %%d %d NVIDIA A100-SXM4-40GB\n" % (A, 40 * GIB, 300 * MIB)
TWO = ONE + "device %s 1 %d %%d %d NVIDIA A100-SXM4-40GB\n" % (B, 40 * GIB, 300 * MIB)

WORKLOAD = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_uint64()
def allocate(size):
    return driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
driver.cuInit(0)
for line in sys.stdin:
    print(allocate(int(line)), flush=True)
"""


def setUpModule():
    if not (os.path.exists(DRIVER) and os.path.exists(LIBRARY)):
        raise unittest.SkipTest("VRAMSCOPE_STUB_DRIVER or VRAMSCOPE_STUB_NVML names no file")
    with Devices("") as devices, Watched(devices) as run:
        if not run.is_up():
            raise unittest.SkipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])


class Devices:
    """The file that the stub reads, with what it says."""

    def __init__(self, text):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "devices")
        self.say(text)

    def say(self, text):
        with open(self.path + ".new", "w") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


class Watched(test_run.Run):
    """`run` that asks the stub."""

    def __init__(self, devices, *options, library=LIBRARY):
        self.devices = devices
        super().__init__("-collector.nvml=" + library, *options)

    def start(self):
        os.environ["STUB_NVML"] = self.devices.path
        return super().start()

    def metric_of(self, name, **labels):
        """The one value of a family with these labels; None: there is none."""
        text = self.get("/metrics").text
        found = [line for line in re.findall(r"^%s(?:\{.*\})? \S+$" % name, text, re.MULTILINE)
                 if all('%s="%s"' % pair in line for pair in labels.items())]
        if len(found) > 1:
            raise AssertionError(found)
        return int(float(found[0].rpartition(" ")[2])) if found else None

    def row_of(self, pid):
        """The process as the list has it, and the devices beside it."""
        answer = self.get("/api/gpu/processes", {"selector": '{pid="%d"}' % pid}).json
        rows = answer["processes"]
        return (rows[0] if rows else None), answer["devices"]


@contextlib.contextmanager
def workload(**environment):
    """A process that allocates what is written to it; gives it and the function that does."""
    with subprocess.Popen([sys.executable, "-c", WORKLOAD, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, **environment)) as process:
        def allocate(size):
            process.stdin.write("%d\n" % size)
            process.stdin.flush()
            return int(process.stdout.readline())
        try:
            yield process, allocate
        finally:
            process.stdin.close()
            process.wait(60)


class Picture(unittest.TestCase):
    def setUp(self):
        if os.stat("/proc/self/ns/pid").st_ino != INITIAL_PIDS:
            self.skipTest("devices count processes of another namespace than ours")

    def live(self, run, process):
        """Bytes of a process at a tick that has all that it allocated."""
        return run.metric_of("gpu_memory_inuse_bytes", pid=process.pid)

    def watch(self, run, process, allocate):
        """Allocates until it is seen, and more; gives what is live then, at a tick."""
        harness.wait_until(lambda: allocate(MIB) == 0 and self.live(run, process), 60, "the process to be seen")
        before = harness.wait_until(lambda: self.live(run, process), 60, "a tick")
        self.assertEqual(allocate(5 * GIB + 77), 0)
        harness.wait_until(lambda: self.live(run, process) > before + 5 * GIB, 60, "a tick with all of it")
        return self.live(run, process)

    def test_it_adds_up_to_the_byte(self):
        with Devices(ONE % 0) as devices, Watched(devices) as run, workload() as (process, allocate):
            live = self.watch(run, process, allocate)
            held, used = live + 512 * MIB + 3, live + 812 * MIB + 3  # its context; another process' 300 MiB
            devices.say(ONE % used + "process compute 0 %d %d\nprocess graphics 0 %d %d\nprocess compute 0 1 %d\n" %
                        (process.pid, held, process.pid, held, 300 * MIB))
            harness.wait_until(lambda: run.metric_of("gpu_memory_device_used_bytes", gpu=A) == used, 60, "a tick with devices")
            self.assertEqual(run.metric_of("gpu_memory_device_total_bytes", gpu=A), 40 * GIB)
            self.assertEqual(run.metric_of("gpu_memory_nvml_used_bytes", pid=process.pid, gpu=A), held)
            self.assertEqual(run.metric_of("gpu_memory_nvml_used_bytes", pid=1, comm="", gpu=A), 300 * MIB)
            self.assertEqual(run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid), held - live)
            self.assertEqual(run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu=A) +
                             run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid), held)
            self.assertEqual(run.metric_of("cuda_collector_nvml_up"), 1)
            self.judge_server(run, process, live, used)

    def judge_server(self, run, process, live, used):
        """The same by profiles."""
        def told():
            row, found = run.row_of(process.pid)
            return row and found and found[0]["used_bytes"] == used and (row, found)
        row, found = harness.wait_until(told, 60, "the profiles of that tick")
        self.assertEqual((row["live_bytes"], row["by_gpu"], row["labels"]["pid"]), (live, {A: live}, str(process.pid)))
        self.assertEqual([(one["gpu"], one["used_bytes"], one["total_bytes"]) for one in found], [(A, used, 40 * GIB)])
        self.assertGreaterEqual(found[0]["live_bytes"], live)
        self.assertEqual(run.get("/api/gpu/timeline", {"from": "now-1m", "step": "1s"}).json["capacity_bytes"], 40 * GIB)
        for kind, value in (("used_space", used), ("total_space", 40 * GIB)):
            status, text, _ = harness.vramscope("query", "--url", run.url, "-q", "gpu_memory_device:%s:bytes:space:bytes{gpu=\"%s\"}" % (kind, A),
                                                "--from", "now-1m", "-o", "folded", "--instant", "last")
            self.assertEqual((status, text), (0, "[device] %d\n" % value))
        status, text, _ = harness.vramscope("top", "--gpu", "--once", "--url", run.url, environment={"TERM": "dumb"})
        self.assertEqual(status, 0)
        line = re.search(r"(?m)^(5\.\d\d) GiB of 40\.0 GiB used on 1 GPU: (5\.\d\d) GiB live here, (\d+) MiB not \(contexts, ", text)
        self.assertTrue(line, text)
        # others may use the driver beside the test, and what they hold is live here, too
        whole, here, rest = float(line[1]), float(line[2]), int(line[3]) / 1024
        self.assertAlmostEqual(whole, used / GIB, delta=0.005)
        self.assertGreaterEqual(here, round(live / GIB, 2))
        self.assertAlmostEqual(here + rest, whole, delta=0.011)

    def test_a_call_that_finds_no_memory_says_what_the_device_had(self):
        with Devices(ONE % (39 * GIB)) as devices, Watched(devices) as run, workload(STUB_DEVICE_BYTES=str(40 * GIB)) as (process, allocate):
            live = self.watch(run, process, allocate)
            self.assertEqual(allocate(39 * GIB), 2)
            event = harness.wait_until(lambda: run.get("/api/gpu/oom", {"selector": '{pid="%d"}' % process.pid}).json["events"], 60, "the report")[0]
            self.assertEqual((event["gpu"], event["requested_bytes"]), (A, 39 * GIB))
            # others may use the driver beside the test, and then they are on this one device, too
            held = {one["labels"]["pid"]: one["live_bytes"] for one in run.get("/api/gpu/oom/" + event["id"]).json["processes"]}
            self.assertEqual((held[str(process.pid)], sum(held.values())), (live, event["live_bytes"]))
            self.assertEqual((event["device_used_bytes"], event["device_total_bytes"]), (39 * GIB, 40 * GIB))

    def test_of_several_devices_it_is_the_one_that_counts_the_process(self):
        with Devices(TWO % (0, 0)) as devices, Watched(devices) as run, workload() as (process, allocate):
            live = self.watch(run, process, allocate)
            self.assertEqual(run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu="unknown"), live)
            devices.say(TWO % (0, live) + "process compute 1 %d %d\n" % (process.pid, live))
            harness.wait_until(lambda: run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu=B) == live, 60, "a tick with its device")
            self.assertEqual(run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid), 0)
            # a second context: whose block lies where?
            devices.say(TWO % (5, live) + "process compute 1 %d %d\nprocess compute 0 %d 5\n" % (process.pid, live, process.pid))
            harness.wait_until(lambda: run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu="unknown") == live, 60, "a tick without")
            self.assertEqual(run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid), 5)

    def test_a_process_may_say_itself_which_one_it_sees(self):
        for visible, gpu in ((B, B), (B[:8], B), ("1", B), ("0,1", "unknown"), ("GPU-none", "unknown")):
            with self.subTest(visible), Devices(TWO % (0, 0)) as devices, Watched(devices) as run, \
                    workload(CUDA_VISIBLE_DEVICES=visible) as (process, allocate):
                live = self.watch(run, process, allocate)
                harness.wait_until(lambda: run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu=gpu) == live, 60, "its device")

    def test_a_device_that_is_cut_is_its_parts(self):
        cut = ONE % 0 + "part 0 MIG-aaaa %d 0\npart 0 MIG-bbbb %d 0\n" % (10 * GIB, 20 * GIB)
        with Devices(cut) as devices, Watched(devices) as run, workload() as (process, allocate):
            live = self.watch(run, process, allocate)
            devices.say(cut + "process compute 0.1 %d %d\n" % (process.pid, live))
            harness.wait_until(lambda: run.metric_of("gpu_memory_inuse_bytes", pid=process.pid, gpu="MIG-bbbb") == live, 60, "a tick with its part")
            self.assertEqual(run.metric_of("gpu_memory_device_total_bytes", gpu="MIG-bbbb"), 20 * GIB)
            self.assertIsNone(run.metric_of("gpu_memory_device_total_bytes", gpu=A))


    def test_what_was_there_before_is_a_stack_of_its_own(self):
        """Two processes that hold memory when the collector begins; one never calls the driver again."""
        with workload() as (busy, allocate), workload() as (idle, allocate_idle), Devices("") as devices:
            self.assertEqual((allocate(3 * GIB), allocate_idle(GIB)), (0, 0))
            said = ONE + "process compute 0 %d %%d\nprocess compute 0 %d %d\n" % (busy.pid, idle.pid, GIB + 7)
            devices.say(said % (10 * GIB, 3 * GIB + 300 * MIB))
            with Watched(devices) as run:
                self.judge_earlier(run, busy, 3 * GIB + 300 * MIB)
                self.judge_earlier(run, idle, GIB + 7)
                devices.say(said % (10 * GIB, 3 * GIB + 301 * MIB))
                self.assertEqual(allocate(MIB), 0)
                harness.wait_until(lambda: self.live(run, busy) == MIB, 60, "a tick with the call")
                self.judge_earlier(run, busy, 3 * GIB + 300 * MIB, live=MIB)
                # a gibibyte of it has gone, by calls that nobody could understand
                devices.say(said % (9 * GIB, 2 * GIB + 301 * MIB))
                self.judge_earlier(run, busy, 2 * GIB + 300 * MIB, live=MIB)
                idle.stdin.close()
                idle.wait(60)
                harness.wait_until(lambda: run.row_of(idle.pid)[0]["state"] == "exited", 60, "its end")
                self.assertEqual(run.metric_of("gpu_memory_earlier_bytes", pid=idle.pid), 0)

    def judge_earlier(self, run, process, earlier, live=0):
        """The same bytes as a metric, a row and a stack; none of them was ever allocated."""
        def told():
            row = run.row_of(process.pid)[0]
            return row and row["live_bytes"] == earlier + live and run.metric_of("gpu_memory_earlier_bytes", pid=process.pid) == earlier and row
        row = harness.wait_until(told, 60, "a tick with %d and %d bytes" % (earlier, live))
        self.assertEqual((row["alloc_bytes"], row["by_gpu"], row["labels"]["proc_comm"]), (live, {A: earlier + live}, "python3"))
        self.assertEqual(run.metric_of("gpu_memory_nvml_used_bytes", pid=process.pid),
                         run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid) + (self.live(run, process) or 0))
        self.assertEqual(run.metric_of("mem_alloc_bytes_total", pid=process.pid), live)
        for kind, expected in (("inuse_space", earlier), ("alloc_space", None)):
            status, text, _ = harness.vramscope("query", "--url", run.url, "-q", 'memory:%s:bytes:space:bytes{pid="%d"}' % (kind, process.pid),
                                                "--from", "now-1m", "-o", "folded", "--instant", "last")
            found = re.findall(r"(?m)^\[allocated before profiling started\] (\d+)$", text)
            self.assertEqual((status, found), (0, [str(expected)] if expected else []))


SUSPEND = """
import ctypes, os, sys
call = ctypes.CDLL(sys.argv[1])["cuCheckpointProcess" + sys.argv[2]]
os.setresuid(int(sys.argv[4]), int(sys.argv[4]), int(sys.argv[4]))
print(call(int(sys.argv[3]), None))
"""


def suspend(step, pid, user=0):
    """What whoever suspends another process calls; gives the driver's answer."""
    done = subprocess.run([sys.executable, "-c", SUSPEND, DRIVER, step, str(pid), str(user)], capture_output=True, text=True, check=True)
    return int(done.stdout)


# A process in a pid namespace of its own that suspends its child, by the number that it has there.
INSIDE = WORKLOAD.replace("for line in sys.stdin:", """import os
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    assert allocate(4096) == 0
    os.write(writer, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(reader, 1)
print(driver.cuCheckpointProcessLock(child, None), child, flush=True)
sys.stdin.read()
os._exit(0)
for line in sys.stdin:""")


class Checkpoints(unittest.TestCase):
    setUp = Picture.setUp
    live = Picture.live
    watch = Picture.watch

    def test_a_suspended_process_keeps_its_books_and_says_its_state(self):
        with Devices(ONE % 0) as devices, Watched(devices) as run, workload() as (process, allocate):
            live = self.watch(run, process, allocate)
            said = ONE % live + "process compute 0 %d %%d\n" % process.pid
            devices.say(said % (live + 5))
            harness.wait_until(lambda: run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid) == 5, 60, "a tick with devices")
            self.assertEqual(suspend("Lock", process.pid), 0)
            self.judge(run, process, "locked", live)
            self.assertEqual(suspend("Checkpoint", process.pid), 0)
            devices.say(said % 0)  # all of it is on the host
            self.judge(run, process, "checkpointed", live)
            self.assertIsNone(run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid))
            status, text, _ = harness.vramscope("top", "--gpu", "--once", "--url", run.url, environment={"TERM": "dumb"})
            self.assertEqual(status, 0)
            self.assertRegex(text, r"(?m)^.*\b%d\b.* checkpointed " % process.pid)
            devices.say(said % (live + 5))
            self.assertEqual((suspend("Restore", process.pid), suspend("Unlock", process.pid)), (0, 0))
            self.judge(run, process, "running", live)
            harness.wait_until(lambda: run.metric_of("gpu_memory_unattributed_bytes", pid=process.pid) == 5, 60, "devices to count it again")

    def test_a_call_that_failed_suspends_nobody(self):
        with Devices(ONE % 0) as devices, Watched(devices) as run, workload() as (process, allocate):
            live = self.watch(run, process, allocate)
            self.assertEqual(suspend("Lock", -1), 1)
            self.assertEqual(suspend("Lock", process.pid), 0)
            self.judge(run, process, "locked", live)

    def test_nobody_suspends_the_process_of_another_user(self):
        """A driver of one's own may say success to everything."""
        with Devices("") as devices, Watched(devices) as run, workload() as (process, allocate), workload() as (other, allocate_other):
            live = self.watch(run, process, allocate)
            self.watch(run, other, allocate_other)
            self.assertEqual(suspend("Lock", process.pid, user=65534), 0)  # the stub does
            self.assertEqual(suspend("Lock", other.pid), 0)  # so that this one was seen when that one is
            harness.wait_until(lambda: run.row_of(other.pid)[0]["state"] == "locked", 60, "the state of the other one")
            self.judge(run, process, "running", live)

    def test_a_number_is_of_the_callers_namespace(self):
        with Devices("") as devices, Watched(devices) as run, workload() as (neighbour, allocate):
            self.watch(run, neighbour, allocate)  # the driver is probed
            with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", INSIDE, DRIVER],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                self.assertEqual(process.stdout.readline(), "0 2\n")
                child = process.pid
                for _ in range(2):
                    with open("/proc/%d/task/%d/children" % (child, child)) as file:
                        child = int(file.read().split()[0])
                harness.wait_until(lambda: run.metric_of("gpu_memory_suspended_bytes", pid=child, state="locked") == 4096, 60, "the state")
                self.assertEqual(run.metric_of("gpu_memory_suspended_bytes"), 4096)  # of nobody else: 2 is a number here, too
                process.stdin.close()
                process.wait(60)

    def judge(self, run, process, state, live):
        harness.wait_until(lambda: run.row_of(process.pid)[0]["state"] == state, 60, "the process to be " + state)
        row = run.row_of(process.pid)[0]
        self.assertEqual((row["live_bytes"], row["freed_bytes"], self.live(run, process)), (live, 0, live))
        if state == "running":
            self.assertIsNone(run.metric_of("gpu_memory_suspended_bytes", pid=process.pid))
        else:
            self.assertEqual(run.metric_of("gpu_memory_suspended_bytes", pid=process.pid, state=state), live)


class Trouble(unittest.TestCase):
    def ticks(self, run):
        """Ticks go on: the number of events grows by nothing, heartbeats come."""
        answer = run.get("/pyroscope/render", {"query": 'memory:inuse_space:bytes:space:bytes{service_name="vramscope-collector-gpu"}', "from": "now-1h"})
        return answer.status == 200 and run.get("/api/gpu/processes").json["tick_ms"]

    def goes_on(self, run):
        first = harness.wait_until(lambda: self.ticks(run), 60, "a tick")
        harness.wait_until(lambda: self.ticks(run) > first, 60, "the next tick")

    def test_without_a_library_it_watches_all_the_same(self):
        with Devices("") as devices, Watched(devices, library="/nowhere/libnvidia-ml.so.1") as run:
            self.assertTrue(run.is_up())
            self.goes_on(run)
            self.assertEqual(run.metric_of("cuda_collector_nvml_up"), 0)
            self.assertEqual(len(re.findall("devices are not asked what they hold: .*/nowhere/libnvidia-ml.so.1", run.log_text())), 1)

    def test_off_asks_nobody(self):
        with Devices(ONE % 5) as devices, Watched(devices, library="off") as run:
            self.assertTrue(run.is_up())
            self.goes_on(run)
            self.assertEqual(run.metric_of("cuda_collector_nvml_up"), 0)
            self.assertNotIn("devices", run.log_text())

    def test_after_an_init_that_failed_nothing_is_asked(self):
        with Devices(ONE % 5 + "fail nvmlInit_v2 9\n") as devices, Watched(devices) as run:
            self.assertTrue(run.is_up())
            harness.wait_until(lambda: "nvmlInit_v2 failed with 9: the driver is not loaded" in run.log_text(), 60, "the reason")
            devices.say(ONE % 5)
            self.goes_on(run)
            self.assertEqual(run.metric_of("cuda_collector_nvml_up"), 0)

    def test_a_call_that_hangs_holds_up_neither_ticks_nor_the_end(self):
        with Devices(ONE % 5) as devices, Watched(devices) as run:
            self.assertTrue(run.is_up())
            harness.wait_until(lambda: run.metric_of("gpu_memory_device_used_bytes", gpu=A) == 5, 60, "a tick with devices")
            devices.say(ONE % 6 + "hang nvmlDeviceGetMemoryInfo_v2\n")
            # what it said before is no number of now
            harness.wait_until(lambda: run.metric_of("cuda_collector_nvml_up") == 0, 60, "the picture to be too old")
            self.assertIsNone(run.metric_of("gpu_memory_device_used_bytes", gpu=A))
            self.goes_on(run)
            devices.say(ONE % 7)
            harness.wait_until(lambda: run.metric_of("gpu_memory_device_used_bytes", gpu=A) == 7, 60, "it to answer again")
            devices.say("hang nvmlDeviceGetCount_v2\n")
            harness.wait_until(lambda: run.metric_of("cuda_collector_nvml_up") == 0, 60, "the picture to be too old")
            self.assertEqual(run.stop(), 0)

    def test_an_init_that_hangs_holds_up_neither(self):
        with Devices("hang nvmlInit_v2\n") as devices, Watched(devices) as run:
            self.assertTrue(run.is_up())
            self.goes_on(run)
            self.assertEqual(run.metric_of("cuda_collector_nvml_up"), 0)
            self.assertEqual(run.stop(), 0)


if __name__ == "__main__":
    harness.main()
