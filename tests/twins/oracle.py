#!/usr/bin/env python3
"""oracle.py - an independent second version of one switch and the age of its updates

This program checks the queue, the link and the age.  It was written only from the
text of the design (the Olaf queue, the drop-tail FIFO and Age-of-Model of
innet-olaf(7)), and uses nothing in common/ or cmd/.  Times are integers, and means
are fractions.
It reads a classic pcap of Ethernet, IPv4 and UDP and prints JSON:

    {"report": {...}, "deliveries": [...], "ages": {"1": {...}, "jain": x}}

It is intentionally slow and simple, and needs only Python 3.
"""
import argparse
import json
import struct
import sys
from fractions import Fraction

DSCP_TOS, PORT, MERGED_MOST = 0x2c, 46638, 65535
COUNTERS = ("arrived", "delivered", "aggregated", "replaced",
            "replaced_reward", "superseded", "dropped_full",
            "dropped_reward", "dropped_limit", "queued")


def f32(x):
    """Return the binary32 nearest to x as a float."""
    return struct.unpack("<f", struct.pack("<f", float(x)))[0]


# Captures and packets.

def read_pcap(path):
    """Return [(stamp_ns, length, bytes)], with either byte order and
    precision."""
    with open(path, "rb") as f:
        data = f.read()
    magic = {b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1),
             b"\xd4\xc3\xb2\xa1": ("<", 1000),
             b"\xa1\xb2\xc3\xd4": (">", 1000)}
    if data[:4] not in magic:
        sys.exit("%s: not a classic capture" % path)
    order, unit = magic[data[:4]]
    out, at = [], 24
    while at < len(data):
        s, frac, caplen, length = struct.unpack_from(order + "IIII", data, at)
        at += 16
        out.append((s * 10**9 + frac * unit, length, data[at:at + caplen]))
        at += caplen
    return out


class Update:
    """A packet of an update."""

    def __init__(self, cluster, worker, sequence, merged=1, following=0,
                 generated=0, reward=0.0, gradient=0.0, length=100):
        self.cluster, self.worker, self.sequence = cluster, worker, sequence
        self.merged, self.following = merged, following
        self.generated = self.oldest = generated
        self.reward, self.gradient, self.length = reward, gradient, length
        self.frame = None  # bytes of a packet of regular traffic

    @property
    def key(self):
        return self.cluster, self.following


def udp_payload(frame):
    """Return (tos, destination port, payload), or None if it is not UDP over
    IPv4."""
    if len(frame) < 42 or frame[12:14] != b"\x08\0" or frame[23] != 17:
        return None
    udp = 14 + (frame[14] & 15) * 4
    length = struct.unpack_from(">H", frame, udp + 4)[0]
    return (frame[15], struct.unpack_from(">H", frame, udp + 2)[0],
            frame[udp + 8:udp + length])


def parse(frame, length):
    """Return ('update', Update), ('regular', None), ('beside', None) for models
    and weights, or ('ignored', why)."""
    u = udp_payload(frame)
    if u is None or u[0] & 0xfc != DSCP_TOS or u[1] != PORT:
        return "regular", None
    p = u[2]
    if len(p) < 32:
        return "ignored", "short"
    (version, kind, cluster, worker, sequence, merged, following, generated,
     reward, elements) = struct.unpack_from(">BBHIIHHQfI", p)
    if version != 1:
        return "ignored", "version"
    if kind in (2, 3):
        return "beside", None
    if kind != 1:
        return "ignored", "kind"
    n = (len(p) - 32) // 4
    if len(p) % 4 or n == 0 or n > elements or \
            following >= (elements + n - 1) // n:
        return "ignored", "length"
    if merged == 0:
        return "ignored", "merged"
    v = struct.unpack_from("<%df" % n, p, 32)
    if any(x != x or abs(x) == float("inf") for x in v + (reward,)):
        return "ignored", "nonfinite"
    return "update", Update(cluster, worker, sequence, merged, following,
                            generated, reward, v[0], length)


# The switch.

class Switch:
    """A switch: it takes arrivals in order of time, and keeps deliveries and
    counts."""

    def __init__(self, program="olaf", slots=8, rate=40 * 10**9,
                 threshold=None, combine="mean", propagation=0,
                 overhead=0, log=None):
        self.program, self.slots, self.rate = program, slots, rate
        self.threshold, self.combine = threshold, combine
        self.propagation, self.overhead = propagation, overhead
        self.queue = []  # the first one is in transmission and locked
        self.departs = None  # time at which the first one has left
        self.free_at = 0  # time at which the link became idle
        self.deliveries = []  # (stamp, Update), in order
        self.totals, self.clusters = {}, {}
        self.log = log if log else lambda *a: None

    def count(self, name, cluster, constituents):
        of = self.clusters.setdefault(cluster, {})
        for c in (self.totals, of):
            packets, inside = c.get(name, (0, 0))
            c[name] = packets + 1, inside + constituents

    def service(self, length):
        bits = 8 * 10**9 * (length + self.overhead)
        return (2 * bits + self.rate) // (2 * self.rate)

    def serve(self, now):
        """The link is idle: send and lock the first packet of the queue."""
        if self.queue:
            self.departs = max(now, self.free_at) + \
                self.service(self.queue[0].length)
        else:
            self.departs = None

    def run_to(self, t):
        """Run all departures at or before t, or all if t is None."""
        while self.queue and (t is None or self.departs <= t):
            u, now = self.queue.pop(0), self.departs
            self.free_at = now
            self.deliveries.append((now + self.propagation, u))
            if u.frame is None:
                self.count("delivered", u.cluster, u.merged)
            self.serve(now)
            self.log(now, "depart", u, None, self.queue)

    def arrive(self, t, u):
        self.run_to(t)
        if u.frame is None:
            self.count("arrived", u.cluster, u.merged)
        what = self.decide(u)
        if what == "appended":
            self.queue.append(u)
            if len(self.queue) == 1:
                self.serve(t)
        elif u.frame is None:
            self.count(what, u.cluster, u.merged)
        self.log(t, "arrive", u, what, self.queue)

    def decide(self, u):
        """Decide about u, and do everything except append it."""
        waiting = None
        if self.program == "olaf" and u.frame is None:
            for i in range(1, len(self.queue)):
                q = self.queue[i]
                if q.frame is None and q.key == u.key:
                    waiting = i
        if waiting is None:
            return "appended" if len(self.queue) < self.slots \
                else "dropped_full"
        e = self.queue[waiting]
        if e.worker == u.worker and u.sequence <= e.sequence:
            return "superseded"
        what = "aggregated"
        if e.merged == 1 and u.merged == 1 and e.worker == u.worker:
            what = "replaced"
        elif self.threshold is not None:
            if u.reward > e.reward + self.threshold:
                what = "replaced_reward"
            elif u.reward < e.reward - self.threshold:
                return "dropped_reward"
        if what == "aggregated":
            if e.merged + u.merged > MERGED_MOST:
                return "dropped_limit"
            self.queue[waiting] = self.aggregate(e, u)
            return what
        self.count("superseded", e.cluster, e.merged)
        self.queue[waiting] = u
        return what

    def aggregate(self, e, u):
        m = e.merged + u.merged

        def mean(a, b):
            return f32((Fraction(a) * e.merged + Fraction(b) * u.merged) / m)
        out = Update(u.cluster, u.worker, u.sequence, m, u.following,
                     max(e.generated, u.generated), mean(e.reward, u.reward),
                     length=e.length)
        out.oldest = min(e.oldest, u.oldest)
        out.gradient = mean(e.gradient, u.gradient) \
            if self.combine == "mean" else f32(e.gradient + u.gradient)
        return out

    def finish(self, until=None):
        """Run all departures, or stop at `until`; the rest counts as queued.
        """
        self.run_to(until)
        for u in self.queue:
            if u.frame is None:
                self.count("queued", u.cluster, u.merged)

    def report(self, ignored):
        def show(c):
            return {n: dict(zip(("packets", "constituents"),
                                c.get(n, (0, 0)))) for n in COUNTERS}
        hist = {}
        for _, u in self.deliveries:
            if u.frame is None:
                hist[str(u.merged)] = hist.get(str(u.merged), 0) + 1
        return {"totals": show(self.totals),
                "clusters": {str(c): show(self.clusters[c])
                             for c in sorted(self.clusters)},
                "merged_histogram": hist, "ignored": ignored}


def simulate(packets, switch, regular="bypass", until=None):
    """Run packets through the switch; return (ignored, packets that passed
    beside it)."""
    now, ignored, beside = 0, {}, []
    for stamp, length, frame in packets:
        now = max(now, stamp)  # a time that goes back counts as equal
        if until is not None and now > until:
            break
        kind, what = parse(frame, length)
        if kind == "update":
            switch.arrive(now, what)
        elif kind == "ignored":
            ignored[what] = ignored.get(what, 0) + 1
        elif kind == "regular" and regular == "queued":
            u = Update(0, 0, 0, length=length)
            u.frame = frame
            switch.arrive(now, u)
        else:
            beside.append((stamp, frame))
    switch.finish(until)
    return ignored, beside


def conserved(report):
    """Are constituents conserved, in total and for each cluster?"""
    gone = ("delivered", "superseded", "dropped_full", "dropped_reward",
            "dropped_limit", "queued")
    return all(c["arrived"]["constituents"] ==
               sum(c[g]["constituents"] for g in gone)
               for c in [report["totals"], *report["clusters"].values()])


# Age-of-Model.

def ages(deliveries, start, g, end):
    """
    Return the age of one cluster from start (None: the first delivery) to end.
    deliveries is [(stamp, generated)] in order, and g is the time of the newest
    update at the start.
    """
    pieces, peaks, at = [], [], start  # a piece of time: age at its start, length
    for stamp, generated in deliveries:
        generated = min(generated, stamp)  # if the sender's clock is ahead, the age is 0
        if at is None or stamp < at:
            g = generated if g is None else max(g, generated)
            at = stamp if at is None else at
            start = at
            continue
        if stamp > end:
            break
        if generated > g:
            peaks.append(stamp - g)
            pieces.append((at - g, stamp - at))
            at, g = stamp, generated
    if at is None:
        return None
    pieces.append((at - g, end - at))
    length = end - start
    twice = sum(n * (2 * a + n) for a, n in pieces)

    def percentile(p):  # the smallest whole age that covers enough time
        low, high = 0, max(a + n for a, n in pieces)
        while low < high:
            mid = (low + high) // 2
            below = sum(min(max(mid - a, 0), n) for a, n in pieces)
            if below * 100 >= p * length:
                high = mid
            else:
                low = mid + 1
        return low
    mean = Fraction(twice, 2 * length) if length else Fraction(at - g)
    return {
        "length_ns": length, "mean_age_ns": half_up(mean), "exact": mean,
        "p50_age_ns": percentile(50), "p95_age_ns": percentile(95),
        "p99_age_ns": percentile(99),
        "max_age_ns": max(a + n for a, n in pieces),
        "peaks": peaks, "max_peak_age_ns": max(peaks, default=0),
        "mean_peak_age_ns": half_up(Fraction(sum(peaks), len(peaks)))
        if peaks else 0}


def half_up(x):
    return (x * 2 + 1).__floor__() // 2


def jain(x):
    square = sum(v * v for v in x)
    return float(Fraction(sum(x)) ** 2 / (len(x) * square)) if square else 1.0


def all_ages(deliveries, sent, out_end, how):
    """
    Return the ages by cluster.  deliveries and sent are [(stamp, Update)].
    out_end is the last stamp of the capture of deliveries; if it is None, each
    cluster ends with its last packet.  how is 'first', 'sent' or a time.
    """
    clusters = {u.cluster for _, u in deliveries}
    end, first, result = out_end, {}, {}
    if how == "sent":
        for stamp, u in sent:
            first.setdefault(u.cluster, stamp)
        if out_end is not None:
            end = max([out_end] + [stamp for stamp, _ in sent])
        clusters |= set(first)
    for c in sorted(clusters):
        start = first[c] if how == "sent" else None if how == "first" else how
        seen = deliveries + (sent if how == "sent" else [])
        last = max(s for s, u in seen if u.cluster == c)
        a = ages([(s, u.generated) for s, u in deliveries if u.cluster == c],
                 start, start, last if end is None else end)
        if a is not None:
            result[c] = a
    return result


def send_probability(active, capacity, d, threshold, v):
    """Return the sending probability; d and threshold are in s, v per second.
    """
    if active is None or capacity >= active:
        return 1.0
    f = 0 if d <= threshold else v * (d - threshold)
    return min(capacity / active + f, 1)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("capture")
    ap.add_argument("--program", choices=("olaf", "fifo"), default="olaf")
    ap.add_argument("--slots", type=int, default=8)
    ap.add_argument("--rate", type=int, default=40 * 10**9, help="bits/s")
    ap.add_argument("--reward-threshold", type=float)
    ap.add_argument("--combine", choices=("mean", "sum"), default="mean")
    ap.add_argument("--propagation", type=int, default=0, help="ns")
    ap.add_argument("--wire-overhead", action="store_true")
    ap.add_argument("--regular", choices=("bypass", "queued"),
                    default="bypass")
    ap.add_argument("--until", type=int, help="ns since the epoch")
    ap.add_argument("--from", dest="how", default="sent",
                    help="first, sent or ns since the epoch")
    a = ap.parse_args()
    packets = read_pcap(a.capture)
    s = Switch(a.program, a.slots, a.rate, a.reward_threshold, a.combine,
               a.propagation, 24 if a.wire_overhead else 0)
    ignored, beside = simulate(packets, s, a.regular, a.until)
    sent = [(t, u) for t, n, f in packets for k, u in [parse(f, n)]
            if k == "update"]
    updates = [d for d in s.deliveries if d[1].frame is None]
    end = max([d[0] for d in s.deliveries] + [b[0] for b in beside],
              default=0)
    how = a.how if a.how in ("first", "sent") else int(a.how)
    result = all_ages(updates, sent, end, how)
    for r in result.values():
        del r["exact"]
    means = [r["mean_age_ns"] for r in result.values()]  # with the printed digits
    json.dump({
        "report": s.report(ignored),
        "deliveries": [{
            "time_ns": t, "cluster": u.cluster, "worker": u.worker,
            "sequence": u.sequence, "following": u.following,
            "merged": u.merged, "generated": u.generated,
            "reward": u.reward, "gradient": u.gradient}
            for t, u in updates],
        "ages": {**{str(c): r for c, r in result.items()},
                 "jain": jain(means)},
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
