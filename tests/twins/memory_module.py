#!/usr/bin/env python3
"""memory_module.py CHECK [RUNS [FIRST]] - test innet_per.so inside redis-server

MEMORY_MODULE is its path.  As memory_per.py otherwise, whose checks pass with
it as well.
"""
import os
import random
import resource
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/python"))
import innet_replay
from memory_client import Client, Error, WAIT_S, request
from memory_saves import dump
from memory_server import MODULE, fields, info, main, until


class Redis:
    """A redis-server with the module, in a folder of its own that is kept."""

    def __init__(self, name, *options, port=None, seed=1):
        os.makedirs(name, exist_ok=True)
        self.name, self.port = name, port
        self.addr = "127.0.0.1:%d" % port if port else os.path.abspath(name) + "/s"
        self.log = open(name + ".log", "ab")
        where = ["--port", str(port or 0)] + ([] if port else ["--unixsocket", self.addr])
        self.process = subprocess.Popen(
            ["redis-server", *where, "--dir", name, "--enable-debug-command", "yes", "--save", "",
             "--repl-diskless-sync-delay", "0", *map(str, options), "--loadmodule", MODULE, "seed", str(seed)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            until(lambda: self.process.poll() is not None or self.ready(), "a server that answers")
            assert self.process.poll() is None, "it did not start: " + self.said()
        except BaseException:
            self.kill()
            raise

    def ready(self):
        try:
            with self.client() as c:
                return str(c.pipeline([("ping",)])[0]) in ("b'PONG'", "NOAUTH Authentication required.")
        except (OSError, EOFError):
            return False

    def client(self):
        return Client(self.addr)

    def said(self):
        with open(self.name + ".log", errors="replace") as f:
            return f.read()[-600:]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def history(c, r, steps=120):
    """Make tables of all kinds, change them, and return the errors that occurred."""
    kinds = {"p": ["alpha", 1], "u": ["selector", "uniform", "times", 2], "f": ["selector", "fifo"],
             "l": ["selector", "lifo", "times", 3], "s": ["selector", "lifo"],
             "g": ["selector", "fifo"], "w": ["selector", "fifo", "times", 1],
             "v": ["selector", "fifo"]}
    if not c.call("exists", "p"):
        for t, how in kinds.items():
            c.call("per.create", t, "capacity", r.choice((5, 17, 64)), *how)
        c.call("per.frames", "g", 20, 2)
    ids = {t: [i for i, _ in dump(c, t)] for t in kinds}
    film = [r.randbytes(20) for _ in range(8)]
    for step in range(steps):
        if step % 20 == 10:
            waits(c)
        t, kind = r.choice(list(kinds)), r.random()
        try:
            if kind < .45:
                blobs = [(b"".join(r.choices(film, k=4)) if t == "g" else b"") + r.randbytes(r.randrange(60))
                         for _ in range(r.randrange(1, 6))]
                how = ["timeout", 10] if r.random() < .2 else []
                ids[t] += c.call("per.add", t, *how, *(w for b in blobs for w in (r.choice(("max", 1, .5, 3)), b)))
            elif kind < .7:
                c.call("per.sample", t, r.randrange(1, 4))
            elif kind < .8 and ids[t]:
                c.call("per.update", t, r.choice(ids[t]), r.random())
            elif kind < .95 and ids[t]:
                c.call("per.remove", t, *r.sample(ids[t], min(len(ids[t]), 2)))
            else:
                c.call("per.limit", t, "ratio", 0, 0, "slack", r.randrange(9))
        except Error as e:
            assert str(e).startswith("LIMIT"), e
    return sorted(kinds)


def waits(c):
    """One client waits to draw until there are enough experiences, one waits to add, and both
    are served."""
    at = c.sock.getpeername()
    at = at if isinstance(at, str) else "%s:%d" % at[:2]
    with Client(at) as drawer, Client(at) as adder:
        have = fields(c.call("per.info", "w"))["have"]
        if have > 0:        # each experience is drawn once
            c.call("per.sample", "w", have)
        drawer.send(request("per.sample", "w", 2, "timeout", 30000))
        # ten times as many draws as are possible
        c.call("per.limit", "v", "ratio", 10 * (1 + fields(c.call("per.info", "v"))["sampled"]), 0, "slack", 0)
        assert c.error("per.add", "v", 1, "no").startswith("LIMIT")
        adder.send(request("per.add", "v", "timeout", 30000, 1, "late"))
        until(lambda: info(c, "blocked_clients") == 2, "two who wait")
        c.call("per.add", "w", 1, "one", 2, "two")
        c.call("per.limit", "v", "ratio", 0, 0)
        got = drawer.reply(), adder.reply()
        assert not any(isinstance(g, Error) for g in got), got


def state(c):
    """Return everything that can be read of the tables, except the scale of a tree."""
    out = {}
    for t in "fglpsuvw":
        of = fields(c.call("per.info", t))
        # the experience with which a new one shares its frames is not saved
        frames = ("frames", "frames_bytes") if t == "g" else ()
        out[t] = (dump(c, t), {k: v for k, v in of.items() if k not in ("shift", "sum", "raised", "rescaled_most", *frames)},
                  c.call("per.sample_ro", t, of["have"])[3] if t == "g" and of["have"] else
                  c.call("debug", "digest-value", t))
    return out


def same_state(one, other, what):
    for t in one:
        for a, b in zip(one[t], other[t]):
            assert a == b, "%s: table %s: %.300r and then %.300r" % (what, t, a, b)


def answers():
    """The same requests with the same seed get innet-memory's answers, byte for byte."""
    from memory_server import Server
    import memory_server
    r, script = random.Random(5), []
    for t, how in (("p", []), ("u", ["selector", "uniform", "times", 2]), ("l", ["selector", "lifo"])):
        script.append(["per.create", t, "capacity", 20, *how])
    script += [["per.create", "p", "capacity", 1], ["per.create", "x"], ["per.create", "x", "capacity", 0],
               ["per.frames", "l", 3, 1], ["per.info", "none"], ["per.create", "x", "capacity", 1, "nonsense", 2],
               ["per.add", "p", 1], ["per.add", "p", "nan", "x"], ["per.sample", "p", 1], ["per.sample", "p", "x"]]
    for _ in range(300):
        t = r.choice("pul")
        script.append(r.choice((
            ["per.add", t, r.choice((1, "max", .25)), r.randbytes(6 + r.randrange(3)), 2, b"abcdefghi"],
            ["per.sample", t, r.randrange(1, 5), "beta", .5], ["per.sample", t, 2, "binary", "sum"],
            ["per.sample_ro", t, 2], ["per.update", t, (1 << 32) + r.randrange(20), r.random()],
            ["per.remove", t, (1 << 32) + r.randrange(20)], ["per.dump", t], ["per.info", t],
            ["per.sample", "l", 1, "refs"], ["per.limit", t, "ratio", 0, 0, "slack", 3], ["per.sample", t, 3, "timeout", 1])))
    got = []
    for module in (MODULE, None):
        memory_server.MODULE = module
        with Server("--seed", 9) as server, server.client() as c:
            got.append([c.pipeline([words])[0] for words in script])
    memory_server.MODULE = MODULE
    plain = [[str(x) if isinstance(x, Error) else x for x in g] for g in got]
    for words, a, b in zip(script, *plain):
        if "wrong number of arguments" in str(a):       # Redis itself counts them
            b = b.split(";")[0]
        assert a == b, "%r: %.200r inside Redis, %.200r from innet-memory" % (words, a, b)
    for module in (MODULE, None):               # and with RESP3, line by line
        memory_server.MODULE = module
        with Server("--seed", 9) as server, server.client() as c:
            c.send(request("hello", 3) + request("echo", "BEGIN"))
            while c.line() != b"BEGIN":
                pass
            lines = []
            for words in (["per.create", "t", "capacity", 9], ["per.add", "t", 1, "a", .3, "b"], ["per.info", "t"],
                          ["per.sample", "t", 2], ["per.dump", "t"], ["per.info", "none"]):
                c.send(request(*words))
            c.send(request("echo", "END"))
            while not lines or lines[-1] != b"END":
                x = c.line()
                lines.append("%.9g" % float(x[1:]) if x[:1] == b"," else x)
            got.append(lines)
    memory_server.MODULE = MODULE
    assert got[2] == got[3] and b"%27" in got[2][4:], "RESP3: %r" % [(a, b) for a, b in zip(*got[2:]) if a != b]
    return "%d answers" % len(script)


def holes(c):
    """In a stack with holes that were filled once and twice, return the next ids."""
    c.call("per.create", "holes", "capacity", 5, "selector", "lifo")
    ids = c.call("per.add", "holes", 1, "a", 1, "b", 1, "c")
    c.call("per.remove", "holes", ids[2])
    again = c.call("per.add", "holes", 1, "d")
    c.call("per.remove", "holes", ids[1], *again)
    return [2 << 32 | 1, 3 << 32 | 2]


def rdb(runs=3):
    """After SAVE, kill -9 and a restart, all data is there and ids continue."""
    r = random.Random(1)
    for turn in range(runs):
        with Redis("rdb", seed=turn) as server, server.client() as c:
            history(c, r)
            c.call("del", "holes")
            due = holes(c)
            c.call("copy", "holes", "same", "replace")
            c.call("save")
            was = state(c)
        with Redis("rdb", seed=turn) as server, server.client() as c:
            same_state(was, state(c), "turn %d" % turn)
            for t in ("holes", "same"):
                got = c.call("per.add", t, 1, "x", 1, "y")
                assert got == due, "ids that would not have come: %s" % got


def aof(runs=3):
    """With appendfsync always and kill -9 between requests, no data is lost, whether the file
    was rewritten or not."""
    r = random.Random(2)
    how = ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"]
    for turn in range(runs):
        with Redis("aof", *how) as server, server.client() as c:
            history(c, r)
            if turn % 2:
                c.call("bgrewriteaof")
                until(lambda: info(c, "aof_rewrite_in_progress") == 0 and info(c, "aof_rewrite_scheduled") == 0,
                      "the rewriting")
                history(c, r, 20)
            was = state(c)
        with Redis("aof", *how) as server, server.client() as c:
            same_state(was, state(c), "turn %d" % turn)


def replicas():
    """A replica attached before and one attached after equal the master, including the next
    ids."""
    r = random.Random(3)
    with Redis("m") as master, Redis("before") as before, Redis("after") as after, master.client() as c:
        c.call("config", "set", "port", 0)
        port = free_ports(1)[0]
        c.call("config", "set", "port", port)
        with before.client() as b, after.client() as a:
            b.call("replicaof", "127.0.0.1", port)
            until(lambda: b"master_link_status:up" in b.call("info", "replication"), "a replica")
            history(c, r)
            a.call("replicaof", "127.0.0.1", port)
            until(lambda: b"master_link_status:up" in a.call("info", "replication"), "a replica")
            history(c, r, 200)
            assert c.call("wait", 2, 1000 * WAIT_S) == 2
            was = state(c)
            same_state(was, state(b), "before")
            same_state(was, state(a), "after")
            assert b.error("per.sample", "p", 1).startswith("READONLY")
            assert len(b.call("per.sample_ro", "p", 1)[0]) == 1
            same_state(was, state(b), "a sample that is not counted")
            for x in (a, b, c):
                x.call("replicaof", "no", "one")
            assert len({tuple(x.call("per.add", "s", 1, "x", 2, "y")) for x in (a, b, c)}) == 1


def keys():
    """Waiting clients are answered when the table is removed in any way, and other types are
    refused."""
    with Redis("keys") as server, server.client() as c:
        assert c.call("set", "string", 1) == b"OK"
        assert c.error("per.info", "string").startswith("WRONGTYPE")
        assert c.error("per.create", "string", "capacity", 5).startswith("WRONGTYPE")
        for how in (["del", "t"], ["unlink", "t"], ["per.drop", "t"], ["set", "t", 1], ["rename", "t", "u"],
                    ["flushall"], ["flushdb", "async"], ["pexpire", "t", 1], ["rename", "other", "t"],
                    ["swapdb", 0, 1], ["swapdb", 1, 0]):
            c.call("flushall")
            c.call("per.create", "t", "capacity", 5)
            c.call("per.create", "other", "capacity", 5)
            waiting = [server.client() for _ in range(3)]
            for w in waiting:
                w.send(request("per.sample", "t", 1, "timeout", 3600000) + request("echo", 7))
            until(lambda: info(c, "blocked_clients") == 3, "three that wait")
            if how == ["swapdb", 1, 0]:     # for a table from which a client could draw
                c.pipeline([("select", 1), ("per.create", "t", "capacity", 5), ("per.add", "t", 1, "x"), ("select", 0)])
            c.call(*how)
            if how[0] == "pexpire":
                until(lambda: not c.call("exists", "t"), "an end")
            for w in waiting:
                got = w.reply()
                assert isinstance(got, Error) and ("no table" in str(got) or "WRONGTYPE" in str(got)), (how, got)
                assert w.reply() == b"7"
                w.close()
        c.call("flushall")
        for how in (["per.drop", "t"], ["unlink", "t"], ["flushall", "async"]):  # in a thread of the server
            c.call("config", "resetstat")
            c.call("per.create", "t", "capacity", 1000)
            c.call("per.add", "t", *[1, "x"] * 1000)
            c.call(*how)
            until(lambda: info(c, "lazyfreed_objects") >= 1, "a table freed elsewhere after " + how[0])
        c.call("flushall")
        c.call("per.create", "t", "capacity", 5)
        c.call("per.create", "t2", "capacity", 5)
        with server.client() as w, server.client() as gone:
            w.send(request("per.sample", "t", 2, "timeout", 3600000))
            gone.send(request("per.sample", "t", 2, "timeout", 3600000))
            until(lambda: info(c, "blocked_clients") == 2, "two that wait")
            gone.close()
            until(lambda: info(c, "blocked_clients") == 1, "the end of one")
            c.call("per.add", "t2", 1, "x", 1, "y")
            c.call("per.add", "t", 1, "x")
            c.call("per.add", "t", 1, "y")
            assert len(w.reply()[0]) == 2
        c.call("multi")
        c.pipeline([("per.sample", "t", 5, "timeout", 100000)])
        assert str(c.call("exec")[0]).startswith("LIMIT")
        assert c.call("copy", "t", "v") == 1
        assert c.call("debug", "digest-value", "t", "v")[0] == c.call("debug", "digest-value", "v")[0]
        assert c.call("type", "t") == b"innet-per"
        before = c.call("memory", "usage", "t")
        c.call("per.add", "t", 1, bytes(100000))
        assert 100000 < c.call("memory", "usage", "t") - before < 101000
        got = c.call("dump", "t")
        c.call("restore", "w", 0, got)
        assert dump(c, "w") == dump(c, "t")
        for at in range(0, len(got), max(1, len(got) // 200)):  # damaged payloads are refused
            bad = got[:at] + bytes([got[at] ^ 1]) + got[at + 1:]
            c.call("config", "set", "sanitize-dump-payload", "no")
            assert isinstance(c.pipeline([("restore", "bad", 0, bad)])[0], Error)
        assert c.error("per.put", "t", 1, 0, "x").startswith("ERR") and c.error("per.taken", "t", "count", 1)
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))
        assert c.error("per.create", "big", "capacity", 1 << 31) == "OOM there is not enough memory"
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, limits)
        c.call("config", "set", "maxmemory", "3mb")
        assert c.error("per.create", "big", "capacity", 1000000).endswith("'maxmemory'.")
        assert c.call("ping") == b"PONG"


def crc64():
    """Return the CRC-64 that ends a payload of DUMP, as a function of bytes."""
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x95ac9329ac4bc9b5 if n & 1 else 0)
        table.append(n)

    def crc(data):
        c = 0
        for byte in data:
            c = table[(c ^ byte) & 255] ^ c >> 8
        return c
    return crc


def forge(c, crc=crc64()):
    """Return a function that makes a payload for RESTORE with any table and any declared
    length."""
    c.call("per.create", "model", "capacity", 5)
    model = c.call("dump", "model")
    c.call("del", "model")

    def number(n):
        return b"\x81" + struct.pack(">Q", n)

    def payload(capacity, selector=0, items=(), bytes_=0, stack=0, frames=0, n=None, more=b"", declared=None, alpha=.6):
        table = struct.pack("<QdIIddQQI", capacity, alpha, selector, 0, 0, 0, capacity, bytes_, stack)
        inserted = len(items) if n is None else n
        table += struct.pack("<7QIIf", inserted, 0, 0, 0, 0, 0, 0, 0, 1, 3e38)
        table += struct.pack("<I", frames)
        if not frames:
            table += struct.pack("<Q", inserted)
            table += b"".join(struct.pack("<QfIQ", 1 << 32 | slot, p, 0, len(x)) + x for slot, p, x in items)
        table += more
        out = model[:10] + number(2) + number(len(table) if declared is None else declared)
        out += number(5) + number(len(table)) + table + b"\0" + model[-10:-8]
        return out + struct.pack("<Q", crc(out))
    return payload


def memory_kb(server, field="VmHWM"):
    with open("/proc/%d/status" % server.process.pid) as f:
        return int(next(line for line in f if line.startswith(field + ":")).split()[1])


def restore():
    """RESTORE obeys maxmemory, and takes no memory that its payload does not need."""
    how = ["--maxmemory", "200mb", "--maxmemory-policy", "allkeys-lru"]
    with Redis("limited", *how) as server, server.client() as c:
        payload = forge(c)
        c.pipeline([("set", "key%d" % i, "x") for i in range(100)])

        def refused(what, data):
            was, kb = info(c, "used_memory"), memory_kb(server)
            assert c.error("restore", "bad", 0, data) == "ERR Bad data format", what
            c.call("set", "key0", "x")          # which would now evict other keys
            assert c.call("dbsize") >= 100 and info(c, "evicted_keys") == 0, what + " evicts keys"
            now, now_kb = info(c, "used_memory"), memory_kb(server)
            assert now - was < 1 << 20, "%s: used_memory was %d and is %d" % (what, was, now)
            assert now_kb - kb < 64 << 10, "%s: the server had %d KiB and then %d" % (what, kb, now_kb)

        for selector in range(4):
            refused("a capacity of 100 million", payload(10**8, selector, more=bytes(4) if selector == 3 else b""))
        refused("a capacity that PER.CREATE refuses", payload((1 << 31) + 1))
        assert c.error("per.create", "bad", "capacity", 10**8).endswith("'maxmemory'.")
        refused("a blob that is not there", payload(5, n=1, declared=1 << 40, more=struct.pack("<QfIQ", 1 << 32, 1, 0, 1 << 33)))
        c.call("config", "set", "maxmemory", 0)
        refused("a blob that is not there", payload(5, n=1, declared=1 << 40, more=struct.pack("<QfIQ", 1 << 32, 1, 0, 1 << 33)))
        refused("frames that are not there", payload(5, bytes_=1, stack=1, frames=1 << 28, declared=1 << 40))
        refused("a frame that is not there", payload(5, bytes_=1 << 28, stack=1, frames=1, declared=1 << 40))
        refused("an item that comes twice", payload(10**8, 0, [(0, 1, b""), (10**8 - 1, 1, b""), (0, 1, b"")]))
        c.call("config", "set", "maxmemory", "200mb")
        assert c.call("restore", "fits", 0, payload(10**6)) == b"OK"
        c.call("per.create", "half", "capacity", 3 * 10**6)
        assert c.error("copy", "half", "more").startswith("ERR")
        assert c.call("copy", "fits", "fits2") == 1
        assert c.call("dbsize") == 103 and info(c, "evicted_keys") == 0

    with Redis("unlimited") as server, server.client() as c:
        payload, big = forge(c), 10**8
        slots = [0, 1, 70000, big // 2, big - 1]
        kb = memory_kb(server, "VmRSS")
        for selector in range(3):
            items = [(slot, 1e-30 * 1000**i, b"%d" % slot) for i, slot in enumerate(slots)]
            assert c.call("restore", "t", 0, payload(big, selector, items, alpha=4), "replace") == b"OK"
            assert sorted(i & 0xffffffff for i, _ in dump(c, "t")) == slots
            assert fields(c.call("per.info", "t"))["rescaled_most"] == 0, "the whole ring was scaled"
            grown = memory_kb(server, "VmRSS") - kb
            assert grown < 200 << 10, "five items in 100 million slots took %d KiB" % grown
            assert c.call("per.sample", "t", 1)[3] == [b"%d" % slots[0 if selector == 2 else -1]] or selector == 1
            assert c.call("per.add", "t", 1, "next") == [2 << 32]
            c.call("del", "t")
        # valid payloads still load, also with a smaller maxmemory
        c.call("per.create", "t", "capacity", 10**6)
        for i in range(20):
            c.call("per.add", "t", *[w for k in range(500) for w in (1 + k, bytes(1000))])
        was = dump(c, "t")
        got = c.call("dump", "t")
        assert c.call("restore", "again", 0, got) == b"OK" and dump(c, "again") == was
        c.call("config", "set", "maxmemory", "100mb")
        assert c.error("restore", "more", 0, got) == "ERR Bad data format"
        c.call("save")
        with Redis("replica", "--maxmemory", "1mb") as other, other.client() as o:
            port = free_ports(1)[0]
            c.call("config", "set", "port", port)
            o.call("replicaof", "127.0.0.1", port)
            until(lambda: b"master_link_status:up" in o.call("info", "replication"), "a replica")
            c.call("config", "set", "maxmemory", 0)
            assert c.call("restore", "more", 0, got) == b"OK"
            assert c.call("wait", 1, 1000 * WAIT_S) == 1
            assert dump(o, "t") == was and dump(o, "more") == was
    with Redis("unlimited", "--maxmemory", "10mb") as server, server.client() as c:
        assert dump(c, "t") == was and dump(c, "again") == was


def acl():
    """An ACL user may only sample, and only from this table."""
    with Redis("acl") as server, server.client() as c:
        c.call("per.create", "t", "capacity", 5)
        c.call("per.create", "secret", "capacity", 5)
        c.call("per.add", "t", 1, "x")
        c.call("acl", "setuser", "learner", "on", ">word", "~t", "-@all", "+per.sample", "+ping", "+per.info")
        with server.client() as u:
            u.call("auth", "learner", "word")
            assert u.call("per.sample", "t", 1)[3] == [b"x"]
            for bad in (["per.add", "t", 1, "x"], ["per.drop", "t"], ["per.sample", "secret", 1], ["get", "t"]):
                assert u.error(*bad).startswith("NOPERM"), bad
        with innet_replay.Memory(server.addr, table="t", fields={"x": "S1"}, username="learner", password="word") as m:
            assert m.sample(1).x[0] == b"x"


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def tls():
    """The client in Python works over TLS."""
    import ssl
    subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
                   "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem", shell=True, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port, here = free_ports(1)[0], os.getcwd()
    with Redis("tls", "--tls-port", port, "--tls-cert-file", here + "/cert.pem", "--tls-key-file", here + "/key.pem",
               "--tls-ca-cert-file", here + "/cert.pem", "--tls-auth-clients", "no"):
        how = ssl.create_default_context(cafile="cert.pem")
        with innet_replay.Memory("127.0.0.1:%d" % port, fields={"x": ("f4", (3,))}, capacity=10, tls=how) as m:
            m.add(x=[1, 2, 3])
            assert list(m.sample(1).x[0]) == [1, 2, 3]


def three(check):
    """Run check(servers, ports, clients) with a cluster of three masters."""
    ports = free_ports(6)
    how = ["--cluster-enabled", "yes", "--cluster-node-timeout", 2000]
    servers = []
    try:
        for k in range(3):
            servers.append(Redis("node%d" % k, *how, "--cluster-port", ports[3 + k], port=ports[k], seed=k))
        c = [s.client() for s in servers]
        for k in range(3):
            c[k].call("cluster", "addslotsrange", k * 16384 // 3 + (k > 0), (k + 1) * 16384 // 3 - (k == 2))
            c[k].call("cluster", "meet", "127.0.0.1", ports[0], ports[3])
        until(lambda: all(b"cluster_state:ok" in x.call("cluster", "info") and
                          b"cluster_known_nodes:3" in x.call("cluster", "info") for x in c), "a cluster")
        check(servers, ports, c)
        for x in c:
            x.close()
    finally:
        for s in servers:
            s.kill()


def settled(c):
    """Does each master have the epochs and slots of all others?  Otherwise two could take the
    same epoch."""
    said = [sorted(line.split()[:1] + line.split()[6:] for line in x.call("cluster", "nodes").splitlines()) for x in c]
    return all(x == said[0] for x in said)


def cluster(moves=30):
    """Three masters: a table's slot moves repeatedly while clients add and sample."""
    def check(servers, ports, c):
        names = innet_replay.shard_names("replay", 3)
        m = innet_replay.Memory([s.addr for s in servers], cluster=True, fields={"x": "i8"}, capacity=3000, alpha=1, seed=1)
        m.add(x=range(900), shard=0)
        m.add(x=range(900, 1800), shard=1)
        m.add(x=range(1800, 2700), shard=2)
        ids = [x.call("cluster", "myid") for x in c]
        at, key, added = 0, names[0], 2700
        the_slot = innet_replay.slot(key)
        assert the_slot == c[0].call("cluster", "keyslot", key)
        for turn in range(moves):
            to = (at + 1) % 3
            c[to].call("cluster", "setslot", the_slot, "importing", ids[at])
            m.add(x=[added], shard=0)
            c[at].call("cluster", "setslot", the_slot, "migrating", ids[to])
            assert len(m.sample(50).x) == 50
            assert c[at].call("migrate", "127.0.0.1", ports[to], key, 0, 1000 * WAIT_S) == b"OK"
            m.add(x=[added + 1], shard=0)       # the client asks there, because it has not been redirected yet
            got = m.sample(60)
            m.update(got.ids, np_ones(len(got.ids)))
            for k in (to, at, 3 - at - to):
                c[k].call("cluster", "setslot", the_slot, "node", ids[to])
            until(lambda: settled(c), "an agreement")
            added += 2
            at = to
            assert len(m.sample(50).x) == 50
        assert len(m) == min(1000, 900 + 2 * moves) + 1800, len(m)
        m.close()
    three(check)
    return "%d moves" % moves


def apex():
    """torch-apex.py trains for a short time through a cluster of three."""
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/examples/torch-apex.py")
    said = []

    def check(servers, ports, c):
        run = subprocess.run([sys.executable, where, ",".join(s.addr for s in servers), "3", "1500", "cluster"],
                             stdout=subprocess.PIPE)
        said.append(run.stdout.decode().splitlines()[-1])
        assert said[0].startswith("gradients 1500 ") or run.returncode == 0, said
        for x in c:
            assert b"per.add" in x.call("info", "commandstats"), "a master without experiences"
    three(check)
    return said[0]


def agents():
    """innet-agent's actors and learner use a cluster of three, listed in another order than its
    slots."""
    said = []

    def check(servers, ports, c):
        at = ["--replay-memory", ",".join(s.addr for s in servers[1:] + servers[:1]), "-q", "--algo", "dqn"]
        actors = [subprocess.Popen(["innet-agent", "--role", "actor", "--actor", "%d/2" % k, *at]) for k in range(2)]
        subprocess.run(["innet-agent", "--role", "learner", "--replay", "per", "--gradients", "200", *at], check=True)
        for a in actors:
            assert a.wait(60) == 0, "an actor failed"
        for x in c:
            assert b"per.update" in x.call("info", "commandstats"), "a master that was not drawn from"
            said.append(x.call("keys", "*"))
    three(check)
    return said


class Agents:
    """Two actors and a learner of Ape-X at these servers, which run until they are stopped."""

    def __init__(self, servers, *options):
        at = ["--replay-memory", ",".join(s.addr for s in servers), "-q", "--algo", "dqn", *options]
        each = [["--role", "actor", "--actor", "%d/2" % k] for k in range(2)]
        each.append(["--role", "learner", "--replay", "per"])
        self.all = [subprocess.Popen(["innet-agent", *one, *at], stderr=subprocess.PIPE) for one in each]

    def ended(self):
        """Return standard error and status of each agent when all have ended."""
        return [(a.communicate(timeout=4 * WAIT_S)[1].decode(), a.returncode) for a in self.all]

    def end(self):
        """Stop the learner, which ends the actors; none may print an error."""
        self.all[-1].terminate()
        for said, status in self.ended():
            assert (said, status) == ("", 0), (said, status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for a in self.all:
            if a.poll() is None:
                a.kill()
            a.wait()
            a.stderr.close()


def updated(c, key, asking=False):
    """Return the number of priority updates in a table, which may still be moving to this
    server; 0 if it is absent."""
    got = c.pipeline([("asking",)] * asking + [("per.info", key)])[-1]
    return 0 if isinstance(got, Error) else fields(got)["updated"]


def asks():
    """While a slot stays in migration, agents follow each ASK redirection and do not wait for
    the end."""
    def check(servers, ports, c):
        key = innet_replay.shard_names("innet:replay", 3)[0]
        slot, ids = innet_replay.slot(key), [x.call("cluster", "myid") for x in c]
        with Agents(servers) as agents:
            until(lambda: updated(c[0], key) > 500, "a learner that learns")
            c[1].call("cluster", "setslot", slot, "importing", ids[0])
            c[0].call("cluster", "setslot", slot, "migrating", ids[1])
            for name in c[0].call("cluster", "getkeysinslot", slot, 100):
                c[0].call("migrate", "127.0.0.1", ports[1], name, 0, 1000 * WAIT_S)
            had = updated(c[1], key, True)
            until(lambda: updated(c[1], key, True) > had + 1000, "a learner that asks")
            assert c[0].error("per.info", key).startswith("ASK"), "the slot is there already"
            for x in c[1], c[0], c[2]:
                x.call("cluster", "setslot", slot, "node", ids[1])
            had = updated(c[1], key)
            until(lambda: updated(c[1], key) > had + 1000, "a learner that has heard of it")
            agents.end()
    three(check)


def failover():
    """When a master is killed, agents continue with the replica that takes over."""
    def check(servers, ports, c):
        key = innet_replay.shard_names("innet:replay", 3)[0]
        port, bus = free_ports(2)
        replica = Redis("replica", "--cluster-enabled", "yes", "--cluster-node-timeout", 2000, "--cluster-port", bus, port=port)
        servers.append(replica)
        r = replica.client()
        r.call("cluster", "meet", "127.0.0.1", ports[1], ports[4])
        master = c[0].call("cluster", "myid")
        until(lambda: r.pipeline([("cluster", "replicate", master)])[0] == b"OK", "a replica")
        until(lambda: b"master_link_status:up" in r.call("info", "replication"), "a replica that has all")
        until(lambda: all(b"cluster_known_nodes:4" in x.call("cluster", "info") for x in [r, *c]), "a cluster of four")
        # a node with a later epoch than the replica's would not vote for it
        until(lambda: settled([r, *c]), "four that agree")
        with Agents(servers[:3]) as agents:
            until(lambda: updated(c[0], key) > 500, "a learner that learns")
            servers[0].process.kill()
            until(lambda: b"role:master" in r.call("info", "replication"), "a replica that takes over",
                  lambda: "; its log ends " + replica.said())
            had = updated(r, key)
            until(lambda: updated(r, key) > had + 1000, "a learner that goes on")
            agents.end()
        r.close()
    three(check)


def leaderless():
    """If no replica replaces a killed master, each agent prints one line that names what is
    missing."""
    def check(servers, ports, c):
        key = innet_replay.shard_names("innet:replay", 3)[1]
        with Agents(servers, "--give-up", "4s") as agents:
            until(lambda: updated(c[1], key) > 500, "a learner that learns")
            servers[1].process.kill()
            for said, status in agents.ended():
                assert status == 1 and said.count("\n") == 1 and "no connection for 4 s: " in said, (said, status)
    three(check)


def np_ones(n):
    import numpy
    return numpy.ones(n)


if __name__ == "__main__":
    sys.exit(main((answers, rdb, aof, replicas, keys, restore, acl, tls, cluster, apex, agents, asks, failover, leaderless), sys.argv))
