#!/usr/bin/env python3
"""Samples the Python stacks of a program that it runs, and writes them as folded stacks.

    python_sampler.py [--rate HZ] [--seconds N] --out FILE PROGRAM [ARGUMENT ...]

A thread looks at sys._current_frames() so many times a second while PROGRAM runs as __main__ in this process. Standard library
only. What it shows is where the threads stand, running or waiting: wall time, as seen by the interpreter.
"""
import _thread
import argparse
import collections
import runpy
import signal
import sys
import threading
import time


def frame_name(frame):
    code = frame.f_code
    module = frame.f_globals.get("__name__", "?")
    return "%s.%s" % (module, getattr(code, "co_qualname", code.co_name))


class Sampler(threading.Thread):
    def __init__(self, rate, seconds):
        super().__init__(daemon=True)
        self.period, self.seconds = 1 / rate, seconds
        self.stacks, self.ended = collections.Counter(), threading.Event()

    def run(self):
        own, begin, ticks = threading.get_ident(), time.monotonic(), 0
        while not self.ended.wait(max(0, begin + (ticks + 1) * self.period - time.monotonic())):
            passed = time.monotonic() - begin
            missed, ticks = int(passed / self.period) - ticks, int(passed / self.period)
            for thread, frame in sys._current_frames().items():
                if thread != own and missed > 0:
                    self.stacks[self.stack(frame)] += missed  # a late look stands for the ticks that it missed
            if self.seconds and passed >= self.seconds:
                _thread.interrupt_main()
                return

    @staticmethod
    def stack(frame):
        """Root first, without the frames of this file and of runpy that lead to the program."""
        names = []
        while frame:
            names.append((frame.f_code.co_filename, frame_name(frame)))
            frame = frame.f_back
        names.reverse()
        while names and (names[0][0] == __file__ or "runpy" in names[0][0]):
            names.pop(0)
        return ";".join(name.replace(";", ":").replace(" ", "_") for _, name in names)

    def folded(self):
        return "".join("%s %d\n" % row for row in sorted(self.stacks.items()) if row[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, help="end the program after so long")
    parser.add_argument("--out", required=True)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sampler = Sampler(options.rate, options.seconds)
    sys.setswitchinterval(0.001)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
    sampler.start()
    sys.argv = [options.program, *options.arguments]
    begin = time.monotonic()
    try:
        runpy.run_path(options.program, run_name="__main__")
    except KeyboardInterrupt:
        pass  # the time is over
    sampler.ended.set()
    sampler.join()
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(sampler.folded())
    print("%d samples in %.1f s" % (sum(sampler.stacks.values()), time.monotonic() - begin), file=sys.stderr)


if __name__ == "__main__":
    main()
