"""Trees, graphs, series and heat maps beside models of the read specification, 3.7, 3.9, 3.12 and 3.13, on random input.

The models are written from the specification's pseudocode and keep its steps, not from the program. A failure names the seed.
"""
import base64
import heapq
import random
import time
import unittest

import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
T0 = (int(time.time()) // 60 - 20) * 60
DEFAULT_NODES = 8192


# ---- trees ----

class Node:
    def __init__(self, name, value=0):
        self.name, self.own, self.total, self.below = name, value, value, {}

    def children(self):
        return sorted(self.below.values(), key=lambda node: node.name.encode())

    def count(self):
        return sum(1 + child.count() for child in self.below.values())


def tree_of(stacks):
    root = Node("")
    for stack, value in stacks.items():
        node, root.total = root, root.total + value
        for name in stack:
            node = node.below.setdefault(name, Node(name))
            node.total += value
        node.own += value
    return root


def min_value(root, nodes):
    if nodes < 1 or root.count() <= nodes:
        return 0
    largest, pending = [], root.children()
    while pending:
        node = pending.pop()
        if len(largest) >= nodes:
            if node.total <= largest[0]:
                continue
            heapq.heappop(largest)
        heapq.heappush(largest, node.total)
        pending += node.children()
    return largest[0] if len(largest) == nodes else 0


def truncate(root, nodes):
    least = min_value(root, nodes)

    def copy(node):
        kept, folded = Node(node.name), 0
        kept.own = node.own
        for child in node.children():
            if child.total >= least or child.name == "other":
                kept.below[child.name] = copy(child)
            else:
                folded += child.total
        if folded > 0:
            kept.below.setdefault("other", Node("other")).own += folded
        return kept

    def add_up(node):
        node.total = node.own + sum(add_up(child) for child in node.below.values())
        return node.total

    cut = copy(root)
    add_up(cut)
    return cut


def tree_bytes(root):
    def uvarint(number):
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    out, pending = b"", [root] if root.below else []
    while pending:
        node = pending.pop()
        name = node.name.encode()
        out += uvarint(len(name)) + name + uvarint(node.own) + uvarint(len(node.below))
        pending += node.children()
    return out


class Levels:
    """Tuples by level, right to left, and the names in the order of their first appearance."""

    def __init__(self):
        self.names, self.rows, self.max_self = [], [], 0

    def place(self, level, name, starts, sides):
        if name not in self.names:
            self.names.append(name)
        if level == len(self.rows):
            self.rows.append([])
        self.rows[level].insert(0, (starts, sides, self.names.index(name)))
        self.max_self = max(self.max_self, *(own for _, own in sides))

    def message(self, **more):
        levels = []
        for row in self.rows:
            values, ends = [], [0] * len(row[0][0])
            for starts, sides, name in row:
                for side, (total, own) in enumerate(sides):
                    values += [starts[side] - ends[side], total, own]
                    ends[side] = starts[side] + total
                values.append(name)
            levels.append(values)
        return dict(more, names=["total"] + self.names[1:], levels=levels, maxSelf=self.max_self)


def graph_of(root, requested):
    least, levels, pending = min_value(root, requested), Levels(), [(0, 0, root)]
    while pending:
        x, level, node = pending.pop()
        # the root has the first name, which a function called "total" shares
        name = "total" if level == 0 else node.name
        levels.place(level, name, [x], [(node.total, node.own)])
        x, folded = x + node.own, 0
        for child in node.children():
            if child.total >= least and child.name != "other":
                pending.append((x, level + 1, child))
                x += child.total
            else:
                folded += child.total
        if folded:
            pending.append((x, level + 1, Node("other", folded)))
    return levels.message(total=root.total)


def diff_of(left, right, nodes):
    nothing = Node("")

    def align(a, b, name):
        names = sorted(set(a.below) | set(b.below), key=str.encode)
        children = [align(a.below.get(n, nothing), b.below.get(n, nothing), n) for n in names]
        return name, [(a.total, a.own), (b.total, b.own)], children

    def totals(pair):
        yield max(total for total, _ in pair[1])
        for child in pair[2]:
            yield from totals(child)

    root = align(left, right, "")
    largest = sorted(totals(root), reverse=True)
    least = largest[nodes - 1] if 0 < nodes < len(largest) else 0
    levels, pending = Levels(), [([0, 0], 0, root)]
    while pending:
        starts, level, (name, sides, children) = pending.pop()
        levels.place(level, name, starts, sides)
        starts, folded = [x + own for x, (_, own) in zip(starts, sides)], [0, 0]
        for child in children:
            sums = [total for total, _ in child[1]]
            if max(sums) >= least:
                pending.append((starts, level + 1, child))
                starts = [a + b for a, b in zip(starts, sums)]
            else:
                folded = [a + b for a, b in zip(folded, sums)]
        if any(folded):
            pending.append((starts, level + 1, ("other", [(total, total) for total in folded], [])))
    return levels.message(total=left.total + right.total, leftTicks=left.total, rightTicks=right.total)


def read_graph(message, *totals):
    out = {key: int(message.get(key, 0)) for key in ("total", "maxSelf", *totals)}
    return dict(out, names=message["names"], levels=[[int(v) for v in level["values"]] for level in message["levels"]])


# ---- series and heat maps ----

def edge_of(start, step, at):
    """The first edge of the grid that is not before `at`."""
    return start - (start - at) // step * step


def series_of(rows, query, step):
    groups = {}
    for labels, at, value in rows:
        edge = max(query["start"], edge_of(query["start"], step, at // 10**6))
        if at >= (query["start"] - step) * 10**6 and at <= query["end"] * 10**6 and edge <= query["end"]:
            points = groups.setdefault(tuple((n, labels[n]) for n in query["groupBy"] if n in labels), {})
            points[edge] = points.get(edge, 0) + value
    out = sorted(groups.items(), key=lambda group: (-sum(group[1].values()), group[0]))
    out = [(labels, sorted(points.items())) for labels, points in out]
    return out[:query["limit"]] if query["limit"] > 0 else out


def heatmap_of(rows, query, step):
    start, end, groups = query["start"], query["end"], {}
    rows = [row for row in rows if (start - step) * 10**6 <= row[1] <= end * 10**6]
    values = [value for _, _, value in rows]
    low, high = min(values, default=0), max(values + [0])
    width = (high - low or 1) / 20
    starts = [low + int(i * width) for i in range(20)]
    ends = starts[1:] + [high]
    for labels, at, value in rows:
        edge = min(max(start, edge_of(start, step, at // 10**6)), edge_of(start, step, end))
        bucket = next((i for i in range(20) if starts[i] <= value < ends[i]), 19)
        slots = groups.setdefault(tuple((n, labels[n]) for n in query["groupBy"] if n in labels), {})
        slots.setdefault(edge, [0] * 20)[bucket] += 1
    out = sorted((labels, sorted(slots.items())) for labels, slots in groups.items())
    if 0 < query["limit"] < len(out):
        out.sort(key=lambda group: (-sum(sum(counts) for _, counts in group[1]), group[0]))
        out = out[:query["limit"]]
    return starts, out


def labels_of(message):
    return tuple((label["name"], label["value"]) for label in message.get("labels", []))


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-query.instant=sum").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def profile(self, stacks, at):
        rows = [{"stack": list(stack), "values": [value]} for stack, value in stacks.items()]
        return harness.pprof(rows, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=at)

    def push(self, *series):
        answer = self.server.push(*series)
        self.assertEqual(answer.status, 200, answer)

    def ask(self, method, query):
        answer = self.server.rpc(method, query)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def side(self, service, side, nodes):
        return {"profileTypeID": CPU, "labelSelector": '{service_name="%s",side="%s"}' % (service, side),
                "start": T0 * 1000, "end": (T0 + 10) * 1000, "maxNodes": nodes}

    def compare_trees(self, service, trees, nodes, other_nodes):
        cut = truncate(trees[0], nodes or DEFAULT_NODES)
        graph = self.ask("SelectMergeStacktraces", self.side(service, 0, nodes))["flamegraph"]
        self.assertEqual(read_graph(graph), graph_of(cut, nodes))
        tree = self.ask("SelectMergeStacktraces", dict(self.side(service, 0, nodes), format=2)).get("tree", "")
        self.assertEqual(base64.b64decode(tree), tree_bytes(cut))
        both = max(nodes, other_nodes) or DEFAULT_NODES
        graph = self.ask("Diff", {"left": self.side(service, 0, nodes), "right": self.side(service, 1, other_nodes)})["flamegraph"]
        self.assertEqual(read_graph(graph, "leftTicks", "rightTicks"),
                         diff_of(truncate(trees[0], both), truncate(trees[1], both), both))

    def test_trees_are_cut_and_compared_as_specified(self):
        alphabets = (["a", "b", "c"], ["a", "other", "total", "b"], ["a", "", "z", "other"], ["main", "ä", "漢", "x"], ["total", "a"])
        for seed in range(12):
            rng, service, trees = random.Random(seed), "trees-%d" % seed, []
            names = rng.choice(alphabets)
            for side in range(2):
                stacks = {tuple(rng.choice(names) for _ in range(rng.randint(1, 5))): rng.choice([1, 1, 2, 5, 5, 10, 100])
                          for _ in range(rng.choice([1, 3, 10, 40]))}
                trees.append(tree_of(stacks))
                labels = {"__name__": "process_cpu", "service_name": service, "side": str(side)}
                self.push((labels, [self.profile(stacks, (T0 + 1) * 10**9)]))
            for nodes in (0, 1, 2, 3, 5, 9, 20):
                with self.subTest(seed=seed, nodes=nodes):
                    self.compare_trees(service, trees, nodes, rng.choice([0, nodes]))

    def compare_series(self, rows, query):
        step = int(query["step"] * 1e9) // 10**6
        series = self.ask("SelectSeries", query).get("series", [])
        self.assertEqual([(labels_of(one), [(int(p["timestamp"]), p.get("value", 0)) for p in one["points"]]) for one in series],
                         series_of(rows, query, step))
        starts, groups = heatmap_of(rows, query, step)
        series = self.ask("SelectHeatmap", dict(query, queryType="HEATMAP_QUERY_TYPE_INDIVIDUAL")).get("series", [])
        self.assertEqual([(labels_of(one), [(int(s["timestamp"]), s["counts"]) for s in one["slots"]]) for one in series], groups)
        self.assertTrue(all(slot["yMin"] == starts for one in series for slot in one["slots"]))

    def test_points_and_cells_stand_where_they_are_specified(self):
        for seed in range(12):
            rng, service, rows, series = random.Random(seed), "series-%d" % seed, [], []
            for number in range(rng.randint(1, 5)):
                labels = {"__name__": "process_cpu", "service_name": service, "number": str(number)}
                labels.update({name: rng.choice("xyz") for name in ("region", "zone") if rng.random() < 0.7})
                times = {T0 * 10**9 + rng.randint(-200, 700) * 10**8 + rng.choice([0, 0, 1, 400000]) for _ in range(8)}
                some = [(labels, at, rng.choice([1, 2, 3, 10, 100, rng.randint(1, 10**6)])) for at in sorted(times)]
                series.append((labels, [self.profile({("m",): value}, at) for _, at, value in some]))
                rows += some
            self.push(*series)
            for _ in range(8):
                start = T0 * 1000 + rng.choice([0, 0, 1, -5000, 500])
                query = {"profileTypeID": CPU, "labelSelector": '{service_name="%s"}' % service, "start": start,
                         "end": start + rng.choice([60000, 55000, 14999, 1]), "step": rng.choice([15, 0.25, 7, 100, 0.001, 13.0005, 1 / 3]),
                         "groupBy": rng.choice([[], ["region"], ["zone", "region"], ["region", "region"], ["none", "zone"]]),
                         "limit": rng.choice([0, 1, 2, 100])}
                with self.subTest(seed=seed, query=query):
                    self.compare_series(rows, query)


class Lookback(unittest.TestCase):
    def test_a_timeline_is_of_the_range_that_was_asked_for(self):
        profile = harness.pprof({"main": 7}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1,
                                time_nanos=(T0 + 1) * 10**9)
        with harness.Server("-querier.max-query-lookback=1h") as server:
            self.assertEqual(server.push(({"__name__": "process_cpu", "service_name": "late"}, [profile])).status, 200)
            document = server.get("/pyroscope/render", {"query": CPU + "{}", "from": T0 - 7200, "until": T0 + 60}).json
            self.assertEqual(document["flamebearer"]["numTicks"], 7)
            timeline = document["timeline"]
            self.assertEqual((timeline["startTime"], timeline["durationDelta"], len(timeline["samples"])), (T0 - 7200, 15, 7260 // 15))
            self.assertEqual(sum(timeline["samples"]), 7)
            document = server.get("/pyroscope/render", {"query": CPU + "{}", "from": T0 - 14400, "until": T0 - 7200}).json
            self.assertEqual(document["flamebearer"]["numTicks"], 0)
            self.assertEqual(document["timeline"]["samples"], [0] * (7200 // 15))


if __name__ == "__main__":
    harness.main()
