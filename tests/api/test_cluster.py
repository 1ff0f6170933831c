"""The collector against a real API server of Kubernetes: list, watch, field selector, service account, RBAC, the cluster's authority.

Needs etcd and kube-apiserver, in PATH or in the folder that VRAMSCOPE_CLUSTER names, and what test_containers.py needs. No kubelet runs: the
test says what one would say of a pod.
"""
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import unittest
import urllib.request

import container
import harness
import test_containers
from container import DRIVER, ID

NODE = "aks-gpu-0"
ADMIN = "local-admin"


def tool(name):
    folder = os.environ.get("VRAMSCOPE_CLUSTER")
    return shutil.which(name, path=folder + os.pathsep + os.environ["PATH"] if folder else None)


def missing():
    for name in ("etcd", "kube-apiserver", "openssl"):
        if not tool(name):
            return "there is no " + name
    return test_containers.missing


class ControlPlane:
    """etcd and an API server on free ports of the loopback address."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="vramscope-cluster-")
        self.processes = []
        self.ports = [harness.Port() for _ in range(3)]
        client, peer, self.port = (port.number for port in self.ports)
        key = self.path("sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(self.path("tokens.csv"), "w", encoding="ascii") as file:
            file.write("%s,admin,admin,system:masters\n" % ADMIN)
        etcd = "http://127.0.0.1:%d" % client
        self.run("etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--unsafe-no-fsync",
                 "--listen-peer-urls", "http://127.0.0.1:%d" % peer, "--initial-advertise-peer-urls", "http://127.0.0.1:%d" % peer,
                 "--initial-cluster", "default=http://127.0.0.1:%d" % peer)
        self.run("kube-apiserver", "--etcd-servers", etcd, "--secure-port", str(self.port), "--bind-address", "127.0.0.1", "--cert-dir",
                 self.folder, "--token-auth-file", self.path("tokens.csv"), "--authorization-mode", "RBAC", "--service-account-key-file", key,
                 "--service-account-signing-key-file", key, "--service-account-issuer", "https://local", "--service-cluster-ip-range",
                 "10.96.0.0/16")
        harness.wait_until(self.is_ready, 120, "the API server")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, name, *arguments):
        with open(self.path(name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen([tool(name), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def is_ready(self):
        if any(process.poll() is not None for process in self.processes):
            raise RuntimeError("the control plane has ended: see " + self.folder)
        try:
            return self.ask("/readyz") is not None
        except OSError:
            return False

    def ask(self, path, body=None, method=None, kind="application/json"):
        """As an administrator. The answer, from JSON where it is some."""
        request = urllib.request.Request("https://127.0.0.1:%d%s" % (self.port, path), json.dumps(body).encode() if body else None,
                                         {"Authorization": "Bearer " + ADMIN, "Content-Type": kind}, method=method)
        trust = ssl.create_default_context(cafile=self.path("apiserver.crt"))
        with urllib.request.urlopen(request, context=trust, timeout=60) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait(60)
        for port in self.ports:
            port.close()
        shutil.rmtree(self.folder)


@unittest.skipIf(missing(), missing())
class Cluster(test_containers.Containers):
    def setUp(self):
        self.plane = ControlPlane()
        self.addCleanup(self.plane.close)
        self.plane.ask("/api/v1/namespaces", {"metadata": {"name": "gpu"}})
        for namespace, name in (("gpu", "collector"), ("gpu", "default")):
            self.plane.ask("/api/v1/namespaces/%s/serviceaccounts" % namespace, {"metadata": {"name": name}})
        self.credentials = tempfile.mkdtemp(prefix="vramscope-account-")
        self.addCleanup(shutil.rmtree, self.credentials)
        shutil.copy(self.plane.path("apiserver.crt"), os.path.join(self.credentials, "ca.crt"))
        self.put_token(self.plane.ask("/api/v1/namespaces/gpu/serviceaccounts/collector/token", {"spec": {"expirationSeconds": 3600}})
                       ["status"]["token"])

    def put_token(self, token):
        with open(os.path.join(self.credentials, "new"), "w", encoding="ascii") as file:
            file.write(token)
        os.rename(os.path.join(self.credentials, "new"), os.path.join(self.credentials, "token"))

    def allow(self):
        """What the chart's role allows, and no more."""
        api = "/apis/rbac.authorization.k8s.io/v1/"
        self.plane.ask(api + "clusterroles", {"metadata": {"name": "collector"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]})
        self.plane.ask(api + "clusterrolebindings", {
            "metadata": {"name": "collector"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "collector"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "gpu", "name": "collector"}]})

    def add_pod(self, name, node):
        """A pod as a ReplicaSet of a Deployment makes one, bound to a node. Its uid."""
        return self.plane.ask("/api/v1/namespaces/gpu/pods", {
            "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "llama", "pod-template-hash": "7d4b9c"}, "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "llm-7d4b9c", "uid": "6f1e9a52-0000-4000-8000-000000000001",
                 "controller": True}]},
            "spec": {"nodeName": node, "containers": [{"name": "train", "image": "llm"}]}})["metadata"]["uid"]

    def say_running(self, name):
        self.plane.ask("/api/v1/namespaces/gpu/pods/%s/status" % name, {"status": {"phase": "Running", "containerStatuses": [
            {"name": "train", "image": "llm", "imageID": "", "ready": True, "restartCount": 0, "containerID": "containerd://" + ID,
             "state": {"running": {}}}]}}, "PATCH", "application/merge-patch+json")

    def test_pods_of_this_node_are_known(self):
        run = self.run_watching("-collector.kubernetes-credentials=" + self.credentials, environment=[
            "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=%d" % self.plane.port, "NODE_NAME=" + NODE])
        uid = self.add_pod("llm-7d4b9c-x2x5z", NODE)
        self.add_pod("llm-7d4b9c-other", "aks-gpu-1")
        self.start(run)
        # the account may not list pods yet
        harness.wait_until(lambda: (run.metric("cuda_collector_pod_failures_total") or 0) >= 1, 60, "a refusal")
        self.assertIn("the API server answers 403", run.log_text())
        self.assertEqual(run.metric("cuda_collector_pods"), 0)
        self.allow()
        harness.wait_until(lambda: run.metric("cuda_collector_pods") == 1, 120, "the pod of this node")
        self.assertEqual(run.metric("cuda_collector_pods_current"), 1)

        group = "kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope" % (uid.replace("-", "_"), ID)
        before = run.metric("cuda_collector_processes")
        inside = self.enter(group, DRIVER)
        harness.wait_until(lambda: run.metric("cuda_collector_processes") > before, 60, "the process to be seen")
        self.say_running("llm-7d4b9c-x2x5z")  # as a kubelet does some time after the container's start
        inside.tell()
        inside.says("done")
        labels = self.judge(run, inside)
        self.assert_metric_labels(labels, k8s_namespace="gpu", k8s_podname="llm-7d4b9c-x2x5z", k8s_containername="train", k8s_node=NODE)
        self.assert_labels(run, inside, "llama", k8s_namespace="gpu", k8s_podName="llm-7d4b9c-x2x5z", k8s_containerName="train",
                           k8s_node=NODE, k8s_owner_kind="Deployment", k8s_owner_name="llm", runtime_containerName="train",
                           container_id=ID[:12])
        self.plane.ask("/api/v1/namespaces/gpu/pods/llm-7d4b9c-x2x5z?gracePeriodSeconds=0", None, "DELETE")
        harness.wait_until(lambda: run.metric("cuda_collector_pods") == 0, 60, "its end to be told")


if __name__ == "__main__":
    harness.main_alone()
