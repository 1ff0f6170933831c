"""Calls every memory function of the driver, and says what each is to have done.

driver_functions.py DRIVER: performs one step for each line of its standard input and answers with a JSON object a line:

    {"step": name,
     "alloc": {leaf frame: bytes},     allocated in the step, by the function that was called
     "live": {memory class: bytes},    of the process now; classes that hold nothing are left out
     "freed": bytes, "implicit": bytes, (not of registered memory: it is the host's before and after)
     "failed": calls, "unknown_frees": calls,     in the step
     "calls": [[kind, function, bytes]]}          each that gave memory or took it back, in order

Sizes are arithmetic on the arguments, as CUDA's headers and the collector specification 2.3 have it. Layouts are CUDA 13.0's.
"""
import ctypes
import json
import struct
import sys
import threading

u32, u64 = ctypes.c_uint32, ctypes.c_uint64
MIB = 1 << 20


class Books:
    """What a step has done, and what lives."""

    def __init__(self):
        self.live = {}
        self.begin()

    def begin(self):
        self.step = {"alloc": {}, "freed": 0, "implicit": 0, "failed": 0, "unknown_frees": 0, "calls": []}

    def allocated(self, function, size, memory_class):
        self.step["calls"].append(["alloc", function, size])
        self.step["alloc"][function] = self.step["alloc"].get(function, 0) + size
        if memory_class != "graph":  # its memory comes and goes with launches
            self.live[memory_class] = self.live.get(memory_class, 0) + size

    def gone(self, size, memory_class, function, how="freed"):
        self.step["calls"].append(["free", function, size])
        self.live[memory_class] -= size
        if memory_class != "registered":
            self.step[how] += size

    def failed(self):
        self.step["failed"] += 1

    def say(self, name):
        self.step.update(step=name, live={key: size for key, size in self.live.items() if size})
        print(json.dumps(self.step), flush=True)
        self.begin()


class Driver:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def call(self, function, *arguments):
        return self.library[function](*arguments)

    def must(self, function, *arguments):
        result = self.call(function, *arguments)
        assert result == 0, (function, result)

    def out(self, function, *arguments, kind=u64, first=True):
        """The result that the first argument points to."""
        place = kind()
        self.must(function, ctypes.byref(place), *arguments)
        return place.value


def array_2d(width, height, form, channels, narrow=False):
    return struct.pack("IIII" if narrow else "QQII", width, height, form, channels)


def array_3d(width, height, depth, form, channels, flags=0, narrow=False):
    return struct.pack("IIIIII" if narrow else "QQQIII", width, height, depth, form, channels, flags)


def properties(location, number=0):
    """CUmemAllocationProp: pinned, no handle to share, where it lies."""
    return struct.pack("IIII", 1, 0, location, number) + bytes(48)


def graph_alloc(size):
    """CUDA_MEM_ALLOC_NODE_PARAMS."""
    return bytearray(104) + struct.pack("QQ", size, 0)


class Steps:
    def __init__(self, path):
        self.driver = Driver(path)
        self.books = Books()
        self.undo = []  # what gives everything of the step before back

    def size_t(self, value):
        return ctypes.c_size_t(value)

    def keep(self, function, size, memory_class, free, *arguments):
        """Booked; it is given back by `free` with these arguments."""
        self.books.allocated(function, size, memory_class)
        self.undo.append((free, size, memory_class, arguments))

    # ---- one of each ----

    def linear(self):
        driver, size_t = self.driver, self.size_t
        for function, size, memory_class, arguments, free in (
                ("cuMemAlloc_v2", 1001, "device", (), "cuMemFree_v2"),
                ("cuMemAllocManaged", 1002, "managed", (1,), "cuMemFree_v2"),
                ("cuMemHostAlloc", 1003, "pinned", (0,), "cuMemFreeHost"),
                ("cuMemAllocHost_v2", 1004, "pinned", (), "cuMemFreeHost"),
                ("cuMemAllocAsync", 1005, "pool", (None,), "cuMemFreeAsync"),
                ("cuMemAllocAsync_ptsz", 1006, "pool", (None,), "cuMemFreeAsync_ptsz"),
                ("cuMemAllocFromPoolAsync", 1007, "pool", (None, None), "cuMemFreeAsync"),
                ("cuMemAllocFromPoolAsync_ptsz", 1008, "pool", (None, None), "cuMemFree_v2")):
            address = driver.out(function, size_t(size), *arguments)
            self.keep(function, size, memory_class, free, u64(address), None)
        # functions of the first version: 32 bits, whatever lies in the upper half of a register
        address = driver.out("cuMemAlloc", u64(0xdead00000000 + 1009), kind=u32)
        self.keep("cuMemAlloc", 1009, "device", "cuMemFree", u64(0xbeef00000000 + address))
        address = driver.out("cuMemAllocHost", u64(0xdead00000000 + 1010))
        self.keep("cuMemAllocHost", 1010, "pinned", "cuMemFreeHost", u64(address))

    def pitched(self):
        pitch, narrow_pitch = u64(), u32()
        address = self.driver.out("cuMemAllocPitch_v2", ctypes.byref(pitch), self.size_t(1000), self.size_t(7), 4)
        self.keep("cuMemAllocPitch_v2", 1024 * 7, "device", "cuMemFree_v2", u64(address))
        address = self.driver.out("cuMemAllocPitch", ctypes.byref(narrow_pitch), 600, 5, 4, kind=u32)
        self.keep("cuMemAllocPitch", 1024 * 5, "device", "cuMemFree", address)
        assert (pitch.value, narrow_pitch.value) == (1024, 1024)

    def registered(self):
        self.memory = ctypes.create_string_buffer(8192)
        for function, offset, size in (("cuMemHostRegister_v2", 0, 4096), ("cuMemHostRegister", 4096, 2048)):
            address = u64(ctypes.addressof(self.memory) + offset)
            self.driver.must(function, address, self.size_t(size), 0)
            self.keep(function, size, "registered", "cuMemHostUnregister", address)

    def arrays(self):
        unsigned_8, signed_16, half, single = 0x01, 0x09, 0x10, 0x20
        for function, description, more, size in (
                ("cuArrayCreate_v2", array_2d(100, 20, single, 2), (), 100 * 20 * 2 * 4),
                ("cuArrayCreate_v2", array_2d(100, 0, unsigned_8, 1), (), 100),
                ("cuArrayCreate", array_2d(30, 10, signed_16, 4, narrow=True), (), 30 * 10 * 4 * 2),
                ("cuArray3DCreate_v2", array_3d(16, 8, 4, half, 1), (), 16 * 8 * 4 * 2),
                ("cuArray3DCreate_v2", array_3d(16, 8, 4, half, 1, flags=0x40), (), 0),  # sparse
                ("cuArray3DCreate_v2", array_3d(16, 8, 4, half, 1, flags=0x80), (), 0),  # mapped later
                ("cuArray3DCreate", array_3d(5, 4, 3, single, 4, narrow=True), (), 5 * 4 * 3 * 4 * 4),
                # 64x16, 32x8, 16x4, 8x2, 4x1 of four bytes
                ("cuMipmappedArrayCreate", array_3d(64, 16, 0, single, 1), (5,), (1024 + 256 + 64 + 16 + 4) * 4)):
            handle = self.driver.out(function, description, *more)
            free = "cuMipmappedArrayDestroy" if more else "cuArrayDestroy"
            self.keep(function, size, "array", free, u64(handle))

    def physical(self):
        for location, size, memory_class in ((1, 2 * MIB, "vmm"), (2, 4 * MIB, "pinned"), (3, 6 * MIB, "pinned")):
            handle = self.driver.out("cuMemCreate", self.size_t(size), properties(location), u64(0))
            self.keep("cuMemCreate", size, memory_class, "cuMemRelease", u64(handle))

    def graphs(self):
        driver, node = self.driver, u64()
        parameters = (ctypes.c_char * 120).from_buffer(graph_alloc(3000))
        driver.must("cuGraphAddMemAllocNode", ctypes.byref(node), None, None, self.size_t(0), parameters)
        self.books.allocated("cuGraphAddMemAllocNode", 3000, "graph")
        address = struct.unpack_from("Q", parameters, 112)[0]
        driver.must("cuGraphAddMemFreeNode", ctypes.byref(node), None, None, self.size_t(0), u64(address))
        for function, edges in (("cuGraphAddNode", ()), ("cuGraphAddNode_v2", (None,))):
            general = (ctypes.c_char * 144).from_buffer(bytearray(struct.pack("IIII", 10, 0, 0, 0)) + graph_alloc(3100) + bytearray(8))
            driver.must(function, ctypes.byref(node), None, None, *edges, self.size_t(0), general)
            self.books.allocated(function, 3100, "graph")
            address = struct.unpack_from("Q", general, 128)[0]
            free = struct.pack("IIIIQ", 11, 0, 0, 0, address)
            driver.must(function, ctypes.byref(node), None, None, *edges, self.size_t(0), free)
            kernel = struct.pack("IIIIQ", 0, 0, 0, 0, 12345)  # a kernel's node: no memory
            driver.must(function, ctypes.byref(node), None, None, *edges, self.size_t(0), kernel)

    def imports(self):
        """Memory of others: never counted, and its frees are of something known."""
        class IpcHandle(ctypes.Structure):
            _fields_ = [("bytes", ctypes.c_char * 64)]

        driver = self.driver
        for function in ("cuIpcOpenMemHandle_v2", "cuIpcOpenMemHandle"):
            address = driver.out(function, IpcHandle(), 1)
            driver.must("cuIpcCloseMemHandle", u64(address))
        memory = driver.out("cuImportExternalMemory", bytes(104))
        address = driver.out("cuExternalMemoryGetMappedBuffer", u64(memory), bytes(24))
        array = driver.out("cuExternalMemoryGetMappedMipmappedArray", u64(memory), bytes(64))
        driver.must("cuMemFree_v2", u64(address))
        driver.must("cuMipmappedArrayDestroy", u64(array))
        driver.must("cuDestroyExternalMemory", u64(memory))
        address = driver.out("cuMemPoolImportPointer", None, bytes(64))
        driver.must("cuMemFreeAsync", u64(address), None)
        for function, arguments in (("cuMemImportFromShareableHandle", (None, 1)), ("cuMulticastCreate", (bytes(40),))):
            handle = driver.out(function, *arguments)
            driver.must("cuMemRelease", u64(handle))

    def give_back(self):
        for free, size, memory_class, arguments in self.undo:
            self.driver.must(free, *arguments)
            self.books.gone(size, memory_class, free)
        self.undo = []

    # ---- physical memory, as it is used ----

    def create(self, size):
        handle = self.driver.out("cuMemCreate", self.size_t(size), properties(1), u64(0))
        self.books.allocated("cuMemCreate", size, "vmm")
        return u64(handle)

    def reserve(self, size):
        return self.driver.out("cuMemAddressReserve", self.size_t(size), self.size_t(0), u64(0), u64(0))

    def map(self, address, size, handle):
        self.driver.must("cuMemMap", u64(address), self.size_t(size), self.size_t(0), handle, u64(0))
        self.driver.must("cuMemSetAccess", u64(address), self.size_t(size), None, self.size_t(0))

    def unmap(self, address, size):
        self.driver.must("cuMemUnmap", u64(address), self.size_t(size))

    def segments_grow(self):
        """As PyTorch's expandable segments: pieces mapped side by side, their handles kept."""
        self.base = self.reserve(64 * MIB)
        self.handles = [self.create(2 * MIB) for _ in range(5)]
        for i, handle in enumerate(self.handles):
            self.map(self.base + i * 2 * MIB, 2 * MIB, handle)

    def segments_shrink(self):
        for i, handle in enumerate(self.handles):
            self.unmap(self.base + i * 2 * MIB, 2 * MIB)
            self.driver.must("cuMemRelease", handle)
            self.books.gone(2 * MIB, "vmm", "cuMemRelease")

    def pool_grows(self):
        """As llama.cpp's pool: the handle goes at once, the mapping keeps the memory."""
        self.base = self.reserve(64 * MIB)
        for i in range(3):
            handle = self.create(4 * MIB)
            self.map(self.base + i * 4 * MIB, 4 * MIB, handle)
            self.driver.must("cuMemRelease", handle)

    def pool_goes(self):
        """One unmapping of everything that was mapped in pieces."""
        self.unmap(self.base, 12 * MIB)
        self.books.gone(12 * MIB, "vmm", "cuMemUnmap")

    def sleeps(self):
        """As vLLM's sleep mode: the addresses stay, the memory goes; then it is there again."""
        self.base = self.reserve(8 * MIB)
        for _ in range(2):
            handle = self.create(8 * MIB)
            self.map(self.base, 8 * MIB, handle)
            self.unmap(self.base, 8 * MIB)
            self.driver.must("cuMemRelease", handle)
            self.books.gone(8 * MIB, "vmm", "cuMemRelease")

    def retains(self):
        """As NCCL frees: the handle from the address, a reference each."""
        base = self.reserve(2 * MIB)
        handle = self.create(2 * MIB)
        self.map(base, 2 * MIB, handle)
        again = self.driver.out("cuMemRetainAllocationHandle", u64(base + 4096))
        assert again == handle.value
        self.driver.must("cuMemRelease", handle)
        self.unmap(base, 2 * MIB)  # the retained reference keeps it
        self.kept = again

    def releases(self):
        self.driver.must("cuMemRelease", u64(self.kept))
        self.books.gone(2 * MIB, "vmm", "cuMemRelease")

    # ---- what fails ----

    def failures(self):
        """A call that failed has done nothing: what lives is as it was."""
        driver, place = self.driver, u64()
        self.linear_address = driver.out("cuMemAlloc_v2", self.size_t(5000))
        self.books.allocated("cuMemAlloc_v2", 5000, "device")
        base = self.reserve(8 * MIB)
        handle = self.create(2 * MIB)
        self.map(base, 2 * MIB, handle)
        for function, arguments in (
                ("cuMemAlloc_v2", (ctypes.byref(place), self.size_t(1 << 60))),  # out of memory
                ("cuMemAllocAsync", (ctypes.byref(place), self.size_t(1 << 60), None)),
                ("cuMemCreate", (ctypes.byref(place), self.size_t(1 << 60), properties(1), u64(0))),
                ("cuMemAlloc_v2", (ctypes.byref(place), self.size_t(0))),  # invalid
                ("cuMemHostRegister_v2", (None, self.size_t(10), 0)),
                ("cuMemMap", (u64(base), self.size_t(0), self.size_t(0), handle, u64(0))),
                ("cuMemUnmap", (u64(base), self.size_t(4 * MIB))),  # only half of it is mapped
                ("cuCtxCreate_v2", (ctypes.byref(place), 0, 99))):
            assert driver.call(function, *arguments) != 0, function
            self.books.failed()
        for function, address in (("cuMemFree_v2", 77), ("cuMemRelease", 78)):  # nobody's
            assert driver.call(function, u64(address)) != 0
            self.books.failed()
            self.books.step["unknown_frees"] += 1
        self.undo = [("cuMemFree_v2", 5000, "device", (u64(self.linear_address),)),
                     ("cuMemUnmap", 0, "vmm", (u64(base), self.size_t(2 * MIB))),
                     ("cuMemRelease", 2 * MIB, "vmm", (handle,))]

    # ---- contexts ----

    def contexts(self):
        """Two contexts on one device: with one goes what its thread allocated in it."""
        driver = self.driver
        count = ctypes.c_int()
        driver.must("cuDeviceGetCount", ctypes.byref(count))
        assert count.value == 1
        self.contexts_made = []

        def work(function, arguments, size):
            context = driver.out(function, *arguments)
            driver.out("cuMemAlloc_v2", self.size_t(size))
            self.books.allocated("cuMemAlloc_v2", size, "device")
            self.contexts_made.append((u64(context), size))

        for function, arguments, size in (("cuCtxCreate_v4", (None, 0, 0), 40000), ("cuCtxCreate_v3", (None, 0, 0, 0), 30000),
                                          ("cuCtxCreate_v2", (0, 0), 20000), ("cuCtxCreate", (0, 0), 10000)):
            thread = threading.Thread(target=work, args=(function, arguments, size))
            thread.start()
            thread.join()
        driver.out("cuMemHostAlloc", self.size_t(700), 0)  # of no context
        self.books.allocated("cuMemHostAlloc", 700, "pinned")

    def context_ends(self):
        for end in ("cuCtxDestroy_v2", "cuCtxDestroy"):
            context, size = self.contexts_made.pop()
            self.driver.must(end, context)
            self.books.gone(size, "device", end, "implicit")

    def last_context_ends(self):
        for _ in range(2):
            context, size = self.contexts_made.pop()
            self.driver.must("cuCtxDestroy_v2", context)
            self.books.gone(size, "device", "cuCtxDestroy_v2", "implicit")
        self.books.gone(700, "pinned", "cuCtxDestroy_v2", "implicit")

    def primary(self):
        """Retained twice: the first release ends nothing."""
        for release in ("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"):
            self.driver.out("cuDevicePrimaryCtxRetain", 0)
            self.driver.out("cuDevicePrimaryCtxRetain", 0)
            self.driver.out("cuMemAlloc_v2", self.size_t(600))
            self.books.allocated("cuMemAlloc_v2", 600, "device")
            self.driver.must("cuDevicePrimaryCtxRelease_v2", 0)
            self.driver.must(release, 0)
            self.books.gone(600, "device", release, "implicit")

    def runtime(self):
        """A runtime may hold the primary context by ways that are not seen; a reset ends it all the same."""
        self.driver.out("cuGetExportTable", None)
        self.driver.out("cuDevicePrimaryCtxRetain", 0)
        self.driver.out("cuMemAlloc_v2", self.size_t(800))
        self.books.allocated("cuMemAlloc_v2", 800, "device")
        self.driver.must("cuDevicePrimaryCtxRelease_v2", 0)

    def reset(self):
        self.driver.must("cuDevicePrimaryCtxReset_v2", 0)
        self.books.gone(800, "device", "cuDevicePrimaryCtxReset_v2", "implicit")
        self.driver.out("cuMemAlloc_v2", self.size_t(900))
        self.books.allocated("cuMemAlloc_v2", 900, "device")
        self.driver.must("cuDevicePrimaryCtxReset", 0)
        self.books.gone(900, "device", "cuDevicePrimaryCtxReset", "implicit")


STEPS = ("linear", "give_back", "pitched", "give_back", "registered", "give_back", "arrays", "give_back", "physical", "give_back",
         "graphs", "imports", "segments_grow", "segments_shrink", "pool_grows", "pool_goes", "sleeps", "retains", "releases",
         "failures", "give_back", "contexts", "context_ends", "last_context_ends", "primary", "runtime", "reset")


def main():
    steps = Steps(sys.argv[1])
    # Until it is watched; of a real driver the first call takes long enough to be seen.
    while sys.stdin.readline() == "seen?\n":
        steps.driver.must("cuInit", 0)
        steps.driver.out("cuDeviceGetCount", kind=ctypes.c_int)
        print(flush=True)
    for name in STEPS:
        getattr(steps, name)()
        steps.books.say(name)
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
