#!/usr/bin/env python3
"""A program shaped like a server of a language model, as far as GPU memory goes: weights, a KV cache, activations, a slow leak.

    llm_server.py --driver libcuda.so.1 [--ops libtensor_ops.so] [--seconds N] [--gib N]

It computes nothing; it asks the CUDA driver for the memory that such a server would ask for, in the same places of its code, 20 steps a
second. Without --ops all of it is Python; with it, tensors come from a caching allocator in C++ (tensor_ops.cc), and some calls
go from Python into C++ and back into Python. Ends with SIGTERM or SIGINT, and prints what it holds as a line of JSON: "ready" once the
model is loaded, "done" at the end.
"""
import argparse
import ctypes
import json
import random
import signal
import time

MIB = 1 << 20
STEP_SECONDS = 0.05
ABSURD = 1 << 46  # bytes that no device has: the request is refused, as a too long prompt is


class OutOfMemory(MemoryError):
    """The driver had no memory, even after everything cached was given back."""


class Driver:
    """libcuda.so.1 through ctypes; a context where the driver wants one."""

    def __init__(self, path, start_seconds):
        self.library = ctypes.CDLL(path)
        self.library.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
        self.library.cuMemFree_v2.argtypes = [ctypes.c_uint64]
        result = self.library.cuInit(0)
        if result:
            raise SystemExit("cuInit: error %d" % result)
        time.sleep(start_seconds)
        self.make_current(0)

    def make_current(self, ordinal):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if self.library.cuDeviceGet(ctypes.byref(device), ordinal) == 0 and \
                self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0:
            self.library.cuCtxSetCurrent(context)

    @property
    def used(self):
        """Bytes that are taken of the device, by whomever; None where the driver does not say."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        if self.library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)):
            return None
        return total.value - free.value

    def address_of(self, name):
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p)


class PythonAllocator:
    """Every tensor is a call of the driver."""

    def __init__(self, driver):
        self.driver, self.sizes, self.refused = driver, {}, 0

    @property
    def reserved(self):
        return sum(self.sizes.values())

    def empty(self, size):
        address = ctypes.c_uint64()
        if self.driver.library.cuMemAlloc_v2(ctypes.byref(address), size):
            self.refused += 1
            raise OutOfMemory(size)
        self.sizes[address.value] = size
        return address.value

    def release(self, address):
        if self.driver.library.cuMemFree_v2(address) == 0:
            del self.sizes[address]

    def linear(self, size, epilogue):
        workspace = self.empty(size)
        epilogue()
        self.release(workspace)

    def trim(self):
        """Nothing is kept."""


class NativeAllocator:
    """The caching allocator of tensor_ops.cc."""

    Epilogue = ctypes.CFUNCTYPE(ctypes.c_int)

    def __init__(self, driver, path):
        self.library = ctypes.CDLL(path)
        for name, result, arguments in (("open", ctypes.c_void_p, [ctypes.c_void_p] * 2), ("close", None, [ctypes.c_void_p]),
                                        ("empty", ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_size_t]),
                                        ("release", None, [ctypes.c_void_p, ctypes.c_uint64]), ("trim", None, [ctypes.c_void_p]),
                                        ("linear", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, self.Epilogue]),
                                        ("reserved", ctypes.c_size_t, [ctypes.c_void_p]), ("refused", ctypes.c_size_t, [ctypes.c_void_p])):
            function = getattr(self.library, "tensor_" + name)
            function.restype, function.argtypes = result, arguments
        self.handle = self.library.tensor_open(driver.address_of("cuMemAlloc_v2"), driver.address_of("cuMemFree_v2"))

    @property
    def reserved(self):
        return self.library.tensor_reserved(self.handle)

    @property
    def refused(self):
        return self.library.tensor_refused(self.handle)

    def empty(self, size):
        address = self.library.tensor_empty(self.handle, size)
        if not address:
            raise OutOfMemory(size)
        return address

    def release(self, address):
        self.library.tensor_release(self.handle, address)

    def linear(self, size, epilogue):
        def call():
            epilogue()
            return 0

        self.library.tensor_linear(self.handle, size, self.Epilogue(call))

    def trim(self):
        self.library.tensor_trim(self.handle)


class Tensor:
    def __init__(self, allocator, size):
        self.allocator, self.size = allocator, size
        self.address = allocator.empty(size)

    def free(self):
        self.allocator.release(self.address)


class Linear:
    def __init__(self, allocator, size):
        self.allocator = allocator
        self.weight = Tensor(allocator, size)

    def forward(self, tokens, epilogue=lambda: None):
        self.allocator.linear(tokens * MIB // 4, epilogue)


class Attention:
    def __init__(self, allocator, size):
        self.qkv_proj, self.o_proj = Linear(allocator, size * 3), Linear(allocator, size)
        self.allocator = allocator

    def forward(self, tokens):
        scores = Tensor(self.allocator, tokens * MIB)
        self.qkv_proj.forward(tokens, epilogue=lambda: self.rotary_embedding(tokens))
        scores.free()

    def rotary_embedding(self, tokens):
        Tensor(self.allocator, tokens * MIB // 2).free()


class MLP:
    def __init__(self, allocator, size):
        self.gate_up_proj, self.down_proj = Linear(allocator, size * 4), Linear(allocator, size * 2)

    def forward(self, tokens):
        self.gate_up_proj.forward(tokens * 2)
        self.down_proj.forward(tokens)


class DecoderLayer:
    def __init__(self, allocator, size):
        self.self_attn, self.mlp = Attention(allocator, size), MLP(allocator, size)

    def forward(self, tokens):
        self.self_attn.forward(tokens)
        self.mlp.forward(tokens)


class Transformer:
    def __init__(self, allocator, gib, layers=12):
        size = gib * 1024 // 2 // (layers * 10 + 4) * MIB  # half of the memory are weights
        self.embed_tokens = Tensor(allocator, size * 4)
        self.layers = [DecoderLayer(allocator, size) for _ in range(layers)]
        self.allocator = allocator

    def forward(self, tokens):
        for layer in self.layers[:2]:  # the others would take the same memory again
            layer.forward(tokens)
        Tensor(self.allocator, tokens * 2 * MIB).free()  # logits


class KVCache:
    def __init__(self, allocator, gib, layers=12):
        self.blocks = [Tensor(allocator, gib * 1024 // 3 // layers * MIB) for _ in range(layers)]


class PrefixCache:
    """Remembers what prompts began with, and forgets nothing: the leak."""

    def __init__(self, allocator):
        self.allocator, self.entries = allocator, {}

    def remember(self, prompt):
        if prompt not in self.entries:
            self.entries[prompt] = Tensor(self.allocator, 8 * MIB)


class ModelRunner:
    def __init__(self, allocator, gib):
        self.allocator, self.gib = allocator, gib
        self.model = self.kv_cache = None

    def load_model(self):
        self.model = Transformer(self.allocator, self.gib)

    def initialize_kv_cache(self):
        self.kv_cache = KVCache(self.allocator, self.gib)

    def execute_model(self, tokens):
        self.model.forward(tokens)


class Engine:
    def __init__(self, allocator, gib, seed):
        self.allocator, self.random = allocator, random.Random(seed)
        self.runner = ModelRunner(allocator, gib)
        self.runner.load_model()
        self.runner.initialize_kv_cache()
        self.prefix_cache = PrefixCache(allocator)
        self.steps = self.refused_requests = 0

    def step(self):
        self.steps += 1
        if self.steps % 40 == 1:
            self.prefill()
        else:
            self.decode()
        if self.steps % 200 == 0:
            self.allocator.trim()

    def prefill(self):
        self.prefix_cache.remember("prompt %d" % self.random.randrange(10**9))
        self.runner.execute_model(self.random.choice((8, 16, 64)))

    def decode(self):
        self.runner.execute_model(self.random.choice((1, 2, 4)))

    def admit(self, size):
        """A request that wants more than there is must not end the server."""
        try:
            Tensor(self.allocator, size).free()
        except OutOfMemory:
            self.refused_requests += 1


class Ending:
    """Whether a signal has come: an exception would be lost in a call from C++."""

    def __init__(self):
        self.is_asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)

    def ask(self, _number, _frame):
        self.is_asked = True


def say(event, engine, driver):
    print(json.dumps({"event": event, "steps": engine.steps, "live_bytes": engine.allocator.reserved, "driver_used_bytes": driver.used,
                      "refused_calls": engine.allocator.refused, "refused_requests": engine.refused_requests,
                      "leaked_bytes": len(engine.prefix_cache.entries) * 8 * MIB}), flush=True)


def serve(engine, ending, options):
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    while time.monotonic() < deadline and not ending.is_asked:
        began = time.monotonic()
        engine.step()
        if engine.steps % options.absurd_every == 0:
            engine.admit(ABSURD)
        time.sleep(max(0.0, STEP_SECONDS - (time.monotonic() - began)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", default="libcuda.so.1", help="the CUDA driver library")
    parser.add_argument("--ops", help="the library built of tensor_ops.cc")
    parser.add_argument("--seconds", type=float, default=0, help="0: until a signal")
    parser.add_argument("--start-seconds", type=float, default=3, help="between the driver's start and the first tensor, as others read files")
    parser.add_argument("--gib", type=int, default=6, help="of memory that is asked for, about: 1 or more")
    parser.add_argument("--absurd-every", type=int, default=600, metavar="STEPS", help="a request that no device has memory for")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ending = Ending()
    driver = Driver(options.driver, options.start_seconds)
    engine = Engine(NativeAllocator(driver, options.ops) if options.ops else PythonAllocator(driver), options.gib, options.seed)
    say("ready", engine, driver)
    serve(engine, ending, options)
    say("done", engine, driver)


if __name__ == "__main__":
    main()
