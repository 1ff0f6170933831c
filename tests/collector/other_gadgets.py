#!/usr/bin/env python3
"""other_gadgets.py DRIVER : the table of docs/inspektor-gadget.md: what each program sees of driver_functions.py.

The workload runs by itself, and says which of its calls gave memory and took it back; the rules of Inspektor Gadget's two gadgets are
applied to them as the collector specification 1.1 and 1.2 has them: which functions they probe, what they take for the size, and that
the end of any context frees everything. Neither their stacks nor their losses under load are modelled: this is what they see at best.
"""
import json
import os
import subprocess
import sys

PROFILE_CUDA = {"cuMemAlloc_v2", "cuMemAllocHost_v2", "cuMemAllocManaged", "cuMemAllocPitch_v2"}
TOP_ALLOC = {"cuMemAlloc", "cuMemAlloc_v2", "cuMemAllocHost", "cuMemAllocHost_v2", "cuMemHostAlloc", "cuMemAllocManaged", "cuMemAllocPitch",
             "cuMemAllocPitch_v2", "cuMemAllocAsync"}
TOP_FREE = {"cuMemFree", "cuMemFree_v2", "cuMemFreeHost", "cuMemFreeAsync"}
TOP_END = {"cuCtxDestroy", "cuCtxDestroy_v2"}
PITCHED = {"cuMemAllocPitch_v2": 1000 * 7}  # width times height: profile_cuda does not read the pitch

STEPS = {
    "linear": "linear memory by ten functions",
    "pitched": "pitched memory",
    "registered": "host memory that is registered",
    "arrays": "arrays",
    "physical": "`cuMemCreate`, on the device and the host",
    "graphs": "nodes of graphs that allocate",
    "segments_grow": "PyTorch's expandable segments grow ...",
    "segments_shrink": "... and shrink",
    "pool_grows": "llama.cpp's pool grows ...",
    "pool_goes": "... and goes",
    "sleeps": "vLLM's sleep mode, twice",
    "failures": "failed calls (two blocks were given)",
    "contexts": "four contexts with memory",
    "context_ends": "two of them end",
    "last_context_ends": "the others end",
    "primary": "the primary context, released twice",
    "runtime": "memory of a runtime's primary context",
    "reset": "and `cuDevicePrimaryCtxReset`",
}


class Gadgets:
    """Sums of profile_cuda; what top_cuda_memory takes for live. Addresses stand in the order of their frees: sizes are told apart."""

    def __init__(self):
        self.profiled, self.sizes, self.active = 0, [], 0

    def see(self, kind, function, size):
        if kind == "alloc":
            if function in PROFILE_CUDA:
                self.profiled += PITCHED.get(function, size)
            if function in TOP_ALLOC:
                self.sizes.append(size)
                self.active += size
        elif function in TOP_FREE and size in self.sizes:
            self.sizes.remove(size)
            self.active -= size
        elif function in TOP_END:
            self.active -= sum(self.sizes)  # all of the process; what it knows of addresses stays
            self.sizes = []


def steps(driver):
    workload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver_functions.py")
    done = subprocess.run([sys.executable, workload, driver], input="go\n" * 100, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(driver):
    lines = ["| step | allocated | live after it | `profile_cuda`: allocated | `top_cuda_memory`: active |",
             "|---|---|---|---|---|"]
    gadgets = Gadgets()
    for step in steps(driver):
        before = gadgets.profiled
        for call in step["calls"]:
            gadgets.see(*call)
        if step["step"] not in STEPS:
            continue
        live = sum(step["live"].values())
        lines.append("| %s | %s | %s | %s | %s |" % (STEPS[step["step"]], f"{sum(step['alloc'].values()):,}", f"{live:,}",
                                                          f"{gadgets.profiled - before:,}", f"{gadgets.active:,}"))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1]))
