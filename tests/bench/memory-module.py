#!/usr/bin/env python3
"""memory-module.py [TURNS] - innet_per.so beside innet-memory, and innet_replay.py beside redis-py

MEMORY_MODULE is the module's path.  Requests of both servers in turns, over
loopback; of each the least time in ms, as the machine has other work.
"""
import os
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../twins"), os.path.join(here, "../../share/python")]
import numpy as np
import innet_replay
import memory_server
from memory_client import request
from memory_module import Redis, free_ports


def once(client, data, replies=1):
    start = time.perf_counter()
    client.sock.sendall(data)
    left = replies
    while left:             # the length of the answer is known: only bytes count
        left -= client.sock.recv_into(client.room, min(left, len(client.room)))
    return 1000 * (time.perf_counter() - start)


def size_of(client, data):
    """Of the answer to a request that has the same length each time."""
    client.send(data)
    n, at = 0, [client.reply()]
    while at:
        x = at.pop()
        if isinstance(x, list):
            n += len("*%d\r\n" % len(x))
            at += x
        elif isinstance(x, int):
            n += len(":%d\r\n" % x)
        else:
            n += len("$%d\r\n" % len(x)) + len(x) + 2
    return n


def pairs(turns):
    module, memory_server.MODULE = memory_server.MODULE, None
    with memory_server.Server() as a, Redis("bench", port=free_ports(1)[0]) as b:
        clients = [a.client(), b.client()]
        for c in clients:
            c.room = bytearray(1 << 20)
        for size, n, batch in ((44, 200, 512), (3200, 200, 512), (56000, 20, 64)):
            for c in clients:
                c.call("per.create", "t", "capacity", 4000 if size < 50000 else 200, "selector", "per")
                c.call("per.limit", "t", "ratio", 0, 0)
                for _ in range(200 // n * 5):
                    c.call("per.add", "t", *[1, bytes(size)] * n)
            add = request("per.add", "t", *[1, bytes(size)] * n)
            sample = request("per.sample", "t", batch, "binary")
            ids = clients[0].call("per.sample", "t", batch, "binary")[0]
            update = request("per.update", "t", "binary", ids, bytes(4 * batch))
            for name, data in (("add", add), ("sample", sample), ("update", update)):
                best = []
                for c in clients:
                    c.length = size_of(c, data) if name != "update" else 0
                    best.append([])
                for _ in range(turns):
                    for c, to in zip(clients, best):
                        if name == "sample":
                            to.append(once(c, data, c.length))
                        else:
                            start = time.perf_counter()
                            c.send(data)
                            c.reply() if name == "update" else [c.line() for _ in range(n + 1)]
                            to.append(1000 * (time.perf_counter() - start))
                one, two = map(min, best)
                print("%6d B %-6s %4d: innet-memory %.3f ms, module %.3f ms, %.2f times" %
                      (size, name, n if name == "add" else batch, one, two, two / one), flush=True)
            for c in clients:
                c.call("per.drop", "t")
    memory_server.MODULE = module


def python(turns):
    """512 experiences of 3.2 kB as arrays, and as what redis-py gives of a list."""
    import redis
    memory_server.MODULE = None
    fields = {"obs": ("f4", (400,)), "next_obs": ("f4", (399,)), "action": "i4"}
    with memory_server.Server() as a, Redis("plain", port=free_ports(1)[0]) as b:
        r = redis.Redis(host="127.0.0.1", port=b.port)
        with innet_replay.Memory(a.addr, fields=fields, capacity=4000) as m:
            for _ in range(10):
                m.add(obs=np.ones((400, 400)), next_obs=np.ones((400, 399)), action=range(400))
            r.rpush("list", *[bytes(3200)] * 512)
            best = [[], [], []]
            for _ in range(turns):
                start = time.perf_counter()
                m.sample(512)
                best[0].append(1000 * (time.perf_counter() - start))
                start = time.perf_counter()
                got = r.lrange("list", 0, -1)
                best[1].append(1000 * (time.perf_counter() - start))
                rows = np.frombuffer(b"".join(got), m.record)
                [np.ascontiguousarray(rows[f]) for f in fields]
                best[2].append(1000 * (time.perf_counter() - start))
            print("512 x 3200 B in Python: innet_replay %.3f ms; redis-py LRANGE %.3f ms, and as arrays %.3f ms, "
                  "%.2f and %.2f times" % (*map(min, best), min(best[1]) / min(best[0]), min(best[2]) / min(best[0])))


if __name__ == "__main__":
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    pairs(turns)
    python(turns)
