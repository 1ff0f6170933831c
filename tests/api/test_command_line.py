"""push, query, top and diff as a person types them: against a server, and against the folder of its store."""
import gzip
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import time
import unittest

import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
BYTES = "memory:alloc_space:bytes::"
EVIL = "evil\x1b[31mred\x07name"


def on_terminal(*arguments, environment=None):
    """Standard output of a command that believes to write to a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([harness.PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL,
                               env=dict({k: v for k, v in os.environ.items() if k != "NO_COLOR"}, TERM="xterm", **(environment or {})))
    os.close(slave)
    out = b""
    try:
        while True:
            chunk = os.read(master, 65536)
            if not chunk:
                break
            out += chunk
    except OSError:
        pass  # the other side is closed
    process.wait(60)
    os.close(master)
    return out.decode("utf-8", "backslashreplace")


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.url = ["--url", cls.server.url]
        cls.folder = tempfile.TemporaryDirectory(prefix="vramscope-test-")
        now = int(time.time())
        for body, age, labels in (("main;work;compute 30\nmain;work;io 10\nmain;idle 5\n", 60, "version=1"),
                                  ("main;work;compute 60\nmain;work;io 1\nmain;idle 5\nmain;new 4\n", 60, "version=2"),
                                  ("main;work;compute 10\n", 2400, "version=1")):
            answer = cls.server.ingest("shop.alloc_space{%s}" % labels, body.encode(), **{"from": now - age, "until": now})
            assert answer.status == 200, answer
        answer = cls.server.ingest("evil.cpu", ("main;%s 7\n" % EVIL).encode(), sampleRate=100)
        assert answer.status == 200, answer

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    def run_ok(self, *arguments, **more):
        status, out, err = harness.vramscope(*arguments, **more)
        self.assertEqual(status, 0, err)
        return out

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    # --- query

    def test_query_prints_a_table_in_the_unit_of_the_type(self):
        out = self.run_ok("query", "-q", BYTES + '{service_name="shop",version="1"}', "--from", "now-10m", *self.url)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("45 B  " + BYTES), lines[0])
        self.assertEqual([line.split() for line in lines[2:]], [
            ["30", "B", "66.7%", "30", "B", "66.7%", "compute"], ["10", "B", "22.2%", "10", "B", "22.2%", "io"],
            ["5", "B", "11.1%", "5", "B", "11.1%", "idle"], ["0", "B", "0.0%", "45", "B", "100.0%", "main"],
            ["0", "B", "0.0%", "40", "B", "88.9%", "work"]])

    def test_query_folded_gives_the_stacks_back(self):
        out = self.run_ok("query", "-q", BYTES + '{version="1"}', "--from", "now-10m", "-o", "folded", *self.url)
        self.assertEqual(sorted(out.splitlines()), ["main;idle 5", "main;work;compute 30", "main;work;io 10"])

    def test_query_tree_indents_and_sorts_by_total(self):
        out = self.run_ok("query", "-q", BYTES + '{version="1"}', "--from", "now-10m", "-o", "tree", *self.url)
        self.assertEqual([line[21:] for line in out.splitlines()[1:]], ["main", "  work", "    compute", "    io", "  idle"])

    def test_query_pprof_is_what_other_tools_read(self):
        done = subprocess.run([harness.PROGRAM, "query", "-q", BYTES + '{version="1"}', "--from", "now-10m", "-o", "pprof", *self.url],
                              capture_output=True, check=True)
        profile = harness.cases.Proto.decode(gzip.decompress(done.stdout), "Profile")
        self.assertEqual(sum(s["value"][0] for s in profile["sample"]), 45)

    def test_query_dot_is_a_graph(self):
        out = self.run_ok("query", "-q", BYTES + '{version="1"}', "--from", "now-10m", "-o", "dot", *self.url)
        self.assertTrue(out.startswith("digraph"), out[:80])
        self.assertIn("compute", out)

    def test_query_reads_a_store_beside_its_server(self):
        arguments = ["query", "-q", BYTES + '{version="2"}', "--from", "now-10m", "-o", "json"]
        by_server = json.loads(self.run_ok(*arguments, *self.url))
        by_folder = json.loads(self.run_ok(*arguments, "--store", self.server.store))
        self.assertEqual(by_folder["functions"], by_server["functions"])
        self.assertEqual(by_folder["total"], 70)

    def test_a_type_without_data_gives_way_to_its_alias(self):
        profile = harness.pprof({"main;cudaMalloc": 12}, sample_types=["malloc/bytes"], period_type="/", period=1, time_nanos=time.time_ns() - 1800 * 10**9)
        answer = self.server.push(({"__name__": "process_cuda", "service_name": "aliased"}, [profile]))
        self.assertEqual(answer.status, 200, answer)
        for source in (self.url, ["--store", self.server.store]):
            out = self.run_ok("query", "-q", 'process_cpu:malloc:bytes::{service_name="aliased"}', "-o", "json", *source)
            self.assertEqual(json.loads(out)["total"], 12, source)

    def test_the_server_may_be_named_by_the_environment(self):
        out = self.run_ok("query", "-q", BYTES + "{}", "-o", "json", environment={"VRAMSCOPE_URL": self.server.url + "/"})
        self.assertEqual(json.loads(out)["total"], 125)

    def test_without_a_type_the_types_are_listed(self):
        status, _, err = harness.vramscope("query", *self.url)
        self.assertEqual(status, 1)
        self.assertIn(BYTES, err)
        self.assertIn(CPU, err)

    def test_types_are_listed_of_what_the_selector_matches(self):
        for source in (self.url, ["--store", self.server.store]):
            status, out, err = harness.vramscope("query", "-q", '{service_name="evil"}', *source)
            self.assertEqual(status, 0, err)
            self.assertIn(CPU + '{service_name="evil"}', out)

    def test_a_misspelt_type_is_put_right(self):
        for source in (self.url, ["--store", self.server.store]):
            status, _, err = harness.vramscope("query", "-q", "memory:aloc_space:bytes::{}", *source)
            self.assertEqual(status, 0, err)
            self.assertIn("did you mean " + BYTES, err)

    def test_an_empty_store_says_what_to_do(self):
        with harness.Server() as server:
            for arguments in (["query", "-q", CPU], ["top", "--once"], ["diff", "-q", CPU]):
                status, out, err = harness.vramscope(*arguments, "--url", server.url)
                self.assertEqual(status, 0, err)
                self.assertIn("vramscope push", out + err, arguments)

    def test_a_server_with_tenants_asks_for_one(self):
        with harness.Server("-auth.multitenancy-enabled") as server:
            status, _, err = harness.vramscope("query", "-q", CPU, "--url", server.url)
            self.assertEqual(status, 1)
            self.assertIn("--tenant NAME", err)

    def test_nothing_found_is_said_and_no_failure(self):
        status, out, err = harness.vramscope("query", "-q", BYTES + '{service_name="nobody"}', *self.url)
        self.assertEqual(status, 0)
        self.assertIn("No profile matches", err)
        self.assertIn("0", out)

    def test_a_refusal_of_the_server_is_a_failure_with_its_words(self):
        for query in ("no-type{}", BYTES + "{a=}", BYTES + '{a=~"("}'):
            status, _, err = harness.vramscope("query", "-q", query, *self.url)
            self.assertEqual(status, 1, query)
            self.assertIn("400", err)

    def test_nobody_there_is_a_failure(self):
        status, _, err = harness.vramscope("query", "-q", BYTES, "--url", "http://127.0.0.1:1")
        self.assertEqual(status, 1)
        self.assertEqual(err.count("127.0.0.1:1 "), 1, err)
        self.assertIn("vramscope server", err)

    def test_a_folder_that_is_no_store_is_a_failure(self):
        status, _, err = harness.vramscope("query", "-q", BYTES, "--store", os.path.join(self.folder.name, "nothing"))
        self.assertEqual(status, 1, err)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "nothing")))

    def test_wrong_usage_exits_with_2(self):
        for arguments in (["query", "--qery", "x"], ["query", "-q", BYTES + "{"], ["query", "--from", "yesterday"], ["query", "-o", "svg"],
                          ["query", "--from", "now", "--to", "now-1h"], ["query", "word"], ["query", "-n", "many"], ["push"],
                          ["push", "file"], ["push", "file", "--service", "a", "--label", "x"], ["top", "--every", "0"],
                          ["diff", "--sort", "name"], ["query", "--instant", "median"],
                          ["top", "--every", "10w"], ["qeury"]):
            status, out, err = harness.vramscope(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertEqual(out, "", arguments)
            self.assertTrue(err, arguments)

    def test_help_goes_to_standard_output(self):
        for command in ("push", "query", "top", "diff"):
            for flag in ("-h", "--help"):
                out = self.run_ok(command, flag)
                self.assertTrue(out.startswith("usage: vramscope " + command), out[:80])

    # --- terminals

    def test_control_characters_never_reach_a_terminal(self):
        for form in ("top", "tree", "folded"):
            out = on_terminal("query", "-q", CPU + '{service_name="evil"}', "-o", form, *self.url, environment={"NO_COLOR": "1"})
            self.assertIn("\\x1b[31mred\\x07", out, form)
            self.assertNotIn("\x1b", out, form)
            self.assertNotIn("\x07", out, form)

    def test_colours_only_on_a_terminal_and_never_with_no_color(self):
        arguments = ["diff", "-q", BYTES + '{version="2"}', "--before", BYTES + '{version="1"}', "--from", "now-10m", *self.url]
        self.assertIn("\x1b[", on_terminal(*arguments))
        self.assertNotIn("\x1b", on_terminal(*arguments, environment={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.run_ok(*arguments))

    # --- top and diff

    def test_top_is_one_table_where_nobody_watches(self):
        out = self.run_ok("top", "-q", BYTES + '{version="2"}', "--last", "10m", *self.url)
        self.assertEqual(out.splitlines()[2].split()[-1], "compute")
        self.assertNotIn("\x1b", out)

    def test_top_chooses_a_type(self):
        out = self.run_ok("top", "--last", "10m", *self.url)
        self.assertIn("process_cpu:cpu:nanoseconds:", out.splitlines()[0])

    def test_top_prefers_what_is_held_on_gpus(self):
        held = {"sample_types": ["inuse_space/bytes"], "period_type": "space/bytes", "period": 1, "time_nanos": time.time_ns() - 10**9}
        with harness.Server() as server:
            for labels, stacks in (({"service_name": "heap"}, {"main;mallocgc": 500}), ({"service_name": "llm", "cuda_class": "device"}, {"main;cuMemAlloc_v2": 300})):
                answer = server.push((dict(labels, __name__="memory"), [harness.pprof(stacks, **held)]))
                self.assertEqual(answer.status, 200, answer)
            for source in (["--url", server.url], ["--store", server.store]):
                lines = self.run_ok("top", "--once", *source).splitlines()
                self.assertIn('memory:inuse_space:bytes:space:bytes{cuda_class!=""}', lines[0])
                self.assertEqual([line.split()[-1] for line in lines[2:]], ["cuMemAlloc_v2", "main"])
                lines = self.run_ok("top", "--once", "-q", '{service_name="heap"}', *source).splitlines()
                self.assertIn('memory:inuse_space:bytes:space:bytes{service_name="heap"}', lines[0])

    def test_top_redraws_on_a_terminal_until_it_is_asked_to_end(self):
        master, slave = pty.openpty()
        process = subprocess.Popen([harness.PROGRAM, "top", "-q", BYTES, "--last", "10m", "--every", "100ms", *self.url],
                                   stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL)
        os.close(slave)
        seen = b""
        while seen.count(b"\x1b[H") < 3:
            seen += os.read(master, 65536)
        process.terminate()
        while True:
            try:
                if not os.read(master, 65536):
                    break
            except OSError:
                break
        self.assertEqual(process.wait(30), 0)
        os.close(master)
        self.assertIn(b"compute", seen)

    def test_diff_compares_two_queries(self):
        out = self.run_ok("diff", "-q", BYTES + '{version="2"}', "--before", BYTES + '{version="1"}', "--from", "now-10m", "-o", "json", *self.url)
        answer = json.loads(out)
        self.assertEqual((answer["total_before"], answer["total_after"]), (45, 70))
        self.assertEqual([(f["name"], f["self_before"], f["self_after"]) for f in answer["functions"]][:3],
                         [("compute", 30, 60), ("io", 10, 1), ("new", 0, 4)])

    def test_diff_compares_with_the_time_before_by_default(self):
        out = self.run_ok("diff", "-q", BYTES + '{version="1"}', "--from", "now-30m", "-o", "json", *self.url)
        answer = json.loads(out)
        self.assertEqual((answer["total_before"], answer["total_after"]), (10, 45))

    def test_diff_prints_a_table(self):
        out = self.run_ok("diff", "-q", BYTES + '{version="2"}', "--before", BYTES + '{version="1"}', "--from", "now-10m", *self.url)
        row = next(line for line in out.splitlines() if line.endswith("compute"))
        self.assertEqual(row.split(), ["30", "B", "60", "B", "+30", "B", "100.0%", "compute"])

    def test_diff_counts_what_did_not_change_and_does_not_list_it(self):
        out = self.run_ok("diff", "-q", BYTES + '{version="2"}', "--before", BYTES + '{version="1"}', "--from", "now-10m", *self.url)
        lines = out.splitlines()
        self.assertEqual([line.split()[-1] for line in lines[3:-1]], ["(everything)", "compute", "io", "new"])
        self.assertEqual(lines[-1].split(), ["3", "functions", "without", "a", "change"])  # idle, main, work

    # --- push

    def test_push_says_for_what_it_took_a_file_that_is_no_profile(self):
        status, _, err = harness.vramscope("push", self.file("prose", b"all that glitters\n"), "--service", "some", *self.url)
        self.assertEqual(status, 1)
        self.assertIn("nothing that is known", err)
        self.assertIn("folded stacks", err)

    def test_push_stores_nothing_of_what_it_does_not_know(self):
        export = pathlib.Path(harness.TESTS, "captures/otel-collector-0.165.0/03.body").read_bytes()
        for name, content, hint in (("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "nothing that is known"), ("json", b'{"a":1}', "nothing that is known"),
                                    ("otlp", export, "/v1development/profiles")):
            status, out, err = harness.vramscope("push", self.file("not-" + name, content), "--service", "o", *self.url)
            self.assertEqual((status, out), (1, ""), name)
            self.assertIn(hint, err, name)

    def test_push_names_lines_that_are_left_out(self):
        status, out, err = harness.vramscope("push", self.file("half", b"main;work\nmain;idle 5"), "--service", "half", *self.url)
        self.assertEqual(status, 0, err)
        self.assertIn("line 1", err)
        self.assertIn("stored as service half", out)

    def test_push_checks_its_flags_before_it_sends(self):
        good = self.file("flags", b"main 1\n")
        for flags, hint in ((["--sample-rate", "abc"], "1 to"), (["--sample-rate", "-5"], "1 to"), (["--sample-rate", "0"], "1 to"),
                            (["--label", "1bad=x"], "1bad"), (["--label", "=x"], "begins with no digit"), (["--label", "service_name=x"], "--service"),
                            (["--label", "a=1", "--label", "a=2"], "twice"), (["--type", "bogus"], "none of cpu, itimer, wall"),
                            (["--type", "inuse_spaec"], "inuse_space")):
            status, out, err = harness.vramscope("push", good, "--service", "flags", *flags, *self.url)
            self.assertEqual((status, out), (2, ""), flags)
            self.assertIn(hint, err, flags)

    def test_push_recognises_files_by_their_content(self):
        now = time.time_ns()
        message = harness.pprof({"main;work": 9}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=now)
        files = [self.file("plain", message), self.file("packed", gzip.compress(harness.pprof(
            {"main;work": 4}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=now))),
                 self.file("stacks", b"main;work 2\n"), self.file("stacks.gz", gzip.compress(b"main;work 1\n"))]
        out = self.run_ok("push", *files, "--service", "kinds", "--label", "env=a b", *self.url)
        self.assertEqual([line.split(": ")[1].split(",")[0] for line in out.splitlines()], ["a pprof", "a pprof", "folded stacks", "folded stacks"])
        answer = json.loads(self.run_ok("query", "-q", CPU + '{service_name="kinds",env="a b"}', "-o", "json", *self.url))
        self.assertEqual(answer["total"], 9 + 4 + 3 * 10**7)

    def total(self, profile_type, selector):
        return json.loads(self.run_ok("query", "-q", profile_type + selector, "-o", "json", *self.url))["total"]

    def test_push_takes_what_profilers_write(self):
        """Each form as its own documentation has it; the recording is one of a real profiler, with the totals that its capture tells."""
        schema = "https://www.speedscope.app/file-format-schema.json"
        frames = {"frames": [{"name": "main (app.py:3)", "file": "app.py", "line": 3}, {"name": "work (app.py:9)"}]}
        thread = {"type": "sampled", "unit": "seconds", "startValue": 0.0, "endValue": 0.05}
        one = {"$schema": schema, "profiles": [dict(thread, name="Process 1", samples=[[0], [0, 1]], weights=[0.02, 0.03])], "shared": frames,
               "activeProfileIndex": None, "exporter": "py-spy@0.4.0", "name": "py-spy profile"}
        two = dict(one, profiles=[dict(thread, name="Thread %d" % i, samples=[[0, 1]], weights=[0.01]) for i in (1, 2)])
        files = {
            "raw": (b"main (app.py:3);work (app.py:9) 7\nmain (app.py:3) 1\n", "folded stacks"),
            "one.json": (json.dumps(one).encode(), "a speedscope file"),
            "two.json": (json.dumps(two).encode(), "a speedscope file"),
            "perf": (b"# captured on: x\napp  42/43 [000] 1.5: 250000 cpu-clock:pppH: \n\t 55d0 main+0x12 (/bin/app)\n\n" * 3, "output of perf script"),
            "trie": (bytes.fromhex("000001056d61696e3b00020161010003623b63ac0200"), "a trie"),
            "tree": (bytes.fromhex("000001016100020162010001630200"), "a tree"),
            "jfr": (pathlib.Path(harness.TESTS, "captures/async-profiler-4.0/01.body").read_bytes(), "a JFR recording"),
        }
        for name, (content, what) in files.items():
            with self.subTest(name=name):
                out = self.run_ok("push", self.file("form-" + name, content), "--service", "my.form", "--label", "form=" + name, *self.url)
                self.assertTrue(out.endswith(": %s, stored as service my.form\n" % what), out)
        for name, profile_type, total in (("raw", CPU, 8 * 10**7), ("one.json", CPU, 5 * 10**7), ("two.json", "wall:wall:nanoseconds:cpu:nanoseconds", 2 * 10**7),
                                          ("perf", CPU, 3 * 10**7), ("trie", CPU, 301 * 10**7), ("tree", CPU, 3 * 10**7), ("jfr", CPU, 4150000000)):
            with self.subTest(name=name):
                self.assertEqual(self.total(profile_type, '{service_name="my.form",form="%s"}' % name), total)

    def test_push_says_what_it_cannot_send(self):
        status, _, err = harness.vramscope("push", self.file("joined", b"main;work 30main;idle 5"), "--service", "some", *self.url)
        self.assertEqual(status, 1)
        self.assertIn("taken for folded stacks without line breaks", err)

    def test_push_reads_standard_input(self):
        self.run_ok("push", "-", "--service", "piped", "--type", "inuse_space", *self.url, stdin=b"main 5\n")
        answer = json.loads(self.run_ok("query", "-q", 'memory:inuse_space:bytes::{service_name="piped"}', "-o", "json", *self.url))
        self.assertEqual(answer["total"], 5)

    def test_push_says_why_an_old_profile_is_refused_and_makes_it_new(self):
        old = self.file("old", harness.pprof({"main": 3}, sample_types=["cpu/nanoseconds"], time_nanos=10**18))
        status, _, err = harness.vramscope("push", old, "--service", "old", *self.url)
        self.assertEqual(status, 1)
        self.assertIn("--override-timestamp", err)
        self.run_ok("push", old, "--service", "old", "--override-timestamp", *self.url)

    def test_push_goes_on_after_a_file_that_fails(self):
        good = self.file("good", b"main 1\n")
        status, out, err = harness.vramscope("push", os.path.join(self.folder.name, "absent"), self.file("empty", b""), good,
                                             "--service", "some", *self.url)
        self.assertEqual(status, 1)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertEqual(len(err.splitlines()), 2)


if __name__ == "__main__":
    harness.main()
