#!/usr/bin/env python3
"""oracle_runs.py self|switch|aom [RUNS [FIRST]] - run random scenarios

self    check the oracle's own counters: conservation, and a FIFO never merges
switch  compare innet-switch with the oracle: departures to the nanosecond,
        counters exactly, packets that pass the queue byte by byte
aom     compare the ages of innet-aom with those of the oracle's deliveries

Seeds begin at FIRST (default 1), and a failure names its seed.  With KEEP=DIR the
captures and the report of a failure stay in DIR.  The program prints TAP, with at
most three lines about the differences in a scenario, and stops after twelve
failures.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import oracle

T0 = 1700000000 * 10**9
WEIGHTS = struct.pack(">BBHIIHHQfIf", 1, 3, 1, 0, 0, 0, 0, T0, 0.0, 1, 0.0)
seen = {}  # counter: number of scenarios in which it changed


def checksum(data):
    s = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def frame(cluster, worker, payload, tos=oracle.DSCP_TOS, port=oracle.PORT):
    """Return a frame with Ethernet, IPv4 and UDP (without a checksum) headers.
    """
    src = bytes([10, cluster >> 8, cluster & 255, worker + 1])
    dst = bytes([10, 255, 255, 1])
    ip = struct.pack(">BBHHHBBH", 0x45, tos, 28 + len(payload), 0, 0x4000,
                     64, 17, 0) + src + dst
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return b"\2\0" + dst + b"\2\0" + src + b"\x08\0" + ip + \
        struct.pack(">HHHH", 4000, port, 8 + len(payload), 0) + payload


def write_pcap(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for stamp, length, data in packets:
            f.write(struct.pack("<IIII", stamp // 10**9, stamp % 10**9,
                                len(data), length) + data)


class Scenario:
    """Settings and packets, all from one seed."""

    def __init__(self, seed, orderly=False):
        r = self.r = random.Random(seed)
        self.seed = seed
        self.clusters = r.randint(1, 15)
        self.workers = r.randint(1, 6)
        self.count = r.choice((1, 5, 40, 150, 150, 400))
        self.floats = r.randint(1, 40)
        self.packets = r.choice((1, 1, 1, 2, 3)) if not orderly else 1
        self.last = r.randint(1, self.floats) if self.packets > 1 \
            else self.floats
        self.merged = r.choice(("one", "one", "few", "many"))
        self.stale = r.random() < 0.3  # out-of-sequence updates
        self.backwards = not orderly and r.random() < 0.15
        self.bad = r.random() < 0.2  # packets to be ignored
        self.other = r.random() < 0.4  # regular traffic
        self.set = {
            "program": r.choice(("olaf", "olaf", "olaf", "fifo")),
            "slots": r.randint(1, 12),
            "rate": r.choice((9600, 10**6, 10**7 + 1, 10**9, 40 * 10**9,
                              r.randint(1000, 10**10))),
            "threshold": r.choice((None, None, 0.0, 0.1, 0.25, 0.5, 1.0)),
            "combine": r.choice(("mean", "mean", "sum")),
            "propagation": r.choice((0, 0, 1000000, r.randint(1, 10**6))),
            "overhead": r.choice((0, 0, 24)),
        }
        self.regular = r.choice(("bypass", "bypass", "queued"))
        self.make()
        self.until = None
        if r.random() < 0.2:
            self.set["propagation"] = 0
            self.until = T0 + r.randint(1, self.end - T0 + 1)

    def update(self, cluster, worker, following, stamp):
        r = self.r
        key = cluster, worker, following
        n = self.sequence[key] = self.sequence.get(key, 0) + 1
        if self.stale and r.random() < 0.15:
            n = max(1, n - r.randint(0, 3))
        merged = {"one": 1, "few": r.choice((1, 1, 2, 3)),
                  "many": r.choice((1, 20000, 30000))}[self.merged]
        floats = self.last if following == 0 else self.floats
        v = [r.uniform(-10, 10) for _ in range(floats)]
        elements = (self.packets - 1) * self.floats + self.last
        wrong = r.choice(("version", "kind", "reward", "length", "short")) \
            if self.bad and r.random() < 0.05 else None
        p = struct.pack(
            ">BBHIIHHQfI", 2 if wrong == "version" else 1,
            4 if wrong == "kind" else 1, cluster, worker, n, merged,
            following,
            max(0, stamp - r.choice((0, 1, 1000, r.randint(0, 10**6)))),
            float("nan") if wrong == "reward" else r.randint(-8, 8) / 4,
            elements) + struct.pack("<%df" % floats, *v)
        return p[:{"length": -2, "short": 30}.get(wrong, len(p))]

    def make(self):
        """Make loads from idle to overload; many times are multiples of a
        service time."""
        r, s = self.r, oracle.Switch(rate=self.set["rate"],
                                     overhead=self.set["overhead"])
        service = s.service(42 + 32 + 4 * self.floats)
        gap = max(1, int(service * r.choice((0.2, 0.5, 0.8, 1, 1.5, 3))))
        ties = r.random() < 0.5
        self.sequence, self.trace, t = {}, [], T0
        while len(self.trace) < self.count:
            if ties:
                t += service * r.choice((0, 0, 1, 1, 2)) * \
                    (1 if gap <= service else 3) // r.choice((1, 1, 1, 2))
            else:
                t += int(r.expovariate(1 / gap))
            stamp = t
            if self.backwards and r.random() < 0.1:
                stamp = max(T0, t - r.randint(0, 3 * gap))
            if self.other and r.random() < 0.3:
                data = frame(0, 200, bytes(r.randint(0, 300)), 0, 53) \
                    if r.random() < 0.9 or self.backwards \
                    else frame(1, 0, WEIGHTS)
                self.trace.append((stamp, len(data), data))
                continue
            c, w = r.randint(1, self.clusters), r.randrange(self.workers)
            for following in reversed(range(self.packets)):
                data = frame(c, w, self.update(c, w, following, stamp))
                self.trace.append((stamp, len(data), data))
        self.end = max(p[0] for p in self.trace)

    def run(self):
        """Run the oracle's switch; return (switch, ignored, passed beside)."""
        s = oracle.Switch(**self.set)
        return (s, *oracle.simulate(self.trace, s, self.regular, self.until))

    def options(self):
        o = ["--queue", self.set["program"],
             "--slots", str(self.set["slots"]),
             "--rate", str(self.set["rate"]), "--regular", self.regular,
             "--propagation", "%dns" % self.set["propagation"]]
        if self.set["program"] == "olaf":
            o += ["--combine", self.set["combine"]]
            if self.set["threshold"] is not None:
                o += ["--reward-threshold", "%g" % self.set["threshold"]]
        if self.set["overhead"]:
            o += ["--wire-overhead"]
        if self.until is not None:
            o += ["--until", "%dns" % self.until]
        return o


def near(a, b, of=0):
    """Are a and b equal, except for the last bits of means of numbers as large
    as `of`?  Each merge rounds once, and binary64 can break an exact tie."""
    return abs(a - b) <= 3e-7 * max(abs(a), abs(b), of)


def differ_output(path, switch, beside):
    """Return what is wrong with the capture of innet-switch."""
    got, other = [], []
    for stamp, length, data in oracle.read_pcap(path):
        kind, u = oracle.parse(data, length)
        if kind == "update":
            got.append((stamp, u))
            if checksum(data[14:34]) != 0:
                yield "%d: IP checksum" % stamp
        else:
            other.append((stamp, data))
    want = [d for d in switch.deliveries if d[1].frame is None]
    fields = ("cluster", "worker", "sequence", "merged", "following",
              "generated", "length")
    for i, ((t, a), (s, b)) in enumerate(zip(want, got)):
        x = (t,) + tuple(getattr(a, f) for f in fields)
        y = (s,) + tuple(getattr(b, f) for f in fields)
        if x != y:
            yield "delivery %d: oracle %s, switch %s" % (i + 1, x, y)
        elif not near(a.reward, b.reward, 2):
            yield "delivery %d: reward %r, %r" % (i + 1, a.reward, b.reward)
        elif not near(a.gradient, b.gradient, 10):
            yield "delivery %d: gradient %r, %r" % (i + 1, a.gradient,
                                                    b.gradient)
    if len(want) != len(got):
        yield "%d deliveries, switch has %d" % (len(want), len(got))
    beside = beside + [(t, u.frame) for t, u in switch.deliveries if u.frame]
    if sorted(beside) != sorted(other):
        yield "regular traffic: %d packets, switch has %d, or bytes differ" \
            % (len(beside), len(other))


def differ_report(path, want):
    with open(path) as f:
        got = json.load(f)
    zero = {"packets": 0, "constituents": 0}

    def pairs():
        yield "total", want["totals"], got["totals"]
        for c in sorted(set(want["clusters"]) | set(got["clusters"])):
            yield "cluster %s" % c, want["clusters"].get(c, {}), \
                got["clusters"].get(c, {})
    for name, a, b in pairs():
        for n in oracle.COUNTERS:
            if a.get(n, zero) != b.get(n, zero):
                yield "%s %s: oracle %s, switch %s" % (
                    name, n, a.get(n, zero), b.get(n, zero))
    hist = {k: v for k, v in got["merged_histogram"].items() if v}
    if hist != want["merged_histogram"]:
        yield "merged_histogram: oracle %s, switch %s" % (
            want["merged_histogram"], hist)
    if sum(got["ignored"].values()) != sum(want["ignored"].values()):
        yield "ignored: oracle %s, switch %s" % (want["ignored"],
                                                 got["ignored"])
    if not oracle.conserved(got):
        yield "the switch's constituents do not add up"


def check_self(s, tmp):
    switch, ignored, _ = s.run()
    report = switch.report(ignored)
    for name in switch.totals:
        seen[name] = seen.get(name, 0) + 1
    if not oracle.conserved(report):
        yield "constituents do not add up"
    stamps = [t for t, _ in switch.deliveries]
    if stamps != sorted(stamps):
        yield "departures out of order"
    for name in ("aggregated", "replaced", "superseded"):
        if s.set["program"] == "fifo" and switch.totals.get(name):
            yield "a FIFO has %s" % name
    for (t, a), (u, b) in zip(switch.deliveries, switch.deliveries[1:]):
        if u - t < switch.service(b.length):
            yield "%d: faster than the link" % u


def check_switch(s, tmp):
    switch, ignored, beside = s.run()
    paths = [os.path.join(tmp, n) for n in
             ("in.pcap", "out.pcap", "report.json")]
    write_pcap(paths[0], s.trace)
    p = subprocess.run(
        ["innet-switch", "-q", "-r", paths[0], "-w", paths[1], "--report",
         paths[2]] + s.options(), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, timeout=60, text=True)
    if p.returncode != 0:
        yield "innet-switch: status %d: %s" % (p.returncode, p.stderr.strip())
        return
    yield from differ_output(paths[1], switch, beside)
    yield from differ_report(paths[2], switch.report(ignored))


def check_aom(s, tmp):
    """Compare the ages of the oracle's deliveries, with and without --sent."""
    switch, _, beside = s.run()
    updates = [d for d in switch.deliveries if d[1].frame is None]
    if not updates:
        return
    sent = [(t, u) for t, n, f in s.trace for k, u in [oracle.parse(f, n)]
            if k == "update"]
    out, sent_pcap = os.path.join(tmp, "out.pcap"), \
        os.path.join(tmp, "in.pcap")
    write_pcap(sent_pcap, s.trace)
    frames = [(t, u.frame or rebuild(u)) for t, u in switch.deliveries]
    frames = sorted(frames + beside, key=lambda f: f[0])
    write_pcap(out, [(t, len(f), f) for t, f in frames])
    # the length of an update's rebuilt frame does not matter to an age
    ends = max(t for t, _ in frames), max(p[0] for p in s.trace)
    with_sent = ["--sent", sent_pcap]
    for how, end, more in (("sent", None, with_sent), ("first", None, []),
                           ("sent", max(ends), with_sent),
                           ("first", ends[0], [])):
        more = more + (["--end", "capture"] if end is not None else [])
        want = oracle.all_ages(updates, sent, end, how)
        p = subprocess.run(["innet-aom", "-q", "-r", out, "--json"] + more,
                           capture_output=True, timeout=60, text=True)
        if p.returncode != 0:
            yield "innet-aom: status %d: %s" % (p.returncode,
                                                p.stderr.strip())
            continue
        got = {str(o["cluster"]): o for o in
               map(json.loads, p.stdout.splitlines())}
        yield from differ_ages(how, want, got, updates, sent)


def rebuild(u):
    return frame(u.cluster, 0, struct.pack(
        ">BBHIIHHQfIf", 1, 1, u.cluster, u.worker, u.sequence, u.merged, 0,
        u.generated, u.reward, 1, 1.0))


def differ_ages(how, want, got, updates, sent):
    if set(got) - {"all"} != {str(c) for c in want}:
        yield "%s: clusters %s, innet-aom has %s" % (how, list(want),
                                                     list(got))
        return
    for c, a in want.items():
        b = got[str(c)]
        keys = ["mean_age_ns", "p50_age_ns", "p95_age_ns", "p99_age_ns",
                "max_age_ns"] if a["length_ns"] else []
        if a["peaks"]:
            keys += ["mean_peak_age_ns", "max_peak_age_ns"]
        for k in keys:
            if a[k] != b[k]:
                yield "%s: cluster %d: %s: oracle %d, innet-aom %s" % (
                    how, c, k, a[k], b[k])
        lost = sum(u.merged for _, u in sent if u.cluster == c) - \
            sum(u.merged for _, u in updates if u.cluster == c)
        if how == "sent" and b["lost"] != lost:
            yield "cluster %d: lost: oracle %d, innet-aom %s" % (
                c, lost, b["lost"])
    means = [a["mean_age_ns"] for a in want.values()]
    if all(a["length_ns"] for a in want.values()) and \
            abs(oracle.jain(means) - got["all"]["jain"]) > 1e-6:
        yield "%s: jain: oracle %r, innet-aom %r" % (
            how, oracle.jain(means), got["all"]["jain"])


def main():
    mode = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    check = {"self": check_self, "switch": check_switch,
             "aom": check_aom}[mode]
    bad, shown = 0, 0
    for seed in range(first, first + runs):
        s = Scenario(seed, orderly=mode == "aom")
        with tempfile.TemporaryDirectory() as tmp:
            keep = os.environ.get("KEEP")
            wrong = list(check(s, keep or tmp))
        bad += bool(wrong)
        for w in wrong[:min(3, 12 - shown)]:
            print("# seed %d (%s): %s" % (seed, " ".join(s.options()), w))
            shown += 1
        if wrong and (keep or shown >= 12):
            break
    print("%sok 1 - %s: %d scenarios, %d differ" % (
        "not " if bad else "", mode, seed - first + 1, bad))
    if mode == "self":
        rare = [n for n in oracle.COUNTERS if seen.get(n, 0) * 50 < runs]
        print("# scenarios in which each counter moved: %s" % seen)
        print("%sok 2 - every counter moves in one scenario of fifty%s" % (
            "not " if rare else "", ", but %s" % rare if rare else ""))
    print("1..%d" % (2 if mode == "self" else 1))
    sys.exit(bad != 0 or mode == "self" and bool(rare))


if __name__ == "__main__":
    main()
