#!/usr/bin/env python3
"""200 gRPC connections with 20 calls each at a time, and HTTP/1.1 clients that push meanwhile: no error, and nobody waits longer
than the others do."""
import http.client
import multiprocessing
import statistics
import threading
import time
import unittest

import harness
import hpack
from http2_client import DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, Http2, frame, framed
from test_grpc import PUSH, push_message

CONNECTIONS, STREAMS, ROUNDS, HTTP1_CLIENTS = 200, 20, 3, 20


def push_all(port, to_parent):
    """Each round: all calls are begun, then all answers taken. Sends how long each took, and what went wrong."""
    peers = [Http2(port, settings={INITIAL_WINDOW_SIZE: 1 << 20}) for _ in range(CONNECTIONS)]
    head = hpack.encode(Http2.fields("POST", PUSH, {"content-type": "application/grpc", "te": "trailers"}))
    took, wrong = [], []
    for round_ in range(ROUNDS):
        begun = {}
        for number, peer in enumerate(peers):
            out = b""
            for i in range(STREAMS):
                stream = peer.expect()
                body = framed(push_message("grpc-load-%d" % (number % 10), 1 + round_ * STREAMS + i))
                out += frame(HEADERS, END_HEADERS, stream.id, head) + frame(DATA, END_STREAM, stream.id, body)
            begun[peer] = time.monotonic()
            peer.send(out)
        for peer in peers:
            for stream in list(peer.streams.values()):
                peer.wait_for(stream)
                if stream.grpc != (0, "") or stream.body != b"\0\0\0\0\0":
                    wrong.append(repr(stream))
                del peer.streams[stream.id]
            took.append(time.monotonic() - begun[peer])
    to_parent.send((took, wrong))


class Load(unittest.TestCase):
    def push_over_http1(self, server, until, took, wrong):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body, headers = push_message("http1-load", 1), {"Content-Type": "application/proto"}
        while not until.is_set():
            began = time.monotonic()
            connection.request("POST", PUSH, body, headers)
            response = connection.getresponse()
            if response.status != 200 or response.read() != b"":
                wrong.append(response.status)
            took.append(time.monotonic() - began)
        connection.close()

    def test_two_hundred_connections_of_twenty_calls(self):
        with harness.Server() as server:
            here, there = multiprocessing.Pipe()
            pusher = multiprocessing.Process(target=push_all, args=(server.port, there))
            until, took, wrong = threading.Event(), [], []
            clients = [threading.Thread(target=self.push_over_http1, args=(server, until, took, wrong)) for _ in range(HTTP1_CLIENTS)]
            pusher.start()
            for client in clients:
                client.start()
            grpc_took, grpc_wrong = here.recv()
            until.set()
            for client in clients:
                client.join()
            pusher.join()
            self.assertEqual((grpc_wrong[:3], wrong[:3]), ([], []))
            self.assertEqual(len(grpc_took), CONNECTIONS * ROUNDS)
            slow, fast = statistics.median(took), statistics.median(grpc_took)
            print("%d gRPC calls, 20 of a connection took %.3f s (median); %d pushes over HTTP/1.1, each %.3f s; %d MB resident at most"
                  % (CONNECTIONS * STREAMS * ROUNDS, fast, len(took), slow, server.memory() >> 20))
            self.assertGreater(len(took), HTTP1_CLIENTS)
            # the queue is one: who comes over HTTP/1.1 waits no longer than a connection's calls do
            self.assertLess(slow, fast * 1.5)
            stored = server.get("/metrics").text
            self.assertRegex(stored, r'vramscope_ingest_requests_total\{format="push",outcome="ok"\} %d\n' % (CONNECTIONS * STREAMS * ROUNDS + len(took)))


if __name__ == "__main__":
    harness.main()
