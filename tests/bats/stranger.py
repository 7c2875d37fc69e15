#!/usr/bin/env python3
"""stranger.py - what somebody who can send a datagram may try

usage: stranger.py [--from ADDR[:PORT]] HOST:PORT ACTION [ARG...]

It is written from innet-wire(5), not from the C.

olaf KIND CLUSTER WORKER SEQUENCE VALUE... [times=N] [stamp=NS] [sources=N]
    an update (1) or weights (3) of these elements, N times, or from N ports
join JOB WORKERS ELEMENTS [leave] [sources=N]
    Joins under so many numbers, one after the other, each with its Leave
    perhaps; or from so many addresses that follow that of --from.  Prints how
    many were let in, and with which status others were answered.
dlp STATE [PARAMETER...] [times=N] [every=SECONDS]
    a DLP request; with sources=N, from as many ports

Each prints how many datagrams came back, and their bytes.
"""
import ipaddress
import socket
import struct
import sys
import time

CONTROL_TOS, UPDATE_TOS = 0x0c, 0x2c


def address(text, port=0):
    host, _, p = text.rpartition(":") if ":" in text else (text, "", port)
    return host, int(p)


words = sys.argv[1:]
source = ("127.0.0.1", 0)
if words[0] == "--from":
    source = address(words[1])
    words = words[2:]
to, action = address(words[0]), words[1]
args = [w for w in words[2:] if "=" not in w]
more = dict(w.split("=") for w in words[2:] if "=" in w)


def bound(at, tos):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind(at)
    s.settimeout(0.3)
    return s


def answers(s, wait=0.3):
    """Datagrams until none comes for so long, but not for ever."""
    got = []
    end = time.monotonic() + 5
    s.settimeout(wait)
    try:
        while time.monotonic() < end:
            got.append(s.recv(65536))
    except TimeoutError:
        pass
    return got


def tell(got):
    print(f"{len(got)} {sum(map(len, got))}")


def olaf(kind, cluster, worker, sequence, *values):
    v = [float(x) for x in values]
    stamp = int(more.get("stamp", time.time_ns()))

    def packet(who):
        return struct.pack(">BBHIIHHQfI", 1, int(kind), int(cluster), who,
                           int(sequence), 1, 0, stamp, 1.0, len(v)) + \
            struct.pack(f"<{len(v)}f", *v)
    socks = [bound((source[0], source[1] if i == 0 else 0), UPDATE_TOS)
             for i in range(int(more.get("sources", 1)))]
    for i, s in enumerate(socks):
        for _ in range(int(more.get("times", 1))):
            s.sendto(packet(int(worker) + i), to)
    tell(sum((answers(s, 0.3 if i == 0 else 0.001)
              for i, s in enumerate(socks)), []))


def ask(s, action_, job, xid, body):
    """The Ack of a request, which is sent until it is there."""
    for _ in range(20):
        s.sendto(struct.pack(">BBHI", action_, 0, job, xid) + body, to)
        try:
            while True:
                a = s.recv(65536)
                if a[0] == 8 and struct.unpack(">I", a[4:8])[0] == xid:
                    return a
        except TimeoutError:
            pass
    return None


def join(job, workers, elements):
    xid, let_in, refused = 1, 0, {}
    n = int(more.get("sources", 1))
    used = []       # a port that is free again may be the next one's
    for i in range(n):
        host = str(ipaddress.ip_address(source[0]) + i) if n > 1 else source[0]
        s = bound((host, 0), CONTROL_TOS)
        for w in range(int(workers)):
            if not leave and w > 0:
                used.append(s)
                s = bound((host, 0), CONTROL_TOS)
            a = ask(s, 1, int(job) + w * ("jobs" in args), xid, struct.pack(
                ">BBHIIHII", 1, 0, 0, i * int(workers) + w, int(elements), 0, 0,
                0))
            xid += 1
            if a is None:
                refused["none"] = refused.get("none", 0) + 1
                continue
            if a[9] == 0:
                let_in += 1
            else:
                refused[a[9]] = refused.get(a[9], 0) + 1
            if leave:
                ask(s, 2, int(job), xid, b"")
                xid += 1
    print(let_in, " ".join(f"{k}:{v}" for k, v in sorted(refused.items())))


leave = "leave" in args
globals()[action](*[a for a in args if a not in ("leave", "jobs")])
