"""delete takes the profiles of a selector and a range, and nothing else: by HTTP, by command, out of a folder."""
import json
import os
import re
import tempfile
import unittest

import harness

SPACE, OBJECTS = "memory:alloc_space:bytes:space:bytes", "memory:alloc_objects:count:space:bytes"
NOON = 1728043200  # 2024-10-04 12:00:00 UTC
DAY = 86400


def at(seconds):
    return seconds * 1000


class Delete(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="vramscope-test-")
        self.store = os.path.join(self.temporary.name, "store")

    def tearDown(self):
        self.temporary.cleanup()

    def server(self, *options):
        return harness.Server("-validation.reject-older-than=0", "-storage.retention=0", *options, store=self.store)

    def fill(self, server, services=("shop", "bank"), days=2, each=3):
        """Profiles of two types: at noon of each day, and in the following seconds."""
        for service in services:
            for day in range(days):
                for n in range(each):
                    body = harness.pprof([{"stack": "main;%s%d" % (service, day), "values": [1, 100]}], sample_types=[
                        "alloc_objects/count", "alloc_space/bytes"], period_type="space/bytes", time_nanos=(NOON + day * DAY + n) * 10**9)
                    answer = server.push(({"__name__": "memory", "service_name": service}, [body]))
                    self.assertEqual(answer.status, 200, answer)

    def sums(self, server, kind=SPACE):
        return server.totals(kind, "{}", at(NOON - DAY), at(NOON + 9 * DAY))

    def ask(self, server, headers=None, **message):
        return server.request("POST", "/api/v1/delete", json.dumps(message).encode(), dict({"Content-Type": "application/json"}, **(headers or {})))

    def rows(self, answer):
        self.assertEqual(answer.status, 200, answer)
        return [(w["day"], w["type"], w["profiles"]) for w in answer.json["windows"]]

    # --- over HTTP

    def test_a_dry_run_counts_and_takes_nothing(self):
        with self.server() as server:
            self.fill(server)
            before = self.sums(server)
            answer = self.ask(server, query='{service_name="shop"}', **{"from": at(NOON), "until": at(NOON + DAY + 1), "dry_run": True})
            self.assertEqual(self.rows(answer), [("2024-10-04", OBJECTS, 3), ("2024-10-04", SPACE, 3),
                                                 ("2024-10-05", OBJECTS, 2), ("2024-10-05", SPACE, 2)])
            self.assertEqual((answer.json["profiles"], answer.json["dry_run"]), (10, True))
            self.assertEqual(self.sums(server), before)

    def test_selector_and_range_go(self):
        with self.server() as server:
            self.fill(server)
            answer = self.ask(server, query='{service_name="shop"}', **{"from": at(NOON), "until": at(NOON + DAY)})
            self.assertEqual((answer.status, answer.json["profiles"], answer.json["dry_run"]), (200, 8, False), answer)
            self.assertEqual(self.sums(server), {"main;shop1": 200, "main;bank0": 300, "main;bank1": 300})
            self.assertRegex(server.get("/metrics").text, r"(?m)^vramscope_deleted_profiles_total 8$")
            self.assertRegex(server.get("/metrics").text, r"(?m)^vramscope_deletion_profiles_left 0$")

    def test_a_type_goes_and_its_sisters_stay(self):
        with self.server() as server:
            self.fill(server)
            answer = self.ask(server, query=OBJECTS + "{}", **{"from": "2024-10-04", "until": "2024-10-07"})
            self.assertEqual(self.rows(answer), [("2024-10-04", OBJECTS, 6), ("2024-10-05", OBJECTS, 6)])
            self.assertEqual(self.sums(server, OBJECTS), {})
            self.assertEqual(self.sums(server), {"main;%s%d" % (s, d): 300 for s in ("shop", "bank") for d in (0, 1)})
            self.assertEqual(server.stop(), 0)
            server.start()  # and after a restart
            self.assertEqual(self.sums(server, OBJECTS), {})

    def test_a_tenant_deletes_its_own(self):
        with self.server("-auth.multitenancy-enabled") as server:
            for tenant in ("a", "b"):
                body = harness.pprof({"main": 5}, sample_types=["alloc_space/bytes"], period_type="space/bytes", time_nanos=NOON * 10**9)
                self.assertEqual(server.push(({"__name__": "memory", "service_name": "x"}, [body]), headers={"X-Scope-OrgID": tenant}).status, 200)
            every = {"query": "{}", "from": 0, "until": "now"}
            self.assertEqual(self.ask(server, **every).status, 401)
            self.assertEqual(self.ask(server, headers={"X-Scope-OrgID": "a|b"}, **every).status, 400)
            self.assertEqual(self.ask(server, headers={"X-Scope-OrgID": "a"}, **every).json["profiles"], 1)
            self.assertEqual(self.ask(server, headers={"X-Scope-OrgID": "b"}, dry_run=True, **every).json["profiles"], 1)

    def test_who_may(self):
        every = {"query": "{}", "from": 0, "until": "now"}
        with self.server() as server:
            self.fill(server)
            for header in ("X-Forwarded-For", "Forwarded", "Via"):
                answer = self.ask(server, headers={header: "192.0.2.1"}, **every)
                self.assertEqual((answer.status, answer.json["code"]), (403, "permission_denied"))
                self.assertIn("-admin.access=any lets others", answer.json["message"])
            # what a page in a browser can send without being asked first
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
                answer = server.request("POST", "/api/v1/delete", json.dumps(every).encode(), {"Content-Type": kind})
                self.assertEqual((answer.status, answer.json["message"]), (400, "send JSON, as Content-Type: application/json"))
            self.assertEqual(len(self.sums(server)), 4)
        with self.server("-admin.access=off") as server:
            self.assertEqual(self.ask(server, **every).status, 403)
            self.assertEqual(len(self.sums(server)), 4)
        with self.server("-admin.access=any") as server:
            self.assertEqual(self.ask(server, headers={"X-Forwarded-For": "192.0.2.1"}, **every).json["profiles"], 24)

    def test_wrong_requests(self):
        good = {"query": "{}", "from": 0, "until": "now"}
        with self.server() as server:
            self.fill(server)
            for change, said in (({"query": None}, "query: TYPE"), ({"query": ""}, "query: "), ({"query": '{a="b'}, "parse error"), ({"query": 5}, "query: TYPE"),
                                 ({"from": None}, "from: a time is needed"), ({"until": "soon"}, "until: a time is needed"),
                                 ({"until": "2024-13-01"}, "until: a time is needed"), ({"from": -1}, "from: a time is needed"),
                                 ({"from": "now", "until": 5}, "from is later than until"), ({"dry_run": "true"}, "dry_run: true or false"),
                                 ({"until": "2024-10-04T12:00"}, "until: a time is needed"), ({"from": "7d"}, "from: a time is needed")):
                message = {k: v for k, v in dict(good, **change).items() if v is not None}
                answer = self.ask(server, **message)
                self.assertEqual((answer.status, answer.json["code"]), (400, "invalid_argument"), answer)
                self.assertIn(said, answer.json["message"])
            self.assertEqual(server.request("POST", "/api/v1/delete", b"{", {"Content-Type": "application/json"}).status, 400)
            self.assertEqual(server.get("/api/v1/delete").status, 405)
            self.assertEqual(len(self.sums(server)), 4)

    # --- the command

    def command(self, *arguments, status=0):
        got, out, err = harness.vramscope("delete", *arguments)
        self.assertEqual(got, status, out + err)
        return out + err

    def test_the_command_counts_then_deletes(self):
        with self.server() as server:
            self.fill(server)
            which = ["-q", '{service_name="shop"}', "--from", "2024-10-04", "--to", "2024-10-06", "--url", server.url]
            table = ["2024-10-04             3  " + OBJECTS, "2024-10-04             3  " + SPACE,
                     "2024-10-05             3  " + OBJECTS, "2024-10-05             3  " + SPACE]
            self.assertEqual(self.command(*which, "--dry-run").splitlines(), table + ["12 profiles would be deleted"])
            self.assertEqual(len(self.sums(server)), 4)
            self.assertEqual(self.command(*which).splitlines(), table + ["12 profiles deleted"])
            self.assertEqual(self.sums(server), {"main;bank0": 300, "main;bank1": 300})
            self.assertEqual(self.command(*which).splitlines(), ["0 profiles deleted"])
            self.assertEqual(self.command(*which, "--quiet"), "")

    def test_a_folder_that_nobody_holds(self):
        which = ["-q", '{service_name="shop"}', "--from", "2024-10-04", "--to", "2024-10-06", "--store", self.store]
        with self.server() as server:
            self.fill(server)
            self.assertIn("12 profiles would be deleted", self.command(*which, "--dry-run"))  # also beside the server
            self.assertIn("is in use by another process, pid %d" % server.pid, self.command(*which, status=1))
            self.assertEqual(len(self.sums(server)), 4)
        self.assertIn("12 profiles deleted", self.command(*which))
        with self.server() as server:
            self.assertEqual(self.sums(server), {"main;bank0": 300, "main;bank1": 300})

    def test_what_is_old_stays_when_something_else_is_deleted(self):
        with self.server() as server:
            self.fill(server)
        self.command("-q", '{service_name="nobody"}', "--from", "2024-10-04", "--to", "2024-10-06", "--store", self.store)
        with self.server() as server:
            self.assertEqual(len(self.sums(server)), 4)  # no retention went over it

    def test_wrong_arguments(self):
        which = ["-q", "{}", "--from", "now-1h", "--to", "now"]
        for arguments, status, said in (
                ([], 2, "which profiles?"), (["-q", "{}"], 2, "which range?"), (["-q", "{}", "--from", "now-1h"], 2, "which range?"),
                (["-q", "{a=", "--from", "now-1h", "--to", "now"], 2, "parse error"), (["-q", "{}", "--from", "2024-13-01", "--to", "now"], 2, "is no time"),
                (["-q", "{}", "--from", "now", "--to", "now-1h"], 2, "--from is later than --to"),
                (which + ["--store", os.path.join(self.temporary.name, "nowhere"), "--dry-run"], 1, "nowhere"),
                (which + ["--url", "http://127.0.0.1:1"], 1, "does not answer")):
            self.assertIn(said, self.command(*arguments, status=status))

    def test_help_says_it_all(self):
        out = self.command("--help")
        for word in ("--query", "--from", "--to", "--dry-run", "--url", "--store", "--tenant", "--quiet", "-admin.access=any"):
            self.assertIn(word, out)
        self.assertTrue(re.search(r"Exit status: 0", out))


if __name__ == "__main__":
    harness.main()
