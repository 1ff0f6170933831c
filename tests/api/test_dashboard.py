"""The published dashboard "Advanced GPU Observability" on our data: every query that it sends, against the workload's own arithmetic.

The workload is a recording of four processes: two pods of one namespace, one of another, one outside of Kubernetes.
"""
import os
import subprocess
import tempfile
import time
import unittest

import harness
import promql

MAKE = os.environ.get("VRAMSCOPE_MAKE_RECORDING", "")
MB = 1 << 20

SESSION = """
process 4001 llm-server python3 k8s_namespace=prod k8s_podName=llm-0 k8s_containerName=server k8s_node=gpu-node-1
process 4002 llm-server python3 k8s_namespace=prod k8s_podName=llm-1 k8s_containerName=server k8s_node=gpu-node-1
process 4003 train python3 k8s_namespace=dev k8s_podName=train-7 k8s_containerName=main k8s_node=gpu-node-1
process 4004 outside tool
init 0 4001
alloc 100 4001 cuMemAlloc_v2 4096 {weights}
alloc 110 4001 cuMemAlloc_v2 8192 {kv}
alloc 120 4001 cuMemAllocManaged 12288 {managed}
alloc 130 4001 cuMemHostAlloc 16384 {pinned}
alloc 140 4001 cuMemAllocAsync 20480 {pool}
free 150 4001 cuMemFree_v2 8192
alloc 160 4002 cuMemAlloc_v2 4096 {weights}
alloc 170 4003 cuMemAlloc_v2 4096 {kv}
alloc 180 4004 cuMemAlloc_v2 4096 {pinned}
failed 190 4002 cuMemAlloc_v2 {wanted} 2
alloc 195 4002 cuMemAlloc_v2 8192 {kv}
free 196 4002 cuMemFree_v2 8192
exit 200 4003
init {end} 4001
"""
SIZES = {"weights": 4096 * MB, "kv": 512 * MB, "managed": 64 * MB, "pinned": 32 * MB, "pool": 16 * MB, "wanted": 9000 * MB}
LASTS_MS = 120000  # the last event: until then nothing changes any more
W, K, M, P, A = (SIZES[name] for name in ("weights", "kv", "managed", "pinned", "pool"))

# (process, bytes it allocated on GPUs and the host, freed, freed by its end, live), of host_raw 0
LIVE = {"4001": W + M + A, "4002": W, "4003": 0, "4004": P}
MALLOC = {"llm-0": W + K + M + P + A, "llm-1": W + K, "train-7": K, None: P}

F = 'cluster=~"$cluster",k8s_namespace=~"$namespace",k8s_podname=~"$pod",host_raw="0"'
ACTIVE = "mem_alloc_bytes_total{F} - mem_free_bytes_total{F} - mem_implicit_free_bytes_total{F}"
METRICS = ["mem_alloc_bytes_total", "mem_free_bytes_total", "mem_implicit_free_bytes_total",
           "mem_alloc_calls_total", "mem_free_calls_total", "mem_implicit_free_calls_total"]


def filled(query, namespace=".*", pod=".*", cluster="aks-1"):
    return query.replace("{F}", "{%s}" % F).replace("$cluster", cluster).replace("$namespace", namespace).replace("$pod", pod)


class Run(harness.Server):
    command = "run"


@unittest.skipUnless(os.path.exists(MAKE), "VRAMSCOPE_MAKE_RECORDING names no file")
class Dashboard(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = os.path.join(cls.folder.name, "session.recording")
        subprocess.run([MAKE, path], input=SESSION.format(end=LASTS_MS, **SIZES), text=True, check=True, timeout=60)
        cls.began = time.time()
        # the recording is the collector half's, which keeps its rights
        cls.server = Run("-collector.replay=" + path, "-collector.interval=1s", "-collector.peak-window=1s", "-collector.cluster=aks-1",
                         *cls.options).start()
        cls.scrapes = [cls.scrape()]
        harness.wait_until(cls.is_over, 60, "the end of the workload in metrics")
        cls.scrapes.append(cls.scrape())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    @classmethod
    def scrape(cls):
        return time.time(), cls.server.get("/metrics").text

    @classmethod
    def is_over(cls):
        text = cls.server.get("/metrics").text
        return 'pid="4003"' in text and promql.evaluate('sum by (pid) (mem_implicit_free_bytes_total{pid="4003"})',
                                                        [(0, text)]) == {(("pid", "4003"),): K}

    def ask(self, query, **variables):
        return promql.evaluate(filled(query, **variables), self.scrapes)

    def profile(self, matchers, type_id="process_cpu:malloc:bytes::"):
        answer = self.server.rpc("SelectMergeStacktraces", {"profileTypeID": type_id, "labelSelector": "{%s}" % matchers,
                                                            "start": int(self.began * 1000) - 60000, "end": int(time.time() * 1000) + 60000})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["flamegraph"]

    def total(self, matchers, **more):
        return int(self.profile(matchers, **more).get("total", 0))


class Metrics(Dashboard):
    def test_variables_list_what_there_is(self):
        values = promql.label_values
        self.assertEqual(values("label_values(mem_alloc_bytes_total, cluster)", self.scrapes), ["aks-1"])
        self.assertEqual(values('label_values(mem_alloc_bytes_total{cluster=~"aks-1"}, k8s_namespace)', self.scrapes), ["dev", "prod"])
        self.assertEqual(values('label_values(mem_alloc_bytes_total{cluster=~"aks-1",k8s_namespace=~"prod"}, k8s_podname)', self.scrapes),
                         ["llm-0", "llm-1"])

    def test_active_memory_by_pod(self):
        by_pod = "sum by (k8s_podname, pid) (%s)" % ACTIVE
        rows = {dict(labels)["pid"]: (dict(labels).get("k8s_podname"), value) for labels, value in self.ask(by_pod).items()}
        self.assertEqual(rows, {"4001": ("llm-0", LIVE["4001"]), "4002": ("llm-1", LIVE["4002"]), "4003": ("train-7", 0),
                                "4004": (None, LIVE["4004"])})
        self.assertEqual({dict(labels)["pid"] for labels in self.ask(by_pod, namespace="prod|dev")}, {"4001", "4002", "4003"})
        self.assertEqual({dict(labels)["pid"] for labels in self.ask(by_pod, pod="llm-0|train-7")}, {"4001", "4003"})
        self.assertEqual(self.ask(by_pod, cluster="other"), {})

    def test_top_processes_and_the_total(self):
        top = self.ask("topk(2, sum by (k8s_podname, pid) (%s))" % ACTIVE)
        self.assertEqual([dict(labels)["pid"] for labels in top], ["4001", "4002"])
        self.assertEqual(self.ask("sum(%s)" % ACTIVE), {(): sum(LIVE.values())})

    def test_rates_are_of_what_was_scraped(self):
        # what a scrape before the workload had not, rate does not count; from one scrape to the next nothing happened
        for metric in METRICS[:3]:
            rates = promql.evaluate(filled("sum by (k8s_podname, pid) (rate(%s{F}[5m]))" % metric), [self.scrapes[-1], self.scrape()])
            self.assertEqual(set(rates.values()), {0})
            self.assertEqual({dict(labels)["pid"] for labels in rates}, set(LIVE))

    def test_the_six_have_the_same_series_with_all_labels(self):
        families = {name: [] for name in METRICS}
        for line in self.scrapes[-1][1].splitlines():
            name = line.partition("{")[0]
            if name in families:
                families[name].append(line[len(name):].rpartition(" ")[0])
        for name in METRICS:
            self.assertEqual(families[name], families[METRICS[0]], name)
        for labels in families[METRICS[0]]:
            for label in ("pid", "host_raw", "host", "comm", "k8s_namespace", "k8s_podname", "k8s_containername", "k8s_node", "cluster",
                          "otel_scope_name", "otel_scope_version"):
                self.assertIn(label + '="', labels)
        outside = [labels for labels in families[METRICS[0]] if 'pid="4004"' in labels]
        self.assertEqual(len(outside), 1)
        self.assertIn('k8s_namespace="",k8s_podname="",k8s_containername="",k8s_node=""', outside[0])
        host = [labels for labels in families[METRICS[0]] if 'host_raw="1"' in labels]
        self.assertEqual(len(host), 1)
        self.assertIn('host="HOST"', host[0])

    def test_allocated_less_freed_is_live(self):
        calls = "mem_alloc_calls_total{%s} - mem_free_calls_total{%s} - mem_implicit_free_calls_total{%s}" % ((F,) * 3)
        rows = {dict(labels)["pid"]: value for labels, value in self.ask("sum by (pid) (%s)" % calls).items()}
        self.assertEqual(rows, {"4001": 3, "4002": 1, "4003": 0, "4004": 1})
        live = self.ask('sum by (pid) (gpu_memory_inuse_bytes{cuda_class=~"device|managed|pool"})')
        self.assertEqual({dict(labels)["pid"]: value for labels, value in live.items()}, LIVE)


class Profiles(Dashboard):
    def setUp(self):
        # the profiles of a tick are on their way when its metrics are there
        harness.wait_until(lambda: self.total("") == sum(MALLOC.values()), 60, "all profiles")

    def test_the_flame_graph_of_the_chosen_pods(self):
        for namespace, pod, pods in ((".*", ".*", set(MALLOC)), ("prod", ".*", {"llm-0", "llm-1"}), ("prod|dev", "llm-1|train-7", {"llm-1", "train-7"}),
                                     ("dev", "llm-0", set())):
            graph = self.profile('k8s_namespace=~"%s",k8s_podName=~"%s"' % (namespace, pod))
            self.assertEqual(int(graph.get("total", 0)), sum(MALLOC[name] for name in pods), (namespace, pod))
            if pods:
                self.assertIn("cuMemAlloc_v2", graph["names"])

    def test_newer_gadgets_call_it_otherwise(self):
        self.assertEqual(self.total("", type_id="process_cuda:malloc:bytes::"), sum(MALLOC.values()))

    def test_its_labels(self):
        answer = self.server.rpc("Series", {"matchers": ['{__profile_type__="process_cpu:malloc:bytes::",k8s_podName="llm-0"}'],
                                            "start": int(self.began * 1000) - 60000, "end": int(time.time() * 1000) + 60000})
        sets = [{label["name"]: label["value"] for label in one["labels"]} for one in answer.json["labelsSet"]]
        self.assertEqual(len(sets), 1)
        for name, value in {"k8s_namespace": "prod", "k8s_podName": "llm-0", "k8s_containerName": "server", "k8s_node": "gpu-node-1",
                            "proc_comm": "python3", "service_name": "llm-server", "cluster": "aks-1"}.items():
            self.assertEqual(sets[0].get(name), value)
        for name in ("pid", "cuda_class", "gpu"):
            self.assertNotIn(name, sets[0])

    def test_an_oom_of_the_session_is_reported_with_all_that_was_held(self):
        query = {"from": int(self.began * 1000) - 60000}
        events = harness.wait_until(lambda: self.server.get("/api/gpu/oom", query).json["events"], 60, "the report")
        self.assertEqual(len(events), 1)
        event = events[0]
        self.assertEqual((event["labels"]["k8s_podName"], event["requested_bytes"], event["recovered"], event["stack"][-1]),
                         ("llm-1", SIZES["wanted"], False, "cuMemAlloc_v2"))
        self.assertEqual(event["live_bytes"], LIVE["4001"] + LIVE["4002"] + K + P)
        processes = self.server.get("/api/gpu/oom/" + event["id"]).json["processes"]
        self.assertEqual({one["labels"]["pid"]: one["live_bytes"] for one in processes},
                         {"4001": LIVE["4001"], "4002": W, "4003": K, "4004": P})

    def test_peaks_are_of_the_highest_moment(self):
        peaks = "gpu_memory_peak:peak_space:bytes:space:bytes"
        for pid, highest in (("4001", W + K + M + A), ("4002", W + K), ("4003", K)):
            harness.wait_until(lambda pid=pid, highest=highest: self.total('pid="%s"' % pid, type_id=peaks) == highest, 60, "the peak of " + pid)


class Strict(Dashboard):
    options = ("-collector.compat=strict", "-compat.service-name=inspektor-gadget")

    def test_the_functions_that_other_collectors_count(self):
        # neither cuMemHostAlloc nor cuMemAllocAsync
        expected = sum(MALLOC.values()) - P - A
        harness.wait_until(lambda: self.total('service_name="inspektor-gadget"') == expected, 60, "all profiles")
        self.assertEqual(self.total(""), expected)


class Off(Dashboard):
    options = ("-collector.compat=off",)

    def test_there_are_none(self):
        harness.wait_until(lambda: self.total("", type_id="memory:alloc_space:bytes:space:bytes") == sum(MALLOC.values()), 60, "our own profiles")
        self.assertEqual(self.total(""), 0)


del Dashboard  # what all share has no tests

if __name__ == "__main__":
    harness.main()
