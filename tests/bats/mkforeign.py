#!/usr/bin/env python3
"""
mkforeign.py - captures of a protocol that is not innet's, and the truth of them

	mkforeign.py KIND DIR [SEED]

writes DIR/sent.pcap and DIR/got.pcap, and DIR/truth.csv with the times of
every update.  KIND is udp (a header of 20 bytes: u16 cluster, u16 pad, u32
sequence, u64 microseconds, u16 merged, f16 pad), many (the same, several in
a datagram, as with offloads), opaque (payloads that say nothing, some of them
alike), fixed, length and line (TCP: messages of 24 bytes; of a length that
their first two bytes say; that end in "\\r\\n"), segments out of order, sent
again and cut anywhere.
"""
import random
import struct
import sys

START = 1_700_000_000_000_000_000


def frame(proto, src, dst, sport, dport, payload, seq=0, flags=0x18):
    if proto == 17:
        l4 = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0)
    else:
        l4 = struct.pack(">HHIIBBHHH", sport, dport, seq & 0xffffffff, 0,
                         5 << 4, flags, 65535, 0, 0)
    l4 += payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(l4), 0, 0, 64, proto,
                     0, bytes(src), bytes(dst))
    s = sum(struct.unpack(">10H", ip))
    s = (s & 0xffff) + (s >> 16)
    s = ~((s & 0xffff) + (s >> 16)) & 0xffff
    ip = ip[:10] + struct.pack(">H", s) + ip[12:]
    return bytes(12) + b"\x08\x00" + ip + l4


def write(path, packets, snap=262144):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for t, p in sorted(packets, key=lambda x: x[0]):
            f.write(struct.pack("<IIII", t // 10**9, t % 10**9,
                                min(snap, len(p)), len(p)) + p[:snap])


def updates(rng, clusters=3, workers=2, n=40):
    """(cluster, worker, sequence, generated, received or None), by time."""
    out = []
    for c in range(1, clusters + 1):
        for w in range(workers):
            t = START + rng.randrange(10**4) * 1000
            for k in range(n):
                t += rng.randrange(10**6, 10**7) // 1000 * 1000
                delay = rng.randrange(10**5, 4 * 10**6)
                got = None if rng.random() < 0.1 else t + delay
                out.append((c, w, k, t, got))
    return sorted(out, key=lambda u: u[3])


def body(u, rng, size=24):
    c, w, k, t, _ = u
    head = struct.pack(">HHIQHH", c, w, k, t // 1000, 1, 0)
    return head + bytes(rng.randrange(256) for _ in range(size - len(head)))


def tcp(messages, rng, port):
    """Packets of one stream each worker: (time, frame) of the messages."""
    out = []
    for w, stream in sorted(messages.items()):
        seq = rng.randrange(2**32)
        src, dst = (10, 0, 0, w + 1), (10, 9, 9, 9)
        first = stream[0][0]
        out.append((first - 1000, frame(6, src, dst, 4000 + w, port, b"",
                                        seq, 2)))
        seq += 1
        for t, m in stream:
            cut = rng.randrange(1, len(m))
            parts = [(seq, m[:cut]), (seq + cut, m[cut:])]
            if rng.random() < 0.3:
                parts.reverse()
            for i, (s, p) in enumerate(parts):
                out.append((t - 10 * (1 - i), frame(6, src, dst, 4000 + w,
                                                    port, p, s)))
            if rng.random() < 0.2:
                out.append((t + 5, frame(6, src, dst, 4000 + w, port, m,
                                         seq)))
            seq += len(m)
    return out


def main():
    kind, where = sys.argv[1:3]
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    us = updates(rng)
    sent, got, truth = [], [], []
    if kind == "opaque":
        for c, w, k, t, r in us:
            p = b"same" if rng.random() < 0.2 else rng.randbytes(64)
            f = frame(17, (10, 0, c, w + 1), (10, 9, 9, 9), 5000, 5555, p)
            sent.append((t, f))
            # equal packets overtake none, and none of them is lost
            if p == b"same":
                r = t + 10**6
            if r is not None:
                got.append((r, f))
            truth.append((c, w, t, r))
    elif kind in ("udp", "many"):
        batch = {}
        for u in us:
            c, w, k, t, r = u
            src = (10, 0, c, w + 1)
            m = body(u, rng)
            sent.append((t, frame(17, src, (10, 9, 9, 9), 5000, 5555, m)))
            if r is not None and kind == "many":
                r = -(-r // 10**7) * 10**7
                batch.setdefault((r, src), []).append(m)
            elif r is not None:
                got.append((r, frame(17, src, (10, 9, 9, 9), 5000, 5555, m)))
            truth.append((c, w, t, r))
        for (r, src), ms in batch.items():
            got.append((r, frame(17, src, (10, 9, 9, 9), 5000, 5555,
                                 b"".join(ms))))
    else:
        streams, leaving, last = {}, {}, {}
        for u in us:
            c, w, k, t, r = u
            if r is None:
                continue
            key = c * 2 + w
            r = max(r, last.get(key, 0) + 1000)
            last[key] = r
            m = body(u, rng, 24 if kind != "length" else
                     rng.randrange(24, 300))
            if kind == "length":
                m = struct.pack(">H", len(m)) + m
            elif kind == "line":
                m = b"%d %d %s" % (c, w, bytes(rng.choice(b"\r\nabc")
                                               for _ in range(20)))
                m = m.replace(b"\r\n", b"ab").rstrip(b"\r") + b"\r\n"
            streams.setdefault(key, []).append((r, m))
            leaving.setdefault(key, []).append((t, m))
            truth.append((c, w, t, r))
        got = tcp(streams, rng, 5556)
        sent = tcp(leaving, rng, 5556)
    write(where + "/sent.pcap", sent)
    write(where + "/got.pcap", got)
    write(where + "/cut.pcap", got, 100)
    with open(where + "/truth.csv", "w") as f:
        f.write("cluster,worker,generated_ns,received_ns\n")
        for c, w, t, r in truth:
            f.write("%d,%d,%d,%s\n" % (c, w, t, "" if r is None else r))


main()
