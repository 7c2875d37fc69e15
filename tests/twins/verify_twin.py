#!/usr/bin/env python3
"""verify_twin.py - compare innet-verify with all possible runs

    verify_twin.py SEED COUNT

The program makes COUNT small specifications.  Their times are a few nanoseconds, so
that offsets and jitters have a few values each, or their offsets are fixed.  The
program can then play every possible run with every choice of transmission control.
It sets the bound of the objective to the worst of all runs (so it must hold), just
below that (so it must fail), or near it.  The verdicts must agree, and a run that
innet-verify shows must be a possible run that violates the objective.

This was written from innet-olaf(7), independently of the C code.  It has no
formulas but processes one event after another, and it uses fractions instead of
64-bit integers.
"""
import itertools
import json
import math
import random
import subprocess
import sys
from fractions import Fraction

RUNS_MAX = 6000


def certain(spec, control, d):
    """Is the probability of sending 1 at d ns after the last status?"""
    n, q = len(spec["clusters"]), spec["slots"]
    t = Fraction(control["threshold"], 10**9)
    late = Fraction(d, 10**9) - t
    v = 1 / t if control["v"] == "urgent" else t
    return Fraction(q, n) + (v * late if late > 0 else 0) >= 1


class Run:
    """One run: it offers arrivals in order, and choose() says which are held
    back."""

    def __init__(self, spec):
        self.spec = spec
        self.slots = []         # [cluster, newest constituent, start, end] of a packet in the queue
        self.out = []           # the same, of packets that have left
        self.free_at = 0
        self.held, self.lost = [], 0
        self.first = {}

    def copy(self):
        r = Run(self.spec)
        r.slots = [list(s) for s in self.slots]
        r.out, r.free_at = list(self.out), self.free_at
        r.held, r.lost, r.first = list(self.held), self.lost, dict(self.first)
        return r

    def until(self, now):
        while self.slots and self.slots[0][3] <= now:
            self.out.append(tuple(self.slots.pop(0)))

    def may_hold(self, c, now):
        control = self.spec["clusters"][c].get("control")
        acks = [e + self.spec["ack_delay"] for k, _, _, e in self.out
                if k == c and e + self.spec["ack_delay"] <= now]
        if control is None or not acks:
            return False
        if self.spec["slots"] >= len(self.spec["clusters"]):
            return False
        return not certain(self.spec, control, now - max(acks))

    def offer(self, c, now):
        for s in self.slots:
            if s[0] == c and s[2] > now:
                s[1] = now
                return
        if len(self.slots) == self.spec["slots"]:
            self.lost += 1
            return
        start = max(now, self.slots[-1][3] if self.slots else now)
        self.slots.append([c, now, start, start + self.spec["service_time"]])

    def worst(self, kind, horizon):
        """Return how bad the run is, or None if the objective does not apply
        to it."""
        self.until(math.inf)
        if kind == "no-loss":
            return self.lost
        peaks, ages = {}, []
        for c in self.first:
            newest = self.first[c]
            got = False
            for k, made, _, end in self.out:
                if k != c:
                    continue
                ages.append(end - newest)
                if got:
                    peaks.setdefault(c, []).append(end - newest)
                newest, got = made, True
            ages.append(horizon - newest)
        if kind == "peak":
            return max(ages, default=0)
        if len(peaks) < len(self.spec["clusters"]):
            return math.inf     # a single cluster cannot be compared
        means = [Fraction(sum(p), len(p)) for p in peaks.values()]
        hi, lo = max(means), min(means)
        return (hi - lo) / hi if kind == "share" else hi - lo


def plays(spec, arrivals, horizon):
    """Yield every run of these (time, cluster) arrivals, one for each choice.
    """
    todo = [(Run(spec), 0)]
    while todo:
        run, i = todo.pop()
        while i < len(arrivals):
            now, c = arrivals[i]
            i += 1
            run.first.setdefault(c, now)
            run.until(now)
            if run.may_hold(c, now):
                other = run.copy()
                other.held.append((now, c))
                todo.append((other, i))
            run.offer(c, now)
        yield run


def schedules(spec, horizon):
    """Yield every list of arrivals before the horizon."""
    each = []
    for i, c in enumerate(spec["clusters"]):
        lo, hi = c["offset"]
        ways = set()
        for off in range(lo, hi + 1):
            n = max(0, -(-(horizon - off) // c["period"]))
            for late in itertools.product(range(c["jitter"] + 1), repeat=n):
                ways.add(tuple((off + k * c["period"] + j, i)
                               for k, j in enumerate(late)
                               if off + k * c["period"] + j < horizon))
        each.append(sorted(ways))
    for way in itertools.product(*each):
        yield sorted(itertools.chain(*way))


def count(spec):
    """Return at least the number of lists of schedules(), without choices."""
    total = 1
    for c in spec["clusters"]:
        lo, hi = c["offset"]
        n = max(0, -(-(spec["horizon"] - lo) // c["period"]))
        total *= (hi - lo + 1) * (c["jitter"] + 1) ** n
    return total


def coincide(rng, spec, unit):
    """Make statuses arrive with updates, just old enough for others."""
    n = len(spec["clusters"])
    q = spec["slots"] = rng.randint(1, n - 1)
    part = rng.randint(2, 8) * unit
    period = (2 * n - q) * part
    spec["ack_delay"] = max(0, rng.randint(1, 2) * period -
                            spec["service_time"])
    spec["horizon"] = 5 * period + 1
    for c in spec["clusters"]:
        c["period"], c["jitter"] = period, 0
        c["control"] = {"v": "urgent",      # the probability is 1 after 1 or 2 periods
                        "threshold": n * part * rng.randint(1, 2)}


def made_up(rng):
    """Make a specification with few enough runs."""
    while True:
        whole = rng.random() < 0.25     # periods of seconds, and fixed offsets
        unit = 100000000 if whole else 1
        n = rng.choice([1, 2, 2, 2, 3])
        spec = {"service_time": rng.randint(1, 8) * unit,
                "slots": rng.randint(1, n + 1),
                "ack_delay": rng.choice([0, 0, rng.randint(1, 9)]) * unit,
                "clusters": []}
        periods = [rng.randint(3, 24) for _ in range(n)]
        if rng.random() < 0.4:
            periods = [periods[0]] * n
        spec["horizon"] = rng.randint(1, 5) * max(periods) * unit + \
            rng.randint(0, 3) * unit
        for i in range(n):
            p, lo = periods[i] * unit, rng.randint(0, 6) * unit
            wide = 0 if whole else rng.choice([0, 1, 3, periods[i]])
            jitter = 0 if whole else rng.choice([0, 0, 1, 2])
            c = {"id": i * 7 + rng.randint(0, 6), "period": p,
                 "offset": (lo, lo + wide), "jitter": min(jitter, p - 1)}
            if rng.random() < 0.5:
                c["control"] = {"v": rng.choice(["urgent", "fair"]),
                                "threshold": rng.randint(1, 30) * unit}
            spec["clusters"].append(c)
        if n > 1 and rng.random() < 0.3:
            coincide(rng, spec, unit)
        updates = sum(-(-spec["horizon"] // c["period"])
                      for c in spec["clusters"])
        if updates <= 14 and count(spec) <= RUNS_MAX and \
                any(c["offset"][0] < spec["horizon"]
                    for c in spec["clusters"]):
            return spec


def worst(spec, kind):
    """Return the worst of all runs, or None if there are too many."""
    most, runs = None, 0
    for arrivals in schedules(spec, spec["horizon"]):
        for run in plays(spec, arrivals, spec["horizon"]):
            runs += 1
            if runs > 10 * RUNS_MAX:
                return None, runs
            w = run.worst(kind, spec["horizon"])
            if w is not None and (most is None or w > most):
                most = w
    return most or 0, runs


def objective(rng, kind, most):
    """Return the text and the bound of an objective near the worst of all
    runs."""
    if kind == "no-loss":
        return kind, 0
    step = 10**9 if kind == "share" else 1
    units = Fraction(rng.randint(0, 99) if most == math.inf else most) * step
    bound = max(0, rng.choice([math.ceil(units), math.ceil(units),
                               math.ceil(units) - 1, math.ceil(units) - 1,
                               math.ceil(units * rng.randint(0, 6) / 4)]))
    if kind == "share":
        bound = min(bound, step)
        return "fair<=%d.%09d" % divmod(bound, step), Fraction(bound, step)
    return "%s<=%dns" % ("fair" if kind == "apart" else "peak", bound), bound


def asked(spec, text):
    """Return the output of innet-verify."""
    ns = {"service_time", "ack_delay", "horizon", "period", "jitter",
          "threshold"}

    def shown(key, v):
        if key == "offset":
            return ["%dns" % t for t in v]
        if isinstance(v, dict):
            return {k: shown(k, x) for k, x in v.items()}
        if isinstance(v, list):
            return [shown("", x) for x in v]
        return "%dns" % v if key in ns else v

    r = subprocess.run(["innet-verify", "-q", "--json", "--give-up", "300s",
                        "--objective", text, "-"],
                       input=json.dumps(shown("", spec)), text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode not in (0, 3):
        raise SystemExit("status %d: %s%s" % (r.returncode, r.stderr, text))
    said = json.loads(r.stdout)
    if (said["verdict"] == "holds") != (r.returncode == 0):
        raise SystemExit("status %d: %s" % (r.returncode, r.stdout))
    return said


def shows(spec, said, kind, bound):
    """Is the run of innet-verify one of the possible runs, and does it violate
    the objective?"""
    place = {c["id"]: i for i, c in enumerate(spec["clusters"])}
    rows = [(u["time_ns"], place[u["cluster"]]) for u in said["schedule"]]
    held = [(u["time_ns"], place[u["cluster"]]) for u in said["schedule"]
            if u["fate"] == "held"]
    horizon = said["horizon_ns"]
    if rows not in schedules(spec, horizon):
        return False
    for run in plays(spec, rows, horizon):
        if run.held == held:
            return run.worst(kind, horizon) > bound
    return False


def main():
    rng, wanted = random.Random(int(sys.argv[1])), int(sys.argv[2])
    tally, tried, played = {"holds": 0, "fails": 0}, 0, 0
    while tried < wanted:
        spec = made_up(rng)
        kind = rng.choice(["no-loss", "peak", "peak", "share", "apart"])
        most, runs = worst(spec, kind)
        if most is None:
            continue
        tried += 1
        played += runs
        text, bound = objective(rng, kind, most)
        said = asked(spec, text)
        right = "fails" if most > bound else "holds"
        tally[right] += 1
        if said["verdict"] != right:
            raise SystemExit("%s is said of %s, the worst is %s: %s" %
                             (said["verdict"], text, most, spec))
        if right == "fails" and not shows(spec, said, kind, bound):
            raise SystemExit("%s: not a run that misses it: %s %s" %
                             (text, spec, said["schedule"]))
    print("%d specifications, %d runs: %d hold, %d fail" %
          (tried, played, tally["holds"], tally["fails"]))


main()
