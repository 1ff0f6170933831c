#!/usr/bin/env python3
"""The program that the demo samples: a client that sends profiles to a server and asks for them again, until it is ended.

    load.py URL
"""
import json
import random
import sys
import time
import urllib.parse
import urllib.request

ROUTES = ["checkout", "search", "cart", "login", "catalogue"]
WORK = ["parse", "query", "render", "compress", "sort"]


def make_stacks(rng):
    """Folded stacks of an invented shop: what the server gets to chew on."""
    lines = []
    for _ in range(400):
        depth = rng.randint(2, 12)
        frames = ["main", "serve", rng.choice(ROUTES)] + ["%s_%d" % (rng.choice(WORK), rng.randint(0, 9)) for _ in range(depth)]
        lines.append("%s %d" % (";".join(frames), rng.randint(1, 20)))
    return "\n".join(lines).encode()


def send(url, body):
    query = urllib.parse.urlencode({"name": "demo.load.cpu", "from": int(time.time()), "until": int(time.time()), "format": "folded"})
    urllib.request.urlopen(urllib.request.Request(url + "/ingest?" + query, body), timeout=10).read()


def ask(url):
    end = int(time.time() * 1000)
    message = {"profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "labelSelector": '{service_name="demo.load"}',
               "start": end - 600000, "end": end}
    request = urllib.request.Request(url + "/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(message).encode(),
                                     {"Content-Type": "application/json"})
    return decode(urllib.request.urlopen(request, timeout=10).read())


def decode(body):
    levels = json.loads(body).get("flamegraph", {}).get("levels", [])
    return sum(int(v) for level in levels for v in level.get("values", []))


def main():
    url, rng = sys.argv[1].rstrip("/"), random.Random(1)
    while True:
        send(url, make_stacks(rng))
        ask(url)


if __name__ == "__main__":
    main()
