#!/usr/bin/env python3
"""oracle_vectors.py FILE - compare the oracle with hand-checked vectors

The program computes and compares every line of every section of FILE
(data/olaf-vectors.txt): events of each switch, totals, ages, peaks, fairness, and
the sending probabilities at the end.  It prints TAP.
"""
import ast
import re
import sys
from fractions import Fraction

import oracle

MS = 10**6
tests = failed = 0


def ok(cond, name, *why):
    global tests, failed
    tests += 1
    failed += not cond
    print("%sok %d - %s" % ("" if cond else "not ", tests, name))
    for w in why if not cond else ():
        print("#", w)


def show(u, locked):
    tail = ".%d" % u.worker if u.merged == 1 else "+%d" % (u.merged - 1)
    return "%s%d%s" % ("*" if locked else "", u.cluster, tail)


class Logged(oracle.Switch):
    """A switch that logs events in the notation of the vectors."""

    def __init__(self, name, frame_ms, **kw):
        # 100 bytes in frame_ms: the rate that makes the time exact
        super().__init__(rate=8 * 10**9 * 100 // (frame_ms * MS),
                         log=self.write, **kw)
        self.name, self.lines, self.events = name, [], []

    def write(self, t, event, u, what, queue):
        self.events.append((event, what, u.merged))
        if event == "depart":
            what = u.merged
        elif what == "replaced_reward":
            what = "replaced"
        self.lines.append("%d %s %s %d %d %s %s" % (
            t // MS, self.name, event, u.cluster, u.worker, what,
            [show(q, i == 0) for i, q in enumerate(queue)]))


def number(pattern, text, default):
    m = re.search(pattern, text)
    return float(m.group(1)) if m else default


def build(title, note):
    """Return the section's switches, each with the name of its destination."""
    fifo = "FIFO" in title
    if "multihop" in title:
        return {"SW1": (Logged("SW1", 4, slots=5, propagation=MS), "SW3"),
                "SW2": (Logged("SW2", 4, slots=5, propagation=MS), "SW3"),
                "SW3": (Logged("SW3", 20, slots=8, propagation=MS), "PS")}
    return {"S": (Logged(
        "S", int(number(r"(\d+) ms a frame", note, 10)),
        program="fifo" if fifo else "olaf",
        slots=int(number(r"slots? (\d+)", note,
                         number(r"(\d+) slots?", note, 4))),
        threshold=number(r"threshold ([0-9.]+)", note, None)), "PS")}


def arrivals(lines, net, rewards):
    """Return the updates of workers: [(t, switch, Update)]."""
    sequence, out = {}, []
    for line in lines:
        t, switch, event, rest = line.split(" ", 3)
        if event != "arrive" or switch == "SW3":
            continue
        cluster, worker = (int(x) for x in rest.split()[:2])
        n = sequence[cluster, worker] = sequence.get((cluster, worker), 0) + 1
        u = oracle.Update(cluster, worker, n, generated=int(t) * MS)
        if cluster == 2 and rewards:
            u.reward = rewards.pop(0)
        out.append((int(t) * MS, switch, u))
    return out


def run(net, source):
    for name, (switch, _) in net.items():  # in order along the path
        for t, _, u in sorted((s for s in source if s[1] == name),
                              key=lambda s: s[0]):
            switch.arrive(t, u)
        switch.finish()
        to = net[name][1]
        source += [(t, to, u) for t, u in switch.deliveries]
    return [(t, u) for t, to, u in source if to == "PS"]


def totals(net, generated, delivered):
    events = [e for s, _ in net.values() for e in s.events]
    t = {"generated": generated, "delivered": len(delivered),
         "arrived": sum(e == "arrive" for e, _, _ in events),
         "departed": sum(e == "depart" for e, _, _ in events),
         "delivered_constituents": sum(u.merged for _, u in delivered),
         "superseded": sum(s.totals.get("superseded", (0, 0))[1]
                           for s, _ in net.values()),
         "lost_constituents": sum(s.totals.get(n, (0, 0))[1]
                                  for s, _ in net.values() for n in
                                  ("dropped_full", "dropped_reward"))}
    for e, what, _ in events:
        if e == "arrive":
            what = "replaced" if what == "replaced_reward" else what
            t[what] = t.get(what, 0) + 1
    return {k: v for k, v in t.items() if v}


def section(title, lines):
    note = " ".join(x for x in lines if x.startswith("#"))
    want = [x for x in lines if re.match(r"\d", x)]
    m = re.search(r"in order ([0-9., ]+)", note)
    net = build(title, note)
    source = arrivals(want, net, [float(x) for x in m.group(1).split(",")]
                      if m else [])
    clusters = sorted({u.cluster for _, _, u in source})
    generated = len(source)
    delivered = run(net, source)
    for name, (switch, _) in net.items():
        mine = [x for x in want if x.split()[1] == name]
        ok(mine == switch.lines, "%s: events of %s" % (title, name),
           *("%s | %s" % p for p in zip(mine, switch.lines) if p[0] != p[1]))
    got = ["%d PS deliver %d %d %d [%d, %d]" % (
        t // MS, u.cluster, u.worker, u.merged, u.generated // MS,
        u.oldest // MS) for t, u in delivered]
    ok([x for x in want if " PS " in x] == got, "%s: deliveries" % title, got)
    figures(title, lines, net, clusters, generated, delivered)


def figures(title, lines, net, clusters, generated, delivered):
    end = max(int(x.split()[0]) for x in lines if re.match(r"\d", x)) * MS
    got, means, hist = [], [], {}
    for c in clusters:
        mine = [(t, u) for t, u in delivered if u.cluster == c]
        new = oracle.ages([(t, u.generated) for t, u in mine], 0, 0, end)
        old = oracle.ages([(t, u.oldest) for t, u in mine], 0, 0, end)
        means.append(new["exact"])
        got.append("C%d newest AoM %.4f oldest %.4f peaks %s" % (
            c, new["exact"] / MS, old["exact"] / MS,
            [p / MS for p in new["peaks"]]))
    if re.match("V[1-5]", title):  # four clusters, of which the others send nothing
        means += [Fraction(end, 2)] * (4 - len(clusters))
    for _, u in delivered:
        hist[str(u.merged - 1)] = hist.get(str(u.merged - 1), 0) + 1
    ok([x for x in lines if re.match(r"C\d", x)] == got,
       "%s: ages and peaks" % title, *got)
    last = [x for x in lines if x.startswith("end")][0]
    m = re.match(r"end (\d+) jain (\S+) cdf (.*)", last)
    ok(int(m.group(1)) * MS == end and ast.literal_eval(m.group(3)) == hist
       and abs(float(m.group(2)) - oracle.jain(means)) < 1e-15,
       "%s: fairness and merges" % title, oracle.jain(means), hist)
    want = [x for x in lines if x.startswith("total")][0][6:]
    got = totals(net, generated, delivered)
    ok(ast.literal_eval(want) == got, "%s: totals" % title, want, got)


def control(lines):
    """Compare sending probabilities; by default T = 400 ms, N = 10, Qmax = 8.
    """
    v = {"1/T": 1 / 0.4, "T": 0.4}
    near = 1e-9
    for line in lines:
        name, _, rest = line.partition(" ")
        if name in v:
            ok(all(abs(oracle.send_probability(10, 8, d / 1000, 0.4, v[name])
                       - p) < near for d, p in ast.literal_eval(rest)),
               "sending with v = %s" % name)
        elif name == "N=20":
            ok(all(abs(oracle.send_probability(20, 8, d / 1000, 0.4, v[n])
                       - p) < near for n, d, p in ast.literal_eval(rest)),
               "sending with N = 20")
        elif name in ("N=8", "none"):
            n = None if name == "none" else 8
            ok(oracle.send_probability(n, 8, 0, 0.4, 1) == float(rest),
               "sending with %s" % name)
        elif name == "jain":
            ok(oracle.jain([Fraction(x) for x in (1, 1, 1, 0)]) ==
               float(rest), "Jain's index of 1, 1, 1, 0")
        else:
            ok(False, "line is understood", line)


def main():
    title, lines = None, []
    with open(sys.argv[1]) as f:
        text = [x.rstrip("\n") for x in f]
    for x in text + ["## "]:
        if x.startswith("## "):
            if title:
                inside = [y.strip() for y in lines if y.startswith(" ")]
                section(title, inside)
                control([y for y in lines if not y.startswith(" ")])
            title, lines = x[3:], []
        else:
            lines.append(x)
    print("1..%d" % tests)
    sys.exit(failed != 0)


main()
