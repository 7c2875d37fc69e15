#!/usr/bin/env python3
"""sim_runs.py [RUNS [FIRST]] - simulate random networks with two programs

The program compares innet-sim with sim_oracle.py: counters of every cluster exactly,
and ages to the nanosecond.  Seeds begin at FIRST (default 1), and a failure names
its seed.  The program prints TAP, and at the end the features that the scenarios
had.
"""
import json
import random
import subprocess
import sys

import sim_oracle

seen = {}


def schedule(r, path, clusters, workers, first, ns):
    with open(path, "w", encoding="ascii") as f:
        for _ in range(r.choice((1, 20, 200))):
            print(r.choice(clusters), first + r.randrange(workers),
                  r.randrange(0, ns, r.choice((1, 1000, 100000))),
                  r.randint(-8, 8) / 4, sep=",", file=f)


def tree(r):
    """Make a tree of switches; the last is at the server, and each other one
    has a link to a later one."""
    n = r.randint(1, 5)
    switches, links = [], []
    for i in range(n):
        switches.append({
            "name": "s%d" % i, "slots": r.randint(1, 8),
            "queue": r.choice(("olaf", "olaf", "olaf", "fifo", "regular")),
            "reward_threshold": r.choice((-1, -1, 0.5, 1)),
            "active_window": r.choice(("1s", "20ms"))})
        link = {"from": "s%d" % i, "to": "ps" if i == n - 1 else
                "s%d" % r.randint(i + 1, n - 1),
                "rate": r.choice((10**6, 10**7, 3000001)),
                "propagation": r.choice(("0", "1ms", "123456ns", "20ms"))}
        if r.random() < 0.3:
            link["loss"] = "10%"
        if r.random() < 0.3:
            link["back_rate"] = r.choice((0, 10**6))
        if r.random() < 0.3:
            link["queue"] = r.randint(1, 4)
        links.append(link)
    return switches, links


def group(r, i, first, switches, ns):
    last = first + r.randint(0, 3)
    g = {"at": r.choice(switches)["name"], "clusters": "%d-%d" % (first,
         last), "workers": r.randint(1, 5),
         "control": r.choice(("none", "urgent", "fair")),
         "threshold": r.choice(("10ms", "50ms", "0")),
         "payload": r.choice((36, 256, 1000))}
    if r.random() < 0.5:
        g["first_worker"] = r.choice((0, 7))
        g["schedule"] = "g%d.csv" % i
        schedule(r, g["schedule"], range(first, last + 1), g["workers"],
                 g["first_worker"], ns)
    else:
        g.update(phase="order", window="%dns" % r.choice((1, 10**6, 10**7)),
                 interval="%dns" % r.randint(10**6, 4 * 10**7))
        if r.random() < 0.4:
            g["wait"] = r.choice(("1ns", "5ms", "30ms", "1s"))
        if r.random() < 0.3:
            g["count"] = r.randint(1, 20)
    if r.random() < 0.3:
        g["elements"] = r.randint(1, 600)
    if r.random() < 0.2:
        g["frame"] = r.randint(78, 1500)
    if r.random() < 0.4:
        g.update(access_rate=r.choice((0, 10**6, 10**8)),
                 access_propagation=r.choice(("1us", "5ms")),
                 shared=r.random() < 0.5)
        if r.random() < 0.3:
            g["access_loss"] = "5%"
        if r.random() < 0.3:
            g["access_queue"] = r.randint(1, 3)
    if r.random() < 0.2:
        g["start"], g["stop"] = "30ms", "150ms"
    return g, last + 1


def scenario(seed):
    r = random.Random(seed)
    ns = r.choice((2 * 10**8, 5 * 10**8))
    switches, links = tree(r)
    sc = {"seed": r.randint(0, 10**9), "duration": "%dns" % ns,
          "drain": r.random() < 0.3, "wire_overhead": r.random() < 0.3,
          "ages_to": ("auto", "cluster", "run")[seed % 3],
          "switches": switches, "links": links,
          "servers": [{"name": "ps", "reply": r.choice(
              ("cluster", "cluster", "worker", "none")),
              "delay": r.choice(("0", "1ms"))}],
          "workers": []}
    if r.random() < 0.4:
        sc["servers"][0].update(gate=r.choice(("ema", "last", "best")),
                                gate_ema=r.choice((0.1, 0.5)))
    first = 1
    for i in range(r.randint(1, 4)):
        g, first = group(r, i, first, switches, ns)
        sc["workers"].append(g)
    if r.random() < 0.4:
        sc["traffic"] = [{
            "at": r.choice(switches)["name"], "arrivals": "periodic",
            "rate": r.choice((100000, 10**6, 3333333)),
            "frame": r.choice((42, 1000, 1514)),
            "start": r.choice(("0", "20ms"))}
            for _ in range(r.randint(1, 3))]
        if r.random() < 0.3:
            sc["traffic"][0]["stop"] = "150ms"
    if r.random() < 0.3:
        sc["faults"] = []
        for _ in range(r.randint(1, 3)):
            at = r.randrange(ns)
            sc["faults"].append({r.choice(("link", "switch")):
                                 r.choice(switches)["name"],
                                 "from": "%dns" % at, "to": "%dns" %
                                 (at + r.randint(1, 10**8))})
    return sc


def simulated(by):
    """Return the rows of s.json, or an error."""
    out = subprocess.run(["innet-sim", "-q", "--json", "--by", by,
                          "s.json"], capture_output=True, check=False)
    if out.returncode != 0:
        return None, [out.stderr.decode()]
    return [json.loads(x) for x in out.stdout.decode().splitlines()], []


def compare(what, want, got):
    bad = []
    for k, v in want.items():
        if v:
            seen[what + "." + k] = seen.get(what + "." + k, 0) + 1
        if got[k] != v:
            bad.append("%s: %s is %s, not %s" % (what, k, got[k], v))
    return bad


def differs(seed):
    sc = scenario(seed)
    with open("s.json", "w", encoding="ascii") as f:
        json.dump(sc, f)
    rows, bad = simulated("cluster")
    if bad:
        return bad
    clusters, sources = sim_oracle.rows("s.json")
    got = {row["cluster"]: row for row in rows}
    for c, want in clusters.items():
        bad += compare("cluster", want, got[c])
    if sources:
        rows, wrong = simulated("traffic")
        bad += wrong
        for want, row in zip(sources, rows or []):
            bad += compare("traffic", want, row)
    return bad


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = 0
    for seed in range(first, first + runs):
        bad = differs(seed)
        if bad:
            failed += 1
            print("not ok %d - seed %d" % (seed - first + 1, seed))
            for line in bad[:6]:
                print("#", line)
        if failed == 8:
            break
    print("#", " ".join("%s:%d" % s for s in sorted(seen.items())))
    if not failed:
        print("ok - %d networks" % runs)
    sys.exit(failed > 0)


main()
