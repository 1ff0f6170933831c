#!/usr/bin/env python3
"""Builds tensor_ops.cc where there is a compiler, and runs llm_server.py on a CUDA driver: GPU memory to look at, also without a GPU.

    gpu_demo.py --driver PATH [--seconds N] [--gib N]

PATH is a libcuda.so.1: a real one, or the stub of tests/collector/stub. Everything that is not understood goes to llm_server.py.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder):
    """The path of the library, or None with the reason said."""
    compiler = next((name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and shutil.which(name)), None)
    if not compiler:
        print("  no C++ compiler: the demo is Python alone", flush=True)
        return None
    library = os.path.join(folder, "libtensor_ops.so")
    done = subprocess.run([compiler, "-O2", "-g", "-fPIC", "-shared", "-o", library, os.path.join(HERE, "tensor_ops.cc")],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        print("  tensor_ops.cc was not built: the demo is Python alone\n%s" % done.stderr.strip()[-500:], flush=True)
        return None
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="vramscope-demo-") as folder:
        library = build(folder)
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "llm_server.py"), "--driver", options.driver,
                                   *(["--ops", library] if library else []), *rest],
                                  env={"STUB_INIT_US": "300000", **os.environ})  # as long as a real driver takes to begin
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: server.send_signal(number))
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
