"""iswitch_scenarios.py - make random scenarios of an aggregation switch

The workers of a scenario see the answers of the oracle.  They lose some packets,
send packets again, send Help, join, leave and fall silent.
"""
import math
import random
import struct

import oracle_runs
from iswitch_oracle import (ALL, FBCAST, HELP, JOIN, LEAVE, SECOND, SETH,
                            DONE, Switch, f32)

T0 = 1700000000 * SECOND
SWITCH = (bytes([10, 255, 255, 1]), 46638)
PARENT = (bytes([10, 9, 0, 1]), 46638)
SEG_TOS, CONTROL_TOS = 0x1c, 0x0c
MS = SECOND // 1000


# Bytes.

def frame(src, dst, payload, tos):
    ip = struct.pack(">BBHHHBBH", 0x45, tos, 28 + len(payload), 0, 0x4000,
                     64, 17, 0) + src[0] + dst[0]
    ip = ip[:10] + struct.pack(">H", oracle_runs.checksum(ip)) + ip[12:]
    return b"\2\0" + dst[0] + b"\2\0" + src[0] + b"\x08\0" + ip + \
        struct.pack(">HHHH", src[1], dst[1], 8 + len(payload), 0) + payload


def seg_word(iteration, contributions, index):
    return iteration << 40 | contributions << 24 | index


def seg(iteration, contributions, index, values):
    return struct.pack(">Q", seg_word(iteration, contributions, index)) + \
        struct.pack("<%df" % len(values), *values)


def message(action, job, xid, body):
    if action == JOIN:
        worker, elements, floats, first, crc, mode = body
        tail = struct.pack(">BBHIIHII", 1, mode, 0, worker, elements,
                           floats, first, crc)
    elif action == SETH:
        tail = struct.pack(">H", body)
    elif action in (FBCAST, HELP):
        tail = struct.pack(">Q", seg_word(body[0], 0, body[1]))
    else:
        tail = b""
    return struct.pack(">BBHI", action, 0, job, xid) + tail


# Scenarios.

class Worker:
    def __init__(self, addr, number):
        self.addr, self.number = addr, number
        self.at, self.pushed = {}, {}  # index: next iteration and last push
        self.xid, self.asked = random.Random(number).getrandbits(32), None
        self.muted = self.gone = False
        self.since = None  # first iteration of a member that joins later


class World:
    """A job and its workers, with their view of it."""

    def __init__(self, s, number):
        r = s.r
        self.number = number
        self.elements = r.choice((1, 2, 3, 5, 8))
        self.floats = r.choice((1, 2, 3, 8))
        self.segments = -(-self.elements // self.floats)
        self.first = r.choice((0, 1, 1, 2, 77, ALL - 1, ALL))
        self.crc = r.choice((0, 5))
        self.workers, self.parent_xid = [], 100
        self.later = r.random() < 0.4 and s.sw.h is None
        self.fbcasts = r.random() < 0.5 and s.sw.straggler is not None
        self.set_h = r.random() < 0.5 and s.sw.straggler is not None and \
            not self.later

    def worker(self, s):
        w = Worker((bytes([10, 0, self.number, len(self.workers) + 1]),
                    s.r.choice((5000, 46638))), len(self.workers))
        self.workers.append(w)
        return w

    def join(self, s, w, first=None, **other):
        s.ask(self, w, JOIN, (
            w.number, other.get("elements", self.elements),
            other.get("floats", self.floats),
            self.first if first is None else first,
            other.get("crc", self.crc), int(s.sw.asynchronous)))


class Scenario:
    """Settings, the packets of a trace, and the results of the oracle."""

    def __init__(self, seed, mode="sync"):
        r = self.r = random.Random(seed)
        self.seed, self.trace, self.now = seed, [], T0
        self.own = self.ignored = 0
        self.regular = []
        asynchronous, child = mode == "async", mode == "child"
        h = r.choice((None, None, 1, 2, 3))
        straggler = None if asynchronous else r.choice(
            (20 * MS, 90 * MS, 3 * SECOND) if child else
            (None, None, 20 * MS, 90 * MS, 3 * SECOND))
        self.timeouts = r.random() < 0.15 and (h is None or
                                               straggler is not None)
        self.sw = Switch(
            h=h, asynchronous=asynchronous, straggler=straggler,
            parent=PARENT if child else None,
            reduce=r.choice(("sum", "sum", "ordered", "fixed",
                             "sum" if child else "median")),
            keep=r.choice((16, 16, 2, 5)),
            timeout=2 * SECOND if self.timeouts else 10 * SECOND)
        self.nonfinite = r.random() < 0.2
        self.loss = r.choice((0, 0.05, 0.2))
        self.worlds = [World(self, n + 1) for n in range(r.choice((1, 1, 2)))]
        self.setup()
        gap = r.choice((1, 4)) * MS if not self.timeouts else 10 * MS
        for self.step in range(r.choice((60, 200, 400))):
            if r.random() < 0.9:
                self.now += int(r.expovariate(1 / gap)) + 1
            self.one(r.choice(self.worlds))
            if self.step == 100 and self.timeouts:
                r.choice(self.worlds[0].workers[1:] or
                         [Worker(None, 0)]).muted = True
        self.left = {n: sum(x.parts != [] and x.result is None
                            for x in j.slots.values())
                     for n, j in self.sw.jobs.items()}

    # Packets.

    def put(self, src, dst, payload, tos):
        data = frame(src, dst, payload, tos)
        self.trace.append((self.now, len(data), data))

    def fire(self):
        for _, sent in self.sw.run_to(self.now):
            self.see(sent)

    def see(self, sent):
        """Let the workers read their packets, except for lost ones."""
        for j in self.worlds:
            for w in j.workers:
                for what in sent.get(w.addr, ()):
                    if what[0] != "seg" or self.r.random() < self.loss:
                        continue
                    at = w.at.get(what[3], j.first)
                    if what[1] == at or w.since is not None:
                        w.at[what[3]] = what[1] + 1 & ALL

    def segment(self, w, iteration, index, values, contributions=1):
        self.fire()
        self.put(w.addr, SWITCH,
                 seg(iteration, contributions, index, values), SEG_TOS)
        self.sw.segment(self.now, w.addr, iteration, contributions, index,
                        values)
        self.see(self.sw.end_event())

    def ask(self, j, w, action, body):
        w.xid = w.xid + 1 & 0xffffffff
        w.asked = j.number, action, w.xid, body
        self.repeat(w)

    def repeat(self, w, older=0):
        number, action, xid, body = w.asked
        xid = xid - older & 0xffffffff
        self.fire()
        self.put(w.addr, SWITCH, message(action, number, xid, body),
                 CONTROL_TOS)
        self.sw.control(self.now, w.addr, action, number, xid,
                        body[:5] if action == JOIN else body)
        self.see(self.sw.end_event())

    def values(self, n):
        r = self.r
        if self.sw.reduce == "median":
            return tuple(r.randint(-99, 99) * 0.25 or 1.0 for _ in range(n))
        v = [f32(r.choice(
            (r.randint(-99, 99) * 0.25, r.randint(1, 2**20) * 1.0,
             (2 * r.randint(-2**20, 2**20) + 1) * 2.0**-26)  # no sum may be a tie
            if self.sw.reduce == "fixed" else
            (r.uniform(-1, 1), r.uniform(-1e8, 1e8), 1e-38, 3.0))) or 1.0
             for _ in range(n)]
        if self.nonfinite and r.random() < 0.05:
            v[r.randrange(n)] = r.choice((math.inf, -math.inf, math.nan))
        return tuple(v)

    # The parent.

    def up(self, j):
        """Return the address from which job j sends to the parent."""
        return SWITCH[0], SWITCH[1] + 1 + j.number

    def meet(self, j):
        """Let the switch join its parent before it sends Acks; a worker then
        asks again."""
        w = j.workers[0]
        self.now += MS
        body = (w.number, j.elements, j.floats, j.first, j.crc, 0)
        self.put(w.addr, SWITCH, message(JOIN, j.number, w.xid + 1, body),
                 CONTROL_TOS)
        for xid in range(1, 4):  # the xid in the switch's request
            self.put(PARENT, self.up(j), struct.pack(
                ">BBHIBBHHHIHIH", 8, 0, j.number, xid, JOIN, DONE, 1, 2, 2,
                j.first, j.floats, j.elements, 10), CONTROL_TOS)

    def parent_speaks(self, j):
        """Send a result or Help of the parent for a slot that is filling or
        was sent up."""
        r, job = self.r, self.sw.jobs[j.number]
        self.fire()
        at = [(k, s) for k, s in sorted(job.slots.items())
              if s.parts and s.result is None and
              (s.sent is not None or r.random() < 0.1)]
        if not at:  # time has passed, so an event must show it
            self.beside(j, j.workers[0])
            return
        key, slot = r.choice(at)
        if r.random() < 0.2:
            j.parent_xid += 1
            self.put(PARENT, self.up(j), message(
                HELP, j.number, j.parent_xid, (slot.iteration, key[1])),
                CONTROL_TOS)
            self.sw.help_from_parent(j.number, slot.iteration, key[1],
                                     self.now)
        else:
            what = slot.iteration, r.randint(1, 9), key[1], \
                self.values(len(slot.parts[0][1]))
            self.put(PARENT, self.up(j), seg(*what), SEG_TOS)
            self.sw.from_parent(j.number, *what)
        self.see(self.sw.end_event())

    # Events.

    def setup(self):
        r = self.r
        if self.sw.parent is not None:
            for j in self.worlds:
                self.meet(j.worker(self) and j)
        for j in self.worlds:
            for _ in range(max(r.randint(1, 6), self.sw.h or 1)):
                j.worker(self)
        todo = [(j, w) for j in self.worlds for w in j.workers]
        r.shuffle(todo)
        for j, w in todo:
            self.now += r.randint(0, 80) * MS
            j.join(self, w, crc=r.choice((j.crc, j.crc, 0))
                   if w is not j.workers[0] and j.number in self.sw.jobs
                   else j.crc)
            if r.random() < 0.1:
                self.repeat(w)
            if r.random() < 0.1:
                self.stranger(j)
        if self.sw.h is None:
            for _ in range(r.randint(0, 3)):
                j = r.choice(self.worlds)
                self.fire()
                self.send(j, r.choice(j.workers), 0)
            self.now += SECOND + r.choice((0, 0, r.randint(0, MS)))
        else:
            self.now += MS

    def send(self, j, w, off=0, index=None):
        index = self.r.randrange(j.segments) if index is None else index
        n = min(j.floats, j.elements - index * j.floats)
        if self.sw.asynchronous:
            t = w.pushed.get(index, 5) + 1 + off & ALL
            if off >= 0 and (self.r.random() >= self.loss):
                w.pushed[index] = t
        else:
            t = w.at.get(index, j.first if w.since is None else w.since)
            t = t + off & ALL
            if w.since is not None and 0 < (w.since - t & ALL) < 1 << 23:
                return
        if self.r.random() >= self.loss / 2:
            self.segment(w, t, index, self.values(n),
                         self.r.choice((1, 1, 1, 1, 3)))

    def one(self, j):
        """Generate one event."""
        r, x = self.r, self.r.random() * 100
        workers = [w for w in j.workers if not w.gone and not w.muted]
        w = r.choice(workers)
        if self.sw.parent is not None and r.random() < 0.3:
            self.parent_speaks(j)
        elif x < 74:
            self.send(j, w)
        elif x < 84:
            self.send(j, w, r.choice((-1, -1, -2, -3, 1, 2, -8)))
        elif x < 90:
            self.ask_help(j, w)
        elif x < 92:
            self.odd(j, w)
        elif x < 94:
            self.beside(j, w)
        elif x < 95 and j.fbcasts:
            filling = self.sw.jobs[j.number].filling()
            if filling:
                key = r.choice(filling)
                s = self.sw.jobs[j.number].slots[key]
                self.ask(j, r.choice((w, self.ctl(j))), FBCAST,
                         (s.iteration, key[1]))
        elif x < 96 and j.set_h:
            self.ask(j, self.ctl(j), SETH, r.choice(
                (0, 0, 1, 2, len(workers))))
        elif x < 97 and w.asked is not None:
            self.repeat(w, r.choice((0, 0, 1, 2)))
        elif x < 98 and self.sw.of(w.addr)[0] is not None:
            t = min((w.at.get(i, j.first) for i in range(j.segments)))
            j.join(self, w, first=t)
        elif x < 99 and j.later and len(workers) < 9:
            self.newcomer(j)
        elif w is not j.workers[0] and not self.sw.asynchronous and \
                (self.sw.h is None or self.sw.straggler is not None) and \
                self.sw.jobs[j.number].h is None and w.since is None:
            self.ask(j, w, LEAVE, None)
            w.gone = r.random() < 0.7  # otherwise the worker continues, as a stranger
            if not w.gone:
                self.send(j, w)
                w.gone = True

    def ctl(self, j):
        if not hasattr(j, "ctl"):
            j.ctl = Worker((bytes([10, 1, j.number, 1]), 7000), 99)
        return j.ctl

    def ask_help(self, j, w):
        index = self.r.randrange(j.segments)
        if self.sw.asynchronous:
            kept = self.sw.jobs[j.number].kept.get(index)
            if kept:
                self.ask(j, w, HELP, (self.r.choice(kept)[1], index))
            return
        if any(w.since is not None for w in j.workers):
            return  # the design does not define which worker is asked then
        t = w.at.get(index, j.first) + self.r.choice((0, 0, 0, -1, -2, -4,
                                                      1))
        self.ask(j, w, HELP, (t & ALL, index))

    def newcomer(self, j):
        job = self.sw.jobs[j.number]
        if not job.open or job.newest() is None:
            return
        w = j.worker(self)
        if self.sw.asynchronous:  # keeps every round of these runs
            j.join(self, w)
            return
        w.since = job.newest() + 1 & ALL
        j.join(self, w, first=w.since, crc=0)

    def stranger(self, j):
        """Generate Joins that are refused, and segments of strangers."""
        w = Worker((bytes([10, 2, j.number, self.r.randint(1, 4)]), 1),
                   50)
        w.xid += self.now // 1000  # a member that asked before is now newer
        x = self.r.random()
        job = self.sw.jobs.get(j.number)
        if job is None or x < 0.4:
            self.segment(w, j.first, 0, (1.0,))
        elif x < 0.7:
            j.join(self, w, elements=j.elements + 1)
        elif job.newest() is None and x < 0.8:
            j.join(self, w, first=j.first + 3 & ALL)
        elif job.newest() is None and job.crc:
            j.join(self, w, crc=9)

    def odd(self, j, w):
        """Generate packets that are ignored, and packets of unknown senders.
        """
        x = self.r.random()
        if x < 0.5:
            self.stranger(j)
            return
        _, m = self.sw.of(w.addr)
        if m is None or self.timeouts:  # does it count as a sign of life?
            return
        t, n = w.at.get(0, j.first), min(j.floats, j.elements)
        values = (1.0,) * (n + 1)
        payload = seg(t, 1, 0, values) if x < 0.7 else \
            seg(t, 1, j.segments, values[:1]) if x < 0.9 else \
            seg(t, 1, 0, values)[:7]
        self.fire()
        self.put(w.addr, SWITCH, payload, SEG_TOS)
        self.ignored += 1
        m.heard = max(m.heard, self.now)

    def beside(self, j, w):
        """Generate packets that pass, or that came from the switch."""
        self.fire()
        if self.r.random() < 0.5:
            self.put(SWITCH, w.addr, seg(1, 1, 0, (9.0,)), SEG_TOS)
            self.own += 1
        else:
            self.put(w.addr, (b"\x0a\x09\x09\x09", 53),
                     self.r.randbytes(self.r.randint(1, 40)), 0)
            self.regular.append(self.trace[-1][2])

    def options(self):
        sw = self.sw
        o = ["--reduce", sw.reduce]
        o += ["-H", str(sw.h)] if sw.h is not None else []
        o += ["--async"] if sw.asynchronous else ["--keep", str(sw.keep)]
        o += ["--straggler", "%dns" % sw.straggler] \
            if sw.straggler is not None else []
        o += ["--member-timeout", "2s"] if self.timeouts else []
        o += ["--parent", "10.9.0.1:46638"] if sw.parent else []
        return o
