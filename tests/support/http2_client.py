"""A client of HTTP/2 with prior knowledge, and of gRPC, for tests: every frame is in the test's hands.

    with Http2(port) as peer:
        answer = peer.request("GET", "/ready")
        stream = peer.begin("POST", "/ingest?name=app", end=False)
        peer.send_data(stream, b"a 1", end=True)
        answer = peer.wait_for(stream)
"""
import socket
import struct
import unittest
import urllib.parse

import harness
import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS, PADDED = 4, 8
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 3, 4, 5, 6
NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 1, 7, 8, 11


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Closed(Exception):
    """The other side has closed the connection."""


class Stream:
    def __init__(self, number, window):
        self.id, self.window = number, window
        self.headers, self.trailers, self.body = None, None, b""
        self.continued = self.ended = False
        self.reset = None   # an error code

    @property
    def status(self):
        return int(self.header(":status")) if self.headers else 0

    @staticmethod
    def _find(fields, name):
        return next((v for n, v in fields or [] if n == name), None)

    def header(self, name):
        return self._find(self.headers, name)

    def trailer(self, name):
        """Behind the body, or in the only head there was."""
        return self._find(self.trailers if self.trailers is not None else self.headers, name)

    @property
    def over(self):
        return self.ended or self.reset is not None

    @property
    def grpc(self):
        """(grpc-status, message)"""
        status = self.trailer("grpc-status")
        return (int(status) if status is not None else None, urllib.parse.unquote(self.trailer("grpc-message") or ""))

    def __repr__(self):
        return "stream %d: %r %r %r reset %r" % (self.id, self.headers, self.body[:100], self.trailers, self.reset)


class Http2:
    def __init__(self, port, settings=None, preface=PREFACE, timeout=60, window=None, buffer=None, secure=None):
        """secure: what makes a socket of TLS of a plain one; settings are sent at once; window: bytes that the connection may have beyond 65535."""
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            self.socket = secure(self.socket)
        self.decoder, self.streams, self.next_id = hpack.Decoder(), {}, 1
        self.settings, self.own_window, self.peer_window = {}, 65535, 65535   # what we, and what it may still send
        self.pongs, self.goaways, self.block, self.rest = [], [], b"", b""
        self.initial_window = (settings or {}).get(INITIAL_WINDOW_SIZE, 65535)
        self.opens_windows = True
        hello = preface + frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", k, v) for k, v in (settings or {}).items()))
        if window:
            hello += frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", window))
        self.send(hello)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    # ---- requests ----

    @staticmethod
    def fields(method, path, headers=()):
        pseudo = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "127.0.0.1")]
        return pseudo + [(k.lower(), v) for k, v in (headers.items() if isinstance(headers, dict) else headers)]

    def begin(self, method, path, headers=(), end=True):
        return self.begin_with(self.fields(method, path, headers), end)

    def expect(self):
        """The next stream: its frames are the caller's."""
        stream = Stream(self.next_id, self.settings.get(INITIAL_WINDOW_SIZE, 65535))
        self.streams[stream.id] = stream
        self.next_id += 2
        return stream

    def begin_with(self, fields, end=True):
        """Sends a head; fields as they are."""
        stream = self.expect()
        block = hpack.encode(fields)
        pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
        out = b""
        for i, piece in enumerate(pieces):
            flags = (END_STREAM if end and i == 0 else 0) | (END_HEADERS if i == len(pieces) - 1 else 0)
            out += frame(HEADERS if i == 0 else CONTINUATION, flags, stream.id, piece)
        self.send(out)
        return stream

    def send_data(self, stream, data=b"", end=False, piece=16384):
        """Within the windows of the other side: reads while they are closed."""
        while data:
            while min(stream.window, self.own_window) <= 0 and not stream.over:
                self.read()
            if stream.over:
                return
            now = data[:min(piece, stream.window, self.own_window)]
            data = data[len(now):]
            stream.window -= len(now)
            self.own_window -= len(now)
            self.send(frame(DATA, END_STREAM if end and not data else 0, stream.id, now))
            if not data and end:
                return
        if end:
            self.send(frame(DATA, END_STREAM, stream.id))

    def request(self, method, path, body=None, headers=()):
        stream = self.begin(method, path, headers, end=body is None)
        if body is not None:
            self.send_data(stream, body, end=True)
        return self.wait_for(stream)

    def wait_for(self, stream):
        while not stream.over:
            self.read()
        return stream

    def grpc(self, path, message, headers=(), content_type="application/grpc"):
        """One unary call; gives the stream, whose message() is what came."""
        head = [("content-type", content_type), ("te", "trailers")] + list(headers.items() if isinstance(headers, dict) else headers)
        return self.request("POST", path, framed(message), head)

    def ping(self, data=b"12345678"):
        """Sends a PING and waits for its answer."""
        self.send(frame(PING, 0, 0, data))
        while data not in self.pongs:
            self.read()
        self.pongs.remove(data)

    # ---- frames that come ----

    def _take(self, length):
        while len(self.rest) < length:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                raise Closed
            self.rest += more
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def read(self):
        """One frame: does what it asks for, and gives (kind, flags, stream, payload)."""
        head = self._take(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        number, payload = int.from_bytes(head[5:9], "big") & 0x7fffffff, self._take(length)
        stream = self.streams.get(number)
        if kind == SETTINGS and not flags & ACK:
            self._settings(payload)
        elif kind == PING:
            if flags & ACK:
                self.pongs.append(payload)
            elif self.opens_windows:
                self.send(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.goaways.append(struct.unpack(">II", payload[:8]))
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if number == 0:
                self.own_window += more
            elif stream:
                stream.window += more
        elif kind == RST_STREAM and stream:
            stream.reset = int.from_bytes(payload, "big")
        elif kind in (HEADERS, CONTINUATION):
            self._headers(stream, kind, flags, payload)
        elif kind == DATA:
            self._data(stream, flags, payload)
        return kind, flags, number, payload

    def _settings(self, payload):
        old = self.settings.get(INITIAL_WINDOW_SIZE, 65535)
        for i in range(0, len(payload), 6):
            key, value = struct.unpack(">HI", payload[i:i + 6])
            self.settings[key] = value
        for stream in self.streams.values():
            stream.window += self.settings.get(INITIAL_WINDOW_SIZE, 65535) - old
        self.send(frame(SETTINGS, ACK))

    def _headers(self, stream, kind, flags, payload):
        if kind == HEADERS:
            self.ends = flags & END_STREAM
        self.block += payload
        if not flags & END_HEADERS:
            return
        fields, self.block = self.decoder.decode(self.block), b""
        if fields[0] == (":status", "100"):
            stream.continued = True
        elif stream.headers is None:
            stream.headers = fields
        else:
            stream.trailers = fields
        stream.ended = stream.ended or bool(self.ends)

    def _data(self, stream, flags, payload):
        stream.body += payload
        stream.ended = bool(flags & END_STREAM)
        if payload and self.opens_windows:
            more = struct.pack(">I", len(payload))
            self.send(frame(WINDOW_UPDATE, 0, 0, more) + (b"" if stream.ended else frame(WINDOW_UPDATE, 0, stream.id, more)))

    def read_to_end(self):
        """All that comes until the other side closes."""
        kinds = []
        try:
            while True:
                kinds.append(self.read())
        except Closed:
            return kinds


def framed(message, flags=0):
    return struct.pack(">BI", flags, len(message)) + message


def messages(body):
    """A body of frames -> [(flags, message)]"""
    found = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        if len(body) < 5 + length:
            raise ValueError("a frame is cut")
        found.append((flags, body[5:5 + length]))
        body = body[5 + length:]
    return found


class Http2Case(unittest.TestCase):
    """A server with the options of the class, and connections to it that end with their test."""
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*cls.options).start()
        cls.addClassCleanup(cls.server.close)

    def peer(self, **more):
        made = Http2(self.server.port, **more)
        self.addCleanup(made.socket.close)
        return made
