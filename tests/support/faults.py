"""Servers on a disk, and with a clock, that go wrong when a test says so (faults/fault_plan.h is the other side).

    with FaultyServer() as server:
        server.faults.arm("no_space", 7)       # the seventh call from now on that takes room fails
        ...
        server.faults.disarm()                 # gives how many have failed
"""
import mmap
import os
import re
import sqlite3
import struct

import harness

LIBRARY = os.environ.get("VRAMSCOPE_DISK_FAULTS", "")
# enum fault_kind, in its order
KINDS = ["no_space", "io", "interrupted", "short", "descriptors", "memory"]
FOR_EVER = 2**63
# struct fault_plan: first, last, calls, failed, clock_shift_ns, file_system, kind, last_failed
FIRST, LAST, CALLS, FAILED, SHIFT, FILE_SYSTEM, KIND, NAME = 0, 8, 16, 24, 32, 40, 48, 52
NAME_SIZE = 192
DAMAGED = re.compile(r"\.damaged(\.\d+)?(-wal)?$")


class Faults:
    """The page of memory."""

    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def put(self, offset, form, value):
        struct.pack_into("<" + form, self.page, offset, value)

    def get(self, offset, form):
        return struct.unpack_from("<" + form, self.page, offset)[0]

    def arm(self, kind, first, count=1):
        """Of the calls from now on that this may befall, `count` fail, from the one of that number (1) on."""
        self.put(FIRST, "Q", 0)
        self.put(KIND, "I", KINDS.index(kind))
        self.put(CALLS, "Q", 0)
        self.put(FAILED, "Q", 0)
        self.put(LAST, "Q", first + count - 1)
        self.put(FIRST, "Q", first)

    def disarm(self):
        """Gives how many have failed."""
        self.put(FIRST, "Q", 0)
        return self.get(FAILED, "Q")

    @property
    def last_failed(self):
        return bytes(self.page[NAME:NAME + NAME_SIZE]).split(b"\0")[0].decode()

    def shift_clock(self, seconds):
        self.put(SHIFT, "q", int(seconds * 10**9))

    def file_system(self, magic):
        self.put(FILE_SYSTEM, "Q", magic)


class FaultyServer(harness.Server):
    """It makes its store in a folder `disk`; only what lies there goes wrong."""

    def __init__(self, *options, trace=None):
        super().__init__(*options)
        self.disk = os.path.join(self.folder, "disk")
        self.store = os.path.join(self.disk, "store")
        os.mkdir(self.disk)
        self.faults = Faults(os.path.join(self.folder, "plan"))
        self.environment = {"LD_PRELOAD": LIBRARY, "VRAMSCOPE_FAULT_PLAN": os.path.join(self.folder, "plan"),
                            "VRAMSCOPE_FAULT_FOLDER": self.disk}
        if trace:
            self.environment["VRAMSCOPE_FAULT_TRACE"] = trace


def check_databases(folder):
    """What SQLite itself says of all databases below a folder whose server has ended: [(file, complaint)]."""
    found = []
    for inside, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(inside, name)
            if name.endswith(".db"):
                with sqlite3.connect(path) as database:
                    said = [row[0] for row in database.execute("PRAGMA integrity_check")]
                database.close()
                if said != ["ok"]:
                    found.append((os.path.relpath(path, folder), "; ".join(said[:3])))
            elif DAMAGED.search(name):
                found.append((os.path.relpath(path, folder), "was set aside"))
    return found
