"""Equal questions at one time share one execution: all get the whole answer, whoever hangs up."""
import http.client
import json
import re
import socket
import threading
import unittest

import harness

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
METHOD = "/querier.v1.QuerierService/SelectMergeStacktraces"
DAYS = 200  # a file each: a question about all of them takes a while
DAY_MS = 86400 * 1000
FIRST_MS = 19675 * DAY_MS  # a midnight
ATTEMPTS = 100  # until two questions have met


def profile(value, at_ms):
    return harness.pprof({"main;work": value}, sample_types=["cpu/nanoseconds"], period_type="cpu/nanoseconds", period=1, time_nanos=at_ms * 10**6)


class Sharing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-validation.reject-older-than=0s", "-storage.retention=0s", "-auth.multitenancy-enabled=true").start()
        cls.push("one", [(7, day) for day in range(DAYS)])
        cls.push("two", [(5, day) for day in range(3)])

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @classmethod
    def push(cls, tenant, profiles, ms=0):
        """Profiles of (value, day), all in one series, so many milliseconds after midnight."""
        samples = [(profile(value, FIRST_MS + day * DAY_MS + ms), "") for value, day in profiles]
        answer = cls.server.push(({"__name__": "process_cpu", "service_name": "shop"}, samples), headers={"X-Scope-OrgID": tenant})
        assert answer.status == 200, answer

    def send(self, tenant="one", days=DAYS):
        """Sends the question and gives the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        body = json.dumps({"profileTypeID": CPU, "labelSelector": "{}", "start": FIRST_MS, "end": FIRST_MS + days * DAY_MS}).encode()
        connection.request("POST", METHOD, body, {"Content-Type": "application/json", "X-Scope-OrgID": tenant})
        return connection

    def total(self, connection):
        """The answer's total, and the connection's end."""
        response = connection.getresponse()
        body = response.read()
        connection.close()
        self.assertEqual(response.status, 200, body)
        self.assertEqual(response.headers["Content-Type"], "application/json")
        return int(json.loads(body)["flamegraph"].get("total", 0))

    def shared(self):
        found = re.findall(r'^vramscope_queries_shared_total{route="[^"]*selectmergestacktraces"} (\d+)', self.server.get("/metrics").text, re.M)
        return sum(map(int, found))

    def until_shared(self, attempt):
        before = self.shared()
        for _ in range(ATTEMPTS):
            attempt()
            if self.shared() > before:
                return
        self.fail("%d times two equal questions did not meet" % ATTEMPTS)

    def test_two_clients_get_one_execution(self):
        def attempt():
            askers = [self.send() for _ in range(3)]
            self.assertEqual([self.total(asker) for asker in askers], [7 * DAYS] * 3)
        self.until_shared(attempt)

    def test_the_others_get_their_answer_when_one_hangs_up(self):
        def attempt():
            askers = [self.send() for _ in range(3)]
            askers[0].sock.shutdown(socket.SHUT_RDWR)
            askers[0].close()
            self.assertEqual([self.total(asker) for asker in askers[1:]], [7 * DAYS] * 2)
        for _ in range(3):
            self.until_shared(attempt)

    def test_tenants_ask_for_themselves(self):
        for _ in range(5):
            askers = [self.send("one"), self.send("two"), self.send("one"), self.send("two")]
            self.assertEqual([self.total(asker) for asker in askers], [7 * DAYS, 15, 7 * DAYS, 15])

    def test_an_answer_has_every_write_that_was_answered_before(self):
        over = threading.Event()
        failures = []

        def ask_on():
            try:
                while not over.is_set():
                    self.total(self.send("three", 5))
            except Exception as error:  # told by the main thread
                failures.append(error)

        self.push("three", [(1, 0)])
        threads = [threading.Thread(target=ask_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for count in range(2, 60):
                self.push("three", [(1, count % 5)], count)
                self.assertEqual(self.total(self.send("three", 5)), count)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    harness.main()
