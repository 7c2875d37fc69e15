#!/usr/bin/env python3
"""memory-module.py [TURNS [rows]] - compare innet_per.so with innet-memory, and innet_replay.py with redis-py

With `rows`, each line has a name and two times in ms, for P9.  The environment
variable MEMORY_MODULE is the path of the module.  Requests to the two servers over
loopback take turns.  Each result is the least time in ms, because other programs may
run on the machine.
"""
import os
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../twins"), os.path.join(here, "../../share/python")]
import numpy as np
import innet_replay
import memory_server
from memory_module import Redis, free_ports


def timed(what, best):
    start = time.perf_counter()
    got = what()
    best.append(1000 * (time.perf_counter() - start))
    return got


def pairs(turns, rows_only):
    """The module beside innet-memory, with the client in Python at both."""
    module, memory_server.MODULE = memory_server.MODULE, None
    with memory_server.Server() as a, Redis("bench", port=free_ports(1)[0]) as b:
        for size, n, batch in ((44, 200, 512), (3000, 200, 512), (56000, 20, 64)):
            both = [innet_replay.Memory(s.addr, table="t%d" % size, fields={"x": ("u1", (size,))},
                                        capacity=4000 if size < 50000 else 200) for s in (a, b)]
            rows = np.ones((n, size), "u1")
            for m in both:
                for _ in range(1 + 600 // n):
                    m.add(x=rows)
            best = {what: ([], []) for what in ("add", "sample", "update")}
            for _ in range(turns):
                for k, m in enumerate(both):
                    timed(lambda: m.add(x=rows), best["add"][k])
                    got = timed(lambda: m.sample(batch), best["sample"][k])
                    timed(lambda: m.update(got.ids, got.probs), best["update"][k])
            for what, of in best.items():
                one, two = map(min, of)
                if rows_only:
                    print("module-%s-%dB %f %f" % (what, size, two, one), flush=True)
                    continue
                print("%6d B %-6s %4d: innet-memory %.3f ms, module %.3f ms, %.2f times" %
                      (size, what, n if what == "add" else batch, one, two, two / one), flush=True)
            for m in both:
                m.drop()
                m.close()
    memory_server.MODULE = module


def python(turns, rows_only):
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
            if rows_only:
                print("python-sample %f %f" % (min(best[0]), min(best[1])))
                return
            print("512 x 3200 B in Python: innet_replay %.3f ms; redis-py LRANGE %.3f ms, and as arrays %.3f ms, "
                  "%.2f and %.2f times" % (*map(min, best), min(best[1]) / min(best[0]), min(best[2]) / min(best[0])))


if __name__ == "__main__":
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rows_only = "rows" in sys.argv[2:]
    pairs(turns, rows_only)
    python(turns, rows_only)
