#!/usr/bin/env python3
"""memory_per.py CHECK [RUNS [FIRST]] - test the tables of innet-memory

As memory_faults.py otherwise.  A random check names the seed it fails with.
"""
import os
import random
import select
import struct
import sys

from memory_client import Client, Error, request
from memory_saves import dump, f32
from memory_server import Server, fields, info, main, until


def limits():
    """At both bounds and one beyond them: -LIMIT with the reason and the counts."""
    with Server() as server, server.client() as c:
        c.call("per.create", "t", "capacity", 100, "ratio", 1, 4, "slack", 10)
        for i in range(10):
            assert len(c.call("per.add", "t", 1, "x")) == 1
        why = c.error("per.add", "t", 1, "x")
        assert why.startswith("LIMIT ") and "10 inserted" in why and "0 sampled" in why, why
        assert len(c.call("per.sample", "t", 1)[0]) == 1
        assert c.error("per.add", "t", 1, "x", 1, "y").startswith("LIMIT ")
        assert len(c.call("per.add", "t", 1, "x")) == 1
        assert c.error("per.add", "t", 1, "x").startswith("LIMIT ")
        assert c.error("per.sample", "t", 12).startswith("LIMIT the table holds 11 ")
        for n in (11, 11, 11):
            assert len(c.call("per.sample", "t", n)[0]) == n
        assert c.error("per.sample", "t", 11).startswith("LIMIT ")
        assert len(c.call("per.sample", "t", 10)[0]) == 10
        why = c.error("per.sample", "t", 1)
        assert why.startswith("LIMIT ") and "11 inserted" in why and "44 sampled" in why, why
        for when in (1, 50):
            why = c.error("per.sample", "t", 1, "timeout", when)
            assert why.startswith("LIMIT ") and "44 sampled" in why, why
        # within a transaction no client waits
        c.pipeline([("multi",), ("per.sample", "t", 1, "timeout", 3600000), ("ping",)])
        got = c.call("exec")
        assert str(got[0]).startswith("LIMIT ") and got[1] == b"PONG", got
        for bad in (("ratio",), ("ratio", 1), ("ratio", 2, 1), ("ratio", -1, 1), ("ratio", "x", 1),
                    ("ratio", "nan", 1), ("ratio", 1, "inf"), ("nonsense", 1, 2), ()):
            assert c.error("per.limit", "t", *bad).startswith("ERR "), bad
        assert c.call("per.limit", "t", "ratio", 0, 0) == b"OK"
        for _ in range(10):
            assert len(c.call("per.sample", "t", 11)[0]) == 11
        return why


def freed(runs=5):
    """A client that waits at a limit is answered when another client lifts it, under load."""
    with Server() as server, server.client() as c, server.client() as load:
        for turn in range(runs):
            c.call("per.create", "t", "capacity", 100, "ratio", 1, 2, "slack", 10)
            c.call("per.add", "t", *[1, "x"] * 10)
            c.pipeline([("per.sample", "t", 10)] * 2)
            parked = [server.client() for _ in range(8)]
            for k, p in enumerate(parked):
                p.send(request("per.sample", "t", 5, "timeout", 3600000) + request("echo", k))
            load.call("per.create", "other", "capacity", 1000)
            for i in range(500):        # other requests are served while those clients wait
                load.call("per.add", "other", 1, "x" * 1000)
                load.call("per.sample", "other", min(i + 1, 10))
                assert c.call("ping") == b"PONG"
            assert not select.select([p.sock for p in parked], [], [], 0)[0], "the limit does not hold"
            assert info(c, "blocked_clients") == 8
            parked.pop().close()        # one of them gives up
            until(lambda: info(c, "blocked_clients") == 7, "the end of one")
            if turn % 2:
                # ten more let two of them through: 20 + 2 * 5 <= 2 * 15
                assert len(c.call("per.add", "t", *[1, "x"] * 5)) == 5
                until(lambda: info(c, "blocked_clients") == 5, "two that are let through")
                assert fields(c.call("per.info", "t"))["sampled"] == 30
            load.send(request("per.add", "other", 1, "x" * 1000) * 200)
            assert c.call("per.limit", "t", "ratio", 0, 0) == b"OK"
            for k, p in enumerate(parked):
                got = p.reply()
                assert not isinstance(got, Error) and len(got[0]) == 5, got
                assert p.reply() == b"%d" % k, "what came behind it is lost"
                p.close()
            for _ in range(200):
                assert not isinstance(load.reply(), Error)
            assert c.call("per.drop", "t") == b"OK" and c.call("per.drop", "other") == b"OK"


def inserts():
    """Actors that are too fast wait, and each sample of the learner releases one."""
    with Server() as server, server.client() as c, server.client() as learner:
        c.call("per.create", "t", "capacity", 50, "ratio", 1, 0, "slack", 5)
        actors = [server.client() for _ in range(4)]
        for a in actors:
            a.send(request("per.add", "t", "timeout", 3600000, 1, "x") * 25)
        until(lambda: info(c, "blocked_clients") == 4, "four that are parked")
        assert fields(c.call("per.info", "t"))["inserted"] == 5
        for sampled in range(1, 96):
            assert len(learner.call("per.sample", "t", 1)[0]) == 1
            until(lambda: fields(c.call("per.info", "t"))["inserted"] == min(100, 5 + sampled), "an insert")
        for a in actors:
            ids = [a.reply() for _ in range(25)]
            assert all(not isinstance(i, Error) and len(i) == 1 for i in ids), ids
            a.close()
        c.call("per.create", "gone", "capacity", 50, "ratio", 1, 0, "slack", 1)
        c.call("per.add", "gone", 1, "x")
        c.send(request("per.add", "gone", "timeout", 3600000, 1, "x"))
        until(lambda: info(learner, "blocked_clients") == 1, "one that is parked")
        learner.call("per.drop", "gone")
        assert isinstance(c.reply(), Error), "it waits for a table that is gone"


def turns():
    """Actors that wait at a limit are answered in order of arrival."""
    with Server() as server, server.client() as c:
        c.call("per.create", "t", "capacity", 50, "ratio", 1, 0, "slack", 1)
        c.call("per.add", "t", 1, "x")
        actors = [server.client() for _ in range(4)]
        add = request("per.add", "t", "timeout", 3600000, 1, "x")
        for n, a in enumerate(actors, 1):
            a.send(add)
            until(lambda: info(c, "blocked_clients") == n, "another that is parked")
        for _ in range(10):
            for a in actors:  # an actor that was answered adds again before the next sample
                c.call("per.sample", "t", 1)
                assert len(a.reply()) == 1
                a.send(add)
                until(lambda: info(c, "blocked_clients") == 4, "one that is parked again")


def most():
    """A request with more than 131072 experiences is refused and changes nothing."""
    with Server() as server, server.client() as c:
        n = 1 << 17
        c.call("per.create", "t", "capacity", 200000)
        ids = c.call("per.add", "t", *[1, "x"] * n)
        assert len(ids) == n
        before = c.call("per.info", "t")
        for bad in (("per.sample", "t", n + 1), ("per.sample_ro", "t", n + 1), ("per.add", "t", *[1, "x"] * (n + 1)),
                    ("per.update", "t", *[ids[0], 1] * (n + 1)), ("per.remove", "t", *ids, ids[0]),
                    ("per.update", "t", "binary", bytes(8 * n + 8), bytes(4 * n + 4))):
            assert "%d experiences in one request; the limit is %d" % (n + 1, n) in c.error(*bad), bad[0]
        assert c.call("per.info", "t") == before
        assert len(c.call("per.sample", "t", n, "binary")[0]) == 8 * n
        assert c.call("per.update", "t", "binary", struct.pack("<%dQ" % n, *ids), bytes(4 * n)) == n
        assert c.call("per.remove", "t", *ids) == n


def updates():
    """PER.UPDATE with duplicate, stale and removed ids, and with invalid priorities."""
    with Server() as server, server.client() as c:
        c.call("per.create", "t", "capacity", 4, "alpha", 1)
        old = c.call("per.add", "t", 1, "a", 2, "b")
        new = c.call("per.add", "t", 3, "c", 4, "d", 5, "e", 6, "f")
        assert len(set(old + new)) == 6 and old + new == sorted(old + new)
        assert dump(c, "t") == list(zip(new, (3, 4, 5, 6)))
        assert c.call("per.update", "t", new[0], 7, new[0], 9, new[1], 1, new[0], 8) in (2, 4)
        assert dump(c, "t") == list(zip(new, (8, 1, 5, 6)))
        before = fields(c.call("per.info", "t"))
        assert c.call("per.update", "t", old[0], 9, new[3], 2, old[1], 9) == 1
        assert dump(c, "t") == list(zip(new, (8, 1, 5, 2)))
        assert fields(c.call("per.info", "t"))["stale"] == before["stale"] + 2
        assert c.call("per.remove", "t", new[1], old[0]) == 1
        assert c.call("per.update", "t", new[1], 5) == 0
        assert c.call("per.remove", "t", new[1]) == 0
        assert [i for i, _ in dump(c, "t")] == [new[0], new[2], new[3]]
        for bad in ("nan", "inf", "-1", "x", "", "1e99", "-0.5"):
            assert c.error("per.update", "t", new[0], 3, new[2], bad), bad
            assert c.error("per.add", "t", bad, "x"), bad
        for bad in ("x", "-1", "9223372036854775808", "1.5", ""):
            assert c.error("per.update", "t", bad, 3), bad
        assert dump(c, "t") == [(new[0], 8), (new[2], 5), (new[3], 2)], "a bad request changed something"
        assert c.error("per.update", "t", new[0]) and c.error("per.update", "none", new[0], 1)
        ids = struct.pack("<3Q", new[0], old[0], new[2])
        assert c.call("per.update", "t", "binary", ids, struct.pack("<3f", .5, 1, .25)) == 2
        assert dump(c, "t") == [(new[0], .5), (new[2], .25), (new[3], 2)]
        for ids, p in ((ids, b""), (ids[:-1], bytes(12)), (b"", bytes(4)), (ids, struct.pack("<3f", 1, -1, 1))):
            assert c.error("per.update", "t", "binary", ids, p)
        assert c.call("per.update", "t", new[0], 0, new[2], 0) == 2
        for _ in range(50):
            assert set(c.call("per.sample", "t", 3)[0]) == {new[3]}, "of priority 0, and drawn"
        c.call("per.update", "t", new[3], 0)
        assert isinstance(c.pipeline([("per.sample", "t", 1)])[0], (Error, list))
        top = c.call("per.add", "t", "max", "x")
        assert dict(dump(c, "t"))[top[0]] == 9, "the largest seen is 9"
        server.alive()


def pages(runs=20, first=1):
    """PER.DUMP by pages while others add: no id twice, and no id missing that existed
    throughout."""
    for seed in range(first, first + runs):
        r = random.Random(seed)
        with Server() as server, server.client() as c, server.client() as actor:
            capacity = r.choice((1, 2, 10, 100, 1000))
            c.call("per.create", "t", "capacity", capacity)
            added = []
            for _ in range(r.randrange(1, 4)):
                added += actor.call("per.add", "t", *[1, "x"] * r.randrange(1, capacity + 1))
            before, seen, start = set(added[-capacity:]), [], 0
            while start is not None:
                start, got = c.call("per.dump", "t", "from", start, "count", r.randrange(1, 1 + capacity // 3 + 1))
                seen += got[::2]
                if len(added) > 10000:
                    continue    # the dump must end while no actor adds
                if r.random() < .8:
                    added += actor.call("per.add", "t", *[1, "x"] * r.randrange(1, 3 + capacity // 20))
                if r.random() < .2:
                    gone = r.choice(added[-capacity:])
                    actor.call("per.remove", "t", gone)
                    before.discard(gone)
            assert len(set(seen)) == len(seen), "seed %d: twice" % seed
            assert seen == sorted(seen, key={x: n for n, x in enumerate(added)}.get), "seed %d: order" % seed
            stayed = before & set(added[-capacity:])
            assert stayed <= set(seen), "seed %d: %d left out" % (seed, len(stayed - set(seen)))


class Model:
    """A plain model of a table, written from the specification."""

    def __init__(self, capacity, pick):
        self.capacity, self.pick, self.highest = capacity, pick, 0
        self.ring = []          # [id, priority, blob], oldest first; None for one removed
        self.count = dict.fromkeys(("inserted", "sampled", "updated", "stale", "evicted", "removed"), 0)

    def live(self):
        return [x for x in self.ring if x[1] is not None]

    def remove(self, item):
        """Leave a hole in the place of the item; at the end of a stack the place is free
        again."""
        item[1] = None
        self.count["removed"] += 1
        while self.pick == "lifo" and self.ring and self.ring[-1][1] is None:
            self.ring.pop()

    def add(self, id_, p, blob):
        p = self.highest or 1 if p == "max" else p
        self.ring.append([id_, p, blob])
        self.highest = max(p, self.highest)
        self.count["inserted"] += 1
        if len(self.ring) > self.capacity:
            self.count["evicted"] += self.ring.pop(0)[1] is not None


def model(runs=50, first=1):
    """Random requests to a table and to a model of it give the same ids, dump, counters and
    draws."""
    for seed in range(first, first + runs):
        r = random.Random(seed)
        with Server("--seed", seed) as server, server.client() as c:
            try:
                model_run(r, c)
            except (AssertionError, Error) as e:
                where = e.__traceback__.tb_next.tb_lineno
                raise AssertionError("seed %d, line %d: %s" % (seed, where, e)) from e


def model_run(r, c):
    pick = r.choice(("per", "per", "uniform", "fifo", "lifo"))
    m = Model(r.choice((1, 2, 3, 16, 17, 100, 300)), pick)
    alpha = r.choice((0, .5, .6, 1))
    c.call("per.create", "t", "capacity", m.capacity, "alpha", alpha, "selector", pick)
    ids, number = [], 0
    for _ in range(100):
        kind = r.random()
        if kind < .4:
            batch = [(r.choice(("max", 0, 1, f32(r.random() * 10), f32(r.expovariate(.01)))), b"%d" % (number + i))
                     for i in range(r.randrange(1, 9))]
            number += len(batch)
            got = c.call("per.add", "t", *(w for one in batch for w in one))
            assert not set(got) & set(ids) and len(set(got)) == len(batch)
            for (p, blob), id_ in zip(batch, got):
                m.add(id_, p, blob)
            ids += got
        elif kind < .6 and ids:
            pairs = [(r.choice(ids[-2 * m.capacity:]), f32(r.random() * 5)) for _ in range(r.randrange(1, 6))]
            c.call("per.update", "t", *(w for one in pairs for w in one))
            at = {x[0]: x for x in m.live()}
            for id_, p in pairs:
                if id_ in at:
                    at[id_][1] = p
                    m.highest = max(m.highest, p)
        elif kind < .65 and ids:
            id_ = r.choice(ids[-m.capacity:])
            there = [x for x in m.live() if x[0] == id_]
            assert c.call("per.remove", "t", id_) == len(there)
            for x in there:
                m.remove(x)
        else:
            model_draw(r, c, m, alpha, pick)
        if r.random() < .3:
            assert dump(c, "t", r.randrange(1, 100)) == [(x[0], x[1]) for x in m.live()]
            got = fields(c.call("per.info", "t"))
            for what in ("inserted", "sampled", "removed", "evicted"):
                assert got[what] == m.count[what], (what, got[what], m.count[what])


def model_draw(r, c, m, alpha, pick):
    live, beta = {x[0]: x for x in m.live()}, r.choice((0, .4, 1))
    n = r.randrange(1, 20) if not live else r.randrange(1, min(20, len(live)) + 1)
    words = ["per.sample", "t", n, "beta", beta] + ["stratified"] * r.randrange(2)
    total = sum(x[1] ** alpha for x in live.values() if x[1] > 0)
    empty = not live or pick == "per" and total == 0
    if empty:
        assert isinstance(c.pipeline([words])[0], (Error, list))
        return
    ids, probs, weights, blobs = c.call(*words)
    m.count["sampled"] += len(ids)
    assert len(ids) == len(probs) == len(weights) == len(blobs) == n, len(ids)
    probs, weights = list(map(float, probs)), list(map(float, weights))
    raw = []
    for id_, prob, blob in zip(ids, probs, blobs):
        assert id_ in live and live[id_][2] == blob, "drawn is what is not there"
        p = live[id_][1]
        want = 1 / len(live) if pick == "uniform" else p ** alpha / total if pick == "per" else 1
        assert pick != "per" or p > 0
        assert abs(prob - want) < .02 * want + 1e-5, (prob, want, pick)
        raw.append((len(live) * prob) ** -beta)
    for w, x in zip(weights, raw):
        want = x / max(raw) if pick == "per" else 1
        assert abs(w - want) < 1e-4 * want, (w, want)
    if pick in ("fifo", "lifo"):
        order = [x[0] for x in m.live()][::1 if pick == "fifo" else -1]
        assert ids == order[:n], "%s gives others" % pick


def strata():
    """A stratified draw of N takes one experience from each of N equal parts, in order; others
    do not."""
    with Server("--seed", 3) as server, server.client() as c:
        for pick in ("per", "uniform"):
            c.call("per.create", pick, "capacity", 1000, "selector", pick)
            ids = c.call("per.add", pick, *[1, "x"] * 1000)
            slot = {id_: n for n, id_ in enumerate(ids)}
            for n in (1000, 10, 8):
                drawn = [slot[i] for i in c.call("per.sample", pick, n, "stratified")[0]]
                assert [s * n // 1000 for s in drawn] == list(range(n)), (pick, n, drawn)
            drawn = [slot[i] for i in c.call("per.sample", pick, 1000)[0]]
            assert 550 < len(set(drawn)) < 720, "%d of 1000, not 632 or so" % len(set(drawn))
        c.call("per.create", "one", "capacity", 1000, "alpha", 1)
        ids = c.call("per.add", "one", *(w for i in range(1000) for w in (999 if i == 500 else 1, "x")))
        # an id with half of all priorities
        drawn = c.call("per.sample", "one", 100, "stratified")[0]
        assert 49 <= drawn.count(ids[500]) <= 51, drawn.count(ids[500])


def binary():
    """A draw is the same for packed and for text arguments."""
    with Server("--seed", 7) as one, Server("--seed", 7) as other, one.client() as a, other.client() as b:
        for c in (a, b):
            c.call("per.create", "t", "capacity", 100)
            c.call("per.add", "t", *(w for i in range(100) for w in (i + 1, "x%d" % i)))
        ids, probs, weights, blobs = a.call("per.sample", "t", 50, "beta", .4)
        got = b.call("PER.SAMPLE", "t", 50, "Binary", "BETA", .4)
        assert list(struct.unpack("<50Q", got[0])) == ids and got[3] == blobs
        for text, packed in ((probs, got[1]), (weights, got[2])):
            for x, y in zip(text, struct.unpack("<50f", packed)):
                assert abs(float(x) - y) <= 1e-5 * y, (x, y)


def times():
    """With times 2, each experience is drawn at most twice and then removed."""
    with Server() as server, server.client() as c:
        c.call("per.create", "t", "capacity", 100, "selector", "fifo", "times", 2)
        ids = c.call("per.add", "t", *(w for i in range(30) for w in (1, "x%d" % i)))
        drawn = [c.call("per.sample", "t", 1)[0][0] for _ in range(60)]
        assert drawn == [i for i in ids for _ in range(2)], drawn
        assert dump(c, "t") == [] and fields(c.call("per.info", "t"))["worn"] == 30
        assert c.error("per.sample", "t", 1).startswith("LIMIT ")
        c.call("per.create", "u", "capacity", 100, "selector", "uniform", "times", 3)
        ids = c.call("per.add", "u", *(w for i in range(50) for w in (1, "x%d" % i)))
        drawn = []
        while dump(c, "u"):
            drawn += c.call("per.sample", "u", min(7, len(dump(c, "u"))))[0]
            assert len(drawn) < 400, "no end of it"
        assert set(map(drawn.count, ids)) <= set(range(3, 9)), "drawn too often or too seldom"


def worn():
    """After a draw removes an item, probabilities and weights are those of the remaining
    items."""
    with Server("--seed", 5) as server, server.client() as c:
        seen = {}
        for turn in range(300):
            for pick, priorities in (("uniform", (1, 1, 1, 1)), ("per", (1, 2, 4, 8))):
                c.call("per.create", "q", "capacity", 4, "selector", pick, "times", 1, "alpha", 1)
                ids = c.call("per.add", "q", *(w for p in priorities for w in (p, "x")))
                left = dict(zip(ids, priorities))
                got, chances, weights, _ = c.call("per.sample", "q", 3, "beta", 1)
                for id_, chance in zip(got, map(float, chances)):
                    want = left[id_] / sum(left.values())
                    assert abs(chance - want) < 1e-3 * want, (pick, turn, chance, want)
                    del left[id_]
                if pick == "per":
                    least = min(map(float, chances))
                    for chance, weight in zip(map(float, chances), map(float, weights)):
                        assert abs(weight - least / chance) < 1e-3, (turn, chances, weights)
                else:
                    assert set(map(float, weights)) == {1}
                c.call("per.drop", "q")


def extremes():
    """Priorities too small to change the sum are still drawn and counted; an option may occur
    only once."""
    with Server("--seed", 5) as server, server.client() as c:
        c.call("per.create", "t", "capacity", 1000, "alpha", 1)
        ids = c.call("per.add", "t", "1e-50", "x", *[0, "x"] * 9)
        assert set(c.call("per.sample", "t", 10)[0]) == {ids[0]}, "a small priority is none"
        assert fields(c.call("per.info", "t"))["raised"] < 10
        c.call("per.add", "t", *["1e-3", "x"] * 900)
        assert fields(c.call("per.info", "t"))["raised"] < 50
        c.call("per.add", "t", "1e6", "x")
        assert fields(c.call("per.info", "t"))["raised"] >= 900
        for twice in ("create u capacity 1 CAPACITY 1", "create u ratio 1 2 times 0 ratio 1 2", "sample t 1 beta 1 beta 1",
                      "sample_ro t 1 sum binary sum", "add t timeout 0 timeout 0 1 x", "dump t count 1 from 0 count 1"):
            assert c.error(*("per." + twice).split()).endswith("given twice"), twice
        assert c.call("per.create", "u", "ratio", 0, 2, "capacity", 10, "selector", "lifo") == b"OK"


def rescale():
    """The server recomputes all leaves of a large table in slices; until then draws use the old
    ones."""
    with Server("--seed", 4) as server, server.client() as c:
        n, most = 200000, 65536
        c.call("per.create", "t", "capacity", n, "alpha", 1)
        ids = [i for _ in range(20) for i in c.call("per.add", "t", *[1, "x"] * (n // 20))]
        was, requests = fields(c.call("per.info", "t")), c.call("per.update", "t", ids[7], 1e6)
        while (now := fields(c.call("per.info", "t")))["rescaling"] > 0:
            assert now["rescaling"] == n - requests * most and now["shift"] == was["shift"]
            assert now["sum"] == (n - 1) * 2**14 + 2**23 - 1, "what is too large is as large as may be"
            got = c.call("per.sample", "t", 1000, "sum")
            assert got[4][:2] == [now["sum"], now["shift"]]
            want = [(2**23 - 1 if i == ids[7] else 2**14) / now["sum"] for i in got[0]]
            assert all(abs(float(p) / w - 1) < 1e-7 for p, w in zip(got[1], want))
            c.call("per.update", "t", ids[8], 1)
            requests += 1
        assert requests == -(-n // most) and now["rescaled_most"] == most, (requests, now)
        assert (now["shift"], now["sum"]) == (3, 8 * (1000000 + n - 1)), now
        assert abs(float(dict(zip(*c.call("per.sample", "t", 99)[:2]))[ids[7]]) - 1e6 / (1e6 + n - 1)) < 1e-9


def sums():
    """SUM: a draw reports the exact sum that it was drawn from, which PER.INFO reported
    before."""
    with Server("--seed", 9) as server, server.client() as c:
        c.call("per.create", "t", "capacity", 100, "alpha", 1)
        c.call("per.add", "t", *(w for i in range(100) for w in (2 ** (i % 8), "x")))
        for scale in (1, 2**-30, 2**40):
            ids = [i for i, _ in dump(c, "t")]
            c.call("per.update", "t", *(w for k, i in enumerate(ids) for w in (i, scale * 2 ** (k % 8))))
            had = fields(c.call("per.info", "t"))
            got = c.call("per.sample", "t", 50, "sum")
            assert len(got) == 5 and got[4] == [had["sum"], had["shift"], 100], got[4]
            want = scale * sum(2 ** (k % 8) for k in range(100))
            assert got[4][0] * 2.0 ** -got[4][1] == want, (got[4], want)
            for p in map(float, got[1]):    # a leaf is a whole number
                assert abs(p * got[4][0] - round(p * got[4][0])) < 1e-3, p
        c.call("per.create", "u", "capacity", 10, "selector", "uniform", "times", 1)
        c.call("per.add", "u", *[1, "x"] * 10)
        assert [c.call("per.sample", "u", n, "sum", "binary")[4] for n in (3, 7)] == [[10, 0, 10], [7, 0, 7]]
        c.call("per.create", "f", "capacity", 4)
        c.call("per.frames", "f", 1, 1)
        c.call("per.add", "f", 1, "ab", 1, "bc")
        got = c.call("per.sample", "f", 2, "refs", "sum")
        assert len(got) == 6 and got[5][2] == 2 and set(got[4]) <= {b"a", b"b", b"c"}, got


def frames(runs=20, first=1):
    """Experiences with frames by value and by reference have the same bytes, and each frame is
    stored once."""
    for seed in range(first, first + runs):
        r = random.Random(seed)
        size, stack, n, tail = r.choice((1, 7, 84, 1000)), r.randrange(1, 6), r.randrange(1, 60), r.randrange(20)
        film = [r.randbytes(size) for _ in range(n + stack)]
        tails = [r.randbytes(tail) for _ in range(n)]
        index = [list(range(i, i + stack)) + list(range(i + 1, i + stack + 1)) for i in range(n)]
        whole = [b"".join(film[k] for k in index[i]) + tails[i] for i in range(n)]
        with Server() as server, server.client() as c:
            for table in ("value", "reference"):
                c.call("per.create", table, "capacity", 100, "selector", "uniform")
                assert c.call("per.frames", table, size, stack) == b"OK"
            ids = c.call("per.add", "value", *(w for b in whole for w in (1, b)))
            refs = [struct.pack("<%dH" % (2 * stack), *k) + t for k, t in zip(index, tails)]
            assert len(c.call("per.add", "reference", "frames", len(film), *film,
                              *(w for b in refs for w in (1, b)))) == n
            for table in ("value", "reference"):
                order = {id_: k for k, (id_, _) in enumerate(dump(c, table))}
                got = c.call("per.sample", table, n)
                for id_, b in zip(got[0], got[3]):
                    assert b == whole[order[id_]], "seed %d: other bytes by %s" % (seed, table)
                got = c.call("per.sample", table, n, "refs")
                assert len(got) == 5 and len(set(got[4])) <= len(got[4])
                for id_, b in zip(got[0], got[3]):
                    at = struct.unpack_from("<%dI" % (2 * stack), b)
                    assert b"".join(got[4][k] for k in at) + b[8 * stack:] == whole[order[id_]]
            for bad in ([1, whole[0][:2 * stack * size - 1]], ["frames", 1, film[0] + b"x", 1, refs[0]],
                        ["frames", 1, film[0], 1, struct.pack("<H", 1) * 2 * stack],
                        ["frames", 2, film[0]], ["frames", 0, 1, refs[0]], ["frames", -1, 1, refs[0]],
                        ["frames", 1, film[0], 1, b"\0"]):
                assert c.error("per.add", "value", *bad), "seed %d: %r" % (seed, bad)
            assert fields(c.call("per.info", "value"))["inserted"] == n == len(ids)
            assert c.error("per.frames", "value", size + 1, stack), "declared anew, and not empty"
            server.alive()


def shared():
    """A film of 84 x 84 by reference takes at most a fifth of the memory, and releases it."""
    film = [os.urandom(7056) for _ in range(1004)]
    with Server("--touch", "0") as server, server.client() as c:
        empty = info(c, "used_memory")
        c.call("per.create", "t", "capacity", 1000)
        c.call("per.frames", "t", 7056, 4)
        for i in range(0, 1000, 200):
            words = []
            for k in range(200):
                words += [1, struct.pack("<8H", *range(k, k + 4), *range(k + 1, k + 5)) + b"tail"]
            c.call("per.add", "t", "frames", 204, *film[i:i + 204], *words)
        used = info(c, "used_memory") - empty
        assert used < 1000 * 56452 / 5, "%d bytes for 1000 experiences" % used
        c.call("per.drop", "t")
        until(lambda: info(c, "used_memory") - empty < 300000, "its memory")


def likely(r, ids, vocabulary):
    """Return a request that is valid or almost valid."""
    f = b"\0\0" * 4 + b"tail"
    name, words = r.choice((
        ("add", ["t", 1, "x"]), ("add", ["u", "max", "x", .5, "y"]), ("add", ["f", 1, b"abcdefgh"]),
        ("add", ["f", "frames", 1, "ab", 1, f]), ("add", ["f", "timeout", 1, "frames", 2, "ab", "cd", 1, f, 2, f]),
        ("sample", ["t", 2]), ("sample", ["u", 1, "binary"]), ("sample", ["f", 1, "refs", "beta", .4]),
        ("sample", ["t", 3, "timeout", 1, "stratified"]), ("sample", ["f", 1, "binary", "refs"]),
        ("update", ["t", r.choice(ids), 2]), ("update", ["t", "binary", bytes(8), bytes(4)]),
        ("remove", ["t", r.choice(ids)]), ("info", ["t"]), ("limit", ["t", "ratio", 0, 0]),
        ("limit", ["u", "ratio", 1, 2, "slack", 3]), ("dump", ["t"]), ("dump", ["f", "from", 0, "count", 3]),
        ("frames", ["f", 2, 2]), ("create", ["u", "capacity", 5, "selector", "lifo"]), ("drop", ["u"])))
    while r.random() < .4:
        at = r.randrange(len(words) + 1)
        words[at:at + r.randrange(2)] = [r.choice(vocabulary + ids)] * r.randrange(2)
    if "timeout" in words:      # none of these may be long
        words = [1 if isinstance(w, (int, float)) and w >= 100 else w for w in words]
    return ("per." + name, *words)


def nonsense(runs=3000, first=1):
    """Random words after PER.* get an error or a valid reply, and the server continues."""
    r = random.Random(first)
    vocabulary = ["capacity", "alpha", "selector", "per", "uniform", "fifo", "lifo", "times", "ratio", "slack", "timeout",
                  "frames", "beta", "stratified", "refs", "binary", "sum", "max", "from", "count", "t", "f", "u", "", "x",
                  0, 1, 2, 3, 8, 10, 100, 65536, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, .5, "nan", "inf", "-inf", "1e308", "1e-308",
                  "0x10", " 1", b"\0" * 16, b"\xff" * 16, bytes(24), b"\0\0" * 4 + b"t", "a" * 5000]
    with Server("--memory", "200MB") as server:
        errors = 0
        for turn in range(0, runs, 100):
            with server.client() as c:
                setup = [("per.drop", "t"), ("per.drop", "u"), ("per.drop", "f"),
                         ("per.create", "t", "capacity", 10), ("per.create", "f", "capacity", 10),
                         ("per.frames", "f", 2, 2), ("per.create", "u", "capacity", 5, "selector", "uniform", "times", 1)]
                c.pipeline(setup)
                ids = [i for t in "tu" for i in c.call("per.add", t, 1, "x", 2, "y")]
                many = [likely(r, ids, vocabulary) for _ in range(100)]
                for words in many:
                    try:
                        got = c.pipeline([words])[0]
                    except (EOFError, ConnectionError, TimeoutError) as e:
                        raise AssertionError("%r: %s: %s" % (words, e, server.said())) from e
                    errors += isinstance(got, Error)
                    assert not isinstance(got, Error) or str(got).split()[0] in ("ERR", "LIMIT", "OOM"), (words, got)
        server.alive()
        return "%d requests, %d errors" % (runs, errors)


def room():
    """A table at --memory gets -OOM and keeps its contents; tables of impossible size are
    refused."""
    for words, size in (((), 100000), ((), 100), (("frames", 1, b"f" * 1000), 0)):
        with Server("--memory", "32MB", "--touch", "0") as server, server.client() as c:
            c.call("per.create", "t", "capacity", 100000, "selector", "uniform")
            if words:
                c.call("per.frames", "t", 1000, 1)
            ids, text = [], None
            while text is None:
                blob = b"%08d" % len(ids) + b"x" * size
                blob = b"\0" * 4 + blob if words else blob
                got = c.pipeline([("per.add", "t", *words, 1, blob)])[0]
                if isinstance(got, Error):
                    text = str(got)
                else:
                    ids += got
                assert len(ids) <= 100000
                if len(ids) == 100000:
                    break
            assert len(ids) == 100000 or text.startswith("OOM "), text
            assert [i for i, _ in dump(c, "t")] == ids, "items are lost"
            at = {id_: n for n, id_ in enumerate(ids)}
            got = c.call("per.sample", "t", 50)
            for id_, blob in zip(got[0], got[3]):
                assert int(blob[-size - 8:][:8]) == at[id_]
            gone = c.call("per.remove", "t", *ids[:len(ids) // 2])
            assert gone == len(ids) // 2
            assert c.call("per.add", "t", 1, b"f" * 2000 + b"x") if words else c.call("per.add", "t", 1, "x")
            for n in (0, -1, 2**31 - 1, 2**31, 2**32, 2**40, 2**63, "x", ""):
                assert c.error("per.create", "u", "capacity", n), n
            used = server.memory("VmHWM")
            assert used < (32 + (600 if server.sanitized() else 24)) * 2**20, "%d MB in memory" % (used / 2**20)
            server.alive()


if __name__ == "__main__":
    sys.exit(main((limits, freed, inserts, turns, most, updates, pages, model, strata, binary, times, worn, extremes, rescale, sums, frames, shared, room, nonsense), sys.argv))
