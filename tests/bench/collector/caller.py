"""caller.py NESTED_CALLER : 40 Python and some 30 native frames deep, makes driver calls when told.

A line COUNT on standard input makes COUNT allocations and frees; the answer is a line "ALLOC_NS FREE_NS", each of one call. A line
"switch COUNT" makes so many contexts current; the answer is "SWITCH_NS". A line "devices COUNT" asks how many devices there are, which is that.
"""
import ctypes
import sys

PYTHON_FRAMES = 40
NATIVE_BETWEEN = 10

library = ctypes.PyDLL(sys.argv[1])
library.call_driver.argtypes = [ctypes.c_size_t]
library.switch_contexts.argtypes = [ctypes.c_size_t]
alloc_ns = ctypes.c_double.in_dll(library, "alloc_ns")
free_ns = ctypes.c_double.in_dll(library, "free_ns")
switch_ns = ctypes.c_double.in_dll(library, "switch_ns")
Callback = ctypes.PYFUNCTYPE(None)


def deeper(left, then):
    if left > 1:
        deeper(left - 1, then)
    else:
        then()


def answer():
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, number = line.rpartition(" ")
        if word == "switch":
            library.switch_contexts(int(number))
            print(switch_ns.value, flush=True)
        elif word == "devices":
            library.see_devices(int(number))
            print(0, flush=True)
        else:
            library.call_driver(int(number))
            print(alloc_ns.value, free_ns.value, flush=True)


def inner():
    deeper(PYTHON_FRAMES // 2 - 2, answer)


def outer():
    library.nest(NATIVE_BETWEEN, Callback(inner))


deeper(PYTHON_FRAMES // 2 - 2, outer)
