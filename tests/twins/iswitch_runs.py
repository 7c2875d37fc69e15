#!/usr/bin/env python3
"""iswitch_runs.py self|sync|async|child [RUNS [FIRST]] - run random scenarios

self    check the oracle alone: every counter changes, and results are sums
sync    compare innet-switch --program iswitch with the oracle: the packets of
        each destination, their order and every bit, and the counters
async   the same with --async
child   the same with a parent, which answers, loses packets and sends Help

iswitch_scenarios.py makes the scenarios.  Seeds begin at FIRST (default 1), and a
failure names its seed.  With KEEP=DIR the captures and the report of a failure stay
in DIR.  The program prints TAP, with at most three lines about the differences in a
scenario, and stops after twelve failures.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from collections import Counter

import oracle
import oracle_runs
from iswitch_oracle import (ALL, DONE, FBCAST, GONE, HELP, JOIN, NOT_MEMBER,
                            SETH)
from iswitch_scenarios import CONTROL_TOS, PARENT, SEG_TOS, SWITCH, Scenario


# Packets.

def same_values(values):
    """Are the values equal?  Any NaN equals any other."""
    return tuple("nan" if math.isnan(v) else struct.pack("<f", v)
                 for v in values)


def normal(what):
    """Return an output in a form for comparison."""
    if what[0] == "seg":
        return what[:4] + same_values(what[4])
    return what


def taken_apart(frame_bytes):
    """Return (source, destination, output) of a packet of the switch, or None.
    """
    src = frame_bytes[26:30], struct.unpack_from(">H", frame_bytes, 34)[0]
    dst = frame_bytes[30:34], struct.unpack_from(">H", frame_bytes, 36)[0]
    p, tos = frame_bytes[42:], frame_bytes[15]
    if tos == SEG_TOS:
        word = struct.unpack_from(">Q", p)[0]
        values = struct.unpack("<%df" % ((len(p) - 8) // 4), p[8:])
        return src, dst, normal(("seg", word >> 40, word >> 24 & 0xffff,
                                 word & ALL, values))
    if tos != CONTROL_TOS:
        return None
    action, body = p[0], p[8:]
    if action == HELP:
        word = struct.unpack(">Q", body)[0]
        return src, dst, ("help", word >> 40, word & ALL)
    if action != 8:
        return src, dst, ("action", action)
    what, status = body[0], body[1]
    more = ()
    if what == JOIN and status == DONE:
        _, h, members, _, floats, elements, _ = struct.unpack_from(
            ">HHHIHIH", body, 2)
        more = h, members, floats, elements
    elif what == JOIN and status == 5:
        _, _, _, _, floats, elements, _ = struct.unpack_from(
            ">HHHIHIH", body, 2)
        more = floats, elements
    elif what == SETH or what == FBCAST and status == DONE:
        more = struct.unpack_from(">H", body, 2)
    elif what == FBCAST:
        status = "failed"
    elif what == HELP and status != DONE:
        word = struct.unpack_from(">Q", body, 2)[0]
        more = word >> 40, word & ALL
    return src, dst, ("ack", what, status) + more


# Comparisons.

def name(addr):
    return "%d.%d.%d.%d:%d" % (*addr[0], addr[1])


def differ_output(s, path):
    got, other = {}, []
    for _, _, data in oracle.read_pcap(path):
        t = taken_apart(data)
        if t is None:
            other.append(data)
        elif t[1] == PARENT and t[2] == ("action", JOIN):
            continue
        elif t[0] != SWITCH and t[0] not in map(s.up, s.worlds):
            yield "a packet from %s" % name(t[0])
        elif t[2] != ("ack", HELP, DONE):
            got.setdefault(t[1], []).append(t[2])
    if other != s.regular:
        yield "regular traffic: %d packets, switch has %d, or bytes differ" \
            % (len(s.regular), len(other))
    for addr in sorted(set(got) | set(s.sw.groups)):
        have, ends = got.get(addr, []), {0}
        for must, may in s.sw.groups.get(addr, []):
            begins, ends = ends, after(have, ends, must, may)
            if not ends:
                at = max(begins)
                yield "%s: output %d: oracle %s, switch %s" % (
                    name(addr), at + 1, must, have[at:at + len(must)])
                break
        else:
            if len(have) not in ends:
                yield "%s: output %d: switch has %s more" % (
                    name(addr), max(ends) + 1, have[max(ends)])


def after(have, begins, must, may):
    """Return the places where a group can end that begins at one of these
    places."""
    must, may = Counter(map(normal, must)), Counter(map(normal, may))
    n, ends = sum(must.values()), set()
    for at in begins:
        for end in range(at + n, at + n + sum(may.values()) + 1):
            here = Counter(have[at:end])
            if end <= len(have) and must <= here and here - must <= may:
                ends.add(end)
    return ends


def differ_report(s, path):
    with open(path) as f:
        got = json.load(f)
    jobs = got.get("jobs", {})
    for n, j in s.sw.jobs.items():
        g = jobs.get(str(n), {})
        c = g.get("counters", {})
        for k in ("added", "duplicate", "late", "early", "resent",
                  "nonfinite", "results")[:6 if s.sw.parent else 7]:
            if c.get(k, 0) != j.counters[k]:
                yield "job %d %s: oracle %d, switch %s" % (
                    n, k, j.counters[k], c.get(k, 0))
        if g.get("unfinished", 0) != s.left[n]:
            yield "job %d unfinished: oracle %d, switch %s" % (
                n, s.left[n], g.get("unfinished", 0))
    stale = sum(g.get("counters", {}).get("stale", 0) for g in jobs.values())
    least = sum(j.counters["stale"] for j in s.sw.jobs.values())
    if not least <= stale <= least + s.sw.stale_help:
        yield "stale: oracle %d, switch %d" % (least, stale)
    sw = got["switch"]
    ignored = sum(got["ignored"].values()) + sw["bad_segment"] + \
        sum(g["counters"]["mismatched"] for g in jobs.values())
    for k, a, b in (("foreign", s.sw.foreign, sw["foreign"]),
                    ("own", s.own, got["own"]),
                    ("regular", len(s.regular),
                     got["regular"] + got["passed"]),
                    ("ignored", s.ignored, ignored)):
        if a != b:
            yield "%s: oracle %d, switch %s" % (k, a, b)


def check_self(s, tmp):
    for j in s.sw.jobs.values():
        for k, n in j.counters.items():
            seen[k] += n > 0
    seen["gone"] += any(o[:3] == ("ack", HELP, GONE)
                        for g in s.sw.groups.values() for e in g
                        for o in e[0])
    seen["foreign"] += s.sw.foreign > 0
    seen["told"] += any(o[:3] == ("ack", HELP, NOT_MEMBER)
                        for g in s.sw.groups.values() for e in g
                        for o in e[0])
    seen["help"] += any(o[0] == "help" for g in s.sw.groups.values()
                        for e in g for o in e[0])
    seen["unfinished"] += any(s.left.values())
    for j in s.sw.jobs.values():
        n = j.counters["added"]
        if n < j.counters["results"]:
            yield "more results than contributions"


def check_switch(s, tmp):
    paths = [os.path.join(tmp, n) for n in
             ("in.pcap", "out.pcap", "report.json")]
    oracle_runs.write_pcap(paths[0], s.trace)
    p = subprocess.run(
        ["innet-switch", "-q", "--program", "iswitch", "-r", paths[0], "-w",
         paths[1], "--report", paths[2]] + s.options(),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
        text=True)
    if p.returncode != 0:
        yield "innet-switch: status %d: %s" % (p.returncode,
                                               p.stderr.strip())
        return
    yield from differ_output(s, paths[1])
    yield from differ_report(s, paths[2])


seen = Counter()  # of `self`: the scenarios in which something happened


def main():
    mode = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    check = check_self if mode == "self" else check_switch
    bad, shown = 0, 0
    for seed in range(first, first + runs):
        s = Scenario(seed, "child" if mode == "self" and seed % 2 else mode)
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
    rare = []
    if mode == "self":
        rare = [k for k in ("added", "duplicate", "late", "early", "resent",
                            "stale", "nonfinite", "results", "gone", "foreign",
                            "told", "help", "unfinished")
                if seen[k] * 50 < runs]
        print("# scenarios in which each happened: %s" % dict(seen))
        print("%sok 2 - all happens in one scenario of fifty%s" % (
            "not " if rare else "", ", but %s" % rare if rare else ""))
    print("1..%d" % (2 if mode == "self" else 1))
    sys.exit(bool(bad or rare))


if __name__ == "__main__":
    main()
