"""Profiles as the collector writes them, made by hand: a tick of a process is one Push of its classes of memory."""
import harness

GPU_HEAP = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]


class Process:
    """A process on a node; keeps nothing: what it holds is said at each tick."""

    def __init__(self, hostname, pid, service, **labels):
        self.hostname, self.pid, self.service = hostname, str(pid), service
        self.labels = {"service_name": service, "hostname": hostname, "pid": self.pid, "proc_comm": "python3", **labels}

    def heap(self, second, memory_class="device", gpu="0", live=(), alloc=()):
        """`live` and `alloc` are {stack: (bytes, blocks)}; one series of the Push request."""
        live, alloc = dict(live), dict(alloc)
        rows = [{"stack": stack, "values": [alloc.get(stack, (0, 0))[1], alloc.get(stack, (0, 0))[0],
                                            live.get(stack, (0, 0))[1], live.get(stack, (0, 0))[0]]}
                for stack in sorted({*live, *alloc})]
        return self.series("memory", second, rows, GPU_HEAP, "space/bytes", cuda_class=memory_class, gpu=gpu)

    def failed(self, second, calls, error="CUDA_ERROR_OUT_OF_MEMORY", stack="main;cuMemAlloc_v2"):
        return self.series("gpu_memory_failed", second, [{"stack": stack, "values": [calls]}], ["failures/count"], "space/bytes",
                           cuda_error=error)

    def peak(self, second, size, stack="main;cuMemAlloc_v2"):
        """The highest point of some minutes: one series for all classes."""
        return self.held(second, {stack: size})

    def held(self, second, stacks, gpu="0", **labels):
        """`stacks` is {stack: bytes}; what was live when memory was short has reason="oom"."""
        return self.series("gpu_memory_peak", second, [{"stack": stack, "values": [size]} for stack, size in sorted(dict(stacks).items())],
                           ["peak_space/bytes"], "space/bytes", gpu=gpu, **labels)

    def oom(self, second, size, stack="main;cuMemAlloc_v2", recovered="false", gpu="0", device=None):
        """`device` is (bytes that are used, bytes that there are)."""
        types = ["requested_space/bytes"] + (["device_used_space/bytes", "device_total_space/bytes"] if device else [])
        return self.series("gpu_memory_oom", second, [{"stack": stack, "values": [size, *(device or ())]}], types, "space/bytes",
                           cuda_class="device", cuda_error="CUDA_ERROR_OUT_OF_MEMORY", recovered=recovered, gpu=gpu)

    def series(self, name, second, rows, sample_types, period_type, **labels):
        body = harness.pprof(rows, sample_types=sample_types, period_type=period_type, period=1,
                             time_nanos=int(second * 10**9), duration_nanos=15 * 10**9)
        return {"__name__": name, **self.labels, **labels}, [body]


def device(hostname, gpu, second, size, used=None):
    """What a device says of its size, and of what is used."""
    types = (["used_space/bytes"] if used is not None else []) + ["total_space/bytes"]
    values = ([used] if used is not None else []) + [size]
    body = harness.pprof([{"stack": "[device]", "values": values}], sample_types=types, period_type="space/bytes", period=1,
                         time_nanos=int(second * 10**9))
    return {"__name__": "gpu_memory_device", "service_name": "vramscope-gpu", "hostname": hostname, "gpu": gpu}, [body]


def heartbeat(hostname, second):
    """That a node was watched: gauges without a sample."""
    body = harness.pprof([], sample_types=["inuse_space/bytes", "inuse_objects/count"], period_type="space/bytes", period=1,
                         time_nanos=int(second * 10**9), duration_nanos=15 * 10**9)
    return {"__name__": "memory", "service_name": "vramscope-collector-gpu", "hostname": hostname}, [body]
