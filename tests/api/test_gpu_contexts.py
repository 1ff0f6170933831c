"""On which of its GPUs a process holds what: a random workload of several threads, contexts and devices, and what metrics and profiles say.

The workload (tests/collector/device_workload.py) says what lies where by a model of its own; labels are the UUIDs that the driver tells it.
"""
import json
import os
import re
import subprocess
import sys
import unittest

import harness
from test_devices import DRIVER, GIB, LIBRARY, Devices, Watched

WORKLOAD = os.path.join(os.path.dirname(__file__), os.pardir, "collector", "device_workload.py")
# as the stub driver tells them
GPUS = ["GPU-" + re.sub("(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", "%02x" % (0x10 + number) * 16) for number in range(3)]
PICTURE = "".join("device %s %d %d 0 0 NVIDIA A100-SXM4-40GB\n" % (gpu, number, 40 * GIB) for number, gpu in enumerate(GPUS))
CLASSES = ("device", "array", "pool", "vmm")


def setUpModule():
    if not (os.path.exists(DRIVER) and os.path.exists(LIBRARY)):
        raise unittest.SkipTest("VRAMSCOPE_STUB_DRIVER or VRAMSCOPE_STUB_NVML names no file")
    with Devices("") as devices, Watched(devices) as run:
        if not run.is_up():
            raise unittest.SkipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])


class Work:
    """The workload, once it is watched."""

    def __init__(self, seed, devices=3):
        self.process = subprocess.Popen([sys.executable, WORKLOAD, DRIVER, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, STUB_DEVICES=str(devices)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def is_watched(self, run):
        self.tell("seen?")
        return run.metric_of("cuda_collector_context_processes")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def go(self, steps):
        return json.loads(self.tell(str(steps)))


def by_gpu(sums):
    return {GPUS[int(device)]: of for device, of in sums.items()}


SCRIPT = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
place, number = ctypes.c_uint64(), ctypes.c_int()
def out(function, *arguments):
    assert driver[function](ctypes.byref(place), *arguments) == 0
    return place.value
def allocate(size):
    return driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(size))
def create(size, device):
    import struct
    return out("cuMemCreate", ctypes.c_size_t(size), struct.pack("iiii", 1, 0, 1, device) + bytes(48), ctypes.c_uint64(0))
def current():
    return out("cuCtxGetCurrent")
def device():
    assert driver.cuCtxGetDevice(ctypes.byref(number)) == 0
    return number.value
def uuids():
    return [driver.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), one) for one in range(3)]
for line in sys.stdin:
    if line.strip() == "seen?":
        driver.cuInit(0)
        driver.cuDeviceGetCount(ctypes.byref(number))
        print(flush=True)
    else:
        print(eval(line), flush=True)
"""


class Script(Work):
    """A process that evaluates what it is told."""

    def __init__(self, devices=3, **environment):
        self.process = subprocess.Popen([sys.executable, "-c", SCRIPT, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, STUB_DEVICES=str(devices), **environment))

    def do(self, *lines):
        return [self.tell(line).strip() for line in lines]


class Contexts(unittest.TestCase):
    def live(self, run, pid):
        """By GPU and class, of the newest tick."""
        sums = {}
        for line in run.get("/metrics").text.splitlines():
            if line.startswith("gpu_memory_inuse_bytes{") and 'pid="%d"' % pid in line and not line.endswith(" 0"):
                labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
                sums.setdefault(labels["gpu"], {})[labels["cuda_class"]] = int(line.rpartition(" ")[2])
        return sums

    def total(self, run, kind, pid, **labels):
        selector = "".join(', %s="%s"' % pair for pair in labels.items())
        status, text, _ = harness.vramscope("query", "--url", run.url, "-q", '%s{pid="%d"%s}' % (kind, pid, selector), "--from", "now-15m",
                                            "-o", "folded")
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) if status == 0 else 0

    def allocated(self, run, pid):
        sums = {gpu: {name: self.total(run, "memory:alloc_space:bytes:space:bytes", pid, gpu=gpu, cuda_class=name) for name in CLASSES}
                for gpu in [*GPUS, "unknown"]}
        return {gpu: {name: size for name, size in of.items() if size} for gpu, of in sums.items() if any(of.values())}

    def judge(self, run, pid, said):
        live = by_gpu(said["live"])
        try:
            harness.wait_until(lambda: self.live(run, pid) == live and
                               run.metric_of("mem_free_bytes_total", pid=pid, host_raw="0") == said["freed"], 20, "a tick")
        except TimeoutError:
            pass  # the assertions say what is different
        self.assertEqual(self.live(run, pid), live)
        self.assertEqual(run.metric_of("mem_free_bytes_total", pid=pid, host_raw="0"), said["freed"])
        self.assertEqual(run.metric_of("mem_implicit_free_bytes_total", pid=pid, host_raw="0"), said["implicit"])

    def test_each_block_is_where_its_context_stream_or_pool_says(self):
        for seed in (1, 2):
            with self.subTest(seed=seed), Devices(PICTURE) as devices, Watched(devices) as run, Work(seed) as work:
                pid = work.process.pid
                harness.wait_until(lambda: work.is_watched(run), 60, "the process to be watched")
                for steps in (30, 300, 700, 700):
                    said = work.go(steps)
                    self.judge(run, pid, said)
                self.assertEqual(self.allocated(run, pid), by_gpu(said["alloc"]))
                self.assertEqual(run.metric_of("cuda_collector_dropped_total", reason="context_unseen"), 0)

    def test_a_context_that_nobody_made_is_known_once_it_is_asked_for(self):
        """As a runtime does: its primary context becomes current by a function without a name."""
        with Devices(PICTURE) as devices, Watched(devices) as run, Script() as work:
            pid = work.process.pid
            harness.wait_until(lambda: work.is_watched(run), 60, "the process to be watched")
            work.do("uuids()", "driver.stub_set_unseen(1)", "allocate(1000)", "current()", "device()", "allocate(200)")
            harness.wait_until(lambda: self.live(run, pid) == {"unknown": {"device": 1000}, GPUS[1]: {"device": 200}}, 20, "a tick")
            self.assertEqual(work.do("driver.cuDevicePrimaryCtxReset_v2(1)"), ["0"])
            # what was allocated before is in some context; which one, nobody told
            harness.wait_until(lambda: self.live(run, pid) == {"unknown": {"device": 1000}}, 20, "a tick")

    def test_switches_that_no_function_shows_make_it_unknown(self):
        with Devices(PICTURE) as devices, Watched(devices) as run, Script() as work:
            pid = work.process.pid
            harness.wait_until(lambda: work.is_watched(run), 60, "the process to be watched")
            work.do("uuids()", "out('cuCtxCreate_v2', 0, 2)", "allocate(1000)", "driver.stub_set_unseen(1)", "current()", "allocate(200)",
                    "create(1 << 21, 0)")
            expected = {GPUS[2]: {"device": 1000}, "unknown": {"device": 200}, GPUS[0]: {"vmm": 1 << 21}}
            harness.wait_until(lambda: self.live(run, pid) == expected, 20, "a tick")
            self.assertEqual(run.metric_of("cuda_collector_dropped_total", reason="context_unseen"), 1)

    def test_a_process_with_one_device_is_not_watched_and_has_its_label(self):
        with Devices(PICTURE) as devices, Watched(devices) as run, Script(devices=1) as work:
            pid = work.process.pid
            harness.wait_until(lambda: work.tell("seen?") and work.do("allocate(1)") == ["0"] and self.live(run, pid), 60, "the process to be seen")
            self.assertEqual(set(self.live(run, pid)), {"unknown"})
            work.do("driver.cuDeviceGetUuid_v2(ctypes.create_string_buffer(16), 0)", "allocate(1)")
            harness.wait_until(lambda: set(self.live(run, pid)) == {GPUS[0]}, 20, "a tick")
            self.assertEqual(run.metric_of("cuda_collector_context_processes"), 0)

    def test_switched_off_only_what_says_it_itself_is_known(self):
        with Devices(PICTURE) as devices, Watched(devices, "-collector.gpu-contexts=off") as run, Script() as work:
            pid = work.process.pid
            harness.wait_until(lambda: work.tell("seen?") and work.do("allocate(1)") == ["0"] and self.live(run, pid), 60, "the process to be seen")
            work.do("uuids()", "out('cuCtxCreate_v2', 0, 2)", "allocate(1 << 30)", "create(1 << 21, 1)")
            harness.wait_until(lambda: self.live(run, pid).get(GPUS[1]) == {"vmm": 1 << 21}, 20, "a tick")
            self.assertEqual(set(self.live(run, pid)), {"unknown", GPUS[1]})
            self.assertEqual(run.metric_of("cuda_collector_context_processes"), 0)

    def test_an_oom_is_of_the_device_that_was_full(self):
        with Devices(PICTURE) as devices, Watched(devices) as run, Script(STUB_DEVICE_BYTES=str(4 * GIB)) as work:
            pid = work.process.pid
            harness.wait_until(lambda: work.is_watched(run), 60, "the process to be watched")
            work.do("uuids()", "out('cuCtxCreate_v2', 0, 0)", "allocate(1000)", "out('cuCtxCreate_v2', 0, 1)", "allocate(200)")
            harness.wait_until(lambda: self.live(run, pid) == {GPUS[0]: {"device": 1000}, GPUS[1]: {"device": 200}}, 20, "a tick")
            self.assertEqual(work.do("allocate(5 << 30)"), ["2"])
            event = harness.wait_until(lambda: run.get("/api/gpu/oom", {"selector": '{pid="%d"}' % pid}).json["events"], 60, "the report")[0]
            self.assertEqual((event["gpu"], event["requested_bytes"], event["live_bytes"]), (GPUS[1], 5 * GIB, 200))
            row = run.row_of(pid)[0]
            self.assertEqual(row["by_gpu"], {GPUS[0]: 1000, GPUS[1]: 200})


if __name__ == "__main__":
    harness.main_alone()
