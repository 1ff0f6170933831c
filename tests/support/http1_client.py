"""HTTP/1.1 as bytes on a socket, for tests of what our own clients never send."""
import re
import socket
import unittest

import harness

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
READY = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"


class Raw:
    """A socket that sends what it is told."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)
        return self

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def answer(self):
        """(status, headers in lower case, body) of the next response; None at the end."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", "0")) if status >= 200 else 0
        while len(self.buffer) < length:
            if not self._more():
                raise AssertionError("the body was cut")
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return status, headers, body

    def rest(self):
        """Everything until the peer closes."""
        while self._more():
            pass
        return self.buffer


def post(path, headers, body=b""):
    return ("POST %s HTTP/1.1\r\nHost: x\r\n" % path).encode() + headers + b"\r\n" + body


class Http1Case(unittest.TestCase):
    """A server for all tests of a class."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*cls.options)
        try:
            cls.server.start()
        except Exception:
            cls.server.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def raw(self):
        raw = Raw(self.server.port)
        self.addCleanup(raw.socket.close)
        return raw

    def metric(self, pattern):
        found = re.search(pattern + r" (\S+)$", self.server.get("/metrics").text, re.M)
        return float(found.group(1)) if found else 0.0
