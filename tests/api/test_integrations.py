"""deploy/grafana, deploy/prometheus and deploy/compose beside what the program really says: names of metrics, labels, profile types, options.

A recording is played by `run`, whose /metrics has both halves' families.
"""
import glob
import json
import os
import re
import time
import unittest

import harness
from test_push import DEMO

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
ADDED = {"instance", "job", "le"}  # labels that Prometheus adds, and that of a histogram
RECORDED = "gpu:mem_active_bytes"
SUFFIXES = ("_bucket", "_count", "_sum")
NAME = re.compile(r"\b(?:mem|gpu_memory|cuda_collector|vramscope|pyroscope|process)_[a-z0-9_]+\b")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def documented():
    """Labels of each metric, by docs/metrics.md, which is made from the tables of the program."""
    text = read(ROOT, "docs", "metrics.md")
    of_process = set(re.search(r"Labels of a process: ([a-z0-9_, ]+)\.", text)[1].split(", "))
    found = {}
    for name, labels in re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", text, re.M):
        words = {label.strip() for label in labels.split(",") if label.strip()}
        found[name] = words - {"of a process"} | (of_process if "of a process" in words else set())
    return found


def family(name, known):
    for suffix in ("",) + SUFFIXES:
        if name.endswith(suffix) and name[:len(name) - len(suffix)] in known:
            return name[:len(name) - len(suffix)]
    raise AssertionError("no such metric: " + name)


def uses(text, known):
    """(metric, label) of each selector in some PromQL, and (metric, None) of each metric."""
    for match in re.finditer(r"(%s)(?:\{([^}]*)\})?" % NAME.pattern, re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)):
        metric = family(match[1], known)
        yield metric, None
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", match[2] or ""):
            yield metric, label


def grouped(text):
    return {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", text) for label in labels.split(",")}


def dashboards():
    for path in sorted(glob.glob(os.path.join(DEPLOY, "grafana", "dashboards", "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), json.load(file)


def expressions(board):
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            if "expr" in target:
                yield target["expr"]
    for note in board["annotations"]["list"]:
        yield note["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield re.sub(r"^label_values\((.*), (\w+)\)$", r"sum by (\2) (\1)", variable["definition"])


class Dashboards(unittest.TestCase):
    def test_each_metric_and_label_is_the_programs(self):
        known = documented()
        for name, board in dashboards():
            for text in expressions(board):
                with self.subTest(name, text=text):
                    used = list(uses(text, known))
                    self.assertTrue(used)
                    for metric, label in used:
                        self.assertIn(label, {None} | ADDED | known[metric])
                    there = set().union(*(known[metric] for metric, _ in used))
                    self.assertLessEqual(grouped(text), there | ADDED)

    def test_panels_have_numbers_places_and_sources_by_variable(self):
        count = 0
        for name, board in dashboards():
            count += 1
            numbers = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(numbers), len(set(numbers)), name)
            taken = set()
            for panel in board["panels"]:
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(taken & cells, panel["title"])
                taken |= cells
            sources = {uid for uid in re.findall(r'"uid": "([^"]*)"', json.dumps(board)) if uid != board["uid"]}
            self.assertLessEqual(sources, {"${prom_ds}", "${pyroscope_ds}"})
            variables = {one["name"] for one in board["templating"]["list"]}
            asked = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(board)))
            self.assertLessEqual(asked, variables)
        self.assertEqual(count, 2)


class Rules(unittest.TestCase):
    def test_each_metric_and_label_is_the_programs(self):
        known = documented()
        text = read(DEPLOY, "prometheus", "vramscope.rules.yaml")
        found = 0
        for block in re.findall(r"^        expr: (?:>-\n((?:          .*\n)+)|(.*\n))", text, re.M):
            expression = "".join(block).replace(RECORDED, "")
            used = list(uses(expression, known))
            found += len(used) > 0 or RECORDED in "".join(block)
            for metric, label in used:
                self.assertIn(label, {None} | ADDED | known[metric])
            if used:
                self.assertLessEqual(grouped(expression), set().union(*(known[metric] for metric, _ in used)) | ADDED)
        self.assertEqual(found, len(re.findall(r"^      - (?:alert|record):", text, re.M)))

    def test_each_alert_has_a_case_where_it_fires_and_one_where_it_does_not(self):
        alerts = re.findall(r"^      - alert: (\w+)", read(DEPLOY, "prometheus", "vramscope.rules.yaml"), re.M)
        cases = re.findall(r"alertname: (\w+)\n +eval_time: \w+(?: #.*)?\n(?: +(exp_alerts):)?", read(DEPLOY, "prometheus", "vramscope.rules.test.yaml"))
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            self.assertEqual({bool(fires) for name, fires in cases if name == alert}, {True, False}, alert)


class Compose(unittest.TestCase):
    def setUp(self):
        self.text = read(DEPLOY, "compose", "compose.yaml")
        services = self.text.partition("\nservices:\n")[2].partition("\nvolumes:\n")[0]
        self.services = {name: body for name, body in re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", services + "\n", re.M)}

    def test_nothing_is_open_beyond_the_box(self):
        self.assertEqual(sorted(self.services), ["collector", "grafana", "prometheus", "server"])
        for name, body in self.services.items():
            ports = re.search(r"ports: \[(.*)\]", body)[1]
            self.assertRegex(ports, r'^"127\.0\.0\.1:\d+:\d+"$', name)

    def test_the_server_has_no_rights_and_the_collector_only_its_own(self):
        server, collector = self.services["server"], self.services["collector"]
        for line in ('user: "10001:10001"', "read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]'):
            self.assertIn("    " + line + "\n", server)
        self.assertNotIn("cap_add", server)
        self.assertIn("    pid: host\n", collector)
        rights = set(re.search(r"cap_add: \[(.*)\]", collector)[1].split(", "))
        self.assertEqual(rights, {"BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE", "SYS_RESOURCE", "SYS_ADMIN"})
        self.assertNotRegex(self.text, "privileged|docker.sock")

    def test_options_are_the_programs(self):
        options = set(re.findall(r"^\| `(-[a-z.-]+)` \|", read(ROOT, "docs", "options.md"), re.M))
        for name in ("server", "collector"):
            used = re.findall(r"(?<![\w-])(-[a-z][a-z.-]+)=", re.search(r"command: \[(.*)\]", self.services[name])[1])
            self.assertTrue(used)
            self.assertLessEqual(set(used), options)

    def test_files_that_are_mounted_are_there(self):
        mounted = re.findall(r"- (\.\.?/[\w./]+):", self.text)
        self.assertGreater(len(mounted), 3)
        for path in mounted:
            self.assertTrue(os.path.exists(os.path.join(DEPLOY, "compose", path)), path)

    def test_data_sources_are_those_of_grafana_by_other_names(self):
        def entries(text):
            return re.sub(r"^ *#.*\n", "", text, flags=re.M)
        ours = entries(read(DEPLOY, "grafana", "datasource.yaml"))
        self.assertIn("uid: local-pyroscope\n", ours)
        self.assertEqual(entries(read(DEPLOY, "compose", "datasources.yaml")), ours.replace("//vramscope:", "//server:"))


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        class Run(harness.Server):
            command = "run"
        cls.server = Run("-collector.replay=" + DEMO, "-collector.interval=1s").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_what_is_asked_for_is_served(self):
        """Every family, but for those of devices, which nobody can ask here, and of pods."""
        known = documented()
        texts = [text for _, board in dashboards() for text in expressions(board)] + [read(DEPLOY, "prometheus", "vramscope.rules.yaml")]
        asked = {metric for text in texts for metric, _ in uses(text.replace(RECORDED, ""), known)}
        asked -= {"gpu_memory_device_used_bytes", "gpu_memory_device_total_bytes", "gpu_memory_unattributed_bytes"}

        def served():
            text = self.server.get("/metrics").text
            return asked <= set(re.findall(r"^# TYPE (\w+) ", text, re.M)) and "\nmem_alloc_bytes_total{" in text and text
        text = harness.wait_until(served, 60, "all of %s" % sorted(asked))
        labels = {name: set(re.findall(r'(\w+)="', rest)) for name, rest in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.M)}
        self.assertLessEqual({"pid", "comm", "host_raw"}, labels["mem_alloc_bytes_total"])

    def total(self, type_id):
        now = int(time.time() * 1000)
        return sum(self.server.totals(type_id, "{}", now - 3600000, now + 60000).values())

    def test_flame_graphs_have_data(self):
        types = {target["profileTypeId"] for _, board in dashboards() for panel in board["panels"] for target in panel.get("targets", [])
                 if "profileTypeId" in target}
        self.assertEqual(len(types), 2)
        for type_id in types:
            harness.wait_until(lambda one=type_id: self.total(one) > 0, 60, type_id)


if __name__ == "__main__":
    harness.main()
