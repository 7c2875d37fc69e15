#!/usr/bin/env python3
"""fake-switch.py - answer control messages like a switch, or with errors

usage: fake-switch.py --port-file FILE [OPTION...], until it is killed, or for
a minute.  It is written from innet-wire(5), not from the C.
"""
import argparse
import json
import os
import socket
import struct
import sys
import time

import trust

JOIN, LEAVE, RESET, SETH, FBCAST, HELP, HALT, ACK = range(1, 9)
RESUME, MEMBERS, STATS = 16, 17, 18
JOBS, REGROUP = 20, 21
CONTROL_TOS, SEG_TOS = 0x0c, 0x1c

args = argparse.ArgumentParser()
args.add_argument("--port-file", required=True)
args.add_argument("--v6", action="store_true")
args.add_argument("--key", help="file with the key")
args.add_argument("--log", help="write each request there, in hex")
args.add_argument("--lose", type=int, default=0, help="the first N requests")
args.add_argument("--noise", action="store_true",
                  help="before an answer, what is none")
args.add_argument("--status", type=int, default=0)
args.add_argument("--members", help="file with the text instead of ours")
args.add_argument("--stats", help="likewise")
args.add_argument("--jobs", help="likewise")
args.add_argument("--page-bytes", type=int, default=1400)
args.add_argument("--changing", type=int, default=0,
                  help="other pages each time, the first N times")
args.add_argument("--page-off", type=int, default=0, help="lie about it")
args = args.parse_args()

key = open(args.key, "rb").read() if args.key else None
sock = socket.socket(socket.AF_INET6 if args.v6 else socket.AF_INET,
                     socket.SOCK_DGRAM)
other = socket.socket(sock.family, socket.SOCK_DGRAM)
for s in (sock, other):
    s.bind(("::1" if args.v6 else "127.0.0.1", 0))


def send(data, to, tos=CONTROL_TOS, by=sock):
    if args.v6:
        by.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
    else:
        by.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    by.sendto(data, to)


secret, the_pass, counter = os.urandom(32), None, 0


def message(action, job, xid, body=b"", with_key=key):
    """As the last who had a pass is told it; one that it cannot check."""
    global counter
    counter += 1
    return trust.message(
        action, job, xid, body, None if with_key or not the_pass else the_pass,
        with_key and trust.channel_key(with_key, the_pass), counter,
        trust.ANSWERS)


def admitted(data, to):
    """Is the request to be answered?  Else what is said instead."""
    global the_pass, counter
    action, _, job, xid, _, p, _ = trust.parse(data)
    if p is None:
        the_pass = None
        if key is None:
            return True, None
        return False, trust.message(ACK, job, xid, bytes([action, 7]))
    t = struct.unpack(">Q", p[8:16])[0]
    if t == 0 or trust.cookie_make(secret, to, p[:8], t) != p:
        fresh = trust.cookie_make(secret, to, p[:8], time.monotonic_ns())
        return False, trust.message(ACK, job, xid, bytes([action, 9]), fresh)
    if key is not None and not trust.sealed(trust.channel_key(key, p), data,
                                            trust.ASKS):
        return False, trust.message(ACK, job, xid, bytes([action, 7]), p)
    if p != the_pass:
        the_pass, counter = p, 0
    return True, None


def members(job):
    rows = [{"id": i, "worker": i + 1, "address": "127.0.0.1",
             "port": 40001 + i, "type": "worker", "parent": "",
             "last_heard_ms": 12 * i, "missing": i, "unknown": [1]}
            for i in range(4)]
    return json.dumps({"job": job, "h": 4, "follows": True, "open": True,
                       "halted": False, "iteration": 12, "members": rows})


def jobs():
    return json.dumps({"program": "iswitch", "jobs": [
        {"job": j, "kind": "job", "h": 4, "open": j == 1, "present": j}
        for j in (1, 7)]})


def stats(job, n, scope):
    whole = {"job": job, "program": "iswitch", "counters":
             {"added": 100 + 10 * n, "duplicate": 0,
              "not-a-name": 9007199254740991},
             "gauges": {"members": 4, "filling": -2}}
    if scope == 1:
        del whole["job"]
        whole["counters"] = {"packets": 1000 * n, "added": 3}
    return json.dumps(whole)


text, looks = {}, 0


def page_of(action, job, asked, scope):
    global looks
    if asked == 0:
        looks += 1
        given = {MEMBERS: args.members, STATS: args.stats,
                 JOBS: args.jobs}[action]
        if given:
            text[action] = open(given, "rb").read()
        else:
            text[action] = (members(job) if action == MEMBERS else
                            jobs() if action == JOBS else
                            stats(job, looks, scope)).encode()
    whole, n = text[action], args.page_bytes
    pages = max(1, -(-len(whole) // n))
    if looks <= args.changing:
        pages += asked + 1
    return struct.pack(">HH", asked + args.page_off, pages) \
        + whole[asked * n:(asked + 1) * n]


former = {}


def body_of(action, job, body):
    """What follows action and status; None: no Ack but what was sent."""
    if action == JOIN:
        return struct.pack(">HHHIHIH", 3, 4, 4, 12, 366, 10000, 10)
    if action == SETH:
        was, former[job] = former.get(job, 4), struct.unpack(">H", body)[0]
        return struct.pack(">H", was)
    if action == FBCAST:
        return struct.pack(">H", 2)
    if action in (MEMBERS, STATS, JOBS):
        return page_of(action, job, struct.unpack(">H", body[:2])[0],
                       body[2] if action == STATS and len(body) > 2 else 0)
    return b""


def help_for(job, xid, body, to):
    """A segment of index 0 is there, 1 is asked of others, 2 is gone."""
    index = struct.unpack(">Q", body)[0] & 0xffffff
    if index == 0:
        word = struct.unpack(">Q", body)[0] & ~(0xffff << 24) | 4 << 24
        send(struct.pack(">Q", word) + struct.pack("<3f", 1, 2, 3), to,
             SEG_TOS)
    elif index == 1:
        send(message(HELP, job, 77, body), to)
    else:
        send(message(ACK, job, xid, bytes([HELP, 8]) + body), to)


def noise(action, job, xid, to):
    """All that is not the answer: each alone would be a refusal."""
    bad = bytes([action, 4]) + bytes(40)
    send(message(ACK, job, xid + 1 & 0xffffffff, bad), to)
    send(message(ACK, job, xid - 1 & 0xffffffff, bad), to)
    send(message(ACK, job ^ 1, xid, bad), to)
    send(message(ACK, job, xid, bytes([action ^ 1, 4]) + bytes(40)), to)
    send(message(ACK, job, xid, bytes([action])), to)
    send(message(ACK, job, xid, bad), to, by=other)
    send(message(action, job, xid, bad), to)
    send(message(HALT, job, xid), to)
    send(b"", to)
    send(bytes(9000), to)
    send(struct.pack(">Qf", 5 << 40 | 1 << 24 | 9, 1), to, SEG_TOS)
    if key is not None:
        send(message(ACK, job, xid, bad, None), to)
        send(message(ACK, job, xid, bad, key + b"x"), to)
        prove = bytes([action, 9])
        send(trust.message(ACK, job, xid, prove, os.urandom(24)), to)
        send(trust.message(ACK, job, xid + 1 & 0xffffffff, prove,
                           the_pass[:16] + bytes(8)), to)


def serve():
    log = open(args.log, "w") if args.log else None
    until = time.monotonic() + 60
    lost = 0
    while time.monotonic() < until:
        sock.settimeout(max(0.01, until - time.monotonic()))
        try:
            data, to = sock.recvfrom(65536)
        except (socket.timeout, ConnectionError):
            continue
        if log:
            print(data.hex(), file=log, flush=True)
        action, flags, job, xid = struct.unpack(">BBHI", data[:8])
        body = trust.parse(data)[4]
        if lost < args.lose:
            lost += 1
            continue
        good, instead = admitted(data, to)
        if not good:
            send(instead, to)
            continue
        if args.noise:
            noise(action, job, xid, to)
        if action == HELP:
            help_for(job, xid, body, to)
            continue
        send(message(ACK, job, xid, bytes([action, args.status])
                     + body_of(action, job, body)), to)


with open(args.port_file + ".new", "w") as f:
    print(sock.getsockname()[1], file=f)
os.rename(args.port_file + ".new", args.port_file)
try:
    serve()
except KeyboardInterrupt:
    sys.exit(0)
