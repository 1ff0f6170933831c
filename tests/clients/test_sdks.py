"""The SDKs that the registries offer, unmodified: installed here, run for some seconds on a small program, and read back."""
import os
import sys
import unittest

import client_kit
import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


class Python(client_kit.ClientTest):
    def check(self, version):
        """The labels of the series."""
        self.run_tool(sys.executable, "-m", "venv", "venv")
        python = os.path.join(self.folder, "venv/bin/python")
        self.run_tool(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pyroscope-io==" + version)
        self.take(("sdk_python.py", "sdk_python.py"))
        measured = self.run_profiled(python, "sdk_python.py")
        self.assert_times(measured, CPU, '{service_name="sdk-python"}')
        self.assert_nothing_was_refused()
        labels = self.labels('{service_name="sdk-python"}')
        self.assertEqual({each["env"] for each in labels}, {"test"})
        return labels

    def test_pyroscope_io(self):
        """By Push."""
        self.assertEqual({each["process.runtime.name"] for each in self.check("1.4.0")}, {"cpython"})

    def test_pyroscope_io_of_before(self):
        """By /ingest."""
        self.assertEqual({each["pyroscope_spy"] for each in self.check("0.8.16")}, {"pyspy"})


class Node(client_kit.ClientTest):
    tools = ("node", "npm")

    def test_pyroscope_nodejs(self):
        self.run_tool("npm", "init", "--yes")
        self.run_tool("npm", "install", "--silent", "--no-audit", "--no-fund", "@pyroscope/nodejs@0.6.4")
        self.take(("sdk_node.js", "sdk_node.js"))
        measured = self.run_profiled("node", "sdk_node.js")
        self.assert_times(measured, "wall:wall:nanoseconds:wall:nanoseconds", '{service_name="sdk-node"}')
        self.assert_times(measured, "wall:cpu:nanoseconds:wall:nanoseconds", '{service_name="sdk-node"}')
        for labels in self.labels('{service_name="sdk-node"}'):
            self.assertEqual((labels["env"], labels["pyroscope_spy"]), ("test", "nodespy"))
        self.assert_nothing_was_refused()


class Go(client_kit.ClientTest):
    tools = ("go",)

    def build(self, version):
        self.take(("sdk_go.go", "main.go"))
        self.run_tool("go", "mod", "init", "example.test/sdk")
        self.run_tool("go", "get", "github.com/grafana/pyroscope-go@" + version)
        self.run_tool("go", "build", "-mod=mod", "-o", "sdk", ".")

    def check(self, version):
        self.build(version)
        measured = self.run_profiled(os.path.join(self.folder, "sdk"))
        self.assert_times(measured, CPU, '{service_name="sdk-go"}')
        held = self.by_function("memory:inuse_space:bytes:space:bytes", '{service_name="sdk-go"}')
        # heavy() keeps 64 MiB in one piece, which the runtime samples for certain
        self.assertGreaterEqual(held["heavy"], 64 << 20)
        for labels in self.labels('{service_name="sdk-go"}'):
            self.assertEqual((labels["env"], labels["pyroscope_spy"]), ("test", "gospy"))
        self.assert_nothing_was_refused()

    def test_pyroscope_go(self):
        self.check("v1.5.0")

    def test_pyroscope_go_of_before(self):
        self.check("v1.2.7")


class Rust(client_kit.ClientTest):
    tools = ("cargo",)

    def test_pyroscope_rs(self):
        self.run_tool("cargo", "init", "--quiet", "--vcs", "none", "--name", "sdk", ".")
        self.run_tool("cargo", "add", "--quiet", "pyroscope@=2.1.5", "--features", "backend-pprof-rs")
        self.run_tool("cargo", "add", "--quiet", "libc@0.2")
        self.take(("sdk_rust.rs", "src/main.rs"))
        self.run_tool("cargo", "build", "--quiet")
        measured = self.run_profiled(os.path.join(self.folder, "target/debug/sdk"))
        self.assert_times(measured, CPU, '{service_name="sdk-rust"}')
        for labels in self.labels('{service_name="sdk-rust"}'):
            self.assertEqual((labels["env"], labels["process.runtime.name"]), ("test", "rust"))
        self.assert_nothing_was_refused()


if __name__ == "__main__":
    harness.main()
