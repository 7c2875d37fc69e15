#!/usr/bin/env python3
"""memory_saves.py CHECK [RUNS [FIRST]] - test innet-memory's checkpoint file

kill -9 at any moment, disks that are full, files that are damaged; as
memory_faults.py otherwise.
"""
import fcntl
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading

from memory_client import Error, request
from memory_server import Server, main, until

SAVE = "replay.save"


def blob(n):
    return b"%d " % n * (100 + n % 3000)


class History:
    """The requests that a server received, and the data that must survive it."""

    def __init__(self):
        self.listed = self.saved_list = 0       # elements of the list
        self.added, self.saved_added = [], 0    # ids in the order of arrival
        self.version = self.saved_version = 0   # of the parameters

    def one(self, c, r):
        """Send one more request and return its reply."""
        kind = r.random()
        if kind < .3:
            n = r.randrange(1, 5)
            assert c.call("rpush", "list", *(b"%d" % (self.listed + i) for i in range(n))) == self.listed + n
            self.listed += n
        elif kind < .8:
            n = r.randrange(1, 6)
            words = []
            for i in range(len(self.added), len(self.added) + n):
                words += ["%d.5" % (i % 7), blob(i)]
            self.added += c.call("per.add", "replay", *words)
        else:
            self.version += 1
            c.call("set", "params", blob(self.version) * 100)

    def mark(self):
        return self.listed, len(self.added), self.version

    def saved(self, mark):
        self.saved_list, self.saved_added, self.saved_version = mark

    def check(self, c):
        """After a restart, check that at least the saved data is there and complete; continue
        from there."""
        got = [int(x) for x in c.call("lrange", "list", 0, -1)]
        assert got == list(range(len(got))), "the list has %s" % got
        assert self.saved_list <= len(got) <= self.listed, (self.saved_list, len(got), self.listed)
        params = c.call("get", "params")
        version = 0 if params is None else int(params.split()[0])
        assert params is None or params == blob(version) * 100
        assert self.saved_version <= version <= self.version, (self.saved_version, version, self.version)
        there = dump(c, "replay")
        assert [i for i, _ in there] == self.added[:len(there)], "ids are others"
        assert len(there) >= self.saved_added, (len(there), self.saved_added)
        assert [p for _, p in there] == [i % 7 + .5 for i in range(len(there))]
        if there:
            ids, _, _, blobs = c.call("per.sample", "replay", min(200, len(there)))
            at = {id_: n for n, id_ in enumerate(self.added)}
            for id_, b in zip(ids, blobs):
                assert b == blob(at[id_]), "experience %d has another's bytes" % id_
        self.listed, self.version = len(got), version
        del self.added[len(there):]
        self.saved(self.mark())


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def dump(c, table, page=700):
    """Return all ids and priorities of a table, oldest first."""
    out, at = [], 0
    while at is not None:
        at, got = c.call("per.dump", table, "from", at, "count", page)
        out += [(got[i], f32(float(got[i + 1]))) for i in range(0, len(got), 2)]
    return out


def half_written():
    """Are there other files than the checkpoint and its lock?"""
    return bool([f for f in os.listdir(".") if f.startswith(SAVE) and f not in (SAVE, SAVE + ".lock")])


def whole(h, *options):
    """Start a server on the file, and check that it has the required data."""
    server = Server("--save", SAVE, "--capacity", 1 << 20, *options)
    try:
        with server.client() as c:
            h.check(c)
        # with --save-every a save may be under way again
        assert options or not half_written(), os.listdir(".")
    except BaseException:
        server.kill()
        raise
    return server


def kill9(runs=20, first=1):
    """kill -9 during load and during PER.SAVE: the file is complete, and the saved data is
    there."""
    h, halves = History(), 0
    with whole(h) as server, server.client() as c:
        c.call("set", "heavy", b"heavy" * 1000000)      # makes a save take a while
        assert c.call("per.save") == b"OK"
        server.kill()
    for seed in range(first, first + runs):
        r = random.Random(seed)
        with whole(h) as server, server.client() as c, server.client() as saver:
            assert c.call("get", "heavy") == b"heavy" * 1000000
            asked = None
            for left in range(r.randrange(20, 300), 0, -1):
                h.one(c, r)
                if asked is None and r.random() < .05:
                    saver.send(request("per.save"))
                    asked = h.mark()
                elif asked and (r.random() < .1 or select.select([saver.sock], [], [], 0)[0]):
                    assert saver.reply() == b"OK"
                    h.saved(asked)
                    asked = None
            if asked is None and r.random() < .7:
                saver.send(request("per.save"))
                for _ in range(r.randrange(60)):
                    h.one(c, r)
            halves += half_written()
            server.kill()
    with whole(h):
        return "%d killed, %d of them with a file half written; %s held" % (runs, halves, h.mark())


def orphan(runs=5, first=1):
    """The child that was saving when its server died must not overwrite a later save."""
    h, r = History(), random.Random(first)
    with whole(h) as server, server.client() as c:
        for k in range(40):
            c.call("set", "heavy%d" % k, b"heavy" * 200000)
        assert c.call("per.save") == b"OK"
        server.kill()
    for _ in range(runs):
        with whole(h) as server, server.client() as c:
            h.one(c, r)
            c.send(request("per.save"))
            while not half_written():
                if select.select([c.sock], [], [], 0)[0]:
                    break
            server.kill()
        with whole(h) as server, server.client() as c:
            h.one(c, r)
            assert c.call("per.save") == b"OK"
            h.saved(h.mark())
            server.kill()
            until(lambda pid=server.pid: not children_of(pid), "the end of what its server left")
    with whole(h):
        return "%s held" % (h.mark(),)


def second():
    """A file in use is refused to other servers until its server has ended in any way; a clean
    end also removes the lock."""
    def is_refused(name):
        with Server("--save", name, wait=False) as other:
            assert other.ends() == 1, other.said()
            assert other.said() == ("innet-memory: %s: another innet-memory uses this file and has locked "
                                    "%s.lock\n" % (name, name)), other.said()
    h, r = History(), random.Random(1)
    with whole(h) as server, server.client() as c:
        is_refused(SAVE)                        # before the file exists
        with Server("--save", "other.save"):
            pass
        for _ in range(50):
            h.one(c, r)
        assert c.call("per.save") == b"OK"      # which replaces it by another file
        h.saved(h.mark())
        c.send(request("per.save"))             # and a second save, possibly still running,
        is_refused(os.path.abspath(SAVE))       # whose unfinished file remains
        assert c.reply() == b"OK"
        server.kill()
        assert os.path.exists(SAVE + ".lock")
    with whole(h) as server, server.client() as c:
        is_refused(SAVE)
        server.process.terminate()
        assert server.ends() == 0, server.said()
        assert not os.path.exists(SAVE + ".lock")
    with open(SAVE, "r+b") as f:
        f.truncate(20)
    with Server("--save", SAVE, wait=False) as server:
        assert server.ends() == 1 and "locked" not in server.said(), server.said()
        assert not os.path.exists(SAVE + ".lock")


def links():
    """One file has one server, under any name, and a link remains a link."""
    with Server("--save", SAVE) as a, a.client() as c:
        c.call("set", "k", 1)
        assert c.call("per.save") == b"OK"
        os.symlink(SAVE, "by-symbol")
        os.link(SAVE, "by-hand")
        for name in ("by-symbol", "by-hand"):
            with Server("--save", name, wait=False) as b:
                assert b.ends() == 1 and "another innet-memory uses this file" in b.said(), (name, b.said())
        assert c.call("per.save") == b"OK"
    with Server("--save", "by-symbol") as a, a.client() as c:
        assert c.call("get", "k") == b"1"
        c.call("set", "k", 2)
        assert c.call("per.save") == b"OK"
    assert os.path.islink("by-symbol"), "the save has replaced the link"
    with Server("--save", SAVE) as a, a.client() as c:
        assert c.call("get", "k") == b"2"
        with open("precious", "w") as g:
            g.write("mine")
        os.symlink("precious", SAVE + ".tmp")
        assert c.call("per.save") == b"OK"
    with open("precious") as g:
        assert g.read() == "mine", "it was written through a link at FILE.tmp"

    def mislead():
        os.unlink(SAVE)
        os.symlink("precious", SAVE)
    os.chmod("precious", 0o644)
    with Server("--save", "by-symbol") as a, a.client() as c:   # which leads to SAVE
        mislead()
        assert c.error("per.load").endswith("not a regular file"), "it is loaded from where a new link leads"
        c.call("set", "k", 3)
        assert c.call("per.save") == b"OK"
        assert not os.path.islink(SAVE), "a save goes where a link leads that came after the start"
        assert os.stat(SAVE).st_mode & 0o777 == 0o600, "it has the permissions of what the link led to"
        mislead()
        a.process.terminate()
        assert a.ends() == 0, a.said()
    with open("precious") as g:
        assert g.read() == "mine", "the last save went where a link led that came after the start"
    with Server("--save", SAVE) as a, a.client() as c:
        assert c.call("get", "k") == b"3"


def beside():
    """An error names the other file in the place of FILE.lock or FILE.tmp, and not FILE."""
    os.mkdir("f.lock")
    os.mkdir("g.tmp")
    os.symlink("elsewhere", "h.lock")
    for name, tail, why in (("f", ".lock", "Is a directory"), ("g", ".tmp", "File exists"),
                            ("h", ".lock", "Too many levels of symbolic links")):
        with Server("--save", name, wait=False) as server:
            assert server.ends() == 1
            assert server.said() == "innet-memory: %s%s: %s\n" % (name, tail, why), server.said()
    with Server("--save", SAVE) as server, server.client() as c:
        os.mkdir(SAVE + ".tmp")
        assert c.error("per.save") == "ERR %s: not saved: %s.tmp: File exists" % (SAVE, SAVE)
        os.rmdir(SAVE + ".tmp")
        assert c.call("per.save") == b"OK"


def pipes():
    """A pipe in the place of the file is refused, and no client waits for it."""
    with Server("--save", SAVE) as a, a.client() as c:
        c.call("set", "k", 1)
        assert c.call("per.save") == b"OK"
        os.unlink(SAVE)
        os.mkfifo(SAVE)
        assert c.error("per.load").endswith("not a regular file")
        assert "not saved" in c.error("per.save")
        assert c.call("get", "k") == b"1"
        a.process.terminate()
        assert a.ends() == 1


def private():
    """Only the owner can read a new file; an existing file keeps its permissions."""
    old = os.umask(0o022)
    try:
        with Server("--save", SAVE) as a, a.client() as c:
            c.call("per.save")
            assert os.stat(SAVE).st_mode & 0o777 == 0o600, "others may read it"
            os.chmod(SAVE, 0o640)
            c.call("per.save")
            assert os.stat(SAVE).st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


def times():
    """A key also expires at its time after a restart, and other keys remain."""
    with Server("--save", SAVE) as a, a.client() as c:
        c.call("set", "long", 1, "exat", 9999999999)
        c.call("rpush", "list", 1, 2)
        c.call("pexpireat", "list", 9999999999001)
        c.call("set", "short", 1, "px", 60000)
        c.call("set", "stays", 1)
        a.process.terminate()
        assert a.ends() == 0
    with Server("--save", SAVE) as a, a.client() as c:
        assert c.call("expiretime", "long") == 9999999999
        assert c.call("pexpiretime", "list") == 9999999999001 and c.call("llen", "list") == 2
        assert 0 < c.call("pttl", "short") <= 60000 and c.call("ttl", "stays") == -1
        c.call("pexpire", "short", 1)
        c.call("pexpire", "list", 1)
        until(lambda: c.call("dbsize") == 2, "that keys nobody asks for go")
        assert b"keys=2,expires=1," in c.call("info", "keyspace")


def heirs():
    """The saving child holds the lock, too, and a new server waits for a lock that is being
    released."""
    with Server("--save", SAVE) as server, server.client() as c:
        for k in range(100):
            c.call("set", k, bytes(2 << 20))
        c.send(request("per.save"))
        until(lambda: children_of(server.pid), "the child")
        os.kill(children_of(server.pid)[0], signal.SIGSTOP)     # before the save is complete
        held = "/proc/%d/fd" % children_of(server.pid)[0]
        names = [os.readlink(os.path.join(held, f)) for f in os.listdir(held)]
        assert os.path.abspath(SAVE) + ".lock" in names, names
        server.kill()
    with open(SAVE + ".lock") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        threading.Timer(.3, fcntl.flock, (f, fcntl.LOCK_UN)).start()
        with Server("--save", SAVE) as server:
            assert not half_written()
            server.kill()


def children_of(pid):
    """Return the processes called innet-memory that are not ours: children of a dead server."""
    out = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as f:
                stat = f.read()
            if "(innet-memory)" in stat and os.readlink("/proc/%s/cwd" % name) == os.getcwd():
                out.append(int(name))
        except OSError:
            pass
    return [p for p in out if p != pid]


def ends():
    """After SIGTERM and SHUTDOWN, the file has all acknowledged data."""
    h, r = History(), random.Random(1)
    for way in ("term", "int", "shutdown", "duration"):
        with whole(h) as server, server.client() as c:
            for _ in range(100):
                h.one(c, r)
            h.saved(h.mark())
            if way == "shutdown":
                c.send(request("shutdown"))
            else:
                server.process.send_signal({"term": signal.SIGTERM, "int": signal.SIGINT}.get(way, 15))
            assert server.ends() == 0, server.said()
    with whole(h):
        return "%s held" % (h.mark(),)


def every():
    """--save-every saves without a request."""
    h, r = History(), random.Random(1)
    with whole(h, "--save-every", "1s") as server, server.client() as c:
        h.one(c, r)
        for n in range(3):
            before = os.stat(SAVE).st_ino if os.path.exists(SAVE) else None
            for _ in range(20):
                h.one(c, r)
            mark = h.mark()
            while not os.path.exists(SAVE) or os.stat(SAVE).st_ino == before:
                c.call("set", "other", "x")
            before = os.stat(SAVE).st_ino
            while os.stat(SAVE).st_ino == before:
                c.call("set", "other", "x")
            h.saved(mark)
        server.kill()
    with whole(h):
        return "%s held" % (h.mark(),)


def no_room(prefix):
    """A save that does not fit fails, and a later one that fits succeeds."""
    h, r = History(), random.Random(1)
    with Server("--save", SAVE, "--capacity", 1 << 20, prefix=prefix) as server, server.client() as c:
        for _ in range(20):
            h.one(c, r)
        assert c.call("per.save") == b"OK"
        mark = h.mark()
        with open(SAVE, "rb") as f:
            kept = f.read()
        for _ in range(30):
            c.call("rpush", "heavy", os.urandom(1000000))
        for _ in range(3):
            why = c.error("per.save")
            assert SAVE in why and "\n" not in why, why
            assert os.listdir(".").count(SAVE) == 1
            with open(SAVE, "rb") as f:
                assert f.read() == kept, "the old file is not what it was"
        assert c.call("llen", "heavy") == 30
        c.call("del", "heavy")
        h.one(c, r)
        assert c.call("per.save") == b"OK", "it does not save when there is room again"
        mark = h.mark()
        server.kill()
    h.saved(mark)
    with whole(h):
        return why


def disk():
    """Saves on a full disk of 8 MB; run this check in a mount namespace of its own."""
    os.mkdir("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", "disk"], check=True)
    os.chdir("disk")
    why = no_room(())
    assert "No space left on device" in why, why
    os.chdir("..")
    subprocess.run(["umount", "disk"], check=True)
    return why


def quota():
    """Saves with a limit of 8 MB for each file."""
    return no_room(("bash", "-c", "ulimit -f 8192; exec \"$@\"", "bash"))


def refused(name, how):
    """A server on a damaged file explains the damage and exits with status 1."""
    with Server("--save", name, wait=False) as server:
        status, said = server.ends(), server.said()
        assert status == 1, "%s: status %d: %s" % (how, status, said)
        line = said.strip().split("\n")[-1]
        assert line.startswith("innet-memory: %s: " % name), "%s: %s" % (how, said)
        assert len(line) > len(name) + 20 and "Success" not in line, said
        return line.partition(name + ": ")[2]


def damaged(runs=60, first=1):
    """Files that are truncated, have flipped bits or additional bytes are refused with a
    reason."""
    h, r = History(), random.Random(first)
    with whole(h) as server, server.client() as c:
        c.call("per.create", "frames", "capacity", 100)
        c.call("per.frames", "frames", 100, 2)
        c.call("per.add", "frames", *(w for i in range(50) for w in ("1", os.urandom(400 + i))))
        c.call("per.create", "limited", "capacity", 10, "ratio", 1, 2, "slack", 5, "selector", "fifo")
        for _ in range(100):
            h.one(c, r)
        assert c.call("per.save") == b"OK"
        h.saved(h.mark())
        server.kill()
    with whole(h) as server:
        server.kill()
    with open(SAVE, "rb") as f:
        good = f.read()
    why = set()
    ways = [("cut to %d of %d" % (n, len(good)), good[:n]) for n in
            [0, 1, 7, 8, 16, 31, len(good) - 1, len(good) - 4, len(good) - 8] +
            [r.randrange(len(good)) for _ in range(runs)] + [r.randrange(2000) for _ in range(runs // 2)]]
    for k in range(2 * runs):
        at = k if k < runs // 2 else r.randrange(len(good) if k % 2 else 3000)
        turned = bytearray(good)
        turned[at] ^= 1 << r.randrange(8)
        ways.append(("a bit of byte %d of %d turned" % (at, len(good)), bytes(turned)))
    ways += [("a byte more", good + b"\0"), ("twice", good * 2), ("zeros", bytes(len(good))),
             ("text", b"what is this?\n" * 100), ("a hole", good[:500] + bytes(500) + good[1000:])]
    for how, data in ways:
        with open("bad.save", "wb") as f:
            f.write(data)
        why.add(refused("bad.save", how))
    shutil.copy(SAVE, "bad.save")
    with Server("--save", "bad.save") as server:
        server.alive()
    os.mkdir("folder.save")
    refused("folder.save", "a folder")
    refused("no/such/folder.save", "no folder")
    return "%d damaged files, %d reasons: %s" % (len(ways), len(why), sorted(why)[:3])


def loads():
    """PER.LOAD restores the saved data, and nothing of a damaged file."""
    h, r = History(), random.Random(3)
    with whole(h) as server, server.client() as c:
        for _ in range(50):
            h.one(c, r)
        assert c.call("per.save") == b"OK"
        mark = h.mark()
        for _ in range(50):
            h.one(c, r)
        with open(SAVE, "rb") as f:
            good = f.read()
        with open(SAVE, "wb") as f:
            f.write(good[:-100])
        before = c.call("llen", "list"), dump(c, "replay"), c.call("get", "params")
        assert SAVE in c.error("per.load")
        assert before == (c.call("llen", "list"), dump(c, "replay"), c.call("get", "params"))
        with open(SAVE, "wb") as f:
            f.write(good)
        assert c.call("per.load") == b"OK"
        h.saved(mark)
        h.check(c)
        assert h.mark() == mark


def at_once():
    """Many clients request a save while others continue: each is answered, and the file is
    complete."""
    h, r = History(), random.Random(5)
    with whole(h) as server, server.client() as c:
        c.call("set", "heavy", b"heavy" * 1000000)
        for _ in range(5):
            askers = [server.client() for _ in range(8)]
            for a in askers:
                h.one(c, r)
                mark = h.mark()
                a.send(request("per.save"))
            for _ in range(20):
                h.one(c, r)
            for a in askers:
                got = a.reply()
                assert got == b"OK" or "progress" in str(got) or "already" in str(got), got
                a.close()
            assert c.call("per.save") == b"OK"
            h.saved(h.mark())
        gone = server.client()
        gone.send(request("per.save"))
        gone.close()
        server.alive()
        assert mark <= h.mark()
        server.kill()
    with whole(h):
        pass
    with Server() as server, server.client() as c:
        assert c.error("per.save") and c.error("per.load"), "a save without a file"


if __name__ == "__main__":
    sys.exit(main((kill9, orphan, second, links, beside, pipes, private, times, heirs, ends, every, disk, quota, damaged, loads, at_once), sys.argv))
