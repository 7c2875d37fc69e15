#!/usr/bin/env python3
"""replay_client.py CHECK [RUNS] - test innet_replay.py, like memory_per.py"""
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/python"))
import innet_replay
from innet_replay import Error, Memory
from memory_server import Server, main, until

KINDS = {"obs": ("f4", (4,)), "action": "i8", "reward": "f8", "flags": ("u1", (3,)), "name": "S5"}


def random_rows(rng, n, kinds):
    out = {}
    for name, kind in kinds.items():
        base, shape = (kind, ()) if isinstance(kind, str) else kind
        v = rng.integers(0, 200, (n,) + tuple(shape))
        out[name] = v.astype("S5") if base == "S5" else v.astype(base)
    return out


def arrays(runs=4):
    """A draw returns experiences as they were added: types, shapes, sizes, one and many;
    updates by id work."""
    rng = np.random.default_rng(1)
    wide = {"frame": ("f4", (70, 80)), "action": "i4"}          # larger than the part that is read at once
    for kinds in [KINDS, {"x": "u1"}, {"x": ("f4", (800,))}, wide, {"wide": ("u1", (20000,))}] * runs:
        with Server() as server, Memory(server.addr, fields=kinds, capacity=300, alpha=1) as m:
            rows = random_rows(rng, 200, kinds)
            ids = m.add(**{k: v[:199] for k, v in rows.items()})
            last = m.add(priority=2, **{k: v[199] for k, v in rows.items()})
            assert len(last) == 1 and len(m) == 200
            where = {int(i): k for k, i in enumerate(np.concatenate([ids, last])["id"])}
            for n in (1, 7, 64):
                batch = m.sample(n)
                at = [where[int(i)] for i in batch.ids["id"]]
                assert len(batch.weights) == len(batch.probs) == n and batch.weights.max() == 1
                for name, v in rows.items():
                    assert batch[name].dtype == v.dtype and batch[name].shape == (n,) + v.shape[1:], name
                    assert (batch[name] == v[at]).all() and (getattr(batch, name) == v[at]).all(), name
            assert m.update(batch.ids, np.zeros(n)) == n
            assert not set(m.sample(50).ids["id"]) & set(batch.ids["id"])
            assert len(m.sample(5, counted=False, stratified=True).ids) == 5
            for bad in ({}, {"nonsense": 1}, {k: np.zeros((2, 2, 2, 2)) for k in kinds}):
                try:
                    m.add(**bad)
                    raise AssertionError("%r was added" % bad)
                except ValueError:
                    pass
            try:
                m.sample(100000)
                raise AssertionError("more than there are")
            except Error as e:
                assert str(e).startswith("LIMIT")
            assert len(m.sample(3).ids) == 3, "the connection is out of step"


def frames():
    """Stacks of frames by reference give the same bytes, and each frame is sent and stored
    once."""
    rng = np.random.default_rng(2)
    film = rng.integers(0, 255, (64, 6, 7), "u1")
    states = np.stack([film[i:i + 4] for i in range(60)])
    after = np.stack([film[i + 1:i + 5] for i in range(60)])
    with Server() as one, Server() as two:
        for servers in (one.addr, one.addr + "," + two.addr):
            with Memory(servers, table=servers[-9:].replace(":", ""), fields={"t": "i4"}, capacity=200,
                        frames=("u1", (6, 7)), stack=4) as m:
                m.add(t=range(30), states=states[:30], next_states=after[:30])
                m.add(t=range(30, 60), states=states[30:], next_states=after[30:])
                m.add(t=0, states=states[0], next_states=after[0], shard=0)
                b = m.sample(50)
                assert (b.states == states[b.t]).all() and (b.next_states == after[b.t]).all()
                # draw all experiences: no server is asked for more than it holds
                assert all(len(m.sample(61).ids) == 61 for _ in range(9))
                # 30 of the 34 in a stretch, and then an experience of 5 more
                stored = [s.call("PER.INFO", s.table) for s in m.shards]
                count = sum(int(r[r.index(b"frames") + 1]) for r in stored)
                assert count <= 34 + 34 + 5, count


def steps(runs=200):
    """n-step returns and sequences agree with a plain loop."""
    rng = np.random.default_rng(3)
    kinds = {"obs": "i8", "action": "i8", "reward": "f8", "next_obs": "i8", "discount": "f8"}
    with Server() as server:
        for run in range(runs):
            n, gamma, length = int(rng.integers(1, 5)), 0.9, int(rng.integers(1, 9))
            done = bool(rng.integers(2))
            with Memory(server.addr, table="t%d" % run, fields=kinds, capacity=100, selector="fifo") as m:
                w = m.writer(n_step=n, gamma=gamma, batch=int(rng.integers(1, 4)))
                reward = rng.random(length)
                for t in range(length):
                    end = t == length - 1
                    w.append(end and done, truncated=end and not done, obs=t, action=t, reward=reward[t], next_obs=t + 1)
                b = m.sample(length)
                for t in range(length):
                    k = min(n, length - t)
                    assert b.obs[t] == t and b.next_obs[t] == t + k
                    assert abs(b.reward[t] - sum(gamma ** i * reward[t + i] for i in range(k))) < 1e-12
                    # if the episode ends within the n steps, later rewards do not count
                    want = 0 if done and t + k == length else gamma ** k
                    assert abs(b.discount[t] - want) < 1e-12, (t, k, length, done, b.discount[t])
                m.drop()
        for length, begins in ((17, (0, 3, 6, 9, 12)), (19, (0, 3, 6, 9, 12, 14)), (5, (0,)), (6, (0, 1)), (4, ())):
            with Memory(server.addr, table="s", fields={"x": ("i8", (5,))}, capacity=100, selector="fifo") as m:
                w = m.writer(sequence=5, overlap=2)
                for t in range(length):
                    w.append(t == length - 1, x=t)
                assert len(m) == len(begins) and w.short == (length < 5)
                if begins:
                    assert [list(x) for x in m.sample(len(m)).x] == [list(range(i, i + 5)) for i in begins]
                m.drop()
        film = np.arange(40, dtype="u1").reshape(10, 4)
        with Memory(server.addr, table="f", fields={"reward": "f8", "next_lives": "i8"}, frames=("u1", (4,)), stack=2,
                    capacity=100, selector="fifo") as m:
            w = m.writer(n_step=3, gamma=0.5)
            for t in range(6):
                w.append(False, states=film[t:t + 2], next_states=film[t + 1:t + 3], reward=1, next_lives=t)
            b = m.sample(4)
            assert (b.states[:, 0] == film[:4]).all() and (b.next_states[:, 0] == film[3:7]).all()
            assert (b.next_lives == [2, 3, 4, 5]).all() and (b.reward == 1.75).all()
            refused(ValueError, "a step must have", w.append, False, next_lives=1)
        refusals(server)


def union(runs=400):
    """Draws from three servers are proportional over all of them, while priorities change."""
    rng = np.random.default_rng(4)
    with Server("--seed", 1) as a, Server("--seed", 2) as b, Server("--seed", 3) as c:
        with Memory(",".join((a.addr, b.addr, c.addr)), fields={"k": "i8"}, capacity=3000, alpha=1, seed=5) as m:
            p = (rng.exponential(1, 600) + 0.05).astype("f4").astype("f8")
            home = np.repeat([0, 1, 2], [100, 200, 300])
            ids = np.concatenate([m.add(k=np.flatnonzero(home == s), priority=p[home == s], shard=s) for s in range(3)])
            seen, due, told_all, beta = np.zeros(600), np.zeros(600), np.zeros(600), 0.5
            for run in range(runs):
                # another learner changes some priorities, so the last known sums are old
                move = rng.choice(600, 30, replace=False)
                p[move] = (p[move] * rng.uniform(0.8, 1.25, 30)).astype("f4")
                m.update(ids[move], p[move])
                batch = m.sample(50, beta=beta)
                share = np.bincount(batch.ids["shard"], minlength=3) / 50
                told = share[home] * p / np.array([p[home == s].sum() for s in range(3)])[home]
                assert np.allclose(batch.probs, told[batch.k], rtol=2e-3), "P is not what was drawn by"
                w = (600 * batch.probs.astype("f8")) ** -beta
                assert np.allclose(batch.weights, w / w.max(), rtol=1e-4)
                seen += np.bincount(batch.k, minlength=600)
                due += 50 * p / p.sum()
                told_all += 50 * told
            for what, want in (("the union", due), ("what was told", told_all)):
                chi = ((seen - want) ** 2 / want).sum()
                assert chi < 599 + 4.5 * np.sqrt(2 * 599), "%s: chi-squared %.1f of 599" % (what, chi)
    return "chi-squared %.1f of 599" % ((seen - due) ** 2 / due).sum()


def ahead():
    """A thread draws in advance; its errors are raised here and end it."""
    with Server() as server, Memory(server.addr, fields={"x": "i8"}, capacity=100) as m:
        m.add(x=range(50))
        with m.prefetch(8, ahead=3) as batches:
            for n, b in zip(range(20), batches):
                assert len(b.x) == 8
        assert threading.active_count() == 1
        m.drop()
        try:
            with m.prefetch(8) as batches:
                next(batches)
            raise AssertionError("drawn from nothing")
        except Error as e:
            assert "no table" in str(e)
        assert threading.active_count() == 1


class Senders:
    """Two servers that redirect clients to each other: with MOVED, or the first one with
    ASK."""

    def __init__(self, asks=False):
        self.asked, self.socks = 0, [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.addr = ["127.0.0.1:%d" % s.getsockname()[1] for s in self.socks]
        for k in range(2):
            word = "ASK" if asks and k == 0 else "MOVED"
            threading.Thread(target=self.accept, args=(k, b"-%s 1584 %s\r\n" % (word.encode(), self.addr[1 - k].encode())),
                             daemon=True).start()

    def accept(self, k, said):
        while True:
            try:
                c = self.socks[k].accept()[0]
            except OSError:
                return
            threading.Thread(target=self.answer, args=(c, said), daemon=True).start()

    def answer(self, c, said):
        with c:
            while True:
                try:
                    words = c.recv(65536)
                    for word in re.findall(rb"(?:^|\n)\*\d+\r\n\$\d+\r\n(\w+)", words):
                        self.asked += word not in (b"ASKING", b"PING")
                        c.sendall({b"ASKING": b"+OK\r\n", b"PING": b"+PONG\r\n"}.get(word, said))
                except OSError:
                    return
                if words == b"":
                    return

    def close(self):
        for s in self.socks:
            s.shutdown(socket.SHUT_RDWR)
            s.close()


def senders():
    """If servers disagree about the owner of a slot, the client retries with pauses until its
    wait ends."""
    for asks in False, True:
        s = Senders(asks)
        try:
            Memory(s.addr, cluster=True, wait=1, capacity=9)
            raise AssertionError("somebody had it")
        except Error as e:
            assert "MOVED 1584" in str(e), e
        assert 3 < s.asked < 40, s.asked
        s.close()
        s = Senders(asks)
        with subprocess.Popen(["innet-agent", "--role", "actor", "--replay-memory", s.addr[0], "-q"]) as agent:
            until(lambda: s.asked > 3, "an actor that asks both")
            had = s.asked
            time.sleep(1)
            agent.terminate()
        assert s.asked - had < 100, s.asked - had
        s.close()


class Resp3:
    """A client that answers like an older redis-py with RESP3: a map is a dictionary."""

    def __init__(self, client):
        self.client = client

    def execute_command(self, *words):
        got = self.client.execute_command(*words)
        if words[0] in (b"PER.INFO", "PER.INFO") and isinstance(got, list):
            got = dict(zip(got[::2], got[1::2]))
        return got


def redis_py():
    """The client accepts a client of redis-py instead of an address, with either protocol."""
    import redis
    for wrap in (lambda c: c, Resp3):
        redis_py_once(lambda **at: wrap(redis.Redis(**at)))
    refused(ValueError, "decode_responses", len, Memory(redis.Redis(decode_responses=True)))


def redis_py_once(client):
    with Server() as server:
        host, port = server.addr.split(":")
        with Memory(client(host=host, port=int(port)), fields=KINDS, capacity=100) as m:
            rows = random_rows(np.random.default_rng(6), 40, KINDS)
            m.add(**rows)
            b = m.sample(20)
            for name in KINDS:
                assert b[name].dtype == rows[name].dtype
            assert set(map(tuple, b.obs)) <= set(map(tuple, rows["obs"]))
            assert m.update(b.ids, np.ones(20)) == 20
            m.put("params", b"abc")
            assert m.get("params") == b"abc" and m.get("none") is None
            try:
                m.sample(1000)
                raise AssertionError("more than there are")
            except Error as e:
                assert str(e).startswith("LIMIT"), e


def refusals(server):
    """A writer whose adds are refused continues, and sends them later."""
    kinds = {"x": "i8", "reward": "f8", "discount": "f8"}
    with Memory(server.addr, table="r", fields=kinds, capacity=100, selector="fifo") as m:
        for n in (1, 3):
            w = m.writer(n_step=n, gamma=0.5)
            m.shards[0].call("PER.LIMIT", "r", "ratio", 100, 0, "slack", 0)
            for t in range(6):
                if t == 4:
                    m.shards[0].call("PER.LIMIT", "r", "ratio", 0, 0)
                try:
                    w.append(t == 5, x=t, reward=1.0)
                    assert t >= 4 or t < n - 1, t
                except Error:
                    assert n - 1 <= t < 4, t
            b = m.sample(len(m))
            assert list(b.x) == list(range(6)), b.x
            assert list(b.reward) == [sum(0.5 ** i for i in range(min(n, 6 - t))) for t in range(6)], b.reward
            refused(ValueError, "a step must have", w.append, False, x=1)
            refused(ValueError, "inhomogeneous", w.append, True, x=[1, [2]], reward=1.0)
            w.append(True, x=9, reward=0.0)
            m.drop()
            m.create(100, selector="fifo")


class Buffer:
    """The calls of torchrl's ReplayBuffer to its sampler, with a storage of one array and a
    round-robin writer."""

    def __init__(self, capacity, sampler):
        self.storage, self.sampler, self.cursor = np.full(capacity, -1), sampler, 0

    def extend(self, data):
        index = (self.cursor + np.arange(len(data))) % len(self.storage)
        self.cursor = (self.cursor + len(data)) % len(self.storage)
        self.storage[index] = data
        self.sampler.extend(index)
        return index

    def sample(self, n):
        index, info = self.sampler.sample(self.storage, n)
        return self.storage[index], dict(info, index=index)


def torchrl():
    """In the place of torchrl's prioritized sampler: experiences are drawn by their given
    priorities."""
    with Server("--seed", 1) as a, Server("--seed", 2) as b:
        for servers in (a.addr, a.addr + "," + b.addr):
            table = "t%d" % len(servers)
            rb = Buffer(100, innet_replay.Sampler(servers, 100, 1.0, 0.5, table=table, seed=7))
            rb.sampler.update_priority([3], 5)      # nothing is stored yet
            refused(ValueError, "101 places", rb.sampler.extend, np.arange(101))
            rb.extend(np.arange(60))
            rb.extend(np.arange(60, 150))       # 50 of the places are written again
            held = set(range(50, 150))
            seen = np.concatenate([rb.sample(90)[0] for _ in range(40)])
            assert set(seen) == held, "what was written over is drawn, or something is not"
            index = np.arange(100)
            rb.sampler.update_priority(index, np.where(index < 50, 3.0, 1.0))
            seen = np.concatenate([rb.sample(90)[1]["index"] for _ in range(100)])
            share = (seen < 50).mean()
            assert abs(share - 0.75) < 4.5 * np.sqrt(0.75 * 0.25 / len(seen)) + 1e-3, share
            _, info = rb.sample(90)
            index, w = info["index"], info["_weight"]
            for mine in [index % 2 == 0, index % 2 == 1] if "," in servers else [index >= 0]:
                # with two tables, also return how many were drawn from each
                due = np.where(index[mine] < 50, 3 ** -0.5, 1)
                assert np.allclose(w[mine] / w[mine].max(), due, rtol=1e-3)
            rb.sampler.update_priority(info["index"][:1], 9.0)
            rb.sampler.mark_update(info["index"][:1])
            assert rb.sampler.default_priority == 9 + 1e-8
            refused(ValueError, "in turn", rb.sampler.extend, [7])
            state = rb.sampler.state_dict()
            again = Buffer(100, innet_replay.Sampler(servers, 100, alpha=1, table=table))
            refused(ValueError, "places of an earlier run", again.sample, 1)
            refused(ValueError, "places of an earlier run", again.extend, np.arange(1))
            again.sampler.load_state_dict(state)
            again.sampler.update_priority([0], 0)
            assert len(again.sample(50)[0]) == 50
            rb.sampler._empty()
            refused(Error, "LIMIT", rb.sample, 1)
            # one of two tables has room for one experience more than it has places
            odd = Buffer(101, innet_replay.Sampler(servers, 101, alpha=1, table="o" + table, seed=8))
            odd.extend(np.arange(101))
            odd.extend(np.arange(2))
            seen = np.bincount(np.concatenate([odd.sample(90)[1]["index"] for _ in range(220)]), minlength=101)
            assert seen[:2].max() < 300, "of 196 that were due: %s" % seen[:2]
            anew = Buffer(100, innet_replay.Sampler(servers, 100, alpha=1, table=table, clear=True))
            anew.extend(np.arange(100))
            assert len(anew.sample(90)[0]) == 90
            refused(ValueError, "one dimension", rb.sampler.update_priority, ([1], [2]), 1)


def refused(kind, word, what, *a, **k):
    try:
        got = what(*a, **k)
    except kind as e:
        assert word in str(e), "%r does not say %r" % (str(e), word)
        return
    raise AssertionError("%s was not refused: %r" % (word, got))


def trouble():
    """One of two servers refuses, stops or disappears: no answer of the other is mistaken for a
    later one."""
    for wrap in (lambda addr: addr, redis_of):
        with Server("--seed", 1) as a, Server("--seed", 2) as b:
            with Memory([wrap(a.addr), wrap(b.addr)], fields={"k": "i8"}, capacity=100, alpha=1, seed=1) as m:
                ids = np.concatenate([m.add(k=range(20), shard=0), m.add(k=range(100, 120), shard=1)])

                def right():
                    for n in (9, 10, 11):
                        b = m.sample(n)
                        assert len(b.k) == len(b.weights) == n and ((b.k >= 100) == (b.ids["shard"] == 1)).all()
                    assert len(m) == 40 and m.update(b.ids, np.ones(n)) == n

                right()
                refused(Error, "not a finite", m.update, ids[[0, 20]], [float("nan"), 1])
                right()
                if isinstance(m.shards[0].addr, str):
                    a.process.send_signal(signal.SIGSTOP)
                    m.wait = 0.5
                    m.shards[0].link.sock.settimeout(m.wait)
                    refused(OSError, "", m.sample, 10)
                    refused(OSError, "", m.update, ids[[0, 20]], [1, 1])
                    a.process.send_signal(signal.SIGCONT)
                    m.wait = 60
                    m.close()
                    right()
                with Memory(wrap(a.addr), fields={"k": "i8"}) as other:
                    other.drop()
                refused(Error, "no table", len, m)
                refused(Error, "no table", m.sample, 10)
                assert len(m.add(k=[107, 108, 109], shard=1)) == 3
                m.create(100, 1)
                m.add(k=range(17), shard=0)
                right()


def redis_of(addr):
    import redis
    host, port = addr.split(":")
    return redis.Redis(host=host, port=int(port))


def misfits():
    """Values that do not fit raise an error, and the connection remains usable."""
    sizes = {"a": ("f4", (4,)), "b": ("u1", (20000,))}
    with Server() as server:
        for name, kind in sizes.items():
            with Memory(server.addr, table=name, fields={"x": kind}, capacity=50) as m:
                m.add(x=np.ones((20,) + kind[1]))
            for other in ("f4", (8,)), ("u1", (15,)), ("u1", (19999,)), ("u1", (20001,)):
                with Memory(server.addr, table=name, fields={"x": other}, wait=5) as m:
                    for _ in range(2):
                        refused(Error, "but the fields have %d" % np.dtype(other).itemsize, m.sample, 10)
                        assert len(m) == 20
            m = Memory(server.addr, table=name)
            m.shards[0].call("PER.ADD", name, 1, b"odd")
            with Memory(server.addr, table=name, fields={"x": kind}, wait=2) as m:
                # a draw eventually includes one of another size, and the next draw uses a new
                # connection
                try:
                    while True:
                        m.sample(20)
                except (Error, OSError):
                    assert len(m) == 21
        one = Memory(server.addr, table="one", fields={"k": "i8"}, capacity=50, alpha=1)
        ids = one.add(k=range(9))
        assert one.update(ids["id"], np.ones(9)) == 9 and one.update([tuple(i) for i in ids], np.ones(9)) == 9
        assert one.update(ids, [1e-50] * 9) == 9 and len(one.sample(4).k) == 4, "small is not 0"
        refused(ValueError, "shard 7", one.update, np.array([(7, 1)], innet_replay.ID), [1.0])
        refused(ValueError, "ids are", one.update, [1.5], [1.0])
        refused(ValueError, "shard -1", one.add, k=1, shard=-1)
        refused(ValueError, "one or more", one.sample, 0)
        refused(ValueError, "does not hold", Memory(server.addr, table="u", fields={"k": "u1"}, capacity=9).add, k=300)
        refused(ValueError, "does not hold", one.add, k=np.array([np.nan]))
        refused(ValueError, "neither", one.add, k=1, states=np.zeros(4))
        two = Memory(server.addr + "," + server.addr, table="one", fields={"k": "i8"})
        refused(ValueError, "ids are", two.update, ids["id"], np.ones(9))
        for name in "ids", "priority", "states":
            refused(ValueError, name, Memory, server.addr, fields={name: "i8"})
        for how, word in ((dict(selector="uniform"), "selector is per and not uniform"), (dict(alpha=0.5), "alpha is 1"),
                          (dict(capacity=60), "capacity is 50 and not 60"), (dict(times=3), "times is 0 and not 3"),
                          (dict(ratio=(1, 2)), "ratio_lo")):
            refused(ValueError, word, Memory, server.addr, table="one", **{"capacity": 50, "alpha": 1, **how})
        refused(ValueError, "belong together", Memory, server.addr, stack=4)
        for at in None, []:
            refused(ValueError, "servers are", Memory, at)
        for at in "", "localhost", "h:x", "127.0.0.1:99999":
            refused(ValueError, "an address is", len, Memory(at))


def others():
    """Without priorities, weights are 1, from two tables as from one."""
    with Server() as a, Server() as b:
        for selector in "uniform", "fifo", "lifo":
            m = Memory(a.addr + "," + b.addr, table=selector, fields={"k": "i8"}, capacity=200, selector=selector, seed=3)
            m.add(k=range(30), shard=0)
            m.add(k=range(100, 190), shard=1)
            assert all((m.sample(10, beta=1).weights == 1).all() for _ in range(5))


if __name__ == "__main__":
    sys.exit(main((arrays, frames, steps, union, ahead, senders, redis_py, torchrl, trouble, misfits, others), sys.argv))
