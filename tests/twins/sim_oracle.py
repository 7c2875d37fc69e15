#!/usr/bin/env python3
"""sim_oracle.py - an independent second version of a simulated network

This program checks innet-sim.  It was written only from innet-scenario(5),
innet-sim(1) and innet-olaf(7), and uses nothing in common/ or cmd/.  Queue, link
and age are those of oracle.py.  In a scenario each name is one switch, and workers
play schedules or are periodic in phase order.  The program is intentionally slow
and simple.
"""
import heapq
import json
import math

import oracle

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 6 * 10**10}
FAULT, LEAVE, DELIVERY, ACK, ARRIVAL, WAKE, GENERATE = range(7)
MASK = (1 << 128) - 1


class Pcg64:
    """numpy's Generator(PCG64(seed)).random()."""

    def __init__(self, seed):
        words = [seed & 0xffffffff, seed >> 32, 0, 0]
        mult = [0x43b0d7e5]

        def hashed(v):
            v ^= mult[0]
            mult[0] = mult[0] * 0x931e8875 & 0xffffffff
            v = v * mult[0] & 0xffffffff
            return v ^ v >> 16
        pool = [hashed(w) for w in words]
        for i in range(4):
            for k in range(4):
                if i != k:
                    v = (0xca01f9dd * pool[k] -
                         0x4973f715 * hashed(pool[i])) & 0xffffffff
                    pool[k] = v ^ v >> 16
        state, m = [], 0x8b51f9dd
        for i in range(8):
            v = pool[i % 4] ^ m
            m = m * 0x58f38ded & 0xffffffff
            v = v * m & 0xffffffff
            state.append(v ^ v >> 16)
        q = [state[2 * i] | state[2 * i + 1] << 32 for i in range(4)]
        self.inc = ((q[2] << 64 | q[3]) << 1 | 1) & MASK
        self.state = 0
        self.step()
        self.state = (self.state + (q[0] << 64 | q[1])) & MASK
        self.step()

    def step(self):
        self.state = (self.state * 0x2360ed051fc65da44385df649fccf645 +
                      self.inc) & MASK
        x = (self.state >> 64 ^ self.state) & (1 << 64) - 1
        r = self.state >> 122
        return (x >> r | x << (64 - r)) & (1 << 64) - 1

    def random(self):
        return (self.step() >> 11) * 2.0**-53


def time(s):
    if isinstance(s, (int, float)):
        return int(s)
    for unit in sorted(UNITS, key=len, reverse=True):
        if s.endswith(unit):
            return round(float(s[:-len(unit)]) * UNITS[unit])
    return int(s)


def share(s):
    return float(s[:-1]) / 100 if isinstance(s, str) and s[-1] == "%" \
        else float(s)


class Packet:
    def __init__(self, update, length, model=None):
        self.update, self.length, self.model = update, length, model


class Model:
    def __init__(self, cluster, worker, last=True):
        self.cluster, self.worker = cluster, worker  # None: all workers
        self.last = last  # numbers of its vector's packets
        self.status = None  # (Qmax, N) of a status


class Pipe:
    """One direction of a link; the direction away from a switch begins with
    its queue."""

    def __init__(self, net, src, dst, rate, propagation, loss, kind, limit):
        self.net, self.src, self.dst = net, src, dst
        self.rate, self.propagation, self.loss = rate, propagation, loss
        self.kind, self.limit = kind, limit
        self.free, self.flying, self.down = 0, [], 0
        self.number = len(net.pipes)
        net.pipes.append(self)

    def fly(self, p, left):
        self.flying.append((left, left + self.propagation, p))
        if len(self.flying) == 1:
            self.expect()

    def expect(self):
        self.net.at(self.flying[0][1], self.kind, self.number, self.arrive)

    def arrive(self):
        net = self.net
        if not self.flying or self.flying[0][1] != net.now:
            return
        p = self.flying.pop(0)[2]
        if self.flying:
            self.expect()
        if self.loss and net.chance.random() < self.loss:
            net.lose(p, "lost_link")
        else:
            net.hand(self.dst, self, p)

    def send(self, p, ready):
        if self.down:
            return self.net.lose(p, "lost_down")
        if self.limit is not None and self.limit <= sum(
                left > ready for left, _, _ in self.flying):
            return self.net.lose(p, "lost_queue")
        bits = 8 * 10**9 * (p.length + self.net.overhead)
        self.free = max(self.free, ready) + \
            ((2 * bits + self.rate) // (2 * self.rate) if self.rate else 0)
        self.fly(p, self.free)

    def clear(self, everything):
        while self.flying and (everything or
                               self.flying[-1][0] > self.net.now):
            self.net.lose(self.flying.pop()[2], "lost_down")
        self.free = self.net.now


class SwitchNode:
    def __init__(self, net, cf):
        self.net, self.cf, self.down, self.seen = net, cf, 0, {}
        self.window = time(cf.get("active_window", "1s"))
        self.program = cf.get("queue", "olaf")
        self.children = []

    def connect(self, up, rate):
        self.up = up
        th = self.cf.get("reward_threshold", -1)
        self.port = oracle.Switch(
            "olaf" if self.program == "olaf" else "fifo",
            self.cf.get("slots", 8), rate, None if th < 0 else th,
            overhead=self.net.overhead)

    def expect(self):
        if self.port.departs is not None:
            self.net.at(self.port.departs, LEAVE, self.up.number, self.leave)

    def leave(self):
        if self.port.departs != self.net.now:
            return
        had = len(self.port.deliveries)
        self.port.run_to(self.net.now)
        self.expect()
        for stamp, u in self.port.deliveries[had:]:
            self.up.fly(Packet(u, u.length), stamp)

    def take(self, by, p):
        if p.model is None:
            if self.up.down:
                return self.net.lose(p, "lost_down")
            u, was = p.update, self.port.departs
            if u.frame is None:
                self.seen[u.key] = self.net.now
            elif len(self.port.queue) == self.port.slots:
                u.frame.dropped += 1
            self.port.arrive(self.net.now, u)
            if was is None:
                self.expect()
            return None
        m = Model(p.model.cluster, p.model.worker, p.model.last)
        m.status = p.model.status
        if self.program != "regular":
            n = sum(t + self.window >= self.net.now
                    for t in self.seen.values())
            q = self.port.slots
            if m.status is None or q * m.status[1] < m.status[0] * n:
                m.status = q, n
        self.net.pass_down(self, Packet(None, p.length, m), self.net.now)

    def clear(self):
        for u in self.port.queue:
            self.net.lose(Packet(u, u.length), "lost_down")
        self.port.queue, self.port.departs = [], None
        self.port.free_at = self.net.now

    def fail(self):
        self.clear()
        self.seen = {}
        for pipe in self.net.pipes:
            if pipe.src is self:
                pipe.clear(False)


class Server:
    def __init__(self, net, cf):
        self.net, self.cf, self.down, self.children = net, cf, 0, []

    def take(self, by, p):
        u, net = p.update, self.net
        if u.frame is not None:
            u.frame.delays.append(net.now - u.generated)
            return
        c = net.clusters[u.cluster]
        c.received.append((net.now, u))
        self.judge(c, u.following, u.reward)
        reply = self.cf.get("reply", "cluster")
        length = self.cf.get("frame", p.length + 8)
        m = Model(u.cluster, None if reply == "cluster" else u.worker,
                  u.following == 0)
        if reply != "none":
            net.pass_down(self, Packet(None, length, m),
                          net.now + time(self.cf.get("delay", 0)))


    def judge(self, c, packet, r):
        """Does the update pass the gate of innet-olaf(7)?  It does only if r >
        r_g."""
        gate, best = self.cf.get("gate", "none"), c.r_g.get(packet)
        if gate != "none" and best is not None and not r > best:
            c.gated += 1
        if best is None or gate == "last":
            best = r
        elif gate == "best":
            best = max(best, r)
        else:
            best += self.cf.get("gate_ema", 0.1) * (r - best)
        c.r_g[packet] = best


class Worker:
    def __init__(self, group, cluster, number):
        self.group, self.cluster, self.id = group, cluster, number
        self.put, self.status, self.came = 0, None, None
        self.number, self.due, self.waits = 0, None, False
        self.up = self.back = None

    def probability(self, now):
        kind = self.group.cf.get("control", "none")
        if kind == "none" or self.status is None or \
                self.status[0] >= self.status[1]:
            return 1
        p = self.status[0] / self.status[1]
        threshold = time(self.group.cf.get("threshold", "400ms"))
        if now - self.came > threshold:
            d, t = (now - self.came) * 1e-9, threshold * 1e-9
            p += t * (d - t) if kind == "fair" else (d - t) / t if t else 1
        return min(p, 1)


class Group:
    """The workers of an entry, behind a shared access link if there is one."""

    def __init__(self, net, cf):
        self.net, self.cf, self.down = net, cf, 0
        self.node = net.nodes[cf["at"]]
        first, last = (int(x) for x in cf["clusters"].split("-"))
        self.workers = []
        start = cf.get("first_worker", 0)
        for c in range(first, last + 1):
            net.clusters.setdefault(c, Cluster(c, cf))
            for i in range(start, start + cf["workers"]):
                self.workers.append(Worker(self, c, i))
        self.connect()

    def connect(self):
        cf, net = self.cf, self.net
        how = (cf.get("access_rate", 0),
               time(cf.get("access_propagation", 0)),
               share(cf.get("access_loss", 0)))
        if not any(how):
            return
        limit = cf.get("access_queue")
        for w in self.workers:
            if cf.get("shared") and w is not self.workers[0]:
                w.up, w.back = self.workers[0].up, self.workers[0].back
                continue
            at = self if cf.get("shared") else w
            w.up = Pipe(net, at, self.node, *how, ARRIVAL, limit)
            w.back = Pipe(net, self.node, at, *how, ACK, limit)

    def of(self, m):
        return [w for w in self.workers if w.cluster == m.cluster and
                m.worker in (None, w.id)]

    def get(self, workers, p):
        for w in workers:
            self.net.clusters[w.cluster].models += 1
            if p.model.status is not None:
                w.status, w.came = p.model.status, self.net.now
            if w.waits and p.model.last:
                self.compute(w)

    def expect(self, w, waits, t):
        """Run worker w at t: end a wait, or make an update."""
        w.waits, w.due = waits, t
        self.net.at(t, GENERATE, w.number, lambda: self.due(w))

    def compute(self, w):
        w.waits, w.due = False, None
        t = self.net.now + time(self.cf["interval"])
        if t < self.stop:
            self.expect(w, False, t)

    def due(self, w):
        net = self.net
        if w.due != net.now:
            net.now = net.was
        elif w.waits:
            net.clusters[w.cluster].timed_out += 1
            self.compute(w)
        else:
            w.due = None
            sent = self.generate(w, 1.0)
            if w.put == self.cf.get("count"):
                return
            if sent:
                self.expect(w, True, net.now + time(self.cf["wait"]))
            else:
                self.compute(w)

    def start(self):
        cf, net = self.cf, self.net
        stop = time(cf["stop"]) if "stop" in cf else 1 << 62
        self.stop = min(stop, net.duration)
        begin = time(cf.get("start", 0))
        base = net.numbers
        net.numbers += len(self.workers)
        if "schedule" in cf:
            with open(cf["schedule"], encoding="ascii") as f:
                lines = [line.strip().split(",") for line in f]
            rows = sorted((int(t) + begin, int(c), int(w), i, float(r))
                          for i, (c, w, t, r) in enumerate(lines))
            for i, (t, c, w, _, r) in enumerate(rows):
                if t < min(stop, net.duration):
                    net.at(t, GENERATE, base, lambda c=c, w=w, r=r:
                           self.generate(self.find(c, w), r), i)
            return
        window, interval = time(cf["window"]), time(cf["interval"])
        for i, w in enumerate(self.workers):
            t = window * i // len(self.workers) + begin
            w.number = base + i
            if "wait" in cf:
                if t < self.stop:
                    self.expect(w, False, t)
                continue
            for _ in range(cf.get("count", 10**9)):
                if t >= min(stop, net.duration):
                    break
                net.at(t, GENERATE, base + i,
                       lambda w=w: self.generate(w, 1.0))
                t += interval

    def find(self, cluster, number):
        return next(w for w in self.workers
                    if (w.cluster, w.id) == (cluster, number))

    def generate(self, w, reward):
        net, c = self.net, self.net.clusters[w.cluster]
        w.put += 1
        c.generated += 1
        if self.cf.get("control", "none") != "none" and \
                not net.control.random() < w.probability(net.now):
            c.suppressed += 1
            return False
        if c.first is None:
            c.first = net.now
        c.last = net.now
        for k in reversed(range(len(c.frames))):
            u = oracle.Update(w.cluster, w.id, w.put, 1, k, net.now,
                              oracle.f32(reward), 0.0, c.frames[k])
            c.sent += 1
            p = Packet(u, u.length)
            if w.up is None:
                net.hand(self.node, None, p)
            else:
                w.up.send(p, net.now)
        return True


class Source:
    """Frames of other programs; .frame of an update says to which program it
    belongs."""

    def __init__(self, net, cf, number, place):
        self.net, self.cf, self.number = net, cf, number
        self.sent = self.dropped = 0
        self.delays = []
        self.lost = {"lost_link": 0, "lost_down": 0}
        self.length = cf.get("frame", 1000)
        self.step = (8 * self.length * 10**9 << 32) // cf["rate"]
        seed = (net.sc.get("seed", 1) ^ 0x7265677561726c) + \
            0x9e3779b97f4a7c15 * place
        begin = time(cf.get("start", 0)) << 32
        chance = Pcg64(seed & (1 << 64) - 1)
        self.nominal = int(chance.random() * float(self.step)) + begin
        self.stop = min(net.duration, time(cf.get("stop", net.duration)))
        self.expect()

    def expect(self):
        if self.nominal >> 32 < self.stop:
            self.net.at(self.nominal >> 32, WAKE, self.number, self.send)

    def send(self):
        u = oracle.Update(0, 0, 0, generated=self.net.now,
                          length=self.length)
        u.frame = self
        self.sent += 1
        self.net.hand(self.net.nodes[self.cf["at"]], None,
                      Packet(u, u.length))
        self.nominal += self.step
        self.expect()

    def row(self):
        row = {"sent": self.sent, "received": len(self.delays),
               "dropped_full": self.dropped, **self.lost}
        row["queued"] = self.sent - len(self.delays) - self.dropped - \
            sum(self.lost.values())
        if self.delays:
            row["mean_delay_ns"] = sum(self.delays) // len(self.delays)
        return row


class Cluster:
    def __init__(self, number, cf):
        self.id, self.first, self.received = number, None, []
        self.sent = self.generated = self.suppressed = self.models = 0
        self.timed_out, self.gated, self.r_g = 0, 0, {}
        self.lost = {"lost_link": 0, "lost_down": 0, "lost_queue": 0}
        floats = (cf.get("payload", 256) - 32) // 4
        elements = cf.get("elements", floats)
        packets = math.ceil(elements / floats)
        last = 42 + 32 + 4 * (elements - (packets - 1) * floats)
        full = 42 + 32 + 4 * floats
        self.frames = [last] + [full] * (packets - 1)
        if "frame" in cf:
            self.frames = [cf["frame"]] * packets


class Net:
    def __init__(self, sc):
        self.sc, self.now, self.events, self.pipes = sc, 0, [], []
        self.order = self.numbers = 0
        seed = sc.get("seed", 1)
        self.control = Pcg64(seed ^ 0x636f6e74726f6c)
        self.chance = Pcg64(seed ^ 0x6368616e6365)
        self.overhead = 24 if sc.get("wire_overhead") else 0
        self.duration = time(sc["duration"])
        self.clusters = {}
        self.nodes = {cf["name"]: SwitchNode(self, cf)
                      for cf in sc["switches"]}
        for cf in sc["servers"]:
            self.nodes[cf["name"]] = Server(self, cf)
        for l in sc["links"]:
            self.link(l)
        self.groups = [Group(self, cf) for cf in sc["workers"]]
        for i, f in enumerate(sc.get("faults", [])):
            self.at(time(f["from"]), FAULT, 2 * i,
                    lambda f=f: self.fail(f, 1))
            self.at(time(f["to"]), FAULT, 2 * i + 1,
                    lambda f=f: self.fail(f, -1))
        for g in self.groups:
            g.start()
        self.sources = [Source(self, cf, i, i) for i, cf in
                        enumerate(sc.get("traffic", []))]

    def link(self, l):
        a, b = self.nodes[l["from"]], self.nodes[l["to"]]
        how = time(l.get("propagation", 0)), share(l.get("loss", 0))
        up = Pipe(self, a, b, l["rate"], *how, DELIVERY
                  if isinstance(b, Server) else ARRIVAL, None)
        a.back = Pipe(self, b, a, l.get("back_rate", l["rate"]), *how, ACK,
                      l.get("queue"))
        a.connect(up, l["rate"])
        b.children.append(a)

    def at(self, t, kind, number, what, tie=None):
        self.order += 1
        heapq.heappush(self.events, (t, kind, number, self.order
                                     if tie is None else tie, what))

    def fail(self, f, step):
        if "link" in f:
            a = self.nodes[f["link"]]
            for pipe in (a.up, a.back):
                pipe.down += step
            if step > 0:
                a.clear()
                a.up.clear(True)
                a.back.clear(True)
            return
        a = self.nodes[f["switch"]]
        a.down += step
        if step > 0 and a.down == 1:
            a.fail()

    def lose(self, p, why):
        if p.model is None and p.update.frame is not None:
            p.update.frame.lost[why] += 1
        elif p.model is None:
            self.clusters[p.update.cluster].lost[why] += p.update.merged

    def hand(self, to, by, p):
        if isinstance(to, Worker):
            to.group.get([to], p)
        elif isinstance(to, Group):
            to.get(to.of(p.model), p)
        elif to.down:
            self.lose(p, "lost_down")
        else:
            to.take(by, p)

    def below(self, node, m):
        """Is a receiver of the model below this switch?"""
        return any(g.node is node and g.of(m) for g in self.groups) or \
            any(self.below(n, m) for n in node.children)

    def pass_down(self, node, p, ready):
        for child in node.children:
            if self.below(child, p.model):
                child.back.send(p, ready)
        for g in self.groups:
            if g.node is not node or not g.of(p.model):
                continue
            if g.workers[0].back is None:
                g.get(g.of(p.model), p)
            elif g.cf.get("shared"):
                g.workers[0].back.send(p, ready)
            else:
                for w in g.of(p.model):
                    w.back.send(p, ready)

    def run(self):
        drain = self.sc.get("drain", False)
        while self.events and (drain or self.events[0][0] <= self.duration):
            t, _, _, _, what = heapq.heappop(self.events)
            self.was, self.now = self.now, t
            what()
        self.end = max(self.now, self.duration)

    def row(self, c):
        """Return the figures of a cluster that innet-sim prints too."""
        gone = {n: sum(s.port.clusters.get(c.id, {}).get(n, (0, 0))[1]
                       for s in self.nodes.values()
                       if isinstance(s, SwitchNode))
                for n in ("aggregated", "replaced", "superseded",
                          "dropped_full", "dropped_reward")}
        merged = sum(u.merged for _, u in c.received)
        row = {"generated": c.generated, "suppressed": c.suppressed,
               "sent": c.sent, "received": len(c.received),
               "merged": merged, "models": c.models, **gone, **c.lost}
        if any("wait" in g.cf for g in self.groups):
            row["timed_out"] = c.timed_out
        if any("gate" in cf for cf in self.sc["servers"]):
            row["gated"] = c.gated
        row["queued"] = c.sent - merged - sum(c.lost.values()) - \
            sum(gone[n] for n in gone if n[0] == "d" or n[0] == "s")
        if c.received:
            row["mean_delay_ns"] = sum(t - u.generated for t, u in
                                       c.received) // len(c.received)
        if c.first is not None and len(c.frames) == 1:
            to = self.sc.get("ages_to", "auto")
            a = oracle.ages([(t, u.generated) for t, u in c.received],
                            c.first, c.first, self.end if to != "cluster"
                            else max([c.last] + [t for t, _ in c.received]))
            row.update((k, a[k]) for k in a if k.endswith("age_ns"))
        return row


def rows(path):
    """Return {cluster: figures} of the scenario at path."""
    with open(path, encoding="utf-8") as f:
        net = Net(json.load(f))
    net.run()
    return ({str(c.id): net.row(c) for c in net.clusters.values()},
            [s.row() for s in net.sources])
