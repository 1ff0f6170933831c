"""A full disk is answered with 507 (OTLP: 503) by every route that writes, with the reason; reads go on; nothing that was answered is
lost; and it is over as soon as there is room again, without a restart."""
import os
import random
import re
import subprocess
import tempfile
import time
import unittest

import harness
import http2_client
import test_otlp
from test_run import Run

TYPE = "memory:alloc_space:bytes::"
REASON = "disk is full|No space left on device"
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
            self.every_route_refuses(server, rng)
            self.reads_go_on(server, answered, begin_ms)
            os.unlink(os.path.join(self.mount, "filler"))
            harness.wait_until(lambda: send().status == 200, 30, "writes to be taken again")
            found = server.totals(TYPE, '{service_name="full"}', begin_ms, int(time.time() * 1000) + 2000)
            stored = {int(stack.split(";")[1][1:]) for stack in found if stack.startswith("found;")}
            self.assertEqual(sorted(answered - stored), [])
            self.every_route_takes(server, rng)
            self.assertEqual(server.stop(), 0)

    # --- the routes, each with something that does not fit into what is left of a page

    def names(self, rng):
        return ["%064x" % rng.getrandbits(256) for _ in range(200)]

    def by_ingest(self, server, rng, path="/ingest"):
        return server.request("POST", path + "?name=full-ingest.alloc_space", body(rng, 0))

    def by_push(self, server, rng):
        return server.push(({"__name__": "memory", "service_name": "full-push"}, [harness.pprof(
            {";".join(self.names(rng)): 1}, sample_types=["alloc_space/bytes"], time_nanos=time.time_ns())]))

    def otlp(self, rng):
        message = test_otlp.request("full-otlp")
        tables, names = message["dictionary"], self.names(rng)
        first = len(tables["stringTable"])
        tables["stringTable"] += names
        tables["functionTable"] += [{"nameStrindex": first + n} for n in range(len(names))]
        tables["locationTable"] += [{"lines": [{"functionIndex": 3 + n}]} for n in range(len(names))]
        tables["stackTable"][1]["locationIndices"] = [3 + n for n in range(len(names))]
        return test_otlp.protobuf(message)

    def by_otlp(self, server, rng):
        return server.request("POST", test_otlp.PATH, self.otlp(rng), test_otlp.PROTOBUF)

    def by_otlp_grpc(self, server, rng):
        with http2_client.Http2(server.port) as peer:
            return peer.grpc(test_otlp.METHOD, self.otlp(rng))

    def by_setting(self, server, rng):
        return server.rpc("Set", {"setting": {"name": "a", "value": "%x" % rng.getrandbits(400000)}}, service="settings.v1.SettingsService")

    def until_refused(self, send):
        """What is small may still fit: into the log's last page, or a page that was free."""
        return harness.wait_until(lambda: next((a for a in [send()] if a.status != 200), None), 60, "a refusal")

    def every_route_refuses(self, server, rng):
        for send in (self.by_ingest, lambda *a: self.by_ingest(*a, path="/pyroscope/ingest"), self.by_push, self.by_setting):
            answer = self.until_refused(lambda: send(server, rng))
            self.assertEqual((answer.status, answer.json["code"]), (507, "resource_exhausted"), answer)
            self.assertRegex(answer.json["message"], REASON)
        # exporters of OTLP send again what is 503 or UNAVAILABLE, and drop what is 507 or RESOURCE_EXHAUSTED
        answer = self.until_refused(lambda: self.by_otlp(server, rng))
        self.assertEqual(answer.status, 503, answer)
        self.assertRegex(answer.text, REASON)
        status, message = harness.wait_until(lambda: next((a.grpc for a in [self.by_otlp_grpc(server, rng)] if a.grpc[0] != 0), None), 60, "a refusal")
        self.assertEqual(status, 14, message)
        self.assertRegex(message, REASON)

    def every_route_takes(self, server, rng):
        for send in (self.by_ingest, self.by_push, self.by_otlp, self.by_setting):
            answer = send(server, rng)
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.by_otlp_grpc(server, rng).grpc[0], 0)

    def reads_go_on(self, server, answered, begin_ms):
        self.assertEqual(server.get("/ready").status, 200)
        end_ms = int(time.time() * 1000) + 2000
        found = server.totals(TYPE, '{service_name="full"}', begin_ms, end_ms)
        stored = {int(stack.split(";")[1][1:]) for stack in found if stack.startswith("found;")}
        self.assertEqual(sorted(answered - stored), [])
        types = server.rpc("ProfileTypes", {"start": begin_ms, "end": end_ms})
        self.assertIn(TYPE, [t["ID"] for t in types.json["profileTypes"]])
        series = server.rpc("SelectSeries", {"profileTypeID": TYPE, "labelSelector": '{service_name="full"}', "start": begin_ms, "end": end_ms, "step": 1})
        self.assertGreater(sum(p["value"] for p in series.json["series"][0]["points"]), 0, series)
        self.assertEqual(server.get("/pyroscope/render", {"query": TYPE + '{service_name="full"}', "from": "now-1h"}).status, 200)
        self.assertRegex(server.get("/metrics").text, r'vramscope_writes_rejected_total\{route="[^"]*",reason="disk_full"\} [1-9]')

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
