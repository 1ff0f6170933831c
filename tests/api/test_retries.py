"""Senders retry: what is sent again is stored once, what only looks alike is kept."""
import time
import unittest

import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


class Retries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def total(self, service):
        now = int(time.time() * 1000)
        return sum(self.server.totals(CPU, '{service_name="%s"}' % service, now - 600000, now + 600000).values())

    def profile(self, value, at):
        return harness.pprof({"main;work": value}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=at)

    def push(self, service, payload, profile_id):
        answer = self.server.push(({"__name__": "process_cpu", "service_name": service}, [(payload, profile_id)]))
        self.assertEqual(answer.status, 200, answer)

    def test_a_push_sent_again_is_stored_once(self):
        payload, name = self.profile(7, time.time_ns()), "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
        for _ in range(5):
            self.push("again", payload, name)
        self.assertEqual(self.total("again"), 7)

    def test_a_push_sent_again_after_a_restart_is_stored_once(self):
        server = harness.Server().start()
        try:
            payload, name = self.profile(7, time.time_ns()), "6ba7b810-9dad-41d1-80b4-00c04fd430c9"
            series = ({"__name__": "process_cpu", "service_name": "restart"}, [(payload, name)])
            self.assertEqual(server.push(series).status, 200)
            server.kill()
            server.start()
            self.assertEqual(server.push(series).status, 200)
            now = int(time.time() * 1000)
            self.assertEqual(server.totals(CPU, '{service_name="restart"}', now - 600000, now + 600000), {"main;work": 7})
        finally:
            server.close()

    def test_two_profiles_of_one_series_and_time_are_both_kept(self):
        at = time.time_ns()
        self.push("both", self.profile(7, at), "")
        self.push("both", self.profile(8, at), "")
        self.assertEqual(self.total("both"), 15)

    def test_equal_profiles_of_different_times_are_both_kept(self):
        at = time.time_ns()
        self.push("times", self.profile(7, at), "")
        self.push("times", self.profile(7, at - 10**9), "")
        self.assertEqual(self.total("times"), 14)

    def test_equal_profiles_of_different_series_are_both_kept(self):
        at = time.time_ns()
        for pod in ("a", "b"):
            answer = self.server.push(({"__name__": "process_cpu", "service_name": "series", "pod": pod}, [self.profile(7, at)]))
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.total("series"), 14)

    def test_folded_stacks_sent_again_are_stored_once(self):
        at = int(time.time())
        for _ in range(3):
            answer = self.server.ingest("folded-again.cpu", b"main;work 3\n", **{"from": at, "until": at})
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.total("folded-again"), 3 * 10**7)


if __name__ == "__main__":
    harness.main()
