"""The program behind python.folded: it packs and unpacks invented orders until it is ended."""
import gzip
import json
import random


def orders(rng, count):
    return [{"id": rng.random(), "items": [rng.randrange(1000) for _ in range(20)]} for _ in range(count)]


def pack(rows):
    return gzip.compress(json.dumps(sorted(rows, key=lambda r: r["id"])).encode())


def unpack(data):
    return sum(sum(r["items"]) for r in json.loads(gzip.decompress(data)))


def main():
    rng = random.Random(1)
    while True:
        unpack(pack(orders(rng, 500)))


main()
