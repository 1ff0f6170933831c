#!/usr/bin/env python3
"""copies_are_current.py SOURCE : says which copy under tests/ is behind its original.

The originals lie in the folder that VRAMSCOPE_ORIGINALS names, or in a folder `shared` beside the checkout; where neither is
there, there is nothing to compare and the test is skipped.
"""
import os
import sys

COPIES = {"conformance": "tests/conformance", "captures": "tests/captures", "bench": "tests/bench/workload"}


def files(top):
    for folder, inside, names in os.walk(top):
        inside[:] = [d for d in inside if d != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), top)


def read(path):
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def main():
    source = sys.argv[1]
    originals = os.environ.get("VRAMSCOPE_ORIGINALS") or os.path.join(os.path.dirname(os.path.abspath(source)), "shared")
    present = [name for name in COPIES if os.path.isdir(os.path.join(originals, name))]
    if not present:
        print("skipped: copies_are_current: no originals beside this checkout")
        return 77
    behind = compared = 0
    for name in present:
        for file in sorted(files(os.path.join(originals, name))):
            copy = os.path.join(source, COPIES[name], file)
            compared += 1
            if read(os.path.join(originals, name, file)) != read(copy):
                print("%s is not what the original is" % os.path.relpath(copy, source))
                behind += 1
    print("%d files compared" % compared)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
