#!/usr/bin/env python3
"""stranger.py - send the datagrams of an attacker

usage: stranger.py [--from ADDR[:PORT]] HOST:PORT ACTION [ARG...]

It is written from innet-wire(5), not from the C.

olaf KIND CLUSTER WORKER SEQUENCE VALUE... [times=N] [stamp=NS] [sources=N]
    an update (1) or weights (3) of these elements, N times, or from N ports
join JOB WORKERS ELEMENTS [leave] [sources=N]
    Joins under so many numbers, one after the other, each with its Leave
    perhaps; or from so many addresses that follow that of --from.  Prints how
    many were let in, and with which status others were answered.
contribute [async]
    two workers of job 1, who send a vector of a hundred segments each
served N
    the only worker of job 1 out of step, who asks a server N times for the
    answer to its vector.  Prints how many segments came
control ACTION JOB [HEX]
    one control message as it was before there were passes; prints how many
    datagrams came back, and their bytes
command ACTION JOB [HEX]
    the same with a pass, and the status of the answer
fetch JOB N [wait]
    a Fetch for each of N jobs, from JOB on, which asks the job to wait perhaps;
    prints each status that came back, and how often
again FILE ACTION [raw] [pass]
    what of a capture is such a control message, as it is; with raw from the
    address of --from, which is somebody else's; with pass in front of it a pass,
    as if it were asked
forge ACTION JOB [HEX]
    a control message from the address of --from, which is somebody else's
data FILE TOS [raw] [flip] [kind=N] [most=N]
    what of a capture has that ToS, and perhaps is of that kind, and was to
    HOST:PORT, the first so many of these, as it is or with its last bit flipped; with raw from the address
    of --from.  Prints how many
forge-seg TOS HEX
    the same, of any bytes and with any ToS
flood N
    Joins with a pass that has no time, from N addresses that follow --from's

dlp STATE [PARAMETER...]
    a DLP request

Each prints how many datagrams came back, and their bytes.
"""
import ipaddress
import socket
import struct
import sys
import time

import trust

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


def dlp(state, *parameters):
    s = bound(source, 0)
    six = [int(x) for x in parameters] + [0] * (6 - len(parameters))
    s.sendto(struct.pack(">BBi6i", int(state), 2, 0, *six), to)
    tell(answers(s))


clients = {}


def ask(s, action_, job, xid, body):
    """The Ack of a request, which is sent until it is there, with a pass if
    that is needed."""
    far = not to[0].startswith("127.")
    if s not in clients:
        clients[s] = trust.Client(lambda m: s.sendto(m, to))
    c = clients[s]
    for _ in range(20):
        if far:
            c.ask(action_, job, xid, body)
        else:
            s.sendto(struct.pack(">BBHI", action_, 0, job, xid) + body, to)
        try:
            while True:
                a = s.recv(65536)
                if a[0] == 8 and struct.unpack(">I", a[4:8])[0] == xid and \
                        (not far or c.hear(a)):
                    return a
        except TimeoutError:
            pass
    return None


def contribute(*mode):
    socks = [bound(source, CONTROL_TOS) for _ in range(2)]
    for w, s in enumerate(socks):
        a = ask(s, 1, 1, 1, struct.pack(">BBHIIHII", 1, len(mode), 0, w, 36600,
                                        366, 1, 0))
        assert a is not None and a[9] == 0
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x1c)
    for i in range(100):
        for s in socks:
            s.sendto(struct.pack(">Q366f", 1 << 40 | 1 << 24 | i, *[0] * 366),
                     to)


def served(n):
    s = bound(source, CONTROL_TOS)
    a = ask(s, 1, 1, 1, struct.pack(">BBHIIHII", 1, 1, 0, 0, 4, 0, 0, 0))
    assert a is not None and a[9] == 0
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x1c)
    s.sendto(struct.pack(">Q4f", 1 << 24, 1, 1, 1, 1), to)
    got = answers(s)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, CONTROL_TOS)
    for i in range(int(n)):
        s.sendto(struct.pack(">BBHIQ", 6, 0, 1, 2 + i, 0), to)
        got += answers(s, 0.001) if i % 100 == 99 else []
    got += answers(s)
    print(sum(len(g) == 24 for g in got))


def control(action_, job, body=""):
    s = bound(source, CONTROL_TOS)
    s.sendto(struct.pack(">BBHI", int(action_), 0, int(job), 7)
             + bytes.fromhex(body), to)
    tell(answers(s))


def command(action_, job, body=""):
    a = ask(bound(source, CONTROL_TOS), int(action_), int(job), 7,
            bytes.fromhex(body))
    print("none" if a is None else a[9])


def fetch(job, n, *wait):
    s, seen = bound(source, CONTROL_TOS), {}
    body = struct.pack(">HHIIIH", 0, len(wait), 77, 0, 0, 1) + bytes(16)
    for i in range(int(n)):
        a = ask(s, 22, int(job) + i, 100 + i, body)
        status = "none" if a is None else a[9]
        seen[status] = seen.get(status, 0) + 1
    print(*(f"{k}:{v}" for k, v in sorted(seen.items(), key=str)))


def raw(s, at, payload, tos=CONTROL_TOS):
    """A datagram from any address, without a checksum."""
    udp = struct.pack(">HHHH", at[1], to[1], 8 + len(payload), 0) + payload
    s.sendto(struct.pack(
        ">BBHHHBBH4s4s", 0x45, tos, 20 + len(udp), 0, 0, 64, 17, 0,
        socket.inet_aton(at[0]), socket.inet_aton(to[0])) + udp, (to[0], 0))


def raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def forge(action_, job, body=""):
    raw(raw_socket(), source, struct.pack(
        ">BBHI", int(action_), 0, int(job), 7) + bytes.fromhex(body))


def forge_seg(tos, payload):
    raw(raw_socket(), source, bytes.fromhex(payload), int(tos, 0))


def captured(path, tos=CONTROL_TOS, port=None):
    """The payloads with that ToS, and to that port, of a capture of Ethernet
    frames with IPv4."""
    data = open(path, "rb").read()
    at = 24
    while at + 16 <= len(data):
        n = struct.unpack("<I", data[at + 8:at + 12])[0]
        f, at = data[at + 16:at + 16 + n], at + 16 + n
        if f[12:14] == b"\x08\0" and f[15] & 0xfc == tos and \
                port in (None, struct.unpack(">H", f[36:38])[0]):
            yield f[42:]


def data(path, tos):
    tos = int(tos, 0)
    s = raw_socket() if "raw" in words else bound(source, tos)
    all_ = [m for m in captured(path, tos, to[1])
            if m[1] == int(more.get("kind", m[1]))][:int(more.get("most", 1000))]
    for m in all_:
        if "flip" in words:
            m = m[:-1] + bytes([m[-1] ^ 1])
        if "raw" in words:
            raw(s, source, m, tos)
        else:
            s.sendto(m, to)
    print(len(all_))


def again(path, action_):
    s = raw_socket() if "raw" in words else bound(source, CONTROL_TOS)
    n = 0
    for m in captured(path):
        if m[0] != int(action_):
            continue
        if "pass" in words:
            m = m[:1] + bytes([m[1] | 2]) + m[2:8] + bytes(24) + m[8:]
        n += 1
        if "raw" in words:
            raw(s, source, m)
        else:
            s.sendto(m, to)
    got = [] if "raw" in words else answers(s)
    print(n, len(got), sum(map(len, got)))


def flood(n):
    s, first = raw_socket(), int(ipaddress.ip_address(source[0]))
    m = trust.message(1, 1, 7, bytes(22), bytes(24))
    for i in range(int(n)):
        raw(s, (str(ipaddress.ip_address(first + i)), 4000), m)


def routes(cluster, n):
    """Updates of so many workers, as if from one address, or from so many
    ports of one host."""
    s, at = raw_socket(), source
    for i in range(int(n)):
        if "ports" in words:
            at = source[0], source[1] + i
        raw(s, at, struct.pack(
            ">BBHIIHHQfI", 1, 1, int(cluster), 1000 + i, 1, 1, 0,
            time.time_ns(), 1.0, 1) + struct.pack("<f", 1), UPDATE_TOS)


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
globals()[action.replace("-", "_")](*[a for a in args if a not in ("leave", "jobs", "raw", "ports",
                                                "pass", "flip")])
