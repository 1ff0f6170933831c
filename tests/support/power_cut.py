"""A disk after a power cut, from what was changed on it (faults/disk_trace.h).

What was synced is there. Of what was written to a file since its last fsync(), any part may be there, in any order, and a write may be torn between
sectors: that is what a disk with a cache does. Names are what a journal makes of them: folders have a beginning of what was done to them since their
last fsync(), and what was done earlier to one of them is not missing where something later is there.
"""
import os
import struct

RECORD = struct.Struct("<IiIIIIQQ")
OPEN, CLOSE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MAKE_FOLDER = range(8)
SECTOR = 512


class File:
    def __init__(self):
        self.synced, self.now, self.pending = bytearray(), bytearray(), []

    def write(self, offset, data):
        self.pending.append((offset, data))
        put(self.now, offset, data)

    def truncate(self, length):
        self.pending.append((length, None))
        cut(self.now, length)

    def sync(self):
        self.synced, self.pending = bytearray(self.now), []

    def left(self, rng, share):
        """Its bytes after a power cut; `share` of what was not synced has reached the disk."""
        data = bytearray(self.synced)
        for offset, written in self.pending:
            if rng.random() >= share:
                continue
            if written is None:
                cut(data, offset)
            elif rng.random() < 0.9:
                put(data, offset, written)
            else:
                for at in range(-(offset % SECTOR), len(written), SECTOR):
                    if rng.random() < 0.5:
                        begin = max(at, 0)
                        put(data, offset + begin, written[begin:at + SECTOR])
        return data


class Folder:
    def __init__(self):
        self.synced, self.now, self.pending = {}, {}, []

    def change(self, at, name, node):
        """node None: the name goes."""
        self.pending.append((at, name, node))
        enter(self.now, name, node)

    def sync(self):
        self.synced, self.pending = dict(self.now), []

    def left(self, until):
        """Its names after a power cut that took all changes from that number on, but for what was synced."""
        names = dict(self.synced)
        for at, name, node in self.pending:
            if at < until:
                enter(names, name, node)
        return names


def put(data, offset, written):
    if len(data) < offset:
        data.extend(bytes(offset - len(data)))
    data[offset:offset + len(written)] = written


def cut(data, length):
    if length < len(data):
        del data[length:]
    else:
        data.extend(bytes(length - len(data)))


def enter(names, name, node):
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


class Disk:
    """The folder `top`, which was there and empty, as a trace leaves it."""

    def __init__(self, top):
        self.top, self.root, self.open, self.changes = top, Folder(), {}, 0

    def find(self, path):
        """(folder, name) of a path."""
        names = [name for name in os.path.relpath(path, self.top).split(os.sep) if name != "."]
        folder = self.root
        for name in names[:-1]:
            folder = folder.now[name]
        return folder, names[-1] if names else ""

    def replay(self, record):
        change, fd, flags, path, other, offset, data = record
        if change == WRITE:
            self.open[fd].write(offset, data)
        elif change == TRUNCATE:
            self.open[fd].truncate(offset)
        elif change == SYNC:
            self.open[fd].sync()
        elif change == CLOSE:
            self.open.pop(fd, None)
        else:
            self.replay_name(change, fd, flags, path, other)

    def replay_name(self, change, fd, flags, path, other):
        folder, name = self.find(path)
        node = folder.now.get(name) if name else folder
        if change == OPEN:
            if node is None:
                assert flags & os.O_CREAT, path
                node = File()
                self.name((folder, name, node))
            elif flags & os.O_TRUNC and node.now:
                node.truncate(0)
            self.open[fd] = node
        elif change == RENAME:
            to, to_name = self.find(other)
            self.name((to, to_name, node), (folder, name, None))
        else:
            self.name((folder, name, Folder() if change == MAKE_FOLDER else None))

    def name(self, *changes):
        """All of them at once, or none."""
        for folder, name, node in changes:
            folder.change(self.changes, name, node)
        self.changes += 1

    def cut(self, rng, to):
        """Writes what is left to the folder `to`; the index that a log has in memory is anything."""
        share = rng.choice((0, 0.1, 0.5, 0.9, 1))
        pending = [at for folder in self.folders(self.root) for at, _, _ in folder.pending]
        until = rng.choice(pending + [self.changes, 0])

        def write(folder, path):
            os.makedirs(path)
            for name, node in folder.left(until).items():
                below = os.path.join(path, name)
                if isinstance(node, Folder):
                    write(node, below)
                else:
                    data = node.left(rng, share)
                    if name.endswith("-shm"):
                        data = rng.randbytes(len(data))
                    with open(below, "wb") as file:
                        file.write(data)
        write(self.root, to)

    def folders(self, folder):
        yield folder
        for node in folder.now.values():
            if isinstance(node, Folder):
                yield from self.folders(node)

    def differences(self):
        """Where the folder is not as the trace says it should be; the index of a log is written in memory."""
        def compare(folder, path):
            names = set(os.listdir(path))
            if names != set(folder.now):
                yield "%s: %s" % (path, sorted(names ^ set(folder.now)))
            for name in names & set(folder.now):
                below, node = os.path.join(path, name), folder.now[name]
                if isinstance(node, Folder):
                    yield from compare(node, below)
                elif not name.endswith("-shm"):
                    with open(below, "rb") as file:
                        if file.read() != node.now:
                            yield "%s: its bytes" % below
        return list(compare(self.root, self.top))


def read(path):
    """Each record of a trace, with the offset behind it."""
    with open(path, "rb") as file:
        while True:
            head = file.read(RECORD.size)
            if len(head) < RECORD.size:
                return
            change, fd, flags, path_bytes, other_bytes, _, offset, count = RECORD.unpack(head)
            path, other, data = (file.read(n) for n in (path_bytes, other_bytes, count))
            yield file.tell(), (change, fd, flags, path.decode(), other.decode(), offset, data)
