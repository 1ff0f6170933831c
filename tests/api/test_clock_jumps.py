"""A clock that jumps, back and forth, hours and years: what was answered is there, nothing is deleted for its age, nobody waits for the wrong time."""
import http.client
import os
import signal
import time
import unittest

import faults
import harness

TYPE = "memory:alloc_space:bytes::"
HOUR, DAY, YEAR = 3600, 86400, 365 * 86400
JUMPS = (0, 2 * HOUR, -2 * HOUR, 40 * DAY, -40 * DAY, 0, 10 * YEAR, -20 * YEAR, DAY, 0)


@unittest.skipUnless(os.path.exists(faults.LIBRARY), "VRAMSCOPE_DISK_FAULTS names no file")
class ClockJumps(unittest.TestCase):
    """The profiles have the time of the server, whatever that is just then."""

    def shift(self, server, seconds):
        self.shifted = seconds
        server.faults.shift_clock(seconds)

    def send(self, server, name):
        answer = server.ingest("clock.alloc_space", b"%s 1\n" % name.encode())
        self.assertEqual(answer.status, 200, answer)
        self.sent.setdefault(int(time.time() + self.shifted), []).append(name)

    def judge(self, server):
        """Everything is where it was sent, once."""
        expected, found = {}, {}
        for at, names in self.sent.items():
            for name in names:
                expected[name] = 1
            stacks = server.totals(TYPE, '{service_name="clock"}', (at - 60) * 1000, (at + 60) * 1000)
            for name in names:
                found[name] = stacks.get(name)
        self.assertEqual(found, expected)

    def reload(self, server):
        """Retention is applied at once then."""
        before = server.log_text().count("reload")
        server.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: server.log_text().count("reload") > before, 30, "the options to be read again")

    def test_a_server_whose_clock_jumps(self):
        self.sent = {}
        with faults.FaultyServer("-storage.retention=30d") as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            for number, seconds in enumerate(JUMPS):
                self.shift(server, seconds)
                self.send(server, "jump%d" % number)
                self.reload(server)
                self.judge(server)
                connection.request("GET", "/ready")  # an idle connection is not cut for the time that did not pass
                response = connection.getresponse()
                self.assertEqual((response.status, response.read()), (200, b"ready"))
            connection.close()
            self.assertIn("that makes no profile too old for an hour", server.log_text())
            self.assertEqual(server.stop(), 0)
            server.start()
            self.judge(server)

    def test_a_server_that_starts_with_a_wrong_clock(self):
        """As machines do before they have asked for the time."""
        self.sent = {}
        with faults.FaultyServer("-storage.retention=30d") as server:
            for number, seconds in enumerate(JUMPS):
                self.shift(server, seconds)
                self.send(server, "start%d" % number)
                if number % 2:
                    server.kill()
                else:
                    self.assertEqual(server.stop(), 0)
                server.start()
                self.judge(server)

    def test_what_is_sent_again_after_a_jump_is_stored_once(self):
        """As long as it is less than a day."""
        with faults.FaultyServer() as server:
            at = int(time.time())
            for seconds in (0, 20 * HOUR, -20 * HOUR, 0):
                server.faults.shift_clock(seconds)
                answer = server.ingest("again.alloc_space", b"again 1\n", **{"from": at, "until": at})
                self.assertIn(answer.status, (200, 400), answer)  # 400: too old or too new, by the server's clock
            server.faults.shift_clock(0)
            self.assertEqual(server.totals(TYPE, '{service_name="again"}', (at - 60) * 1000, (at + 60) * 1000), {"again": 1})

    def test_what_is_really_old_goes(self):
        """A clock that stands right lets retention do its work: days that were old when they came."""
        with faults.FaultyServer("-storage.retention=30d", "-validation.reject-older-than=0") as server:
            old = int(time.time()) - 40 * DAY
            self.assertEqual(server.ingest("old.alloc_space", b"old 1\n", **{"from": old, "until": old}).status, 200)
            self.reload(server)
            self.assertEqual(server.totals(TYPE, '{service_name="old"}', (old - 60) * 1000, (old + 60) * 1000), {})


if __name__ == "__main__":
    harness.main()
