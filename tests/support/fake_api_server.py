#!/usr/bin/env python3
"""fake_api_server.py FOLDER SCRIPT : an API server of Kubernetes that answers what a script says.

FOLDER gets ca.crt and token ("first"). SCRIPT is a JSON list with one step for each request, in their order; behind the last, requests
are never answered. A step is one of

    {"status": 429, "retry_after": 1}       an error
    {"list": [POD...], "version": "7"}      a list of pods; "pad": bytes of one more object in it; "lead": bytes of blanks before all
    {"body": "text"}                        a 200 with any body; "length": what its head says
    {"watch": [EVENT...], "end": "close"}   a watch; "cut": without its end, in the middle of a line; "hold": it stays open

and may have "token": another one than that is answered 401 and the step stays; "trickle": true sends it byte by byte.
Standard output: the port, then a line of JSON for each request: path, token, time. Exit status 77 and a reason without openssl.
"""
import http.server
import json
import os
import shutil
import socketserver
import ssl
import subprocess
import sys
import threading
import time

BLOCK = 1 << 20


def certificate(folder, name, address="127.0.0.1"):
    """A certificate for the loopback address that is its own authority. Returns its file and its key's."""
    cert, key = (os.path.join(folder, name + end) for end in (".crt", ".key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:" + address, "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


class Script:
    """The steps that are left; any thread takes the next."""

    def __init__(self, steps):
        self.steps = list(steps)
        self.lock = threading.Lock()

    def next(self, token):
        with self.lock:
            if not self.steps:
                return None
            if self.steps[0].get("token", token) != token:
                return {"status": 401}
            return self.steps.pop(0)


def listing(step):
    yield b" " * step.get("lead", 0)
    head = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": step.get("version", "1")}}
    text = json.dumps(head)[:-1] + ',"items":['
    yield text.encode()
    for index, pod in enumerate(step["list"]):
        yield (b"," if index else b"") + json.dumps(pod).encode()
    left = step.get("pad", 0)
    if left:
        yield (b"," if step["list"] else b"") + b'{"pad":"'
        while left > 0:
            yield b"x" * min(left, BLOCK)
            left -= BLOCK
        yield b'"}'
    yield b"]}"


def events(step):
    for event in step["watch"]:
        yield json.dumps(event).encode() + b"\n"
    if step.get("end") == "cut":
        yield b'{"type":"ADDED","object":{"metadata":{"name":"half'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send_parts(self, parts, trickle):
        for part in parts:
            pieces = [part[i:i + 1] for i in range(len(part))] if trickle else [part]
            for piece in filter(None, pieces):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()

    def begin(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def answer(self, step):
        if "status" in step:
            headers = {"Retry_After": str(step["retry_after"])} if "retry_after" in step else {}
            self.begin(step["status"], Content_Length="0", **headers)
        elif "body" in step:
            body = step["body"].encode()
            self.begin(200, Content_Length=str(step.get("length", len(body))))
            self.wfile.write(body)
            self.close_connection = True
        else:
            self.begin(200, Content_Type="application/json", Transfer_Encoding="chunked")
            self.send_parts(listing(step) if "list" in step else events(step), step.get("trickle"))
            if step.get("end") == "hold":
                self.server.ended.wait()
            if step.get("end") in ("cut", "hold"):
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        token = self.headers.get("Authorization", "").replace("Bearer ", "", 1)
        print(json.dumps({"path": self.path, "token": token, "time": time.monotonic()}), flush=True)
        step = self.server.script.next(token)
        try:
            if step is None:
                self.server.ended.wait()
            else:
                self.answer(step)
        except OSError:
            pass  # whoever asked has gone
        if step is None:
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, cert, key, steps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = Script(steps)
        self.ended = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        # the handshake belongs to the request's thread: who does not make one must not hold up others
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request, client_address):
        pass  # a handshake that was refused


def main():
    folder, steps = sys.argv[1], json.loads(sys.argv[2])
    if not shutil.which("openssl"):
        print("no openssl to make a certificate")
        return 77
    certificate(folder, "ca")
    with open(os.path.join(folder, "token"), "w", encoding="ascii") as file:
        file.write("first\n")
    server = Server(os.path.join(folder, "ca.crt"), os.path.join(folder, "ca.key"), steps)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until whoever started it has gone
    return 0


if __name__ == "__main__":
    sys.exit(main())
