#!/usr/bin/env python3
"""The program that the demo samples: a client that sends recorded stacks to a server and asks for them again, until it is ended.

    load.py URL
"""
import json
import os
import sys
import time
import urllib.parse
import urllib.request

STACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/data/folded/python.folded")


def send(url, body):
    query = urllib.parse.urlencode({"name": "demo.load.wall", "from": int(time.time() * 1000), "format": "folded", "sampleRate": 97})
    urllib.request.urlopen(urllib.request.Request(url + "/ingest?" + query, body), timeout=10).read()


def ask(url):
    end = int(time.time() * 1000)
    message = {"profileTypeID": "wall:wall:nanoseconds:cpu:nanoseconds", "labelSelector": '{service_name="demo.load"}',
               "start": end - 600000, "end": end}
    request = urllib.request.Request(url + "/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(message).encode(),
                                     {"Content-Type": "application/json"})
    return decode(urllib.request.urlopen(request, timeout=10).read())


def decode(body):
    levels = json.loads(body).get("flamegraph", {}).get("levels", [])
    return sum(int(v) for level in levels for v in level.get("values", []))


def main():
    url = sys.argv[1].rstrip("/")
    with open(STACKS, "rb") as file:
        stacks = file.read()
    while True:
        send(url, stacks)
        ask(url)


if __name__ == "__main__":
    main()
