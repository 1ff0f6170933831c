"""python_workload.py DRIVER CASE : calls the driver from Python in many ways, and says from where.

Each call has a size of its own. For each, written before the call:

    E <size> <frames>            and as often as it says, innermost first:
    F <line> <name> <file>       tabs between

as the interpreter itself knows its frames: the qualified name since 3.11; before, the function's name, with the class that `self` or `cls`
has in front. "S <case> <reason>" is a case that this interpreter does not have, "R" asks for a line on standard input, "T <case>" was done;
behind "D" all of them were, and it ends behind another line. "N" says that a call by code that is new was made, one for each line "again".
"""
import ctypes
import os
import sys

DRIVER, CASE = sys.argv[1:3]
FRAMES_MAX = 256  # that the collector keeps
TEXT_MAX = 256    # bytes of a name or path, as the interpreter stores it
ADDRESS = ctypes.c_uint64()
HERE = ctypes.byref(ADDRESS)


def function_of(library):
    function = library.cuMemAlloc_v2
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return function


RELEASED = function_of(ctypes.CDLL(DRIVER))  # without the GIL
HELD = function_of(ctypes.PyDLL(DRIVER))


def say(text):
    os.write(1, text.encode("utf-8", "replace"))


def cut(text):
    width = 1 if all(ord(c) < 0x100 for c in text) else 2 if all(ord(c) < 0x10000 for c in text) else 4
    return text if len(text) * width <= TEXT_MAX else text[:TEXT_MAX // width] + "\u2026"


def name_of(frame):
    code = frame.f_code
    if sys.version_info >= (3, 11):
        return cut(code.co_qualname)
    first = code.co_varnames[0] if code.co_argcount else None
    if first not in ("self", "cls"):
        return cut(code.co_name)
    owner = frame.f_locals[first]
    return (owner if isinstance(owner, type) else type(owner)).__name__ + "." + cut(code.co_name)


def note(size, frame):
    lines = []
    while frame and len(lines) < FRAMES_MAX:
        lines.append("F\t%d\t%s\t%s\n" % (frame.f_lineno, name_of(frame), cut(frame.f_code.co_filename)))
        frame = frame.f_back
    say("E\t%d\t%d\n%s" % (size, len(lines), "".join(lines)))


def hit(size, function=RELEASED):
    note(size, sys._getframe()); function(HERE, size)


class GPUModelRunner:
    def _allocate_kv_cache_tensors(self, size):
        note(size, sys._getframe()); return RELEASED(HERE, size)

    def rec(self, depth, size):
        if depth == 0:
            return self._allocate_kv_cache_tensors(size)
        return self.rec(depth - 1, size)

    @staticmethod
    def st(runner, depth, size):
        return runner.rec(depth, size)

    @classmethod
    def cl(cls, runner, depth, size):
        return cls.st(runner, depth, size)


def gen(runner, depth, size):
    yield runner.cl(runner, depth, size)


def main(size):
    runner = GPUModelRunner()
    list(map(lambda x: next(gen(runner, 25, x)), [size]))


def in_thread(size, function):
    import threading
    thread = threading.Thread(target=hit, args=(size, function))
    thread.start()
    thread.join()


def in_asyncio(size):
    import asyncio

    async def coroutine():
        hit(size)

    async def numbers():
        hit(size + 1)
        yield 1

    async def program():
        await coroutine()
        async for _ in numbers():
            pass
        return [x async for x in numbers()]

    asyncio.run(program())


class Meta(type):
    def __call__(cls, size):
        hit(size)
        return super().__call__(size)


class Base:
    def inherited(self, size):
        hit(size)


class Derived(Base, metaclass=Meta):
    def __init__(self, size):
        self.size = size
        hit(size + 1)

    @property
    def held(self):
        hit(self.size + 2)

    def closure(self):
        return (lambda: hit(self.size + 3))()

    def in_cell(self):
        def inner():
            return self
        hit(self.size + 4)
        return inner

    def __del__(self):
        hit(self.size + 5)


class Ünïcödé:
    def größe(self, size):
        hit(size)

    def 測試(self, size):
        self.größe(size)

    def 𝔘(self, size):
        self.測試(size)


def long_names(size):
    names = {}
    for index, name in enumerate(("f" + "x" * 499, "ж" * 300, "f" + "\U00020000" * 100)):
        exec("def %s(hit, size):\n\n  hit(size)" % name, names)
        names[name](hit, size + index)


def many_lines(size):
    """A line table that is longer than what is sent of it at first."""
    source = "def long(hit, size):\n" + "".join("  a%d = [size,\n    size + 1]\n" % i for i in range(400)) + "  hit(size)\n"
    exec(compile(source, "<many lines>", "exec"), globals())  # what was not sent is read later
    globals()["long"](hit, size)


def deep(depth, size):
    return hit(size) if depth == 0 else deep(depth - 1, size)


def in_sub_interpreter(size):
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    source = "import sys\nsys.argv = %r\nexec(compile(open(%r).read(), %r, 'exec'), {'__name__': '__sub__'})"
    try:
        identity = interpreters.create(isolated=False)
    except TypeError:
        identity = interpreters.create()
    run = getattr(interpreters, "exec", None) or interpreters.run_string
    failure = run(identity, source % ([__file__, DRIVER, "sub:%d" % size], __file__, __file__))
    if failure:
        raise RuntimeError(getattr(failure, "formatted", failure))


def in_child(size):
    child = os.fork()
    if child == 0:
        hit(size)
        os._exit(0)
    os.waitpid(child, 0)


def odd_files(size):
    """Code says of itself where it comes from, whatever that is."""
    source = "def odd(hit, size):\n    hit(size)\n"
    for index, file in enumerate(("", " ", "<frozen x>", "/no/such/größe.py", "/\U0001f40d/測試.py", "a" * 300, "C:\\x.py", "a;b;c d")):
        names = {}
        exec(compile(source, file, "exec"), names)
        names["odd"](hit, size + index)


def same_places(size, count):
    """Code objects of other names, one behind the other at the same addresses."""
    for index in range(count):
        name = "abcd"[index % 4] * 4
        source = "def %s(hit, size):\n    hit(size)\n%s(hit, size)\n" % (name, name)
        exec(source, {"hit": hit, "size": size + index})


def many_threads(first, count):
    """All of them inside of the driver's function at about the same time."""
    import threading
    barrier = threading.Barrier(count)

    def work(size, depth):
        if depth:
            return work(size, depth - 1)
        barrier.wait()
        note(size, sys._getframe()); RELEASED(ctypes.byref(ctypes.c_uint64()), size)

    threads = [threading.Thread(target=work, args=(first + i, i % 7)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_greenlet(size):
    import greenlet

    def inner():
        hit(size + 1)

    def outer():
        hit(size)
        greenlet.greenlet(inner).switch()

    greenlet.greenlet(outer).switch()


def try_case(name, function, *arguments):
    try:
        function(*arguments)
        say("T\t%s\n" % name)
    except Exception as failure:  # an interpreter without it
        say("S\t%s\t%s: %s\n" % (name, type(failure).__name__, str(failure).replace("\n", " ")))


def all_cases():
    hit(2, HELD)
    in_thread(3, RELEASED)
    in_thread(4, HELD)
    in_asyncio(10)
    thing = Derived(20)
    thing.held
    thing.closure()
    thing.in_cell()
    thing.inherited(26)
    del thing
    Ünïcödé().𝔘(30)
    long_names(40)
    many_lines(50)
    import functools
    functools.partial(deep, 3)(60)
    sorted([2, 1], key=lambda x: [hit(62 + y) for y in [x]][0] or x)
    sys.setrecursionlimit(5000)
    try_case("recursion", deep, 1200, 70)  # too deep for C, where each call is one
    in_child(80)
    odd_files(110)
    many_threads(1000, 64)
    same_places(1100, 40)
    try_case("sub-interpreter", in_sub_interpreter, 90)
    try_case("greenlet", in_greenlet, 100)


if CASE.startswith("sub:"):
    hit(int(CASE[4:]))
elif CASE == "import":
    pass
else:
    ctypes.CDLL(DRIVER).cuInit(0)
    say("R\n")
    sys.stdin.readline()
    if CASE == "all":
        main(1)
        all_cases()
        say("D\n")
        sys.stdin.readline()
    elif CASE == "fresh":
        kept = []
        while sys.stdin.readline() == "again\n":
            kept.append({})
            exec("def fresh(function, *arguments):\n    function(*arguments)\n", kept[-1])
            kept[-1]["fresh"](RELEASED, HERE, len(kept))
            say("N\n")
    elif CASE == "short":
        main(1)
        os._exit(0)
