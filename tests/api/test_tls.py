"""TLS ended by the port itself: versions, ALPN, both protocols, peers that do not speak it, a certificate that changes, what is left behind."""
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time
import unittest

import harness
from http2_client import Http2

PROFILE = harness.pprof({"main;work": 7})
H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def make_certificate(folder, name, subject="localhost"):
    """A key, and a certificate that signs itself: (certificate, key)."""
    certificate, key = (os.path.join(folder, name + end) for end in (".pem", ".key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=" + subject, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


class Secured(harness.Server):
    def __init__(self, *options, **more):
        super().__init__(*options, **more)
        self.certificate, self.key = make_certificate(self.folder, "first")
        self.options += ["-server.http-tls-cert-path=" + self.certificate, "-server.http-tls-key-path=" + self.key]

    @property
    def url(self):
        return "https://127.0.0.1:%d" % self.port

    def context(self, protocols=(), **more):
        context = ssl.create_default_context(cafile=self.certificate)
        for name, value in more.items():
            setattr(context, name, value)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def connect(self, *protocols, **more):
        return self.context(protocols, **more).wrap_socket(self.raw(), server_hostname="localhost")

    def request(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context())
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return harness.Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def handshakes(self, outcome):
        found = re.search(r'^vramscope_tls_handshakes_total\{outcome="%s"\} (\d+)' % outcome, self.get("/metrics").text, re.M)
        return int(found[1]) if found else 0

    def replace(self, pair):
        for old, new in zip((self.certificate, self.key), pair):
            os.replace(new, old)


def everything(peer):
    seen = b""
    while True:
        more = peer.recv(65536)
        if not more:
            return seen
        seen += more


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Secured("-server.http-read-header-timeout=2s").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def curl(self, *words, **more):
        return subprocess.run(["curl", "-sS", "--cacert", self.server.certificate, *words], capture_output=True, check=False, **more)

    def test_profiles_go_in_and_come_out(self):
        now = int(time.time())
        body = harness.pprof({"main;tls": 41}, time_nanos=now * 10**9)
        self.server.keep(({"__name__": "memory", "service_name": "secured"}, [body]))
        types = self.server.rpc("ProfileTypes", {"start": (now - 60) * 1000, "end": (now + 60) * 1000}).json
        kind = [t["ID"] for t in types["profileTypes"] if t["ID"].startswith("memory:")][0]
        self.assertEqual(self.server.totals(kind, '{service_name="secured"}', (now - 60) * 1000, (now + 60) * 1000), {"main;tls": 41})
        self.assertIn("https://", self.server.log_text())

    def test_versions_from_1_2_on_are_spoken(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.server.connect(minimum_version=version, maximum_version=version) as peer:
                self.assertEqual(peer.version(), {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version])
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.server.port, "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"],
                              input=b"", capture_output=True, check=False)
        self.assertIn(b"protocol version", done.stderr)

    def test_http_1_is_picked_whenever_it_is_offered(self):
        for offered, picked in ((("h2", "http/1.1"), "http/1.1"), (("http/1.1", "h2"), "http/1.1"), (("http/1.1",), "http/1.1"),
                                (("h2",), "h2"), ((), None), (("spdy/3",), None)):
            with self.server.connect(*offered) as peer:
                self.assertEqual(peer.selected_alpn_protocol(), picked, offered)
        with self.server.connect("h2") as peer:
            peer.sendall(H2_PREFACE + struct.pack(">I", 0)[1:] + b"\x04\0\0\0\0\0")
            self.assertEqual(peer.recv(9)[3], 4)  # SETTINGS

    def test_curl_trusts_it(self):
        for word in ("--http1.1", "--http2"):  # which offers HTTP/1.1 too
            done = self.curl(word, "-o", os.devnull, "-w", "%{http_version}", self.server.url + "/ready")
            self.assertEqual((done.returncode, done.stdout), (0, b"1.1"), done.stderr)

    def test_a_call_of_grpc_is_answered(self):
        context = self.server.context(["h2"])
        with Http2(self.server.port, secure=lambda plain: context.wrap_socket(plain, server_hostname="localhost")) as peer:
            self.assertEqual(peer.socket.selected_alpn_protocol(), "h2")
            stream = peer.begin("POST", "/grpc.health.v1.Health/Check", {"Content-Type": "application/grpc", "TE": "trailers"}, end=False)
            peer.send_data(stream, b"\0\0\0\0\0", end=True)
            self.assertEqual(peer.wait_for(stream).grpc[0], 0)
            large = peer.begin("GET", "/metrics")
            self.assertEqual(peer.wait_for(large).status, 200)

    def test_plain_http_is_told_in_words(self):
        for said in (b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n", H2_PREFACE, b"\0\xff\x80random"):
            with self.server.raw() as peer:
                peer.sendall(said)
                seen = everything(peer)
            self.assertTrue(seen.startswith(b"HTTP/1.1 400 Bad Request\r\n"), seen)
            head, _, body = seen.partition(b"\r\n\r\n")
            self.assertEqual((int(re.search(rb"Content-Length: (\d+)", head)[1]), body),
                             (len(body), b"this port speaks TLS: an address begins with https:\n"))

    def test_the_address_of_a_peer_is_the_peers(self):
        answer = self.server.request("POST", "/push.v1.PusherService/Push", b"\xff", {"Content-Type": "application/proto"})
        self.assertEqual(answer.status, 400)
        rows = self.server.get("/api/v1/rejects").text
        self.assertIn("127.0.0.1:", rows)

    def test_large_bodies_come_whole_both_ways(self):
        now = int(time.time())
        stacks = {"main;" + "f%06d" % i * 20: i + 1 for i in range(10000)}  # 1.4 MB of names
        body = harness.pprof(stacks, time_nanos=now * 10**9)
        self.server.keep(({"__name__": "large", "service_name": "large"}, [body]))
        types = self.server.rpc("ProfileTypes", {"start": (now - 60) * 1000, "end": (now + 60) * 1000}).json
        kind = [t["ID"] for t in types["profileTypes"] if t["ID"].startswith("large:")][0]
        self.assertEqual(self.server.totals(kind, '{service_name="large"}', (now - 60) * 1000, (now + 60) * 1000), stacks)

    def test_a_request_may_come_a_byte_at_a_time(self):
        with self.server.connect() as peer:
            for byte in b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n":
                peer.sendall(bytes([byte]))
            head, _, body = everything(peer).partition(b"\r\n\r\n")
        self.assertEqual(int(re.search(rb"(?i)content-length: (\d+)", head)[1]), len(body))

    def test_what_does_not_shake_hands_leaves_nothing_behind(self):
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        harness.wait_until(lambda: self.server.get("/ready").status == 200, 60)
        before, failed = self.server.descriptors(), self.server.handshakes("failed")
        peers = []
        for said in (hello, b"\x16", b"\x16\x03\x01\x00\x05hello", b"\x16" + bytes(range(256)) * 40, hello + b"\xff" * 600):
            for _ in range(20):
                peer = self.server.raw()
                peer.sendall(said)
                peers.append(peer)
        self.assertEqual(self.server.get("/ready").status, 200)  # others are served meanwhile
        for peer in peers:  # each hears of the end: noise at once, silence at the deadline
            try:
                everything(peer)
            except ConnectionResetError:
                pass
            peer.close()
        harness.wait_until(lambda: self.server.descriptors() <= before + 2, 60, "%d descriptors" % before)
        self.assertGreaterEqual(self.server.handshakes("failed"), failed + 100)

    def test_many_come_and_go(self):
        self.server.get("/ready")
        before = self.server.descriptors()
        for i in range(60):
            peer = self.server.connect()
            if i % 3:
                peer.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"[:i])
            if i % 2:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            peer.close()
        harness.wait_until(lambda: self.server.descriptors() <= before + 2, 60, "%d descriptors" % before)

    def test_an_end_is_told_as_tls_has_it(self):
        with self.server.connect(options=ssl.OP_NO_TICKET) as peer:
            peer.suppress_ragged_eofs = False
            peer.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            self.assertTrue(everything(peer).endswith(b"ready"))  # no error: there was a close_notify


class Certificates(unittest.TestCase):
    def subject(self, server):
        context = ssl._create_unverified_context()
        with context.wrap_socket(server.raw()) as peer:
            text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-subject"], input=peer.getpeercert(True), capture_output=True, check=True)
        return text.stdout.decode().strip().split("=")[-1].strip()

    def test_changed_files_are_shown_without_a_restart(self):
        with Secured() as server:
            kept = server.connect()
            self.assertEqual(self.subject(server), "localhost")
            server.replace(make_certificate(server.folder, "second", "second"))
            harness.wait_until(lambda: self.subject(server) == "second", 60, "the second certificate")
            with open(server.key, "w") as key:
                key.write("nothing")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_until(lambda: "the one before stays" in server.log_text(), 60, "the error")
            self.assertEqual(self.subject(server), "second")
            kept.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            self.assertTrue(everything(kept).endswith(b"ready"))
            kept.close()

    def test_a_start_without_a_good_certificate_says_why(self):
        for remove, says in (("-server.http-tls-key-path", "one is given without the other"), ("", "are expected")):
            server = Secured()
            try:
                server.options = [o for o in server.options if not remove or not o.startswith(remove)]
                if not remove:
                    os.replace(make_certificate(server.folder, "other")[1], server.key)
                server.launch()
                self.assertEqual(server.process.wait(60), 1)
                self.assertIn(says, server.log_text())
            finally:
                shutil.rmtree(server.folder, ignore_errors=True)

    def test_a_file_names_them_as_the_reference_does_and_clients_trust_them(self):
        server = Secured()
        file = os.path.join(server.folder, "config.yaml")
        with open(file, "w") as out:
            out.write("server:\n  http_tls_config:\n    cert_file: %s\n    key_file: %s\n" % (server.certificate, server.key))
        server.options = ["-config.file=" + file]
        profile = os.path.join(server.folder, "profile.pb")
        with open(profile, "wb") as out:
            out.write(PROFILE)
        with server:
            for trusted, status in ((server.certificate, 0), ("", 1)):
                done = subprocess.run([harness.PROGRAM, "push", profile, "--service", "shop", "--override-timestamp", "--url", server.url],
                                      capture_output=True, check=False, env=dict(os.environ, VRAMSCOPE_CA_FILE=trusted))
                self.assertEqual(done.returncode, status, done)


if __name__ == "__main__":
    harness.main()
