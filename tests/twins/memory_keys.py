#!/usr/bin/env python3
"""memory_keys.py CHECK - test tables as keys, and streams of frames

It works like memory_faults.py in all other respects.
"""
import os
import random
import struct
import sys
import time

from memory_saves import dump
from memory_server import Server, fields, info, main


def keys():
    """Tables are keys: commands that list keys include tables, and commands that remove keys
    remove them."""
    with Server("--capacity", 10) as server, server.client() as c, server.client() as other:
        wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
        c.call("per.create", "t", "capacity", 10)
        c.call("set", "s", 1)
        assert sorted(c.call("per.list")) == [b"replay", b"t"]
        assert sorted(c.call("keys", "*")) == [b"replay", b"s", b"t"] and c.call("dbsize") == 3
        assert sorted(c.call("scan", 0, "type", "innet-per")[1]) == [b"replay", b"t"]
        assert c.call("type", "t") == b"innet-per" and c.call("exists", "t", "replay", "s") == 3
        for words in (("get", "t"), ("getv", "t", 0), ("rpush", "t", 1), ("llen", "t"), ("incr", "t")):
            assert c.error(*words) == wrong, words
        for words in (("per.add", "s", 1, "x"), ("per.info", "s"), ("per.create", "s", "capacity", 1), ("per.drop", "s")):
            assert c.error(*words) == wrong, words
        assert c.call("mget", "t", "s") == [None, b"1"]
        for change in (("per.add", "t", 1, "x"), ("per.update", "t", c.call("per.add", "t", 1, "y")[0], 2),
                       ("per.limit", "t", "ratio", 0, 0), ("per.drop", "replay"), ("rename", "t", "replay")):
            name = "replay" if "replay" == change[1] else "t"
            c.call("watch", name)
            other.call(*change)
            c.call("multi")
            c.call("ping")
            assert c.call("exec") is None, "%r is not seen" % (change,)
        assert c.call("per.list") == [b"replay"] and fields(c.call("per.info", "replay"))["have"] == 2
        assert c.error("per.info", "t").startswith("ERR no table 't'")
        assert c.error("rename", "replay", "x" * 256).startswith("ERR a table's name is 1 to 255 bytes")
        assert c.call("set", "replay", "over") == b"OK" and c.call("per.list") == []
        for gone in (("del", "u"), ("pexpire", "u", 0), ("flushall",), ("per.drop", "u")):
            c.call("per.create", "u", "capacity", 10)
            c.call("per.add", "u", 1, "x" * 100000)
            c.call(*gone)
            assert c.call("exists", "u") == 0 and c.call("per.list") == [], gone
        c.call("per.create", "u", "capacity", 10)
        used = info(c, "used_memory")
        c.call("per.drop", "u")
        assert info(c, "used_memory") < used


def scan():
    """SCAN visits all keys that exist throughout, while other keys come and go."""
    r = random.Random(7)
    with Server() as server, server.client() as c:
        for i in range(300):
            c.call("set", "stays:%d" % i, i)
        for _ in range(10):
            cursor, seen, n = 0, set(), 0
            while n == 0 or int(cursor) != 0:
                cursor, names = c.call("scan", cursor, "count", r.randrange(1, 30), "match", "stays:*")
                seen.update(names)
                n += 1
                goes = ["goes:%d" % r.randrange(100) for _ in range(80)]
                c.pipeline([(("set", k, 1), ("del", k), ("rename", k, goes[0]))[r.randrange(3)] for k in goes])
            assert len(seen) == 300, len(seen)


def streams():
    """Frames of actors that add in turns are stored once, as if each actor had a table of its
    own."""
    size, stack, n = 100, 4, 200
    for by_reference in (False, True):
        with Server() as server, server.client() as c:
            c.call("per.create", "t", "capacity", 10000)
            c.call("per.frames", "t", size, stack)
            used = info(c, "used_memory")
            actors = [(server.client(), [os.urandom(size) for _ in range(n + stack)]) for _ in range(5)]
            for at in range(0, n, 10):
                for actor, film in actors:
                    words = ["frames", 10 + stack, *film[at:at + 10 + stack]] if by_reference else []
                    for i in range(at, at + 10):
                        k = [*range(i, i + stack), *range(i + 1, i + stack + 1)]
                        words += [1, struct.pack("<8H", *(j - at for j in k)) if by_reference else b"".join(film[j] for j in k)]
                    actor.call("per.add", "t", *words)
            frames = fields(c.call("per.info", "t"))["frames"]
            assert frames == 5 * (n + stack), "%d frames for %d" % (frames, 5 * (n + stack))
            c.call("per.remove", "t", *(i for i, _ in dump(c, "t")))
            assert fields(c.call("per.info", "t"))["frames"] == 0
            for actor, film in actors:      # the stream's last frames are gone
                actor.call("per.add", "t", *(["frames", stack + 1, *film[:stack + 1], 1, struct.pack("<8H", 0, 1, 2, 3, 1, 2, 3, 4)]
                                             if by_reference else [1, b"".join(film[:stack] + film[1:stack + 1])]))
            assert fields(c.call("per.info", "t"))["frames"] == 5 * (stack + 1)
            for _ in range(100):            # more streams than the server keeps
                with server.client() as other:
                    other.call("per.add", "t", 1, os.urandom(2 * stack * size))
            c.call("per.drop", "t")
            for _ in range(500):            # memory is released in slices, and clients disconnect
                if (now := info(c, "used_memory")) <= used + 100000:
                    break
                time.sleep(0.01)
            assert now <= used + 100000, "%d bytes are used, %d were" % (now, used)


if __name__ == "__main__":
    sys.exit(main((keys, scan, streams), sys.argv))
