"""What strangers send by mistake or on purpose: each gets the status of the specification, costs bounded memory, and the server goes on.

Source: ingest specification, 9; read specification, 2.7 and 3.4.
"""
import gzip
import os
import socket
import time
import unittest

import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
MIB = 1024 * 1024
# A sanitizer's shadow memory is not ours to judge.
MEMORY_BOUND = None if os.environ.get("VRAMSCOPE_SANITIZE") else 320 * MIB
Proto = harness.cases.Proto


def profile(**spec):
    return harness.pprof({"main;work": 5}, **dict({"sample_types": ["cpu/nanoseconds"], "time_nanos": time.time_ns()}, **spec))


def message(**fields):
    """A pprof by its own field names."""
    return Proto.encode(fields, "Profile")


def small(**changes):
    """A valid profile of one sample as fields, with changes."""
    return dict({"sampleType": [{"type": 1, "unit": 2}], "sample": [{"locationId": [1], "value": [5]}],
                 "location": [{"id": 1, "line": [{"functionId": 1}]}], "function": [{"id": 1, "name": 3, "systemName": 3}],
                 "stringTable": ["", "cpu", "nanoseconds", "main"], "timeNanos": time.time_ns()}, **changes)


def bomb(megabytes):
    """gzip members of ten million zeros each, one after the other: small to send, large to unpack."""
    member = gzip.compress(bytes(10 * MIB), 9)
    return member * (megabytes // 10)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-memory.limit=256MiB").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def tearDown(self):
        """After whatever was sent: alive, ready, storing and answering, within its memory."""
        self.assertIsNone(self.server.process.poll(), self.server.log_text())
        self.assertEqual(self.server.get("/ready").status, 200)
        self.assertEqual(self.server.ingest("alive.cpu", b"main 1\n").status, 200)
        if MEMORY_BOUND:
            self.assertLess(self.server.memory("VmHWM"), MEMORY_BOUND)

    def ingest(self, body, status, headers=None, **query):
        answer = self.server.ingest("bad", body, headers, **dict({"format": "pprof"}, **query))
        self.assertEqual(answer.status, status, answer)
        return answer

    def push(self, body, status, labels=None):
        series = labels if labels is not None else {"__name__": "process_cpu", "service_name": "bad"}
        answer = self.server.push((series, [body]))
        self.assertEqual(answer.status, status, answer)
        return answer

    def both(self, body, ok=False):
        """The same profile by the two ways in."""
        self.ingest(body, 200 if ok else 422)
        self.push(body, 200 if ok else 400)

    # --- compression

    def test_a_truncated_gzip_is_refused(self):
        whole = gzip.compress(profile())
        for cut in (3, 10, len(whole) // 2, len(whole) - 1):
            self.both(whole[:cut])

    def test_bytes_behind_a_gzip_are_refused(self):
        self.both(gzip.compress(profile()) + b"more")

    def test_a_gzip_bomb_is_stopped_early(self):
        for megabytes in (50, 10000):
            begin = time.monotonic()
            self.both(bomb(megabytes))
            self.assertLess(time.monotonic() - begin, 20)

    def test_a_bomb_in_a_compressed_request_is_stopped_early(self):
        body = bomb(10000)
        answer = self.server.request("POST", "/push.v1.PusherService/Push", body,
                                     {"Content-Type": "application/proto", "Content-Encoding": "gzip"})
        self.assertIn(answer.status, (400, 413, 429), answer)

    def test_what_is_no_gzip_is_refused_where_gzip_is_said(self):
        answer = self.server.request("POST", "/push.v1.PusherService/Push", b"plain", {"Content-Type": "application/proto", "Content-Encoding": "gzip"})
        self.assertEqual(answer.status, 400, answer)

    # --- sizes

    def test_a_content_length_of_4_gib_is_refused_before_it_comes(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as connection:
            connection.sendall(b"POST /ingest?name=bad HTTP/1.1\r\nHost: x\r\nContent-Length: 4294967296\r\n\r\n")
            answer = connection.makefile("rb").readline()
        self.assertIn(b" 413 ", answer)

    def test_ten_million_samples_are_refused(self):
        sample = Proto.field(2, 2, b"")
        body = message(**small(sample=[])) + sample * 10_000_000
        self.both(body)
        self.both(gzip.compress(body, 1))

    def test_more_samples_than_the_limit_are_refused(self):
        one = Proto.field(2, 2, Proto.encode({"locationId": [1], "value": [1]}, "Sample"))
        self.both(message(**small(sample=[])) + one * 16_001)

    def test_a_label_value_of_a_megabyte_is_refused(self):
        self.push(profile(), 400, {"__name__": "process_cpu", "service_name": "bad", "long": "x" * MIB})
        answer = self.server.ingest("bad{long=%s}" % ("x" * 3000), b"main 1\n")
        self.assertEqual(answer.status, 400, answer)
        try:
            answer = self.server.ingest("bad{long=%s}" % ("x" * MIB), b"main 1\n")
            self.assertIn(answer.status, (400, 414, 431), answer)
        except OSError:
            pass  # closed while the target was still being sent

    def test_a_hundred_thousand_sample_label_sets_do_not_pass_the_limits(self):
        rows = [{"stack": "main", "values": [1], "labels": {"n": str(i)}} for i in range(20_000)]
        self.both(harness.pprof(rows, sample_types=["cpu/nanoseconds"], time_nanos=time.time_ns()))

    # --- pprof

    def test_garbage_is_no_profile(self):
        for body in (b"\x00" * 100, b"\xff" * 100, b"garbage that is long enough", os.urandom(64)):
            self.ingest(body, 422)
            self.push(body, 400)

    def test_indexes_out_of_range_are_refused(self):
        for changes in ({"sampleType": [{"type": 99, "unit": 2}]}, {"sampleType": [{"type": -1, "unit": 2}]},
                        {"function": [{"id": 1, "name": 99, "systemName": 3}]}, {"function": [{"id": 1, "name": 3, "systemName": -9}]},
                        {"function": [{"id": 1, "name": 3, "systemName": 3, "filename": 2**40}]},
                        {"mapping": [{"id": 1, "filename": 99}]}, {"mapping": [{"id": 1, "buildId": 99}]},
                        {"sample": [{"locationId": [1], "value": [5], "label": [{"key": 99, "str": 1}]}]}):
            self.both(message(**small(**changes)))

    def test_references_that_lead_nowhere_lose_their_samples_only(self):
        for changes in ({"sample": [{"locationId": [77], "value": [5]}, {"locationId": [1], "value": [2]}]},
                        {"location": [{"id": 1, "mappingId": 2**63 - 1, "line": [{"functionId": 1}]}]},
                        {"location": [{"id": 1, "line": [{"functionId": 12345}]}]},
                        {"sample": [{"locationId": [2**63 - 1], "value": [5]}]}):
            self.both(message(**small(**changes)), ok=True)

    def test_ids_of_zero_and_missing_values_are_refused(self):
        for changes in ({"location": [{"id": 0, "line": [{"functionId": 1}]}]}, {"function": [{"id": 0, "name": 3, "systemName": 3}]},
                        {"sample": [{"locationId": [1], "value": []}]}, {"sample": [{"locationId": [1], "value": [1, 2]}]},
                        {"sampleType": []}, {"stringTable": []}, {"stringTable": ["x", "cpu", "nanoseconds", "main"]}):
            self.both(message(**small(**changes)))

    def test_a_sample_that_goes_in_a_circle_is_an_ordinary_stack(self):
        self.both(message(**small(sample=[{"locationId": [1] * 500, "value": [5]}])), ok=True)

    def test_a_stack_without_end_is_cut(self):
        self.both(message(**small(sample=[{"locationId": [1] * 100_000, "value": [5]}])), ok=True)

    def test_messages_nested_without_end_are_skipped(self):
        inner = b""
        for _ in range(20_000):
            inner = Proto.field(100, 2, inner)
        self.both(message(**small()) + inner, ok=True)

    def test_text_that_is_no_utf8_is_refused(self):
        self.both(message(**small(stringTable=["", "cpu", "nanoseconds", "bad\udcff"])))
        self.push(profile(), 400, [("__name__", "process_cpu"), ("service_name", "bad\udcff")])
        answer = self.server.ingest("bad.cpu", b"main;bad\xff 1\n")
        self.assertEqual(answer.status, 400, answer)

    def test_nul_inside_a_name_is_kept(self):
        self.push(message(**small(stringTable=["", "cpu", "nanoseconds", "a\0b"])), 200, {"__name__": "process_cpu", "service_name": "nul"})
        now = int(time.time() * 1000)
        found = self.server.totals("process_cpu:cpu:nanoseconds::", '{service_name="nul"}', now - 600000, now + 600000)
        self.assertEqual(found, {"a\0b": 5})

    def test_padded_varints_are_legal(self):
        body = message(**small(sample=[])) + b"\x12\x88\x80\x00" + b"\x0a\x82\x00\x81\x00" + b"\x12\x01\x05"
        self.push(body, 200, {"__name__": "process_cpu", "service_name": "padded"})
        now = int(time.time() * 1000)
        found = self.server.totals("process_cpu:cpu:nanoseconds::", '{service_name="padded"}', now - 600000, now + 600000)
        self.assertEqual(found, {"main": 5})

    def test_sums_past_the_end_wrap_and_go_on(self):
        rows = [{"locationId": [1], "value": [2**63 - 1]}] * 3
        self.both(message(**small(sample=rows)), ok=True)

    def test_absurd_times_are_refused(self):
        now = time.time_ns()
        for at in (1, 10**18, now - 2 * 3600 * 10**9, now + 3600 * 10**9, 2**63 - 1):
            self.push(profile(time_nanos=at), 400)
        for at in (10**18, now - 2 * 3600 * 10**9, now + 3600 * 10**9, 2**63 - 1):
            self.ingest(profile(time_nanos=at), 422)
        for at in ("99999999999", "99999999999999999999", "20000101"):
            answer = self.server.ingest("bad.cpu", b"main 1\n", **{"from": at})
            self.assertEqual(answer.status, 400, (at, answer))

    def test_times_of_zero_and_below_mean_now(self):
        for at in (0, -1, -2**63):
            self.push(profile(time_nanos=at), 200)

    # --- labels

    def test_duplicate_and_too_many_labels_are_refused(self):
        base = [("__name__", "process_cpu"), ("service_name", "bad")]
        self.push(profile(), 400, base + [("a", "1"), ("a", "2")])
        self.push(profile(), 400, base + [("l%d" % i, "x") for i in range(31)])
        self.push(profile(), 400, base + [("n" * 1025, "x")])
        self.push(profile(), 400, base + [("n", "x" * 2049)])
        self.push(profile(), 400, [("service_name", "bad")])

    def test_nothing_to_store_is_said(self):
        for series in ([], [({"__name__": "process_cpu", "service_name": "bad"}, [])]):
            self.assertEqual(self.server.push(*series).status, 400)
        self.push(b"", 400)

    # --- the other formats of /ingest

    def test_bodies_of_a_confused_sender_are_refused(self):
        for body, query in ((b"[object FormData]", {}), (b"main x\n", {}), (b"main 9223372036854775808\n", {})):
            answer = self.server.ingest("bad.cpu", body, **query)
            self.assertEqual(answer.status, 422, (body, answer))

    def test_broken_forms_are_refused(self):
        for headers, body in (({"Content-Type": "multipart/form-data"}, b"x"),
                              ({"Content-Type": "multipart/form-data; boundary=b"}, b"--b\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\r\nabc")):
            answer = self.server.ingest("bad", body, headers)
            self.assertEqual(answer.status, 422, answer)

    def test_a_name_is_required(self):
        for query in ("", "?name=", "?name=%7Ba%3Db%7D", "?name=a%20b", "?name=a%7Bmy-tag%3D1%7D"):
            answer = self.server.request("POST", "/ingest" + query, b"main 1\n")
            self.assertEqual(answer.status, 400, (query, answer))

    # --- questions

    def ask(self, selector, **more):
        now = int(time.time() * 1000)
        return self.server.rpc("SelectMergeStacktraces", dict({"profileTypeID": CPU, "labelSelector": selector, "start": now - 600000, "end": now}, **more))

    def test_invalid_selectors_are_refused(self):
        for selector in ("{", "{a}", "{a=}", "{a=b}", '{a="b"', '{a=="b"}', '{="b"}', '{a="b",,}', "rate(x)", '{a=~"("}', '{a=~"[z-a]"}', '{a="\\q"}'):
            answer = self.ask(selector)
            self.assertEqual(answer.status, 400, (selector, answer))

    def test_selectors_without_end_are_bounded(self):
        for selector in ("{" * 70_000, "{a=\"%s\"}" % ("x" * 70_000), "{%s}" % ",".join('a%d="b"' % i for i in range(5000))):
            answer = self.ask(selector)
            self.assertEqual(answer.status, 400, answer)

    def test_regular_expressions_made_to_blow_up_do_not(self):
        value = "a" * 2000
        self.push(profile(), 200, {"__name__": "process_cpu", "service_name": "regex", "long": value})
        for pattern in ("(a+)+[bc]", "(a|a)*b", "(a|aa)+$b", "(.*)*x", "a?" * 500 + "a" * 500):
            begin = time.monotonic()
            answer = self.ask('{long=~"%s"}' % pattern)
            self.assertIn(answer.status, (200, 400), answer)
            self.assertLess(time.monotonic() - begin, 5, pattern)
        for pattern in ("a{1000}{1000}", "(((a{100}){100}){100})", "\\\\p{Nonsense}", "(?<name>a"):
            self.assertEqual(self.ask('{long=~"%s"}' % pattern).status, 400, pattern)

    def test_absurd_ranges_are_answered(self):
        for start, end, status in ((0, 1, 400), (2, 1, 400), (1, 2**62, (200, 400)), (-2**63, 2**63 - 1, (200, 400))):
            answer = self.ask("{}", start=start, end=end)
            self.assertIn(answer.status, status if isinstance(status, tuple) else (status,), (start, end, answer))

    def test_broken_calls_are_refused(self):
        for body in (b"", b"{", b"[]", b'{"start": "x"}', b'{"start": 1e400}', b"\xff", b"[" * 100_000, b'{"a":' * 100_000):
            answer = self.server.request("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", body, {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 400, (body[:40], answer))
        for body in (b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\x00\x00", b"\x0a\x05ab"):
            answer = self.server.request("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", body, {"Content-Type": "application/proto"})
            self.assertEqual(answer.status, 400, (body, answer))

    def test_unknown_routes_and_methods_are_refused(self):
        for method, path, status in (("GET", "/nothing", 404), ("GET", "/ingest", 405), ("GET", "/push.v1.PusherService/Push", 405),
                                     ("POST", "/querier.v1.QuerierService/Nothing", 404), ("GET", "/../etc/passwd", 404),
                                     ("GET", "/%2e%2e/etc/passwd", 404), ("DELETE", "/pyroscope/render", 405)):
            answer = self.server.request(method, path)
            self.assertEqual(answer.status, status, (method, path, answer))


if __name__ == "__main__":
    harness.main()
