"""A server that is killed under load has everything that it answered with 200, also while it makes blocks of it, and seals days.

    test_kill.py [KILLS]     (10)

It has several windows open, and is killed while it starts, too: then it has logs to read.
"""
import http.client
import random
import sys
import threading
import time
import unittest

import harness

KILLS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 10
WRITERS = 4
DAYS = 3
TYPE = "memory:alloc_space:bytes::"


class Writer(threading.Thread):
    """Sends profiles that are all different, one after the other, until it is told to stop; remembers what was answered."""

    def __init__(self, server, number, age_s):
        super().__init__(daemon=True)
        self.age_s = age_s
        self.server, self.number, self.sent, self.answered, self.refused = server, number, 0, set(), []
        self.go_on = True

    def run(self):
        while self.go_on:
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
            try:
                while self.go_on:
                    self.send(connection)
            except (OSError, http.client.HTTPException):
                threading.Event().wait(0.005)  # killed: the next server has another port
            finally:
                connection.close()

    def send(self, connection):
        self.sent += 1
        mine = self.sent
        body = "writer;p%d;%s 1\n" % (mine, "x" * (mine % 97))
        at = int(time.time()) - self.age_s - mine % DAYS * 86400
        connection.request("POST", "/ingest?name=kill.alloc_space%%7Bwriter=%d%%7D&from=%d" % (self.number, at), body.encode())
        response = connection.getresponse()
        text = response.read()
        if response.status == 200:
            self.answered.add(mine)
        elif response.status != 503:
            self.refused.append((response.status, text[:200]))


class Kill(unittest.TestCase):
    def kill_often(self, server, age_s):
        """Kills at moments of chance; everything that was answered is there then, once."""
        rng = random.Random(1)
        begin_ms = int((time.time() - age_s) * 1000) - DAYS * 86400000
        writers = [Writer(server, n, age_s) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(KILLS):
            # A moment of its own each time, but never before this server has answered somebody.
            before = sum(len(w.answered) for w in writers)
            wanted = before + rng.randint(1, 200)
            harness.wait_until(lambda: sum(len(w.answered) for w in writers) >= wanted, 60, "%d answers" % (wanted - before))
            server.kill()
            while rng.random() < 0.3:
                server.launch()
                threading.Event().wait(rng.random() * 0.1)
                server.kill()
            server.start()
        for writer in writers:
            writer.go_on = False
        for writer in writers:
            writer.join(30)
        answered = sum(len(w.answered) for w in writers)
        self.assertEqual([w.refused for w in writers], [[]] * WRITERS)
        self.assertGreater(answered, KILLS)
        end_ms = int((time.time() - age_s) * 1000) + 2000
        self.check(server, writers, begin_ms, end_ms)
        print("%d kills, %d profiles answered, none lost" % (KILLS, answered))
        return writers, begin_ms, end_ms

    def check(self, server, writers, begin_ms, end_ms):
        for writer in writers:
            found = server.totals(TYPE, '{service_name="kill",writer="%d"}' % writer.number, begin_ms, end_ms)
            stored = {int(stack.split(";")[1][1:]): value for stack, value in found.items()}
            lost = sorted(writer.answered - set(stored))
            self.assertEqual(lost, [], "writer %d: answered and not found" % writer.number)
            self.assertEqual({n: v for n, v in stored.items() if v != 1}, {}, "stored more than once")
            self.assertLessEqual(max(stored, default=0), writer.sent)

    def test_what_was_answered_survives_every_kill(self):
        with harness.Server("-validation.reject-older-than=0") as server:
            self.kill_often(server, 0)
            self.assertEqual(server.stop(), 0)

    def test_and_those_while_blocks_are_made(self):
        # Hours that are over are due at once: blocks are made all the time, and late profiles come to them.
        with harness.Server("-validation.reject-older-than=0", "-storage.compact-after=0") as server:
            asked = self.kill_often(server, 7200)
            harness.wait_until(lambda: server.metric("vramscope_store_blocks_made_total") > 0, 60, "a block")
            harness.wait_until(lambda: server.metric("vramscope_store_compaction_backlog") == 0, 60, "all blocks")
            self.check(server, *asked)
            self.assertEqual(server.stop(), 0)

    def test_and_those_while_days_are_sealed(self):
        # Days that are over are sealed as soon as all of them is in blocks; late profiles go to the day's next file.
        with harness.Server("-validation.reject-older-than=0", "-storage.compact-after=0", "-storage.seal-after=0") as server:
            asked = self.kill_often(server, 2 * 86400)
            harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") > 0, 60, "a sealed day")
            harness.wait_until(lambda: server.metric("vramscope_store_sealed_windows") == server.metric("vramscope_store_windows"), 120, "all days")
            self.check(server, *asked)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(harness.vramscope("verify", server.store)[0], 0)


if __name__ == "__main__":
    harness.main()
