"""Threads that allocate on several devices, and say what lies where.

device_workload.py DRIVER SEED: performs so many steps for each line STEPS of its standard input, chosen by the seed, and answers with a JSON object a line:

    {"alloc": {device: {memory class: bytes}}, "live": {the same},    since the start, and now; a device is its number
     "freed": bytes, "implicit": bytes}                               of all devices

Threads make contexts and end them, make current what others made, push and pop; they allocate by functions that lie in the current context,
by streams, from pools, and by physical memory, which says itself where it lies. What is expected is a plain model of what cuda.h says.
"""
import ctypes
import json
import queue
import random
import struct
import sys
import threading

THREADS, DEVICES, CONTEXTS, STREAMS = 4, 3, 12, 8
u64 = ctypes.c_uint64


class Worker(threading.Thread):
    """A thread that calls what it is given, and its stack of contexts."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked, self.answers = queue.Queue(), queue.Queue()
        self.stack = []
        self.start()

    def run(self):
        while True:
            self.answers.put(self.asked.get()())

    def call(self, function):
        self.asked.put(function)
        return self.answers.get(timeout=60)

    def current(self):
        return self.stack[-1] if self.stack else None


class Context:
    """Handles of contexts are used again: these are not."""

    def __init__(self, handle, device, is_primary=False):
        self.handle, self.device, self.is_primary, self.lives = handle, device, is_primary, True


class Workload:
    def __init__(self, path, seed):
        self.library = ctypes.CDLL(path)
        self.random = random.Random(seed)
        self.threads = [Worker() for _ in range(THREADS)]
        self.contexts = []
        self.streams = {}  # handle -> its context
        self.pools = []  # (handle, device)
        self.blocks = []  # [function that frees, handle, bytes, device, class, context]
        self.alloc, self.live = {}, {}
        self.freed = self.implicit = 0

    def must(self, thread, function, *arguments):
        result = thread.call(lambda: self.library[function](*arguments))
        assert result == 0, (function, result)

    def out(self, thread, function, *arguments):
        place = u64()
        self.must(thread, function, ctypes.byref(place), *arguments)
        return place.value

    def count_devices(self):
        main = self.threads[0]
        self.must(main, "cuInit", 0)
        count = ctypes.c_int()
        self.must(main, "cuDeviceGetCount", ctypes.byref(count))
        assert count.value == DEVICES

    def ask_devices(self):
        main = self.threads[0]
        for device in range(DEVICES):
            self.must(main, "cuDeviceGetUuid_v2", ctypes.create_string_buffer(16), device)
            location = struct.pack("ii", 1, device)
            self.pools.append((self.out(main, "cuDeviceGetDefaultMemPool", device), device))
            self.pools.append((self.out(main, "cuMemPoolCreate", struct.pack("ii", 1, 0) + location + bytes(72)), device))
            self.pools.append((self.out(main, "cuMemGetMemPool", location, 1), device))

    # ---- contexts ----

    def make(self, thread):
        if len(self.contexts) == CONTEXTS:
            return
        device = self.random.randrange(DEVICES)
        function, *arguments = self.random.choice((("cuCtxCreate_v2", 0, device), ("cuCtxCreate_v3", None, 0, 0, device),
                                                   ("cuCtxCreate_v4", None, 0, device)))
        handle = self.out(thread, function, *arguments)
        self.contexts.append(Context(handle, device))
        thread.stack.append(self.contexts[-1])

    def retain(self, thread):
        device = self.random.randrange(DEVICES)
        handle = self.out(thread, "cuDevicePrimaryCtxRetain", device)
        if not any(context.handle == handle for context in self.contexts):
            self.contexts.append(Context(handle, device, is_primary=True))

    def set(self, thread):
        context = self.random.choice([None, *self.contexts])
        self.must(thread, "cuCtxSetCurrent", u64(context.handle if context else 0))
        if thread.stack:
            thread.stack.pop()
        if context:
            thread.stack.append(context)

    def push(self, thread):
        if not self.contexts or len(thread.stack) >= 7:
            return
        context = self.random.choice(self.contexts)
        self.must(thread, self.random.choice(("cuCtxPushCurrent_v2", "cuCtxPushCurrent")), u64(context.handle))
        thread.stack.append(context)

    def pop(self, thread):
        if thread.stack:
            handle = self.out(thread, self.random.choice(("cuCtxPopCurrent_v2", "cuCtxPopCurrent")))
            assert handle == thread.stack.pop().handle

    def ask(self, thread):
        context = thread.current()
        assert self.out(thread, "cuCtxGetCurrent") == (context.handle if context else 0)

    def end(self, thread):
        """Of a context that is current nowhere else; primary ones stay."""
        others = [context for one in self.threads for context in (one.stack[:-1] if one is thread else one.stack)]
        context = thread.current()
        if not context or context in others or context.is_primary:
            return
        self.must(thread, "cuCtxDestroy_v2", u64(context.handle))
        thread.stack.pop()
        self.contexts.remove(context)
        context.lives = False
        for block in [block for block in self.blocks if block[5] is context]:
            self.blocks.remove(block)
            self.take_off(block)
            self.implicit += block[2]

    # ---- memory ----

    def book(self, free, handle, size, device, memory_class, context):
        for books in (self.alloc, self.live):
            of = books.setdefault(device, {})
            of[memory_class] = of.get(memory_class, 0) + size
        self.blocks.append((free, handle, size, device, memory_class, context))

    def take_off(self, block):
        self.live[block[3]][block[4]] -= block[2]

    def allocate(self, thread):
        context = thread.current()
        if not context:
            return
        device = context.device
        size = self.random.randrange(1, 1 << 20)
        kind = self.random.randrange(3)
        if kind == 0:
            self.book("cuMemFree_v2", self.out(thread, "cuMemAlloc_v2", ctypes.c_size_t(size)), size, device, "device", context)
        elif kind == 1:
            array = struct.pack("QQII", size, 0, 0x20, 1)
            self.book("cuArrayDestroy", self.out(thread, "cuArrayCreate_v2", array), size * 4, device, "array", context)
        else:
            stream = self.random.choice((0, 1, 2))
            self.book("cuMemFree_v2", self.out(thread, "cuMemAllocAsync", ctypes.c_size_t(size), u64(stream)), size, device, "pool", context)

    def stream(self, thread):
        context = thread.current()
        if not context:
            return
        if len(self.streams) < STREAMS:
            function, *arguments = self.random.choice((("cuStreamCreate", 0), ("cuStreamCreateWithPriority", 0, 0)))
            self.streams[self.out(thread, function, *arguments)] = context
        handle, made_in = self.random.choice(list(self.streams.items()))
        if made_in.lives:
            size = self.random.randrange(1, 1 << 20)
            address = self.out(thread, "cuMemAllocAsync_ptsz", ctypes.c_size_t(size), u64(handle))
            self.book("cuMemFreeAsync", address, size, made_in.device, "pool", context)
        else:
            self.must(thread, "cuStreamDestroy_v2", u64(handle))
            del self.streams[handle]

    def pool(self, thread):
        pool, device = self.random.choice(self.pools)
        size = self.random.randrange(1, 1 << 20)
        address = self.out(thread, "cuMemAllocFromPoolAsync", ctypes.c_size_t(size), u64(pool), None)
        self.book("cuMemFree_v2", address, size, device, "pool", thread.current())

    def create(self, thread):
        device = self.random.randrange(DEVICES)
        size = self.random.randrange(1, 16) << 21
        properties = struct.pack("iiii", 1, 0, 1, device) + bytes(48)
        handle = self.out(thread, "cuMemCreate", ctypes.c_size_t(size), properties, u64(0))
        self.book("cuMemRelease", handle, size, device, "vmm", None)

    def free(self, thread):
        if not self.blocks:
            return
        block = self.blocks.pop(self.random.randrange(len(self.blocks)))
        self.must(thread, block[0], u64(block[1]), None)
        self.take_off(block)
        self.freed += block[2]

    def step(self):
        action = self.random.choices(
            (self.make, self.retain, self.set, self.push, self.pop, self.ask, self.end, self.allocate, self.stream, self.pool, self.create,
             self.free), (2, 1, 6, 4, 4, 2, 2, 12, 4, 3, 2, 14))[0]
        action(self.random.choice(self.threads))

    def say(self):
        def told(books):
            return {device: {name: size for name, size in of.items() if size} for device, of in books.items() if any(of.values())}
        print(json.dumps({"alloc": told(self.alloc), "live": told(self.live), "freed": self.freed, "implicit": self.implicit}), flush=True)


def main():
    work = Workload(sys.argv[1], int(sys.argv[2]))
    # Until it is watched; of a real driver the first calls take long enough to be seen.
    while (line := sys.stdin.readline()) == "seen?\n":
        work.count_devices()
        print(flush=True)
    work.ask_devices()
    while line:
        for _ in range(int(line)):
            work.step()
        work.say()
        line = sys.stdin.readline()


if __name__ == "__main__":
    main()
