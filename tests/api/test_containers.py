"""`run` watches processes in containers: a root and namespaces of their own, control groups as engines name them, files as they write them.

Bytes come out as the workload allocated them, stacks whole, and labels as the engine, the kubelet and the API server have the names. The
containers are made by hand (support/container.py): no engine runs.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import container
import harness
from container import DRIVER, ID, OTHER_ID, PODS, UID

STUB = os.environ.get("VRAMSCOPE_STUB_DRIVER", "")
FAKE = os.path.join(harness.TESTS, "support/fake_api_server.py")
TASKS = "run/containerd/io.containerd.runtime.v2.task/k8s.io"

# The libraries that it loads are its arguments; the last one has the pinned memory.
WORKLOAD = """
import ctypes, select, sys
drivers = [ctypes.CDLL(path) for path in sys.argv[1:]]
pointer = ctypes.c_uint64()
def allocate(size):
    assert drivers[0].cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer.value
def pin(size):
    assert drivers[-1].cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(size), 0) == 0
def kv_cache():
    return [allocate(1000 + i) for i in range(20)]
def weights():
    allocate(1 << 30)
    pin(777)
print("loaded", flush=True)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    for driver in drivers:
        driver.cuInit(0)
        driver.cuMemFree_v2(ctypes.c_uint64(0))  # does nothing, and is seen
        driver.cuMemFreeHost(ctypes.c_uint64(0))
sys.stdin.readline()
weights()
for block in kv_cache()[:5]:
    assert drivers[0].cuMemFree_v2(ctypes.c_uint64(block)) == 0
print("done", flush=True)
sys.stdin.readline()
"""
KV = sum(1000 + i for i in range(20))
FREED = sum(1000 + i for i in range(5))
ALLOCATED = (1 << 30) + KV
PINNED = 777

missing = container.missing() or ("" if os.path.exists(STUB) else "VRAMSCOPE_STUB_DRIVER names no file")


class Run(harness.Server):
    command = "run"

    def __init__(self, *options, environment=None):
        self.root = tempfile.mkdtemp(prefix="vramscope-root-")  # stands for the machine's
        super().__init__("-collector.interval=1s", "-collector.host-root=" + self.root, *options)
        self.launcher = ["env", "-u", "KUBERNETES_SERVICE_HOST", "-u", "NODE_NAME", *(environment or [])]

    def close(self):
        try:
            super().close()
        finally:
            shutil.rmtree(self.root)

    def put(self, path, text):
        """A file of the machine."""
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def families(self, pid):
        """{family: {host_raw: value}} and the labels of a process, without what differs."""
        values, labels = {}, []
        for name, inner, value in re.findall(r'^(mem_\w+)\{(pid="%d",[^}]*)\} (\S+)$' % pid, self.get("/metrics").text, re.M):
            found = dict(re.findall(r'(\w+)="([^"]*)"', inner))
            values.setdefault(name, {})[found.pop("host_raw")] = int(value)
            del found["host"]
            labels.append(found)
        return values, labels

    def metric(self, name):
        values = re.findall(r"^%s(?:\{[^}]*\})? (\S+)$" % name, self.get("/metrics").text, re.M)
        return sum(float(value) for value in values) if values else None

    def series(self, *matchers):
        """The label sets that it has stored."""
        now = int(time.time() * 1000)
        answer = self.rpc("Series", {"matchers": list(matchers), "start": now - 600000, "end": now + 600000})
        return [{pair["name"]: pair["value"] for pair in one["labels"]} for one in answer.json.get("labelsSet", [])]

    def stacks(self, kind, selector, instant="sum"):
        """{folded stack: value} over the last minutes."""
        status, text, error = harness.vramscope("query", "--url", self.url, "-q", kind + selector, "--from", "now-10m", "-o", "folded",
                                                "--instant", instant)
        lines = [line.rpartition(" ") for line in text.splitlines()] if status == 0 else []
        return {stack: int(value) for stack, _, value in lines}


@unittest.skipIf(missing, missing)
class Containers(unittest.TestCase):
    def run_watching(self, *options, environment=None):
        run = Run(*options, environment=environment)
        self.addCleanup(run.close)
        return run

    def start(self, run):
        run.start()
        harness.wait_until(lambda: run.metric("cuda_collector_up") is not None, 60, "the collector half's metrics")
        if run.metric("cuda_collector_up") != 1:
            self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])

    def enter(self, group, *libraries, driver=STUB, lower="", environment=None):
        """A workload in a container, that has its libraries loaded."""
        inside = container.Container(group, [sys.executable, "-c", WORKLOAD, *libraries], driver, lower, environment)
        self.addCleanup(inside.close)
        inside.says("loaded")
        return inside

    def go(self, run, inside):
        """Lets it allocate once it is seen, and judges bytes and stacks. Returns its labels on metrics."""
        harness.wait_until(lambda: run.families(inside.pid)[0].get("mem_alloc_bytes_total", {}).get("0") == 0, 60, "the process to be seen")
        inside.tell()
        inside.says("done")
        return self.judge(run, inside)

    def judge(self, run, inside):
        pid = inside.pid
        harness.wait_until(lambda: run.families(pid)[0].get("mem_alloc_bytes_total", {}).get("1") == PINNED, 60, "all that it allocated")
        values, labels = run.families(pid)
        self.assertEqual(values["mem_alloc_bytes_total"], {"0": ALLOCATED, "1": PINNED})
        self.assertEqual(values["mem_free_bytes_total"], {"0": FREED, "1": 0})
        self.assertEqual(values["mem_implicit_free_bytes_total"], {"0": 0, "1": 0})
        self.assertEqual(values["mem_alloc_calls_total"], {"0": 21, "1": 1})
        self.assertTrue(all(one == labels[0] for one in labels), labels)  # a difference joins one to one
        live = harness.wait_until(lambda: run.stacks("memory:inuse_space:bytes:space:bytes", '{pid="%d",cuda_class="device"}' % pid, "last"),
                                  60, "the profile of that tick")
        self.assertEqual(sum(live.values()), ALLOCATED - FREED)
        self.assertEqual(sum(value for stack, value in live.items() if ";weights;" in stack), 1 << 30)
        self.assertEqual(sum(value for stack, value in live.items() if ";kv_cache;" in stack), KV - FREED)
        for stack in live:
            self.assertTrue(stack.endswith(";cuMemAlloc_v2"), stack)
            self.assertTrue(stack.startswith("_start;"), stack)
            self.assertIn(";<module>;", stack)
        return labels[0]

    def profile_labels(self, run, pid):
        """The labels that tell a process apart, on each of its series; the compatible one has no pid."""
        found = harness.wait_until(lambda: run.series('{pid="%d",__name__="memory"}' % pid), 60, "its series")
        told = [{name: value for name, value in one.items() if not name.startswith("__") and name not in ("cuda_class", "gpu", "pid")}
                for one in found]
        self.assertTrue(all(one == told[0] for one in told), told)
        return told[0]

    def assert_labels(self, run, inside, service, **expected):
        """On profiles exactly these, on the compatible series too; hostname, cluster and proc_comm stand everywhere."""
        labels = self.profile_labels(run, inside.pid)
        self.assertEqual(labels.pop("service_name"), service + "-gpu")
        for name in ("hostname", "cluster", "proc_comm"):
            self.assertTrue(labels.pop(name))
        self.assertEqual(labels, expected)
        selector = ",".join('%s="%s"' % pair for pair in expected.items())
        self.assertTrue(run.series('{__name__="process_cpu",service_name="%s",%s}' % (service, selector)))

    def assert_metric_labels(self, labels, **expected):
        self.assertEqual({name: value for name, value in labels.items() if name.startswith("k8s_")}, dict(
            {"k8s_namespace": "", "k8s_podname": "", "k8s_containername": "", "k8s_node": ""}, **expected))


class Engines(Containers):
    """One container of each engine, all at once."""

    BUNDLE = {"io.kubernetes.cri.sandbox-name": "llm-0", "io.kubernetes.cri.sandbox-namespace": "prod",
              "io.kubernetes.cri.sandbox-uid": UID, "io.kubernetes.cri.container-name": "train"}
    CRIO = {"io.kubernetes.pod.name": "llm-1", "io.kubernetes.pod.namespace": "dev", "io.kubernetes.pod.uid": UID,
            "io.kubernetes.container.name": "serve"}

    def test_each_is_known_by_its_files(self):
        run = self.run_watching("-collector.node-name=aks-gpu-0", "-collector.cluster=lab")
        run.put("%s/%s/config.json" % (TASKS, ID), json.dumps({"annotations": self.BUNDLE}))
        run.put("run/containers/storage/overlay-containers/%s/userdata/config.json" % OTHER_ID, json.dumps({"annotations": self.CRIO}))
        run.put("var/lib/docker/containers/%s/config.v2.json" % ID[::-1], json.dumps({"Name": "/brave_turing"}))
        run.put("etc/passwd", "admin:x:0:0::/:/bin/sh\n")
        self.start(run)
        containerd = self.enter(PODS + "cri-containerd-%s.scope" % ID, DRIVER)
        crio = self.enter(PODS + "crio-%s.scope" % OTHER_ID, DRIVER)
        docker = self.enter("system.slice/docker-%s.scope" % ID[::-1], DRIVER)

        labels = self.go(run, containerd)
        self.assert_metric_labels(labels, k8s_namespace="prod", k8s_podname="llm-0", k8s_containername="train", k8s_node="aks-gpu-0")
        self.assertEqual(labels["cluster"], "lab")
        self.assert_labels(run, containerd, "train", k8s_namespace="prod", k8s_podName="llm-0", k8s_containerName="train",
                           k8s_node="aks-gpu-0", runtime_containerName="train", container_id=ID[:12])

        labels = self.go(run, crio)
        self.assert_metric_labels(labels, k8s_namespace="dev", k8s_podname="llm-1", k8s_containername="serve", k8s_node="aks-gpu-0")
        self.assert_labels(run, crio, "serve", k8s_namespace="dev", k8s_podName="llm-1", k8s_containerName="serve", k8s_node="aks-gpu-0",
                           runtime_containerName="serve", container_id=OTHER_ID[:12])

        labels = self.go(run, docker)
        self.assert_metric_labels(labels, k8s_node="aks-gpu-0")
        self.assert_labels(run, docker, "brave_turing", k8s_node="aks-gpu-0", runtime_containerName="brave_turing",
                           container_id=ID[::-1][:12], user="admin")
        self.assertEqual({one["hostname"] for one in run.series('{__name__="memory"}')}, {"aks-gpu-0"})

    def test_outside_of_pods_there_are_no_labels_of_pods(self):
        run = self.run_watching()
        self.start(run)
        inside = self.enter("trainer.service", DRIVER, environment={"OTEL_SERVICE_NAME": "till"})
        self.assert_metric_labels(self.go(run, inside))
        self.assert_labels(run, inside, "till", systemd_unit="trainer", user="0")  # an account that no file lists

    def test_without_pids_a_service_has_one_series(self):
        run = self.run_watching("-collector.pid-label=false")
        run.put("%s/%s/config.json" % (TASKS, ID), json.dumps({"annotations": self.BUNDLE}))
        self.start(run)
        inside = self.enter(PODS + "cri-containerd-%s.scope" % ID, DRIVER)
        harness.wait_until(lambda: run.families(inside.pid)[0].get("mem_alloc_bytes_total"), 60, "the process to be seen")
        inside.tell()
        inside.says("done")
        series = harness.wait_until(lambda: run.series('{k8s_podName="llm-0",cuda_class="device"}'), 60, "its series")
        self.assertTrue(all("pid" not in one for one in series), series)


class Libraries(Containers):
    """Wherever the library lies."""

    def test_a_library_that_was_deleted(self):
        run = self.run_watching()
        inside = self.enter("docker/" + ID, DRIVER)
        os.unlink("/proc/%d/root%s" % (inside.pid, DRIVER))
        self.start(run)  # it is there already, and has no path any more
        self.go(run, inside)

    def test_two_copies_in_one_process(self):
        run = self.run_watching()
        self.start(run)
        before = run.metric("cuda_collector_attached_libraries")
        inside = self.enter("docker/" + ID, DRIVER, "/opt/driver/libcuda.so.2")
        self.go(run, inside)
        self.assertEqual(run.metric("cuda_collector_attached_libraries") - before, 2)

    def test_one_file_below_two_overlays_counts_once(self):
        if not os.path.ismount("/dev/shm"):
            self.skipTest("a layer must not lie below another one, and there is no other file system")
        lower = tempfile.mkdtemp(prefix="vramscope-lower-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, lower)
        os.chmod(lower, 0o755)
        os.makedirs(lower + "/opt/driver")
        shutil.copy(STUB, lower + DRIVER)
        run = self.run_watching()
        self.start(run)
        both = [self.enter("docker/" + each, DRIVER, driver="", lower=lower) for each in (ID, OTHER_ID)]
        for inside in both:
            self.go(run, inside)

    def test_a_container_of_its_own_user(self):
        """Who is nobody inside is watched all the same; libraries need not be readable for others."""
        run = self.run_watching()
        self.start(run)
        inside = container.Container("docker/" + ID, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", WORKLOAD,
                                                      DRIVER], STUB)
        self.addCleanup(inside.close)
        inside.says("loaded")
        self.go(run, inside)


class ApiServer(Containers):
    """With an API server, in which a pod comes late."""

    POD = {"metadata": {"name": "llm-7d-x", "namespace": "prod", "uid": UID, "resourceVersion": "8",
                        "labels": {"app": "llama", "pod-template-hash": "7d"},
                        "ownerReferences": [{"kind": "ReplicaSet", "name": "llm-7d", "controller": True}]},
           "status": {"containerStatuses": [{"name": "train", "containerID": "containerd://" + ID}]}}

    def serve(self, steps):
        folder = tempfile.mkdtemp(prefix="vramscope-api-")
        self.addCleanup(shutil.rmtree, folder)
        server = subprocess.Popen([sys.executable, FAKE, folder, json.dumps(steps)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.stdin.close(), server.wait(60), server.stdout.close()))
        port = server.stdout.readline().strip()
        if not port.isdigit():
            self.skipTest(port)
        return folder, port

    def test_a_pod_that_comes_late_is_waited_for(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate")
        folder, port = self.serve([{"list": [], "version": "7"},
                                   {"token": "second", "watch": [{"type": "ADDED", "object": self.POD}], "end": "hold"}])
        run = self.run_watching("-collector.kubernetes-credentials=" + folder, environment=[
            "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + port, "NODE_NAME=aks-gpu-0"])
        self.start(run)
        harness.wait_until(lambda: run.metric("cuda_collector_pods_current") is not None, 60, "the watch's metrics")
        before = run.metric("cuda_collector_processes")
        inside = self.enter(PODS + "cri-containerd-%s.scope" % ID, DRIVER)
        harness.wait_until(lambda: run.metric("cuda_collector_processes") > before, 60, "the process to be seen")
        inside.tell()
        inside.says("done")
        self.assertEqual(run.families(inside.pid), ({}, []))
        with open(folder + "/new", "w", encoding="ascii") as file:
            file.write("second")
        os.rename(folder + "/new", folder + "/token")
        labels = self.judge(run, inside)
        self.assert_metric_labels(labels, k8s_namespace="prod", k8s_podname="llm-7d-x", k8s_containername="train", k8s_node="aks-gpu-0")
        self.assert_labels(run, inside, "llama", k8s_namespace="prod", k8s_podName="llm-7d-x", k8s_containerName="train",
                           k8s_node="aks-gpu-0", k8s_owner_kind="Deployment", k8s_owner_name="llm", runtime_containerName="train",
                           container_id=ID[:12])
        # each byte is in exactly one profile, of one series: it never had another name
        for kind, selector in (("memory:alloc_space:bytes:space:bytes", '{k8s_podName="llm-7d-x"}'),
                               ("process_cpu:malloc:bytes::", '{k8s_namespace=~"prod",k8s_podName=~".*"}')):
            self.assertEqual(sum(run.stacks(kind, selector).values()), ALLOCATED + PINNED, kind)
        self.assertEqual(len({one["service_name"] for one in run.series('{pid="%d"}' % inside.pid)}), 1)
        self.assertEqual(run.metric("cuda_collector_unnamed_processes_total"), 0)
        self.assertEqual(run.metric("cuda_collector_pods"), 1)

    def test_a_server_that_says_nothing_is_not_waited_for_long(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate")
        folder, port = self.serve([])
        run = self.run_watching("-collector.kubernetes-credentials=" + folder, environment=[
            "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + port, "NODE_NAME=aks-gpu-0"])
        run.put("%s/%s/config.json" % (TASKS, ID), json.dumps({"annotations": Engines.BUNDLE}))
        self.start(run)
        before = run.metric("cuda_collector_processes")
        inside = self.enter(PODS + "cri-containerd-%s.scope" % ID, DRIVER)
        harness.wait_until(lambda: run.metric("cuda_collector_processes") > before, 60, "the process to be seen")
        inside.tell()
        inside.says("done")
        labels = self.judge(run, inside)
        self.assert_metric_labels(labels, k8s_namespace="prod", k8s_podname="llm-0", k8s_containername="train", k8s_node="aks-gpu-0")
        self.assertEqual(run.metric("cuda_collector_unnamed_processes_total"), 1)
        self.assertEqual(run.metric("cuda_collector_pods_current"), 0)

    def test_it_is_not_asked_where_options_forbid_it(self):
        folder, port = self.serve([])
        run = self.run_watching("-collector.kubernetes=off", "-collector.kubernetes-credentials=" + folder, environment=[
            "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + port])
        self.start(run)
        self.assertIsNone(run.metric("cuda_collector_pods"))
        self.assertNotIn("asked of", run.log_text())


if __name__ == "__main__":
    harness.main_alone()
