"""A full disk is answered with 507, loses nothing that was answered, and is over as soon as there is room again."""
import os
import random
import re
import subprocess
import tempfile
import time
import unittest

import harness
from test_run import Run

TYPE = "memory:alloc_space:bytes::"
MOUNT_BYTES = 24 * 1024 * 1024


def body(rng, number):
    """About 8 KB of stacks that do not compress well, and one by which the profile is found."""
    frames = [";".join("%032x" % rng.getrandbits(128) for _ in range(4)) for _ in range(60)]
    return ("found;p%d 1\n" % number + "".join("noise;%s 1\n" % f for f in frames)).encode()


class DiskFull(unittest.TestCase):
    def setUp(self):
        self.mount = tempfile.mkdtemp(prefix="vramscope-small-disk-")
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % MOUNT_BYTES, "none", self.mount],
                                               capture_output=True, check=False).returncode:
            os.rmdir(self.mount)
            self.skipTest("a small disk cannot be mounted without root")

    def tearDown(self):
        subprocess.run(["umount", "-l", self.mount], check=False)
        os.rmdir(self.mount)

    def fill(self):
        with open(os.path.join(self.mount, "filler"), "ab") as file:
            try:
                while True:
                    file.write(bytes(65536))
                    file.flush()
            except OSError:
                pass

    def test_a_full_disk_is_said_and_gets_over(self):
        rng, answered, number = random.Random(1), set(), 0
        begin_ms = int(time.time() * 1000) - 2000
        with harness.Server("-storage.max-bytes=1GiB", store=os.path.join(self.mount, "store")) as server:
            def send():
                nonlocal number
                number += 1
                answer = server.ingest("full.alloc_space", body(rng, number))
                if answer.status == 200:
                    answered.add(number)
                return answer
            for _ in range(20):
                self.assertEqual(send().status, 200)
            self.fill()
            refused = harness.wait_until(lambda: next((a for a in [send()] if a.status != 200), None), 60, "the disk to be full")
            self.assertEqual(refused.status, 507, refused)
            self.assertIn("resource_exhausted", refused.text)
            push = server.push(({"__name__": "memory", "service_name": "full-push"}, [harness.pprof(
                {"main;%x" % rng.getrandbits(4000): 1}, sample_types=["alloc_space/bytes"], time_nanos=time.time_ns())]))
            self.assertIn(push.status, (200, 429, 507), push)  # a small one may still fit
            self.assertEqual(server.get("/ready").status, 200)
            os.unlink(os.path.join(self.mount, "filler"))
            harness.wait_until(lambda: send().status == 200, 30, "writes to be taken again")
            found = server.totals(TYPE, '{service_name="full"}', begin_ms, int(time.time() * 1000) + 2000)
            stored = {int(stack.split(";")[1][1:]) for stack in found if stack.startswith("found;")}
            self.assertEqual(sorted(answered - stored), [])
            self.assertEqual(server.stop(), 0)

    def test_what_run_collects_waits_for_room(self):
        with Run("-storage.max-bytes=1GiB", store=os.path.join(self.mount, "store")) as run:
            if not run.is_up():
                self.skipTest("the driver may not be watched: " + run.log_text().rstrip().split("msg=")[-1])

            def pushes(outcome):
                return int(re.search(r'^cuda_collector_pushes_total\{outcome="%s"\} (\d+)$' % outcome, run.get("/metrics").text, re.M)[1])

            def waiting():
                return run.metric("cuda_collector_push_waiting_bytes")

            harness.wait_until(lambda: pushes("delivered") > 1, 60, "ticks")
            harness.wait_until(lambda: self.fill() or pushes("retried") > 1, 60, "the disk to be full")
            self.assertIn("the server half answered 507; it is tried again", run.log_text())
            self.assertEqual(run.get("/ready").status, 200)
            harness.wait_until(lambda: waiting() > 0, 60, "a tick that waits")
            one = waiting()
            harness.wait_until(lambda: waiting() > 3 * one, 60, "ticks that wait")
            os.unlink(os.path.join(self.mount, "filler"))
            before = pushes("delivered")
            # metrics are made beside a tick, which may wait then
            harness.wait_until(lambda: pushes("delivered") > before + 3 and waiting() < 2 * one, 120, "what waited to be stored")
            self.assertEqual((pushes("dropped"), pushes("refused")), (0, 0))
            self.assertIn("push: delivered, failures before: ", run.log_text())
            self.assertEqual(run.stop(), 0)


if __name__ == "__main__":
    harness.main()
