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


class Java(client_kit.ClientTest):
    tools = ("javac", "java", "mvn")
    selector = '{service_name="sdk-java"}'

    def install(self, version):
        self.run_tool("mvn", "--quiet", "--batch-mode", "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy",
                      "-Dartifact=io.pyroscope:agent:" + version, "-DoutputDirectory=" + self.folder)
        self.agent = os.path.join(self.folder, "agent-%s.jar" % version)
        self.take(("sdk_java.java", "Sdk.java"))

    def profile(self, check, profile_type, selector, **settings):
        """Calls `check` with what the program measured when its profile has come."""
        self.run_tool("javac", "-cp", self.agent, "Sdk.java")
        settings = dict(settings, server_address=self.url, application_name="sdk-java", labels="env=test", profiler_event="itimer",
                        upload_interval="2s", log_level="error")
        environment = {"PYROSCOPE_" + name.upper(): value for name, value in settings.items()}
        # the agent leaves its library in the temporary folder
        with self.profiled("java", "-Djava.io.tmpdir=" + self.folder, "-javaagent:" + self.agent, "Sdk", **environment) as measured:
            harness.wait_until(lambda: any("Sdk.last" in stack for stack in self.stacks(profile_type, selector)), 60, "what is sent last")
            check(measured)
        self.assert_nothing_was_refused()

    def check_jfr(self, measured, seen=0.5):
        self.assert_times(measured, CPU, self.selector, seen=seen)
        # dynamic labels come in a part of their own
        of_handler = '{service_name="sdk-java",handler="heavy"}'
        self.assert_times({"heavy": measured["heavy"]}, CPU, of_handler, seen=seen)
        self.assertEqual(self.by_function(CPU, of_handler)["light"], 0)
        # heavy() allocates 64 MiB in one piece: more than the interval of samples, so that each that is seen is one for certain
        self.assertGreaterEqual(self.by_function("memory:alloc_in_new_tlab_bytes:bytes:space:bytes", of_handler)["heavy"], 64 << 20)
        for labels in self.labels(self.selector):
            self.assertEqual((labels["env"], labels["pyroscope_spy"], labels["jfr_event"]), ("test", "javaspy", "itimer"))

    def test_agent(self):
        self.install("2.9.2")
        self.profile(self.check_jfr, CPU, self.selector, format="jfr", profiler_alloc="512k")
        self.assertEqual({labels["otel.scope.name"] for labels in self.labels(self.selector)}, {"com.grafana.pyroscope/java"})

    def test_agent_of_before(self):
        self.install("0.12.2")
        self.replace("Sdk.java", "io.pyroscope.labels.v2", "io.pyroscope.labels")
        # it sees nothing while it changes from one interval to the next: up to half on a busy machine
        self.profile(lambda measured: self.check_jfr(measured, seen=0.25), CPU, self.selector, format="jfr", profiler_alloc="512k")

    def test_agent_by_otlp(self):
        """The agent sends neither a name nor labels then."""
        self.install("2.9.2")
        profile_type, selector = "itimer:itimer:ns:itimer:ns", '{service_name="unknown_service"}'
        self.profile(lambda measured: self.assert_times(measured, profile_type, selector), profile_type, selector, format="otlp")


if __name__ == "__main__":
    harness.main()
