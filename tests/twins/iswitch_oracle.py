"""iswitch_oracle.py - an independent second version of the aggregation switch

This program checks innet-switch --program iswitch.  It was written only from the
text of the design.  The caller gives it packets and a time.  It returns the packets
for each destination in groups, one for each event; the order within a group does
not matter.

An output is a tuple: ("seg", iteration, contributions, index, values),
("help", iteration, index) or ("ack", action, status, more...).
"""
import math
import statistics
import struct
from collections import Counter, deque

HALF, ALL = 1 << 23, (1 << 24) - 1
JOIN, LEAVE, SETH, FBCAST, HELP = 1, 2, 4, 5, 6
DONE, NOT_MEMBER, REFUSED, BAD_VALUE, GONE = 0, 3, 4, 5, 8
SECOND = 10**9


def f32(x):
    """Return the binary32 nearest to x as a float."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def before(a, b):
    """Is iteration a older than b?"""
    return 0 < (b - a & ALL) < HALF


def sums(reduce, parts, order, contributions):
    """Return the reduction of [(address, values)], in order of arrival."""
    if reduce == "ordered":
        parts = sorted(parts, key=lambda p: order[p[0]])
    columns = list(zip(*(v for _, v in parts)))
    if reduce == "fixed":
        return tuple(fixed(c) for c in columns)
    if reduce == "median":  # the formats for which this is exact
        return tuple(f32(statistics.median(c) * contributions)
                     for c in columns)
    out = []
    for c in columns:
        s = c[0]
        for x in c[1:]:
            s = f32(s + x)
        out.append(s)
    return tuple(out)


def fixed(column):
    """Return the saturating sum in units of 2^-24, of finite numbers without
    ties."""
    low, high, total = 1 - 2**63, 2**63 - 1, 0
    if not all(map(math.isfinite, column)):
        return math.nan
    for x in column:
        n = math.floor(x * 2**24 + 0.5)
        total = max(low, min(high, total + max(low, min(high, n))))
    return f32(total / 2**24)


class Member:
    def __init__(self, addr, worker, since, now):
        self.addr, self.worker, self.heard = addr, worker, now
        self.since = since  # the first iteration in which it counts; None: any


class Slot:
    """The slot at (parity, index), or in an asynchronous job at (0, index)."""

    def __init__(self, iteration, now):
        self.iteration, self.since = iteration, now
        self.parts, self.contributions, self.result = [], 0, None
        self.sent = None  # sent to the parent by a child

    def has(self, addr):
        return any(a == addr for a, _ in self.parts)


class Job:
    def __init__(self, switch, number, elements, floats, first, crc, now):
        self.switch, self.number = switch, number
        self.elements, self.floats, self.crc = elements, floats, crc
        self.first = first
        self.members, self.order = {}, {}  # the worker at each address
        self.h = switch.h  # None: H follows the membership
        self.open, self.joined = False, now
        self.slots, self.kept, self.last = {}, {}, {}
        self.counters = Counter()

    def segments(self):
        return -(-self.elements // self.floats)

    def floats_at(self, index):
        return min(self.floats, self.elements - index * self.floats)

    def newest(self):
        n = None
        for s in self.slots.values():
            if n is None or before(n, s.iteration):
                n = s.iteration
        return n

    def keeps(self):
        return self.switch.straggler is not None or \
            self.h is not None and self.h < len(self.members)

    def whole(self, slot):
        """Does the slot have H contributions?"""
        if self.switch.asynchronous:
            return len(slot.parts) >= (self.h or len(self.members))
        if self.h is not None:  # a member that left no longer counts
            return sum(a in self.members for a, _ in slot.parts) >= self.h
        who = [m for m in self.members.values() if m.since is None or
               not before(slot.iteration, m.since)]
        return all(slot.has(m.addr) for m in who)

    def too_few(self, slot):
        """Are there too few contributions for a median?  Counts this case."""
        if self.switch.reduce != "median":
            return False
        h = self.h if self.h is not None else sum(
            m.since is None or not before(slot.iteration, m.since)
            for m in self.members.values())
        few = len(slot.parts) < min(3, h)
        self.counters["too_few"] += few
        return few

    def filling(self):
        """Return the keys of incomplete slots, in order of index."""
        return sorted((k for k, s in self.slots.items()
                       if s.parts and s.result is None and s.sent is None),
                      key=lambda k: (k[1], k[0]))

    def complete(self, key):
        slot = self.slots[key]
        values = sums(self.switch.reduce, slot.parts, self.order,
                      slot.contributions)
        result = ("seg", slot.iteration, slot.contributions, key[1], values)
        if self.switch.parent is not None:
            slot.sent = result
            self.switch.send(self.switch.parent, result)
            return
        self.finish(key, result)

    def finish(self, key, result):
        slot = self.slots[key]
        slot.result = result
        for addr in self.members:
            self.switch.send(addr, slot.result)
        if self.switch.asynchronous or self.keeps():
            self.kept.setdefault(key[1], deque(
                maxlen=None if self.switch.asynchronous
                else self.switch.keep + 2)).append(slot.result)
        self.counters["results"] += 1
        if self.switch.asynchronous:
            self.slots[key] = Slot(slot.iteration + 1 & ALL, None)

    def retest(self):
        if self.open:
            for key in self.filling():
                if self.whole(self.slots[key]):
                    self.complete(key)

    def leave(self, addr):
        del self.members[addr]
        self.retest()

    def find(self, iteration, index):
        """
        Return (the result or None, is it certainly kept?).  The last `keep`
        results are kept; the results of the two slots may count among them.
        """
        kept = self.kept.get(index, ())
        for i, r in enumerate(kept):
            if r[1] == iteration:
                return r, self.switch.asynchronous or \
                    len(kept) - i <= self.switch.keep
        return None, True


class Switch:
    def __init__(self, h=None, asynchronous=False, reduce="sum",
                 straggler=None, keep=16, timeout=10 * SECOND, parent=None):
        self.parent = parent  # the address of a destination
        self.h, self.asynchronous, self.reduce = h, asynchronous, reduce
        self.straggler, self.keep, self.timeout = straggler, keep, timeout
        self.jobs, self.told, self.xids = {}, {}, {}
        self.foreign = self.stale_help = 0
        self.asked = {}         # (job, slot): time of the last request to members
        self.group, self.groups, self.optional = {}, {}, {}

    # Output.

    def send(self, addr, what, optional=False):
        where = self.optional if optional else self.group
        where.setdefault(addr, []).append(what)

    def end_event(self):
        """Close the groups of this event; return the packets by address."""
        sent, self.group = self.group, {}
        maybe, self.optional = self.optional, {}
        for addr in set(sent) | set(maybe):
            self.groups.setdefault(addr, []).append(
                (sent.get(addr, []), maybe.get(addr, [])))
        return sent

    # Time.

    def due(self):
        """Return the next timeout as (time, job, index, action), or None."""
        all_of = []
        for n, j in self.jobs.items():
            if not j.open and j.h is None and j.members:
                all_of.append((j.joined + SECOND, n, -2, "open", None))
            for m in j.members.values():
                all_of.append((m.heard + self.timeout, n, -1, "out", m.addr))
            if self.straggler is not None:
                for k in j.filling():
                    all_of.append((j.slots[k].since + self.straggler, n,
                                   k[1], "late", k))
        return min(all_of, key=lambda d: d[:3], default=None)

    def run_to(self, now):
        """Run the timers that are due at or before now; return [(time,
        packets)]."""
        fired = []
        while (d := self.due()) is not None and d[0] <= now:
            j = self.jobs[d[1]]
            if d[3] == "open":
                j.open = True
            elif d[3] == "out":
                j.leave(d[4])
            elif j.too_few(j.slots[d[4]]):
                j.slots[d[4]].since = d[0]      # the same time again
            else:
                j.complete(d[4])
            fired.append((d[0], self.end_event()))
        return fired

    def of(self, addr):
        """Return (job, member) of an address, or (None, None)."""
        for j in self.jobs.values():
            if addr in j.members:
                return j, j.members[addr]
        return None, None

    # Segments.

    def segment(self, now, addr, iteration, contributions, index, values):
        j, m = self.of(addr)
        if j is None:
            self.foreign += 1
            if addr not in self.told or now - self.told[addr] >= SECOND:
                self.told[addr] = now
                self.send(addr, ("ack", HELP, NOT_MEMBER, iteration, index))
            return
        m.heard = now
        if not j.open:
            j.counters["early"] += 1
            return
        add = self.push if self.asynchronous else self.add
        what = add(j, now, addr, iteration, index)
        j.counters[what] += 1
        if what != "added":
            return
        key = (0 if self.asynchronous else iteration & 1), index
        slot = j.slots[key]
        slot.parts.append((addr, values))
        slot.contributions += contributions
        j.counters["nonfinite"] += not all(map(math.isfinite, values))
        if j.whole(slot):
            j.complete(key)

    def add(self, j, now, addr, iteration, index):
        """Process a contribution in a synchronous job."""
        key = iteration & 1, index
        slot = j.slots.get(key)
        if slot is None or before(slot.iteration, iteration):
            back = j.slots.get((iteration - 1 & 1, index))
            if iteration != j.first and (
                    back is None or back.result is None or
                    back.iteration != (iteration - 1 & ALL)):
                return "early"
            j.slots[key] = Slot(iteration, now)
            return "added"
        if slot.iteration != iteration:
            self.stale(j, addr, iteration, index)
            return "stale"
        if slot.result is not None:
            self.send(addr, slot.result)
            return "resent"
        if slot.has(addr):
            return "duplicate"
        return "late" if slot.sent is not None else "added"

    def stale(self, j, addr, iteration, index):
        """Answer with a stored result, or say that it is gone."""
        r, sure = j.find(iteration, index)
        gone = "ack", HELP, GONE, iteration, index
        if r is not None:
            self.send(addr, r, optional=not sure)
        if r is None or not sure:
            self.send(addr, gone, optional=not sure)
        return gone if r is None or not sure else None

    def push(self, j, now, addr, iteration, index):
        """Process a contribution in an asynchronous job."""
        last = j.last.get((addr, index))
        if last is not None and not before(last, iteration):
            return "duplicate"
        j.last[addr, index] = iteration
        slot = j.slots.setdefault((0, index), Slot(j.first, now))
        if not slot.parts:
            slot.since = now
        return "added"

    # Control messages.

    def control(self, now, addr, action, job, xid, body):
        """Process a message; body has the parsed fields after the header."""
        _, m = self.of(addr)
        if m is not None:
            m.heard = now
        seen = self.xids.get((addr, job))
        if seen is not None:
            if seen[0] == xid:
                if seen[1] is not None:
                    self.send(addr, seen[1], optional=seen[1][:3] ==
                              ("ack", HELP, GONE))
                return
            if (xid - seen[0] & 0xffffffff) >= 1 << 31:
                return
        do = {JOIN: self.join, LEAVE: self.leave, SETH: self.set_h,
              FBCAST: self.fbcast, HELP: self.help}[action]
        self.again = None
        ack = do(now, addr, job, body)
        self.xids[addr, job] = xid, ack or self.again
        if ack is not None:
            self.send(addr, ack)

    def join(self, now, addr, number, body):
        worker, elements, floats, first, crc = body
        j = self.jobs.get(number)
        if j is None:
            j = self.jobs[number] = Job(self, number, elements, floats,
                                        first, crc, now)
        if (j.elements, j.floats) != (elements, floats or j.floats):
            return "ack", JOIN, BAD_VALUE, j.floats, j.elements
        if addr not in j.members:
            newest = j.newest()
            if not self.welcome(j, newest, first, crc):
                return "ack", JOIN, REFUSED
            since = None if newest is None or j.h is not None or \
                self.asynchronous else newest + 1 & ALL
            j.members[addr] = Member(addr, worker, since, now)
            j.order[addr] = worker
            j.joined = now
            if j.h is not None and len(j.members) >= j.h:
                j.open = True
        h = j.h if j.h is not None else len(j.members)
        return "ack", JOIN, DONE, h, len(j.members), j.floats, j.elements

    @staticmethod
    def welcome(j, newest, first, crc):
        """May a worker join that has not applied `first` yet?"""
        if newest is None or j.switch.asynchronous:
            return first == j.first and (not crc or not j.crc or
                                         crc == j.crc)
        return first == (newest + 1 & ALL)  # the only number that is requested from it

    def leave(self, now, addr, number, body):
        j = self.jobs.get(number)
        if j is None or addr not in j.members:
            return "ack", LEAVE, NOT_MEMBER
        j.leave(addr)
        return "ack", LEAVE, DONE

    def set_h(self, now, addr, number, h):
        j = self.jobs[number]
        former = j.h or 0
        j.h = h or None
        if j.h is not None and len(j.members) >= j.h:
            j.open = True
        j.retest()
        return "ack", SETH, DONE, former

    def fbcast(self, now, addr, number, body):
        iteration, index = body
        j = self.jobs[number]
        key = (0 if self.asynchronous else iteration & 1), index
        slot = j.slots.get(key)
        if slot is None or slot.iteration != iteration or not slot.parts:
            return "ack", FBCAST, "failed"
        if slot.result is None and slot.sent is None:
            if j.too_few(slot):
                return "ack", FBCAST, "failed"
            j.complete(key)
        return "ack", FBCAST, DONE, slot.contributions

    def help(self, now, addr, number, body):
        iteration, index = body
        j = self.jobs[number]
        if addr not in j.members:
            return "ack", HELP, NOT_MEMBER, iteration, index
        if self.asynchronous:
            self.send(addr, j.find(iteration, index)[0])
            return None
        slot = j.slots.get((iteration & 1, index))
        if slot is not None and before(iteration, slot.iteration):
            self.stale_help += 1
            self.again = self.stale(j, addr, iteration, index)
            return None
        if before(iteration, j.first):  # the job never had this result
            return "ack", HELP, GONE, iteration, index
        at = slot if slot is not None and slot.iteration == iteration \
            else None
        if at is not None and at.result is not None:
            self.send(addr, at.result)
            return None
        if at is not None and self.parent is not None:
            self.send(self.parent, ("help", iteration, index))
            if at.sent is not None:
                return None
        again = self.asked_again(j, iteration, index, now)
        for a in j.members:
            if at is None or not at.has(a):
                self.send(a, ("help", iteration, index), optional=again)
            elif a == addr:  # the design allows both readings
                self.send(a, ("help", iteration, index), optional=True)
        return None

    def asked_again(self, j, iteration, index, now):
        """Were members asked for that segment less than 10 ms ago?  Then they
        need not be asked again, unless another member has started the
        iteration since."""
        key = iteration & 1, index
        last = self.asked.get((j.number, key))
        self.asked[j.number, key] = now
        return last is not None and now // 10**6 - last // 10**6 < 10

    # Packets from the parent, about slots that are filling or were sent to it.

    def from_parent(self, job, iteration, contributions, index, values):
        """Process a result of the parent."""
        self.jobs[job].finish((iteration & 1, index),
                              ("seg", iteration, contributions, index,
                               values))

    def help_from_parent(self, job, iteration, index, now):
        j = self.jobs[job]
        slot = j.slots[iteration & 1, index]
        if slot.sent is not None:
            self.send(self.parent, slot.sent)
            return
        again = self.asked_again(j, iteration, index, now)
        for a in j.members:
            if not slot.has(a):
                self.send(a, ("help", iteration, index), optional=again)
