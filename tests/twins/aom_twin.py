"""aom_twin.py - an independent second program for the times of iterations

    aom_twin.py iswitch|dlp FILE...

The program reads captures (pcap or pcapng) of complete Ethernet frames over IPv4
by the rules of innet-wire(5), and keeps every packet in memory.  It prints a JSON
object with the figures of all jobs (one for each switch), their members and their
iterations, as innet-iswitch(7) and innet-dlp(7) define them.  It recognises jobs
by their Joins.
"""
import collections
import heapq
import json
import struct
import sys

SEGMENT, CONTROL = 7, 3
JOIN, HELP, ACK = 1, 6, 8
BEHIND = 64


def frames(path):
    """Yield (timestamp in ns, frame) for each packet."""
    data = open(path, 'rb').read()
    if data[:4] == b'\x0a\x0d\x0d\x0a':
        yield from frames_ng(data)
        return
    order = '<' if data[:4] in (b'\x4d\x3c\xb2\xa1', b'\xd4\xc3\xb2\xa1') else '>'
    magic, = struct.unpack(order + 'I', data[:4])
    unit, at = 1 if magic == 0xa1b23c4d else 1000, 24
    while at < len(data):
        s, part, n, _ = struct.unpack(order + '4I', data[at:at + 16])
        yield s * 10**9 + part * unit, data[at + 16:at + 16 + n]
        at += 16 + n


def frames_ng(data):
    at, unit, order = 0, 1000, '<'
    while at < len(data):
        kind, size = struct.unpack(order + '2I', data[at:at + 8])
        body = data[at + 8:at + size - 4]
        if kind == 1:                   # an interface block
            unit, o = 1000, 8
            while o + 4 <= len(body):
                code, n = struct.unpack(order + '2H', body[o:o + 4])
                if code == 9:
                    unit = 10**9 // 10**body[o + 4]
                o += 4 + (n + 3) // 4 * 4
        elif kind == 6:                 # a packet block
            _, high, low, n, _ = struct.unpack(order + '5I', body[:20])
            yield (high << 32 | low) * unit, body[20:20 + n]
        at += size


def packets(files):
    """Return (timestamp, file, codepoint, from, to, payload) in order of time.
    """
    def one(k, path):
        last = 0
        for t, f in frames(path):
            last = max(t, last)
            if f[12:14] != b'\x08\x00' or f[23] != 17:
                continue
            ip = f[14:]
            head = (ip[0] & 15) * 4
            sport, dport, n = struct.unpack('>3H', ip[head:head + 6])
            yield (last, k, ip[1] >> 2, (ip[12:16], sport), (ip[16:20], dport),
                   ip[head + 8:head + n], len(f))
    return heapq.merge(*(one(k, p) for k, p in enumerate(files)),
                       key=lambda p: p[0])


class Side:
    """The segments that a member sent or received in an iteration: index ->
    (time, file)."""

    def __init__(self):
        self.at, self.file = {}, None

    def add(self, index, t, file):
        """Is the segment new, sent again, or a copy from another capture?"""
        if index in self.at:
            return 'again' if file == self.file else 'copy'
        if not self.at:
            self.file = file
        self.at[index] = t
        return 'new'

    def first(self):
        return min(self.at.values())

    def last(self):
        return max(self.at.values())


class Part:
    def __init__(self):
        self.up, self.down = Side(), Side()


class Job:
    def __init__(self, switch):
        self.switch, self.segs, self.is_async = switch, None, False
        self.workers, self.count = {}, collections.Counter()
        self.newest, self.epoch, self.began = None, 0, {}
        self.parts = {}         # (epoch, iteration) -> member -> Part
        self.vectors = collections.Counter()
        self.pushes, self.rounds = {}, {}
        self.sure = set()
        self.signs = {}         # (epoch, iteration) -> the first sign of a loss
        self.answers, self.h = False, 0     # a server: the workers that pushed, in order
        self.applied, self.told, self.stale = 0, {}, []

    # synchronous job

    def take(self, member, down, t, index, vectors, stamp, file):
        if self.newest is None:
            self.newest, self.began = t, {0: t}
        elif not down and t < self.newest - BEHIND:
            self.epoch += 1
            self.newest = self.began[self.epoch] = t
        elif t < self.newest - 1:
            self.count['late'] += 1
            return
        self.newest = max(self.newest, t)
        part = self.parts.setdefault((self.epoch, t), {}).setdefault(member, Part())
        is_ = (part.down if down else part.up).add(index, stamp, file)
        name = {('new', 0): 'segments', ('new', 1): 'results', ('again', 0): 'retransmitted',
                ('again', 1): 'resent'}.get((is_, int(down)), 'copies')
        self.count[name] += 1
        if is_ == 'again':
            self.sign(t, stamp)
        if down and is_ == 'new':
            key = self.epoch, t
            self.vectors[key] = max(self.vectors[key], vectors)

    def sign(self, t, stamp, sure=True):
        """A segment of t is requested or seen again; a Probe alone proves
        nothing."""
        key = self.epoch, t
        if key in self.parts and t >= self.newest - 1:
            self.signs.setdefault(key, stamp)
            if sure:
                self.sure.add(key)

    def whole(self, side):
        return len(side.at) == self.segs

    def iterations(self):
        done = {}               # member -> (epoch, iteration), time
        for (epoch, t), parts in sorted(self.parts.items()):
            row = {'iteration': t, 'phases': collections.defaultdict(list)}
            sent = {m: p for m, p in parts.items() if p.up.at}
            begun = all(0 in p.up.at for p in sent.values())
            first = t <= self.began[epoch]
            if sent and begun and all(self.whole(p.down) for p in parts.values()) and (
                    not first or len(sent) == len(parts)):
                row['time'] = max(p.down.last() for p in parts.values()) - min(
                    p.up.first() for p in sent.values())
                end = max(p.down.last() for p in parts.values())
                if (epoch, t) in self.sure and self.signs[epoch, t] < end:
                    row['repair'] = end - self.signs[epoch, t]
            if len(sent) > 1 and begun and all(self.whole(p.up) for p in sent.values()):
                ends = sorted(p.up.last() for p in sent.values())
                row['by'] = ends[-1] - ends[-2]
            for m, p in parts.items():
                for name, ns in self.phases(p, done.get(m), (epoch, t)):
                    row['phases'][name].append((m, ns))
            for m, p in parts.items():
                if self.whole(p.down):
                    done[m] = (epoch, t), p.down.last()
            row['members'] = set(sent)
            yield row

    def phases(self, p, done, now):
        if not p.up.at or 0 not in p.up.at:
            return
        if done and done[0] == (now[0], now[1] - 1):
            yield 'compute', p.up.first() - done[1]
        if not self.whole(p.up):
            return
        yield 'send', p.up.last() - p.up.first()
        if not self.whole(p.down) or p.down.last() < p.up.last():
            return
        there = max(p.up.last(), p.down.first())
        yield 'wait', there - p.up.last()
        yield 'receive', p.down.last() - there
        yield 'aggregation', p.down.last() - p.up.first()

    def figures(self):
        if self.is_async:
            return self.figures_async()
        rows = list(self.iterations())
        times = sorted(r['time'] for r in rows if 'time' in r)
        f = {'iterations': len(rows), 'measured': len(times), **self.count}
        for name in ('compute', 'send', 'wait', 'receive', 'aggregation'):
            f[name + '_ns'] = mean([ns for r in rows for _, ns in r['phases'][name]])
        f['slowest_by_ns'] = mean([r['by'] for r in rows if 'by' in r])
        repairs = [r['repair'] for r in rows if 'repair' in r]
        f['repaired'], f['repair_ns'] = len(repairs), mean(repairs)
        f.update(spread(times))
        f['by_iteration'] = [r.get('time') for r in rows]
        return f

    # asynchronous: keep everything, in order

    def take_async(self, member, down, number, index, stamp, file):
        of = (self.rounds if down else self.pushes).setdefault(member, {})
        if not down and number not in of:
            over = self.over(member, stamp)
            of[number] = Side()
            of[number].over = over
        was = self.whole(of[number]) if number in of else False
        is_ = of.setdefault(number, Side()).add(index, stamp, file)
        if not down and self.whole(of[number]) and not was:
            if member in self.told:
                self.stale.append(self.applied - self.told[member])
            self.applied += 1
            self.told[member] = self.applied
        self.count[{('new', 0): 'segments', ('new', 1): 'results', ('again', 0): 'retransmitted',
                    ('again', 1): 'resent'}.get((is_, int(down)), 'copies')] += 1

    def over(self, member, _):
        """Return how many rounds are complete for a member by now."""
        n = self.first[member]
        while n in self.rounds.get(member, {}) and self.whole(self.rounds[member][n]):
            n += 1
        return n

    def figures_async(self):
        stale, times, send = [], [], []
        for m, pushes in self.pushes.items():
            before = self.first[m]
            for n in sorted(pushes):
                stale.append(pushes[n].over - before)
                before = pushes[n].over
                if self.whole(pushes[n]):
                    send.append(pushes[n].last() - pushes[n].first())
        each = collections.defaultdict(list)    # round -> times of members
        for m, rounds in self.rounds.items():
            ends, latest = [], 0
            for n in range(self.first[m], self.over(m, None)):
                latest = max(latest, rounds[n].last())
                ends.append(latest)
            times += [b - a for a, b in zip(ends, ends[1:])]
            for k, (a, b) in enumerate(zip(ends, ends[1:])):
                each[self.first[m] + 1 + k].append(b - a)
        if self.answers:
            stale, each = self.stale if len(self.workers) == self.h else [], {}
        return {'by_iteration': [mean(each[n]) for n in sorted(each)],
                'measured': len(times), 'mean_staleness': sum(stale) / len(stale) if stale else None,
                'max_staleness': max(stale, default=None), 'send_ns': mean(send), **self.count,
                **spread(sorted(times))}


def mean(v):
    return (sum(v) + len(v) // 2) // len(v) if v else None


def spread(v):
    if not v:
        return {'mean': None}
    at = {p: v[max(0, -(-len(v) * p // 100) - 1)] for p in (50, 95, 99)}
    return {'mean': mean(v), 'p50': at[50], 'p95': at[95], 'p99': at[99], 'max': v[-1]}


def iswitch(files):
    jobs, member_of = {}, {}
    for t, file, code, a, b, data, _ in packets(files):
        if code == CONTROL and data[0] == JOIN:
            number, = struct.unpack('>H', data[2:4])
            mode = data[9]
            worker, elements, floats, first = struct.unpack('>IIHI', data[12:26])
            job = jobs.setdefault((b, number), Job(b))
            job.is_async, job.workers[a] = mode == 1, worker
            job.__dict__.setdefault('first', {}).setdefault(a, first)
            member_of[a] = job
            if job.applied == 0:
                job.told.setdefault(a, 0)
            if floats:
                job.segs = -(-elements // floats)
        elif code == CONTROL and data[0] == ACK and data[8:10] == bytes((JOIN, 0)):
            floats, elements = struct.unpack('>HI', data[20:26])
            if b in member_of:
                job = member_of[b]
                job.segs = -(-elements // floats) if floats else job.segs
                job.h, = struct.unpack('>H', data[12:14])
                job.answers = len(data) > 28 and data[28] & 9 == 9
        elif code == CONTROL and data[0] == HELP:
            who = a if a in member_of else b
            if who in member_of:
                long = len(data) >= 38
                member_of[who].count[('probes' if long else 'helps') if who == a else
                                     'nacks' if long else 'asked'] += 1
                if not member_of[who].is_async:
                    member_of[who].sign(int.from_bytes(data[8:11], 'big'), t,
                                             who == b or not long)
        elif code == SEGMENT:
            down = b in member_of
            who = b if down else a
            job, (word,) = member_of[who], struct.unpack('>Q', data[:8])
            n, index = word >> 40, word & 0xffffff
            if job.is_async:
                job.take_async(who, down, n, index, t, file)
            else:
                job.take(who, down, n, index, word >> 24 & 0xffff, t, file)
    return [j.figures() for j in jobs.values()]


def dlp(files):
    """Read sessions without repeats; if a session answers late vectors, they
    do not count."""
    jobs, asked = {}, {}
    for t, file, _, a, b, data, _ in packets(files):
        if not {a[1], b[1]} & {1234, 12344}:
            continue
        longer = len(data) > 30 and data[0] == 7
        if len(data) != (8 + 4 * struct.unpack('>H', data[6:8])[0] if longer else 30):
            continue
        down = a[1] in (1234, 12344)
        switch, who = (a, b) if down else (b, a)
        state, nodes, step = struct.unpack('>BBI', data[:6])
        state = 2 if longer else state
        job = jobs.setdefault(switch, Job(switch))
        job.segs = 1
        if state == 4:
            job.count['wrong_step'] += 1
            asked[who] = asked.get(who, (None,))[0], True
        elif state == 2 and not down:
            if asked.get(who) == (step, True):
                job.count['retries'] += 1
                asked[who] = step, False
                continue
            asked[who] = step, False
            job.take(who, down, step, 0, 1, t, file)
        elif state == 2 and asked.get(who, (None,))[0] == step:
            job.take(who, down, step, 0, nodes, t, file)
    return [j.figures() for j in jobs.values()]


json.dump({'iswitch': iswitch, 'dlp': dlp}[sys.argv[1]](sys.argv[2:]), sys.stdout)
print()
