"""Bodies that are something else than their request says are named, and whoever asks why nothing arrives finds the answer."""
import gzip
import shutil
import subprocess
import unittest

import harness

FOLDED = "main;work 30\nmain;idle 5\n"
# What each looks like is written here by hand, from the formats' own descriptions.
JFR = b"FLR\0\0\2\0\0" + bytes(60)
TRIE = bytes.fromhex("000001056d61696e3b00020161010003623b63ac0200")
TREE = bytes.fromhex("000001016100020162010001630200")
SPEEDSCOPE = ('{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},'
              '"profiles":[{"type":"sampled","name":"p","unit":"bytes","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}]}').encode()
PERF = b"app  4242 [000]  1234.567890:     250000 cpu-clock:pppH: \n\t    55d0c0f01234 main+0x12 (/usr/bin/app)\n\n"
FORM = b'--X\r\nContent-Disposition: form-data; name="profile"; filename="p"\r\n\r\nx\r\n--X--\r\n'
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


def pprof():
    return harness.pprof({"main;work": 3}, sample_types=["samples/count"])


class WrongFormats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def refused(self, body, what, advice, headers=None, **query):
        answer = self.server.ingest("svc.cpu", body, headers, **query)
        self.assertEqual(answer.status, 422, answer)
        self.assertEqual(answer.json["code"], "unknown")
        self.assertIn("this looks like %s: " % what, answer.json["message"])
        self.assertIn(advice, answer.json["message"])

    def test_a_body_without_a_format_is_named_when_it_is_no_folded_text(self):
        for body, what, advice in ((JFR, "a JFR recording", "format=jfr"), (TRIE, "a trie", "format=trie"), (TREE, "a tree", "format=tree"),
                                   (SPEEDSCOPE, "a speedscope file", "format=speedscope"), (pprof(), "a pprof", "format=pprof"),
                                   (gzip.compress(pprof()), "a pprof", "format=pprof"), (PERF, "output of perf script", "vramscope push"),
                                   (FORM, "a form", "multipart/form-data"), (b"[object FormData]", "a FormData object", "FormData")):
            with self.subTest(what=what):
                self.refused(body, what if what != "a FormData object" else "a FormData object that was made a text", advice)

    def test_a_body_of_another_format_than_was_said_is_named(self):
        for said, body, what, advice in (("pprof", FOLDED.encode(), "folded stacks", "format=folded"), ("pprof", SPEEDSCOPE, "a speedscope file", "format=speedscope"),
                                         ("speedscope", pprof(), "a pprof", "format=pprof"), ("trie", FOLDED.encode(), "folded stacks", "format=folded"),
                                         ("tree", JFR, "a JFR recording", "format=jfr"), ("pprof", JFR, "a JFR recording", "format=jfr")):
            with self.subTest(said=said, what=what):
                self.refused(body, what, advice, format=said)

    def test_line_breaks_that_curl_took_out_are_missed(self):
        self.refused(FOLDED.replace("\n", ""), "folded stacks without line breaks", "--data-binary", URLENCODED)

    def test_a_type_that_curl_sends_by_itself_makes_no_form_of_the_body(self):
        now = int(harness.time.time())
        answer = self.server.ingest("typed.alloc_space", "main;a=b&c=%3b 7\nmain;+ 5\n", URLENCODED, **{"from": now})
        self.assertEqual((answer.status, answer.text), (200, ""))
        flame = self.server.totals("memory:alloc_space:bytes::", '{service_name="typed"}', (now - 60) * 1000, (now + 60) * 1000)
        self.assertEqual(flame, {"main;a=b&c=%3b": 7, "main;+": 5})

    def test_nothing_to_say_is_no_mistake(self):
        for body in (b"", b"\n\n", b"nospacehere", b"a 0\n"):
            self.assertEqual(self.server.ingest("svc.cpu", body).status, 200)


    def test_of_a_form_its_part_is_named(self):
        body = b'--X\r\nContent-Disposition: form-data; name="jfr"\r\n\r\n' + gzip.compress(pprof()) + b"\r\n--X--\r\n"
        answer = self.server.ingest("svc.cpu", body, {"Content-Type": "multipart/form-data; boundary=X"}, format="jfr")
        self.assertEqual(answer.status, 422, answer)
        self.assertIn("the form's part 'jfr' looks like a pprof: send it with format=pprof", answer.json["message"])

    def test_an_otlp_export_is_told_its_way(self):
        self.refused(b'{"resourceProfiles": [], "dictionary": {}}', "an OTLP export as JSON", "/v1development/profiles")

    def test_a_bad_count_has_its_line(self):
        answer = self.server.ingest("svc.cpu", "main;a 1\nmain;b x\n")
        self.assertEqual(answer.json["message"], 'strconv.Atoi: parsing "x": invalid syntax (line 2)')


class Rejects(unittest.TestCase):
    def test_what_left_nothing_behind_is_listed_too(self):
        with harness.Server() as server:
            for body, headers, query in ((b"", {}, {}), (FORM, {"Content-Type": "multipart/form-data; boundary=X"}, {"format": "pprof"}), (b"a 0\n", {}, {})):
                if body == FORM:
                    body = body.replace(b'"profile"', b'"file"')
                self.assertEqual(server.ingest("svc.cpu", body, headers, **query).status, 200)
            rejects = server.get("/api/v1/rejects").json["rejects"]
            self.assertEqual([(r["status"], r["reason"], r["message"].partition(":")[0]) for r in rejects],
                             [(200, "nothing_stored", "there is no sample in the body"), (200, "nothing_stored", "the form has no part 'profile'"),
                              (200, "nothing_stored", "the body is empty")])
            self.assertIn('vramscope_writes_rejected_total{route="ingest",reason="nothing_stored"} 3\n', server.get("/metrics").text)

    def test_a_refusal_keeps_its_reason_behind_long_labels(self):
        labels = {"label%d" % i: "v" * 40 for i in range(8)}
        old = harness.pprof({"main": 3}, sample_types=["cpu/nanoseconds"], time_nanos=10**18)
        with harness.Server() as server:
            self.assertEqual(server.push((dict(labels, __name__="process_cpu", service_name="old"), [old])).status, 400)
            (reject,) = server.get("/api/v1/rejects").json["rejects"]
            self.assertIn("outside of ingestion window", reject["message"])

    def test_requests_of_the_wrong_kind_say_what_is_right(self):
        message = {"Content-Type": "application/x-protobuf"}
        path, push = "/v1development/profiles", "/push.v1.PusherService/Push"
        packed = gzip.compress(b"\n\0")
        with harness.Server() as server:
            for target, body, headers, status, hint in (
                    (push, b"{}", {"Content-Type": "text/plain"}, 415, "Content-Type 'text/plain' is none of application/"),
                    (push, packed, {"Content-Type": "application/proto"}, 400, "the body is gzip, and Content-Encoding does not say so"),
                    (path, packed, message, 400, "the body is gzip, and Content-Encoding does not say so"),
                    (path, b"", dict(message, **{"Content-Encoding": "br"}), 400, "Content-Encoding br is not known: gzip, zstd or none"),
                    ("/v1/profiles", b"", message, 404, "did you mean /v1development/profiles?")):
                with self.subTest(target=target, status=status):
                    self.assertEqual(server.request("POST", target, body, headers).status, status)
                    self.assertIn(hint, server.get("/api/v1/rejects").json["rejects"][0]["message"])

    def test_the_answer_is_found_by_who_is_asked_why_there_is_nothing(self):
        with harness.Server() as server:
            before = int(harness.time.time() * 1000)
            self.assertEqual(server.get("/api/v1/rejects").json, {"rejects": []})
            self.assertEqual(server.ingest("shop", JFR, {"User-Agent": "loader/1.0"}).status, 422)
            self.assertEqual(server.ingest("", FOLDED).status, 400)
            self.assertEqual(server.rpc("Push", {"series": []}, "push.v1.PusherService").status, 400)
            self.assertEqual(server.request("GET", "/ingest").status, 405)
            self.assertEqual(server.ingest("shop.cpu", FOLDED).status, 200)
            listed = server.get("/api/v1/rejects")
            self.assertEqual(listed.headers["Cache-Control"], "no-store")
            rejects = listed.json["rejects"]
            self.assertEqual([(r["route"], r["status"], r["reason"]) for r in rejects],
                             [("/ingest", 405, "wrong_method"), ("/push.v1.PusherService/Push", 400, "invalid"), ("/ingest", 400, "invalid"),
                              ("/ingest", 422, "invalid")])
            self.assertEqual(rejects[1]["message"], "no profiles received")
            self.assertEqual(rejects[2]["message"], "name: service name is required")
            self.assertEqual(rejects[2]["first_bytes"], "main;work 30\\x0amain;idle 5\\x0a")
            first = rejects[3]
            self.assertRegex(first["sender"], r"^127\.0\.0\.1:\d+$")
            self.assertEqual((first["user_agent"], first["body_bytes"]), ("loader/1.0", len(JFR)))
            self.assertTrue(first["first_bytes"].startswith("FLR\\x00\\x00\\x02\\x00\\x00"), first)
            self.assertIn("a JFR recording", first["message"])
            self.assertTrue(before <= first["time_ms"] <= int(harness.time.time() * 1000))
            tag = listed.headers["ETag"]
            self.assertEqual(server.request("GET", "/api/v1/rejects", headers={"If-None-Match": tag}).status, 304)
            metrics = server.get("/metrics").text
            self.assertIn('vramscope_writes_rejected_total{route="ingest",reason="invalid"} 2\n', metrics)
            self.assertIn('vramscope_writes_rejected_total{route="ingest",reason="wrong_method"} 1\n', metrics)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_requests_over_http_2_are_noted_with_their_sender_too(self):
        with harness.Server() as server:
            done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "--data-binary", "a x", server.url + "/ingest?name=svc"], capture_output=True,
                                  text=True, timeout=60, check=True)
            self.assertIn("invalid syntax", done.stdout)
            (reject,) = server.get("/api/v1/rejects").json["rejects"]
            self.assertRegex(reject["sender"], r"^127\.0\.0\.1:\d+$")
            self.assertEqual((reject["status"], reject["first_bytes"]), (422, "a x"))

    def test_a_tenant_sees_its_own_alone(self):
        with harness.Server("-auth.multitenancy-enabled=true") as server:
            for tenant in ("red", "blue"):
                server.ingest("svc.%s" % tenant, FOLDED, {"X-Scope-OrgID": tenant})
            self.assertEqual(server.ingest("svc.cpu", FOLDED).status, 401)
            self.assertEqual(server.get("/api/v1/rejects").status, 401)
            for tenant in ("red", "blue"):
                rejects = server.request("GET", "/api/v1/rejects", headers={"X-Scope-OrgID": tenant}).json["rejects"]
                self.assertEqual([r["message"].rpartition(" ")[2] for r in rejects], [tenant])
            self.assertIn('vramscope_writes_rejected_total{route="ingest",reason="no_tenant"} 1\n', server.get("/metrics").text)

    def test_a_flood_is_bounded_and_what_is_too_large_is_told(self):
        with harness.Server("-distributor.ingestion-body-limit-mb=1") as server:
            for number in range(150):
                server.ingest("svc.x%d" % number, FOLDED)
            self.assertEqual(server.ingest("svc.cpu", b"a 1\n" * 300000).status, 413)
            rejects = server.get("/api/v1/rejects").json["rejects"]
            self.assertEqual(len(rejects), 100)
            self.assertEqual((rejects[0]["status"], rejects[0]["reason"]), (413, "too_large"))
            self.assertTrue(rejects[99]["message"].endswith("unknown profile type: x51"), rejects[99])


if __name__ == "__main__":
    harness.main()
