#!/usr/bin/env python3
"""seeds.py - write the seed corpora of the fuzz targets, in corpus/ here.

Each file is small and named for what it shows.  Run it again after a layout
changes; what is in corpus/ besides (findings that were fixed) stays.
"""
import os
import json
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def put(target, name, data):
    os.makedirs(os.path.join(HERE, target), exist_ok=True)
    with open(os.path.join(HERE, target, name), "wb") as f:
        f.write(data)


def fold(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s


def update(n=4, kind=1, version=1, merged=1, following=0, elements=None,
           reward=1.5, values=None, status=b""):
    head = struct.pack(">BBHIIHHQfI", version, kind, 7, 3, 9, merged,
                       following, 1700000000000000000, reward,
                       n if elements is None else elements)
    v = values if values is not None else [i + 1.0 for i in range(n)]
    return head + status + struct.pack("<%df" % len(v), *v)


def udp(src, dst, payload, check=None, length=None, sport=4000):
    n = 8 + len(payload) if length is None else length
    h = struct.pack(">HHHH", sport, 46638, n, 0)
    pseudo = src + dst + struct.pack(">HH", 17, n)
    c = ~fold(pseudo + h + payload) & 0xffff or 0xffff
    if check == "partial":
        c = fold(pseudo)
    elif check is not None:
        c = check
    return h[:6] + struct.pack(">H", c) + payload


def ip4(payload=b"hello", frag=0, options=b"", total=None, tos=0x2c,
        src=bytes([10, 0, 1, 1]), dst=bytes([10, 255, 255, 1]), **kw):
    body = udp(src, dst, payload, **kw)
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, tos,
                       20 + len(options) + len(body)
                       if total is None else total,
                       0, frag, 64, 17, 0) + src + dst + options
    return (head[:10] + struct.pack(">H", ~fold(head) & 0xffff) + head[12:]
            + body)


def ip6(payload=b"hello", ext=b"", first=17, length=None, **kw):
    src, dst = b"\xfd" + bytes(14) + b"\1", b"\xfd" + bytes(14) + b"\2"
    body = ext + udp(src, dst, payload, **kw)
    n = len(body) if length is None else length
    return struct.pack(">IHBB", 6 << 28 | 0x2c << 20, n, first, 64) + src \
        + dst + body


MACS = bytes([2, 0, 10, 255, 255, 1, 2, 0, 10, 0, 1, 1])
LINK = {"ethernet": 0, "null": 1, "raw": 4, "loop": 5, "sll": 6, "ipv4": 7,
        "ipv6": 8, "sll2": 9, "unknown": 10}


def frame(name, link, data, cut=0):
    put("frame", name, bytes([LINK[link], cut]) + data)


def eth(ip, tags=b"", kind=None):
    kind = kind or (b"\x86\xdd" if ip[0] >> 4 == 6 else b"\x08\0")
    return MACS + tags + kind + ip


def frames():
    frame("v4", "ethernet", eth(ip4()))
    frame("v6", "ethernet", eth(ip6()))
    frame("v4-options", "ethernet", eth(ip4(options=b"\1\1\1\0")))
    frame("v4-fragment-first", "ethernet", eth(ip4(frag=0x2000)))
    frame("v4-fragment-later", "ethernet", eth(ip4(frag=0x00b9)))
    frame("v4-total-lies", "ethernet", eth(ip4(total=1500)))
    frame("v4-total-zero", "ethernet", eth(ip4(total=0)))
    frame("v4-padded", "ethernet", eth(ip4()) + bytes(13))
    frame("udp-length-lies", "ethernet", eth(ip4(length=200)))
    frame("udp-length-7", "ethernet", eth(ip4(length=7)))
    frame("udp-no-checksum", "ethernet", eth(ip4(check=0)))
    frame("udp-offloaded", "ethernet", eth(ip4(check="partial")))
    frame("udp-bad-checksum", "ethernet", eth(ip4(check=0x1234)))
    frame("udp-empty", "ethernet", eth(ip4(payload=b"")))
    frame("cut-in-payload", "ethernet", eth(ip4())[:-2], 2)
    frame("cut-in-udp", "ethernet", eth(ip4())[:36], 11)
    frame("v6-hop-by-hop", "ethernet",
          eth(ip6(ext=bytes([17]) + bytes(7), first=0)))
    frame("v6-lone-fragment", "ethernet",
          eth(ip6(ext=bytes([17]) + bytes(7), first=44)))
    frame("v6-fragment", "ethernet",
          eth(ip6(ext=bytes([17, 0, 0, 1]) + bytes(4), first=44)))
    frame("v6-extension-lies", "ethernet",
          eth(ip6(ext=bytes([17, 255]) + bytes(6), first=60)))
    frame("vlan", "ethernet", eth(ip4(), b"\x81\0\0\7"))
    frame("qinq", "ethernet", eth(ip4(), b"\x88\xa8\0\7\x81\0\0\7"))
    frame("tags-without-end", "ethernet", MACS + b"\x81\0" * 20)
    frame("arp", "ethernet", MACS + b"\x08\6" + bytes(28))
    frame("sll", "sll", bytes(14) + b"\x08\0" + ip4())
    frame("sll2", "sll2", b"\x08\0" + bytes(18) + ip4())
    frame("null", "null", b"\2\0\0\0" + ip4())
    frame("loop-v6", "loop", b"\0\0\0\x18" + ip6())
    frame("raw-v4", "raw", ip4())
    frame("raw-v6", "ipv6", ip6())
    frame("unknown-link", "unknown", ip4())
    frame("update", "ethernet", eth(ip4(payload=update())))


def updates():
    big = 3.4028234663852886e38
    put("update", "update", update())
    put("update", "first-of-three", update(2, following=2, elements=5))
    put("update", "last-of-three", update(1, elements=5))
    put("update", "weights", update(kind=3, merged=0))
    put("update", "model", update(kind=2, status=bytes(
        [0, 0, 5, 3, 0, 9, 0, 8])))
    put("update", "model-cut-in-status", update(0, kind=2, status=bytes(4)))
    put("update", "merged", update(merged=27))
    put("update", "merged-none", update(merged=0))
    put("update", "merged-most", update(merged=65535))
    put("update", "following-lies", update(following=9))
    put("update", "elements-lie", update(elements=3))
    put("update", "elements-most", update(elements=0xffffffff, following=1))
    put("update", "empty", update(0))
    put("update", "half-an-element", update()[:-2])
    put("update", "short", update()[:31])
    put("update", "version-2", update(version=2))
    put("update", "kind-4", update(kind=4))
    put("update", "reward-nan", update(reward=float("nan")))
    put("update", "element-infinite", update(values=[1, 2, 3, float("inf")]))
    put("update", "extremes", update(20, values=[big, -big] * 5
                                     + [big] * 5 + [1e-45, -0.0, 1e-38, 1, 0]))


def segments():
    def seg(iteration, contributions, index, n=2, cut=0):
        word = iteration << 40 | contributions << 24 | index
        data = struct.pack(">Q", word) + struct.pack("<%df" % n, *range(n))
        return data[:len(data) - cut]
    put("seg", "contribution", seg(7, 1, 3))
    put("seg", "result", seg(7, 4, 3))
    put("seg", "full-1500", seg(1, 1, 0, 366))
    put("seg", "extremes", seg(0xffffff, 0xffff, 0xffffff))
    put("seg", "wrap", seg(0xffffff, 1, 0, 0) + seg(0, 1, 0, 1))
    put("seg", "no-float", seg(7, 1, 3, 0))
    put("seg", "half-a-float", seg(7, 1, 3, cut=2))
    put("seg", "short", seg(7, 1, 3, 0)[:7])
    put("seg", "empty", b"")


def controls():
    def message(action, body=b"", flags=0, mac=b"", job=1, xid=9):
        return struct.pack(">BBHI", action, flags, job, xid) + body + mac

    def ack(action, status=0, body=b""):
        return message(8, bytes([action, status]) + body)

    def join(kind=1, mode=0):
        return message(1, struct.pack(">BBHIIHII", kind, mode, 1, 2, 10000,
                                      366, 5, 0xe3069283))
    number = struct.pack(">Q", 7 << 40 | 1 << 24 | 3)
    page = b"\0\1\0\2" + b'{"job":1,"members":[]}'
    put("control", "join", join())
    put("control", "join-async-switch", join(2, 1))
    put("control", "join-type-0", join(0))
    put("control", "join-mode-2", join(1, 2))
    put("control", "join-cut", join()[:-1])
    put("control", "join-longer", join() + b"later")
    for code, name, body in (
            (2, "leave", b""), (3, "reset", b""), (4, "set-h", b"\0\4"),
            (5, "fbcast", number), (6, "help", number), (7, "halt", b""),
            (16, "resume", b""), (17, "members", b"\0\0"),
            (18, "stats", b"\0\1")):
        put("control", name, message(code, body))
    put("control", "set-h-cut", message(4, b"\0"))
    put("control", "help-cut", message(6, number[:-1]))
    put("control", "ack-join", ack(1, 5, struct.pack(
        ">HHHIHIH", 3, 4, 4, 5, 366, 10000, 10)))
    put("control", "ack-join-cut", ack(1, 0, bytes(17)))
    put("control", "ack-set-h", ack(4, 0, b"\0\3"))
    put("control", "ack-fbcast", ack(5, 0, b"\0\2"))
    put("control", "ack-help-done", ack(6))
    put("control", "ack-help-gone", ack(6, 8, number))
    put("control", "ack-members", ack(17, 0, page))
    put("control", "ack-stats-no-text", ack(18, 1, b"\0\0\0\0"))
    put("control", "ack-unknown", ack(99, 255))
    put("control", "ack-empty", message(8))
    put("control", "mac", message(7, flags=1, mac=bytes(16)))
    put("control", "mac-cut", message(7, flags=1, mac=bytes(15)))
    put("control", "mac-in-body", message(4, b"", 1, bytes(17)))
    put("control", "flags-unknown", message(7, flags=0xfe))
    put("control", "action-0", message(0))
    put("control", "action-9", message(9))
    put("control", "short", message(7)[:7])


def answers():
    members = b'{"job":1,"h":4,"follows":true,"open":true,"halted":false,' \
        b'"iteration":12,"members":[{"id":0,"worker":1,"address":' \
        b'"127.0.0.1","port":40001,"type":"worker","parent":"",' \
        b'"last_heard_ms":12,"missing":3}]}'
    stats = b'{"job":1,"program":"iswitch","counters":{"added":123,' \
        b'"switch_added":1,"switch_foreign":2},"gauges":{"filling":-2}}'
    put("ctl", "members", b"\0" + members)
    put("ctl", "stats", b"\1" + stats)
    put("ctl", "members-as-stats", b"\1" + members)
    put("ctl", "jobs", b'\2{"program":"dlp","jobs":[{"job":1,"kind":"session",'
        b'"open":true,"n":null},{"job":2},7,[]]}')
    put("ctl", "jobs-ragged", b'\2{"jobs":[7,{"a\\u001b":1}]}')
    put("ctl", "blanks", b"\0 { \"members\" : [ 7 , [ ] , { } ]\r\n}\t")
    put("ctl", "names", b'\1{"counters":{"a b":1,"a-b":2,"":3,"\\u001b":4}}')
    put("ctl", "numbers", b'\1{"counters":{"a":1e999,"b":1e300,"c":-0,'
        b'"d":9007199254740993,"e":0.5,"f":"1","g":null}}')
    put("ctl", "label", b'\1{"program":"\\n\\"\\\\","counters":{"a":1}}')
    put("ctl", "backslash-ends", b'\1{"a":"\\\\","b":" // ","counters":{}}')
    put("ctl", "gauges-array", b'\1{"counters":{},"gauges":[1]}')
    put("ctl", "newline-in-name", b'\1{"counters":{"a\nb":1}}')
    put("ctl", "behind", b"\1" + stats + b"more")
    put("ctl", "zero-behind", b"\1" + stats + b"\0")
    put("ctl", "cut", b"\1" + stats[:-2])
    put("ctl", "deep", b"\0" + b"[" * 2000)
    put("ctl", "empty", b"\0")


def message(kind, body=b"", elements=None, flags=0, magic=b"INET"):
    n = len(body) // 4 if elements is None else elements
    return struct.pack("<4sHHIfQII", magic, kind, flags, n, 1.5, 7, 3, 0) \
        + body


def streams():
    hello = b'{"version":1,"elements":2}'
    v = struct.pack("<2f", 1, 2)
    session = message(1, hello, len(hello)) + message(4, v) \
        + message(2, v) + message(3, v, flags=4) + message(3) + message(5)
    for step in (0, 6, 255):
        put("stream", "session-by-%d" % (step + 1), bytes([step]) + session)
    put("stream", "cut-in-body", b"\7" + session[:-40])
    put("stream", "cut-in-header", b"\7" + session[:-5])
    put("stream", "no-magic", b"\7" + message(2, v, magic=b"INFO"))
    put("stream", "kind-0", b"\7" + message(0))
    put("stream", "kind-6", b"\7" + message(6))
    put("stream", "hello-too-long", b"\7" + message(1, b"", 65537))
    put("stream", "vector-most", b"\7" + message(2, v, 1 << 28))
    put("stream", "vector-too-long", b"\7" + message(2, v, (1 << 28) + 1))
    put("stream", "bad-after-good", b"\7" + message(2, v) + b"garbage" * 9)


def numbers():
    for i, s in enumerate([
            "0", "18446744073709551615", "18446744073709551616", "40G",
            "20Mbit", "9036B", "40.02kB", "4KiB", "100ms", "1.5us", "0.5ns",
            "2min", "20000000h", "-1", "+2s", "0x10", "1e300", "nan", "10%",
            "101%", "1.", ".5", "0.4999999999999999999999", "1024", "1000",
            "1Gibit", "-0.5e-3", ""]):
        put("num", "%02d-%s" % (i, "".join(
            c if c.isalnum() or c in ".+-" else "_" for c in s)),
            bytes([i % 7]) + s.encode())


def classic(magic="<I", nano=True, packets=(b"abc", b"", bytes(60)), lens=0,
            version=(2, 4), link=1):
    e = magic[0]
    out = struct.pack(e + "IHHiIII", 0xa1b23c4d if nano else 0xa1b2c3d4,
                      *version, 0, 0, 65535, link)
    for i, p in enumerate(packets):
        out += struct.pack(e + "IIII", 1700000000, i, len(p), len(p) + lens)
        out += p
    return out


def block(kind, body, e="<"):
    body += bytes(-len(body) % 4)
    n = 12 + len(body)
    return struct.pack(e + "II", kind, n) + body + struct.pack(e + "I", n)


def pcapng(e="<", caplen=60, link=1, simple=False):
    out = block(0x0a0d0d0a, struct.pack(e + "IHHq", 0x1a2b3c4d, 1, 0, -1), e)
    out += block(1, struct.pack(e + "HHIHHB3xHH", link, 0, 0, 9, 1, 9, 0, 0),
                 e)
    if simple:
        return out + block(3, struct.pack(e + "I", caplen) + bytes(caplen), e)
    ns = 1700000000123456789
    return out + block(6, struct.pack(e + "IIIII", 0, ns >> 32,
                                      ns & 0xffffffff, caplen, caplen)
                       + bytes(caplen), e)


def captures():
    ok = classic()
    put("pcapio", "ns", ok)
    put("pcapio", "ns-swapped", classic(">I"))
    put("pcapio", "us", classic(nano=False))
    put("pcapio", "us-swapped", classic(">I", nano=False))
    put("pcapio", "snapped", classic(lens=1000))
    put("pcapio", "len-below-caplen", classic(lens=-1, packets=(b"abc",)))
    put("pcapio", "header-only", ok[:24])
    put("pcapio", "empty", b"")
    put("pcapio", "cut-in-file-header", ok[:20])
    put("pcapio", "cut-in-record-header", ok[:24 + 16 + 3 + 9])
    put("pcapio", "cut-in-data", ok[:-1])
    for name, n in (("most", 262144), ("past-most", 262145),
                    ("huge", 0xfffffff0)):
        put("pcapio", "caplen-" + name,
            ok[:32] + struct.pack("<I", n) + ok[36:])
    put("pcapio", "fraction-huge", ok[:28] + b"\xff" * 4 + ok[32:])
    put("pcapio", "stamp-last", ok[:24] + b"\xff" * 8 + ok[32:])
    put("pcapio", "pcapng", pcapng())
    put("pcapio", "pcapng-swapped", pcapng(">"))
    put("pcapio", "pcapng-simple", pcapng(simple=True))
    put("pcapio", "pcapng-dbus", pcapng(link=231))
    put("pcapio", "pcapng-cut", pcapng()[:-7])
    put("pcapio", "modified", struct.pack("<I", 0xa1b2cd34) + ok[4:])
    put("pcapio", "text", b"not a capture, but long enough to be one")


def filters():
    """Settings byte, rate byte, capture: see tests/fuzz/filter.c."""
    def queue(name, settings, packets, rate=6):
        put("filter", name, bytes([settings, rate]) + classic(
            packets=[eth(ip4(payload=p)) if isinstance(p, bytes) else p[0]
                     for p in packets]))
    a, b = update(), update(values=[9, 8, 7, 6], merged=3)
    queue("merge-mean", 3, [a, a, b, b])
    queue("merge-sum", 16 + 3, [a, a, b, b])
    queue("fifo-full", 8, [a, b, a, b, a])
    queue("rewards", 32 + 3, [a, a, update(reward=9), update(reward=-9)])
    queue("limit", 3, [a, update(merged=65000), update(merged=65000)])
    queue("ranges", 7, [update(2, following=1, elements=4),
                        update(2, elements=4)] * 3)
    queue("mismatched", 3, [a, update(5)])
    queue("models", 2, [a, update(kind=2, status=bytes(8)), update(kind=3)])
    queue("regular-queued", 64 + 1, [a, (eth(ip4(tos=0)),), b"short", a])
    queue("propagation", 128 + 3, [a, (eth(ip4(tos=0)),), b, a], rate=20)
    queue("ignored", 3, [update(version=2), update(kind=9), update()[:20],
                         (eth(ip4(payload=a, frag=0x2000)),),
                         (eth(ip4(payload=a, check=1)),)])
    put("filter", "raw-v6", bytes([3, 6]) + classic(
        packets=[ip6(payload=a)] * 3, link=101))
    put("filter", "sll", bytes([3, 6]) + classic(
        packets=[bytes(14) + b"\x08\0" + ip4(payload=a)] * 3, link=113))


def dlps():
    """Settings, workers and iterations, packets: see tests/fuzz/dlp.c."""
    def short(w, state, nodes=1, step=0, v=0):
        return struct.pack(">BBBBi", w, state, nodes, step, v)

    def raw(w, state, nodes=1, step=0, params=(0,) * 6):
        return bytes([64 | w, 0]) + struct.pack(">BBI6i", state, nodes, step,
                                                *params)

    def session(n, steps, values=(5, -3, 2147483647, -2147483648)):
        out = b"".join(short(w, 1) for w in range(n))
        for s in range(steps):
            out += short(0, 10, step=s)
            out += b"".join(short(w | 128, 2, 1, s, values[(w + s) % 4])
                            for w in range(n))
            out += short(0, 2, 1, s, 1)
        return out + short(0, 2, 1, steps - 1) + short(0, 1)

    for name, how in (("mean", 0), ("median", 2), ("mean-late", 4),
                      ("median-late", 6)):
        put("dlp", "switch-" + name, bytes([how, 1 << 5 | 3])
            + raw(0, 6, 3, params=(2, 5, 5, 4, 2, 100)) + session(3, 2) * 2)
        put("dlp", "server-" + name, bytes([how | 1, 2 << 5 | 4])
            + session(4, 2))
    put("dlp", "workers-32", bytes([2, 0]) + raw(0, 6, 32, params=(
        1, 0, 0, 0, 0, 0)) + session(32, 1))
    put("dlp", "workers-33", bytes([0, 0]) + raw(0, 6, 33))
    put("dlp", "setting-negative", bytes([0, 0]) + raw(0, 6, 1, params=(
        1, 1, 1, 1, 1, -1)))
    put("dlp", "lengths", bytes([0, 0]) + bytes([192, 29]) + bytes(29)
        + bytes([192, 31]) + bytes(31) + bytes([192, 0]))
    put("dlp", "reset-and-strangers", bytes([24, 1 << 5 | 2]) + raw(0, 6, 2)
        + short(0, 1) + short(1, 1) + short(9, 2) + short(9, 1)
        + short(0, 2, 1, 7) + raw(9, 6, 3) + short(9, 5) + short(0, 2))
    put("dlp", "every-state", bytes([0, 0]) + b"".join(
        short(0, s) for s in range(256)))


def stores():
    def cluster(c, elements, n, version=1):
        ranges = (elements - 1) // n + 1
        return struct.pack("<HHII", c, 0, elements, n) \
            + struct.pack("<IId", version, 5, 20.0) * ranges \
            + struct.pack("<%df" % (4 * elements), *range(4 * elements))
    put("store", "empty", b"")
    put("store", "two-clusters", cluster(1, 4, 4) + cluster(9, 5, 2))
    put("store", "cluster-twice", cluster(1, 4, 4) * 2)
    put("store", "cut", cluster(1, 4, 4)[:-3])
    put("store", "no-elements", struct.pack("<HHII", 1, 0, 0, 0))
    put("store", "huge", struct.pack("<HHII", 1, 0, 1 << 28, 1))
    put("store", "not-finite", cluster(1, 1, 1)[:-4] + b"\0\0\x80\x7f")


SEG, CONTROL = 0x1c, 0x0c


def seg(t, i, *values):
    return struct.pack(">Q", t << 40 | 1 << 24 | i) \
        + struct.pack("<%df" % len(values), *values)


def ask(action, xid, body=b"", job=1):
    return struct.pack(">BBHI", action, 0, job, xid) + body


def join(w, xid=1, elements=6, kind=1, mode=0, floats=4, first=1, crc=0,
         job=1):
    return ask(1, xid, struct.pack(">BBHIIHII", kind, mode, 0, w, elements,
                                   floats, first, crc), job)


def vector(t, *workers, after=0):
    return [(w, after, SEG, seg(t, i, *[w + 1.0] * n))
            for i, n in ((0, 4), (1, 2)) for w in workers]


def word(t, i):
    return struct.pack(">Q", t << 40 | i)


def sessions(mode=0):
    """(who, after which of eight times, ToS, payload) by turns."""
    def joins(*workers, **kw):
        return [(w, 0, CONTROL, join(w, mode=mode, **kw)) for w in workers]
    opened = joins(0, 1, 2)
    wait = [(7, 6, 0, b"")]
    two = vector(1, 0, 1, 2) + vector(2, 0, 1, 2)
    for c in range(16):
        yield "small-%d" % c, joins(0, 1) + wait + vector(c + 1, 0, 1)
    yield "two-iterations", opened + wait + two
    yield "repeated", opened + wait + vector(1, 0, 0, 1) \
        + vector(1, 0, 1, 2) * 2 + vector(2, 0) + vector(3, 0)
    yield "help", opened + wait + vector(1, 0) + [
        (0, 3, CONTROL, ask(6, 2, word(1, 0))),
        (1, 0, CONTROL, ask(6, 2, word(1, 1)))] + vector(1, 1, 2) + [
        (2, 0, CONTROL, ask(6, 2, word(1, 0))),
        (2, 0, CONTROL, ask(6, 3, word(9, 0))),
        (2, 0, CONTROL, ask(6, 4, word(0, 9)))]
    yield "commands", opened + wait + vector(1, 0) + [
        (5, 0, CONTROL, ask(4, 1, b"\0\1")), (5, 0, CONTROL, ask(7, 2)),
        (0, 0, SEG, seg(1, 0, 1, 2, 3, 4)), (5, 0, CONTROL, ask(16, 3)),
        (5, 0, CONTROL, ask(5, 4, word(1, 0))),
        (5, 0, CONTROL, ask(17, 5, b"\0\0")),
        (5, 0, CONTROL, ask(18, 6, b"\0\0")),
        (1, 0, CONTROL, ask(2, 2)), (5, 0, CONTROL, ask(3, 7))] \
        + joins(0, 1, xid=9, first=7) + vector(7, 0, 1)
    yield "comes-back", opened + wait + vector(1, 0) + [
        (0, 0, CONTROL, ask(2, 2)), (3, 0, CONTROL, join(0, mode=mode))] \
        + vector(1, 1, 2) + vector(2, 1, 2, 3)
    yield "timed-out", opened + wait + vector(1, 0, 1) + wait * 2 \
        + vector(1, 1, 2) + [(2, 7, SEG, seg(1, 0, 1, 1, 1, 1))] * 2
    yield "two-jobs", joins(0, 1) + joins(2, 3, job=2, floats=2) + wait \
        + vector(1, 0, 1) + [(w, 0, SEG, seg(1, 0, 5, 5)) for w in (2, 3)]
    yield "stragglers", opened + wait + vector(1, 0) + vector(1, 1, after=4) \
        + vector(2, 0) + vector(2, 2, after=5) + vector(1, 2)
    yield "no-room", joins(0, 1, elements=100000) + joins(2, 3)
    yield "wraps", joins(0, 1, first=(1 << 24) - 1) + wait \
        + vector((1 << 24) - 1, 0, 1) + vector(0, 0, 1) + vector(1, 0, 1)
    yield "stranger", vector(1, 0, 1, 2) + vector(2, 0, 1, after=6)
    yield "bad", [(0, 0, SEG, b"abc"), (0, 0, SEG, seg(1, 0)),
                  (0, 0, CONTROL, b"x"), (0, 0, CONTROL, ask(99, 1)),
                  (0, 0, CONTROL, join(0)[:20]), (0, 0, 0, b"hello")]
    acked = [(8, 0, CONTROL, ask(8, 7, struct.pack(
        ">BBHHHIHIH", 1, 0, 0, 2, 2, 1, 4, 6, 3)))]
    yield "child", joins(0, 1) + acked + joins(0, 1, xid=2) + wait \
        + vector(1, 0, 1) + [(8, 0, SEG, seg(1, 0, 9, 9, 9, 9)),
                             (8, 0, CONTROL, ask(6, 1, word(1, 1))),
                             (8, 0, SEG, seg(1, 1, 9, 9)),
                             (8, 0, CONTROL, ask(7, 2)),
                             (8, 0, CONTROL, ask(16, 3)),
                             (8, 0, CONTROL, ask(3, 4))]


def policies():
    """Policies as innet-agent saves them, of hidden layers of 1 or 2."""
    def policy(n, weight=.5, kind=4, rest=b"", **hello):
        text = json.dumps(dict(version=1, elements=n, **hello)).encode()
        return (struct.pack("<4sHHIfQII", b"INET", 1, 0, len(text), 0, 0, 0, 0)
                + text +
                struct.pack("<4sHHIfQII", b"INET", kind, 0, n, 0, 0, 0, 0) +
                struct.pack("<f", weight) * n + rest)

    one = dict(env="cartpole", hidden=1)
    put("saved", "a2c", policy(20, algo="a2c", **one))
    put("saved", "ppo-numbers", policy(17, algo="ppo", env="pendulum",
                                       hidden=1))
    put("saved", "dqn-dueling", policy(13, algo="dqn", dueling=1, **one))
    put("saved", "ddpg-two", policy(36, algo="ddpg", env="pendulum",
                                    hidden=2))
    dqn = dict(one, algo="dqn", dueling=0)
    put("saved", "dqn-rest", policy(11, rest=b"INET", **dqn))
    put("saved", "short", policy(11, **dqn)[:-3])
    put("saved", "one-less", policy(10, **dqn))
    put("saved", "infinite", policy(11, float("inf"), **dqn))
    put("saved", "a-gradient", policy(11, kind=2, **dqn))
    put("saved", "wide", policy(11, **dict(dqn, hidden=4096)))
    put("saved", "no-width", policy(11, **dict(dqn, hidden=-1)))
    put("saved", "huge", policy(11, **dict(dqn, hidden=1e300)))
    put("saved", "unfit", policy(11, **dict(dqn, env="pendulum")))
    put("saved", "stranger", policy(11, **dict(dqn, env="go")))
    put("saved", "numbers-for-names", policy(11, env=1, algo=[]))


def switches():
    """Settings and datagrams: see tests/fuzz/iswitch.c."""
    tos = {SEG: 0, CONTROL: 1, 0: 3}
    kinds = [0, 1, 2, 3, 4, 32, 64, 65]
    both = list(sessions()) + [("async-" + name, session)
                               for name, session in sessions(mode=1)]
    for k, (name, session) in enumerate(both):
        data = b"".join(bytes([who & 7 | after << 3 | tos[t] << 6,
                               (len(p) & 63) | (who & 8) << 4]) + p
                        for who, after, t, p in session)
        kind = 16 if "child" in name else 64 if name == "stragglers" \
            else kinds[k % len(kinds)]
        if name[:5] == "async":
            kind |= 8
        put("iswitch", name, bytes([kind, k % 4 if "small" in name else 0,
                                    8 if "stranger" in name else 0]) + data)


def switch_captures():
    """Settings and a capture: see tests/fuzz/iswfilter.c."""
    step = [0, 1e-9, 1e-6, 1e-2, 5e-2, .3, 1.1, 11]
    for name, session in sessions():
        now, out = 1700000000, classic(packets=())
        for who, after, t, p in session:
            now += step[after]
            src = bytes([10, 255, 255, 2] if who == 8 else [10, 0, 1, who])
            f = eth(ip4(payload=p, tos=t, src=src))
            out += struct.pack("<IIII", int(now), int(now % 1 * 1e9), len(f),
                               len(f)) + f
        put("iswfilter", name, bytes([64 if name == "stragglers" else 0, 10,
                                      2 if name == "stranger" else 0]) + out)
    mine = bytes([10, 255, 255, 1])
    a = seg(1, 0, 1, 2)
    put("iswfilter", "others", bytes([0, 10, 1]) + classic(packets=[
        eth(ip4(payload=a, tos=SEG, src=mine, dst=bytes([10, 0, 1, 1]),
                sport=46638)),
        eth(ip4(payload=a, tos=SEG, dst=bytes([10, 9, 9, 9]))),
        eth(ip4(payload=a, tos=0)), eth(ip4(payload=a, tos=SEG, check=1)),
        eth(ip4(payload=a, tos=SEG, frag=0x2000)),
        eth(ip4(payload=a, tos=SEG, length=200)),
        eth(ip4(payload=a, tos=SEG)), MACS + b"\x08\6" + bytes(28)]))


def ports():
    """Rules, a line each: see tests/fuzz/ports.c."""
    for name, rules in {
            "host": "10.0.0.7:rate=20Mbit,slots=5,queue=olaf",
            "host-and-port": "127.0.0.1:9:rate=1k\n127.0.0.1:8:slots=3",
            "prefixes": "10.0.0.0/8:rate=8\n10.1.1.1:rate=32\n"
                        "10.1.0.0/16:queue=fifo\n0.0.0.0/0:slots=1\n"
                        "10.1.1.0/25:rate=25",
            "ipv6": "fd00::1:rate=3\n[fd00::1]:rate=3\n[fd00::1]:7:rate=3"
                    "\nfd00::/15:slots=2\n::/0:rate=1",
            "twice": "10.0.0.7:rate=1,rate=2\n10.0.0.7:rate=3",
            "sixty-five": "\n".join("10.0.0.%d:rate=1" % i
                                    for i in range(65)),
            "forms": "\n10.0.0.7\n:rate=1\nrate=1\n10.0.0.7:rate\n"
                     "10.0.0.7:rate=1,\n10.0.0.7:,rate=1\n=\n:=\n/:=",
            "lengths": "1" * 200 + ":rate=1\n10.0.0.7:rate=" + "0" * 200 +
                       "\n10.0.0.0/33:rate=1\nfd00::/129:rate=1\n"
                       "10.0.0.0/-1:rate=1",
            "numbers": "10.0.0.7:rate=0\n10.0.0.7:slots=16777217\n"
                       "10.0.0.7:slots=16777216\n10.0.0.7:rate=1e15\n"
                       "10.0.0.7:rate=1P\n10.0.0.7:queue=lifo",
    }.items():
        put("ports", name, rules.encode())


def control_sessions():
    """Settings and datagrams: see tests/fuzz/controls.c."""
    def say(who, payload, tos=0, after=0):
        return bytes([who | tos << 3 | after << 5, len(payload)]) + payload

    def page(action, xid, n=0, job=1):
        return ask(action, xid, struct.pack(">H", n), job)

    def all_asked(who, job=1):
        scope = struct.pack(">HB", 0, 1)
        return b"".join([
            say(who, page(20, 21, 0, job)), say(who, page(17, 22, 0, job)),
            say(who, page(18, 23, 0, job)), say(who, page(18, 23, 0, job)),
            say(who, page(17, 24, 1, job)), say(who, page(18, 22, 0, job)),
            say(who, ask(18, 25, scope, job)), say(who, ask(18, 26, b"", job)),
            say(who, page(20, 27, 65535, job))])
    regroup = struct.pack(">IHI", 1, 2, 3)
    updates = b"".join(say(w, update(), 1, 3) for w in (1, 2, 1))
    joins = say(1, join(1)) + say(2, join(2))
    segs = b"".join(say(w, p, 2, 5 if w == 1 else 0)
                    for w, _, _, p in vector(1, 1, 2))
    polls = b"".join(say(w, bytes([s, 2]) + bytes(28), 3)
                     for w, s in ((1, 6), (1, 1), (2, 1), (1, 10), (1, 2)))
    for program, life in enumerate((updates, joins + segs, polls)):
        name = ("olaf", "iswitch", "dlp")[program]
        for how, kind in (("", 0), ("-key", 64), ("-rate", 128)):
            start = bytes([kind + (program - kind) % 3])
            assert start[0] % 3 == program and start[0] & 192 == kind
            put("controls", name + how, start + life + all_asked(3)
                + all_asked(1) + all_asked(4, 9))
        put("controls", name + "-unknown", bytes([program]) + life + b"".join(
            say(1, ask(a, 50 + a, bytes(16))) for a in range(32)))
        put("controls", name + "-cut", bytes([program]) + life + b"".join(
            say(1, join(1)[:n]) for n in range(0, 32, 3)))
    put("controls", "olaf-regroup", bytes([0]) + updates
        + say(3, ask(21, 1, regroup)) + updates + say(3, page(17, 2, 0, 2))
        + say(3, ask(21, 3, regroup[:5])) + say(7, update(kind=2), 1))
    put("controls", "iswitch-late", bytes([1]) + joins + segs
        + say(3, page(17, 2), 0, 7) + say(3, page(20, 3), 0, 7))


def trees():
    """Leaves, alpha, and operations on them: see tests/fuzz/tree.c."""
    def put_tree(name, leaves, alpha, *ops):
        put("tree", name, struct.pack(">HB", leaves - 1, alpha) + b"".join(ops))

    def row(n, start, weight, priority):
        return struct.pack(">BBH", 1, n, start) + struct.pack(
            ">HH", weight, priority) * n

    def some(*triples):
        return struct.pack(">BBH", 0, len(triples), 0) + b"".join(
            struct.pack(">HHH", *t) for t in triples)

    check, draws, strata = b"\4\0", b"\3\100", b"\10\100"
    one = 140 << 8 | 1
    put_tree("one-leaf", 1, 10, row(1, 0, 1, one), check, draws)
    put_tree("empty", 17, 6, check, draws, strata)
    put_tree("wrap", 1000, 6, row(250, 900, 7, one), check, strata)
    put_tree("duplicates", 20, 5,
             some((3, 7, one), (3, 11, one + 9), (3, 0, 0)), check, draws)
    put_tree("greatest", 257, 10, row(255, 0, 1, one), row(255, 200, 1, one),
             check, draws)
    put_tree("sparse", 5000, 0, some((4999, 1, one), (0, 6, one)), check,
             strata)
    put_tree("scaled", 300, 10, row(200, 0, 1023, one), b"\2\172", check,
             b"\2\210", check)
    put_tree("follows", 100, 40, row(100, 0, 3, 1), strata,
             row(100, 0, 3, 255 << 8 | 1), check, row(99, 0, 3, one), check)
def replies():
    """Pieces of so many bytes, so much of a body, and what a server says."""
    for name, take, said in (
            ("every-kind", 1, b"+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nb\0"
             b"\r\n$0\r\n\r\n$-1\r\n*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n*-1\r\n"),
            ("sample", 255, b"*4\r\n*2\r\n:1\r\n:4294967298\r\n*2\r\n$3\r\n0.5"
             b"\r\n$4\r\n0.25\r\n*1\r\n$1\r\n1\r\n*1\r\n$44\r\n" +
             bytes(range(44)) + b"\r\n"),
            ("endless", 0, b"*2147483647\r\n*2147483647\r\n$536870912\r\nx"),
            ("too-long", 0, b"+" + b"x" * 17000 + b"\r\n"),
            ("bulk-longer", 9, b"$1\r\nab\r\n"),
            ("not-resp", 0, b"HTTP/1.1 400 Bad Request\r\n\r\n")):
        put("respreply", name, bytes([2, take]) + said)


def checkpoints():
    """The records of cmd/innet-memory/store/save.h."""
    def counted(b):
        return struct.pack("<Q", len(b)) + b

    def string(key, version, value):
        return b"S" + counted(key) + struct.pack("<Q", version) + counted(value)

    def item(i, p=1.0, times=0, frames=(), tail=b"tail"):
        return (struct.pack("<QfI", i, p, times) +
                struct.pack("<%dI" % len(frames), *frames) + counted(tail))

    def table(items, capacity=4, alpha=0.6, pick=0, times=0, lo=0.0, hi=0.0,
              slack=4, size=0, stack=0, frames=(), inserted=None, evicted=0,
              head=2, newest=1, highest=2.0, name=b"replay", n=None):
        have = len(items) if n is None else n
        return (b"T" + counted(name) +
                struct.pack("<QdIIddQQI", capacity, alpha, pick, times, lo,
                            hi, slack, size, stack) +
                struct.pack("<7QIIf", have + evicted if inserted is None
                            else inserted, 3, 2, 1, evicted, 0, 0, head,
                            newest, highest) +
                struct.pack("<I", len(frames)) + b"".join(frames) +
                struct.pack("<Q", have) + b"".join(items))

    one, two = item(1 << 32), item(1 << 32 | 1, 2.0, 7, tail=b"")
    pair = [b"aaa", b"bbb"]
    framed = [item(1 << 32, frames=(0, 1)), item(1 << 32 | 1, frames=(1, 1))]
    for name, data in (
            ("nothing", b""), ("clock", b"V" + bytes(8)),
            ("strings", string(b"a", 1, b"x") + string(b"", 2, b"y" * 300)),
            ("refused", string(b"abc", 1, b"x")),
            ("list", b"L" + counted(b"l") + struct.pack("<QQ", 5, 2) +
             counted(b"x") + counted(b"")),
            ("list-too-long", b"L" + counted(b"l") + bytes(8) + b"\xff" * 8),
            ("huge-key", b"S" + b"\xff" * 8), ("unknown-record", b"X"),
            ("table", table([one, two])), ("table-empty", table([], head=0)),
            ("uniform", table([one, two], pick=1)),
            ("fifo-worn", table([one], pick=2, times=3)),
            ("lifo", table([one, two], pick=3)),
            ("frames", table(framed, size=3, stack=1, frames=pair)),
            ("frames-unused", table(framed[1:], size=3, stack=1, frames=pair)),
            ("frames-missing", table(framed, size=3, stack=1,
                                     frames=pair[:1])),
            ("frames-undeclared", table([one], frames=pair)),
            ("frames-huge", table([], size=1 << 62, stack=1)),
            ("stack-huge", table([], size=1, stack=1 << 31)),
            ("twice", table([one, one])), ("slot-5", table([item(5)])),
            ("counters", table([one], inserted=9)),
            ("over-full", table([one, two], capacity=1)),
            ("capacity-0", table([], capacity=0)),
            ("capacity-huge", table([], capacity=1 << 31)),
            ("head-9", table([], head=9)), ("nameless", table([], name=b"")),
            ("alpha-nan", table([], alpha=float("nan"))),
            ("limits-crossed", table([], lo=2.0, hi=1.0)),
            ("priority-nan", table([item(1 << 32, float("nan"))])),
            ("priority-high", table([item(1 << 32, 3.0)])),
            ("items-cut", table([one], n=2)), ("selector-4", table([], pick=4)),
            ("two-tables", table([one]) + table([two], name=b"b"))):
        put("checkpoint", name, data)


def specs():
    cluster = {"id": 1, "period": "100ms", "offset": ["0", "100ms"]}
    good = {"service_time": "2ms", "slots": 1, "horizon": "1s",
            "clusters": [cluster]}
    control = {"v": "fair", "threshold": "400ms"}
    full = dict(cluster, jitter="5ms", control=control)

    def spec(name, **kw):
        put("spec", name, json.dumps(dict(good, **kw)).encode())

    def one(name, **kw):
        spec(name, clusters=[dict(full, **kw)])

    spec("good")
    spec("full", ack_delay="10ms", clusters=[full, dict(cluster, id=0)])
    spec("unknown-key", slot=1)
    spec("no-clusters", clusters=[])
    spec("twins", clusters=[cluster, cluster])
    spec("many", clusters=[dict(cluster, id=i) for i in range(65)])
    spec("too-many-updates", horizon="24h")
    spec("no-update", clusters=[dict(cluster, offset="1s")])
    spec("overflow", horizon="18446744073709551616s")
    one("backwards", offset=["2s", "1s"])
    one("negative", offset="-1s")
    one("three-offsets", offset=["1s", "1s", "1s"])
    one("jitter", jitter="100ms")
    one("no-threshold", control={"v": "urgent"})
    one("types", id="x", period=[], control=1)
    put("spec", "cut", json.dumps(good).encode()[:-9])
    put("spec", "deep", b"[" * 2000)
    put("spec", "nul", b"{}\0{}")


def scenario(**more):
    s = {"switches": [{"name": "sw", "slots": 4}],
         "servers": [{"name": "ps"}],
         "links": [{"from": "sw", "to": "ps", "rate": "1M"}],
         "workers": [{"at": "sw", "clusters": 2, "workers": 3,
                      "interval": "20us"}]}
    for path, v in more.items():
        if isinstance(s.get(path), list):
            s[path][0].update(v)
        else:
            s[path] = v
    return json.dumps(s).encode()


def scenarios():
    put("scenario", "plain", scenario())
    put("scenario", "every-section", scenario(
        name="x", seed=7, runs=2, duration="1ms", drain=True, start="1s",
        ages_from="first", wire_overhead=True,
        faults=[{"link": "sw", "from": "10us", "to": "20us"},
                {"switch": "sw", "index": 0, "from": "15us", "to": "1s"}],
        sweep={"links[0].rate": ["1M", 2000000],
               "switches[*].queue": ["olaf", "fifo", "regular"],
               "workers[0].at": ["sw"]}))
    put("scenario", "access", scenario(
        workers={"access_rate": "10M", "access_propagation": "1us",
                 "access_loss": "10%", "access_queue": 1, "shared": True,
                 "access_capture": True,
                 "control": "urgent", "threshold": "0"}))
    put("scenario", "vectors-of-packets", scenario(
        workers={"elements": 200, "frame": "100B", "count": 3,
                 "phase": "order", "window": "5us", "arrivals": "bursts"}))
    put("scenario", "waits", scenario(
        servers={"delay": "1us", "gate": "ema", "gate_ema": 0.5},
        workers={"wait": "30us", "control": "fair", "count": 4}))
    put("scenario", "traffic", scenario(
        traffic=[{"at": "sw", "rate": "100M", "frame": "100B"},
                 {"name": "x", "at": "sw", "rate": "1G", "frame": "42B",
                  "arrivals": "onoff", "start": "5us", "stop": "50us"}],
        faults=[{"link": "sw", "from": "20us", "to": "30us"}]))
    put("scenario", "tree", json.dumps({
        "switches": [{"name": "tor", "count": 4}, {"name": "core"}],
        "servers": [{"name": "ps", "reply": "worker", "delay": "1us"}],
        "links": [{"from": "tor", "to": "core", "propagation": "1us"},
                  {"from": "core", "to": "ps", "loss": 0.5}],
        "workers": [{"at": "tor", "clusters": "3-6", "workers": 2,
                     "interval": "10us", "arrivals": "poisson"}]}).encode())
    put("scenario", "trainings", json.dumps({"trainings": [
        {"approach": a, "mode": m, "vector": "4kB", "payload": "1000B",
         "iterations": 2, "compute": "100us", "compute_shape": "lognormal",
         "rack": 2, "workers": 5, "loss": loss, "packet": "1us",
         "message": "2us", "copy_rate": "1G"}
        for a, m, loss in (("switch", "sync", 0.1), ("switch", "async", 0.1),
                           ("ps", "sync", 0.1), ("ps", "async", 0),
                           ("ring", "sync", 0))],
        "sweep": {"trainings[*].speeds": ["0", "90%"]}}).encode())
    put("scenario", "training-faults", json.dumps({"trainings": [
        {"approach": a, "mode": m, "vector": "4kB", "payload": "1000B",
         "iterations": 3, "compute": "100us", "rack": 2, "workers": 4,
         "name": a + m, "give_up": "none"}
        for a, m in (("switch", "sync"), ("ps", "sync"), ("ps", "async"))],
        "faults": [
            {"link": "worker", "from": "50us", "to": "150us"},
            {"link": "server", "training": "pssync", "from": "0",
             "to": "300us"},
            {"switch": "switch", "from": "120us", "to": "130us"},
            {"switch": "rack", "index": 1, "from": "125us",
             "to": "1ms"}]}).encode())
    put("scenario", "training-and-network", scenario(trainings=[{}]))
    put("scenario", "circle", scenario(links={"to": "sw"}))
    put("scenario", "unknown-key", scenario(links={"rat": 1}))
    put("scenario", "no-unit", scenario(duration="10"))
    put("scenario", "given-twice",
        scenario().replace(b'"slots": 4', b'"slots": 4, "slots": 5'))
    put("scenario", "huge", scenario(workers={"workers": 1e300}))
    put("scenario", "sweep-of-nothing", scenario(sweep={"links[0].rate": []}))
    put("scenario", "path-astray", scenario(sweep={"links[9].rate": [1]}))


frames()
updates()
segments()
controls()
answers()
streams()
numbers()
replies()
captures()
filters()
dlps()
stores()
policies()
switches()
switch_captures()
trees()


def resp_requests():
    def req(*words):
        words = [w if isinstance(w, bytes) else str(w).encode()
                 for w in words]
        return b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w) for w in words)

    def many(text):
        return b"".join(req(*t.split()) for t in text.split(";"))

    big = b"x" * 5000
    for name, data in {
            "strings": many("SET a 1;GET a;GETV a 0;GETV a 1;MGET a b;"
                            "STRLEN a;EXISTS a b;TYPE a;SET a 2 XX GET;DEL a"),
            "lists": many("RPUSH l a b c;LPUSH l d;LRANGE l 0 -1;LINDEX l 1;"
                          "LTRIM l 1 2;LPOP l;RPOP l 2;LLEN l;RPUSHX l 1"),
            "big-bulks": req("RPUSH", "l", big, "1", big) +
            req("LRANGE", "l", 0, -1) + req("SET", "k", big) + req("GET", "k"),
            "multi": many("MULTI;SET a 1;GET a;RPUSH a 1;EXEC;WATCH a;SET a 2;"
                          "MULTI;GET a;EXEC;MULTI;NOSUCH;EXEC;MULTI;DISCARD"),
            "multi-big": req("MULTI") + req("SET", "k", big) + req("GET", "k")
            + req("EXEC"),
            "connection": many("PING;PING x;ECHO y;HELLO;HELLO 3;SELECT 0;"
                               "SELECT 1;AUTH x;CLIENT SETNAME a;CLIENT ID;"
                               "CLIENT GETNAME;CLIENT LIST;RESET;QUIT"),
            "server": many("COMMAND COUNT;COMMAND DOCS get;COMMAND INFO set;"
                           "CONFIG GET *;CONFIG SET maxmemory 2mb;INFO all;"
                           "CONFIG RESETSTAT;DBSIZE;FLUSHALL;CLIENT HELP"),
            "wrong": many("NOSUCH a b;GET;SET a 1 EX 5;RPUSH l 1;GET l;"
                          "LRANGE l x y;LPOP l -1;CLIENT NOSUCH;SHUTDOWN x"),
            "tables": many("PER.CREATE t CAPACITY 4 ALPHA 1;PER.ADD t 1 a 2 b max c"
                           ";PER.SAMPLE t 2 BETA 0.4 STRATIFIED;PER.INFO t;"
                           "PER.UPDATE t 4294967296 3;PER.DUMP t FROM 0 COUNT 2;"
                           "PER.REMOVE t 4294967297;PER.ADD t 0 d 1 e;"
                           "PER.SAMPLE t 1 BINARY;PER.DROP t"),
            "tables-selectors": many(
                "PER.CREATE u CAPACITY 3 SELECTOR uniform TIMES 1;PER.ADD u 1 a;"
                "PER.SAMPLE u 1;PER.CREATE f CAPACITY 2 SELECTOR fifo;PER.ADD f "
                "1 a 1 b 1 c;PER.SAMPLE f 2;PER.CREATE l CAPACITY 2 SELECTOR "
                "lifo;PER.ADD l 1 a;PER.SAMPLE l 1 TIMEOUT 0;FLUSHALL"),
            "tables-limits": many(
                "PER.CREATE t CAPACITY 4 RATIO 1 2 SLACK 2;PER.ADD t 1 a 1 b;"
                "PER.ADD t 1 c;PER.SAMPLE t 2;PER.SAMPLE t 2;PER.SAMPLE t 2;"
                "PER.LIMIT t RATIO 0 0;MULTI;PER.ADD t TIMEOUT 9 1 c;EXEC"),
            "tables-frames": many("PER.CREATE f CAPACITY 3;PER.FRAMES f 2 1;"
                                  "PER.ADD f 1 aabbtail;PER.SAMPLE f 1 REFS") +
            req("PER.ADD", "f", "FRAMES", 2, "aa", "cc", 1, b"\0\0\1\0x", 2,
                b"\1\0\1\0y") + many("PER.SAMPLE f 2 BINARY REFS;PER.INFO f"),
            "tables-packed": many("PER.CREATE t CAPACITY 2;PER.ADD t 1 a") +
            req("PER.UPDATE", "t", "BINARY", struct.pack("<Q", 1 << 32),
                struct.pack("<f", 0.5)) +
            req("PER.REMOVE", "t", "BINARY", struct.pack("<Q", 1 << 32)),
            "tables-wrong": many("PER.ADD none 1 a;PER.CREATE t CAPACITY 0;"
                                 "PER.CREATE t CAPACITY 2 ALPHA nan;PER.SAVE;"
                                 "PER.CREATE t CAPACITY 2;PER.ADD t nan a;"
                                 "PER.SAMPLE t 1;PER.UPDATE t x 1;PER.LOAD;"
                                 "PER.ADD t FRAMES 9 a;PER.DUMP t FROM"),
            "per": many("PER.CREATE t capacity 4 ratio 0 3;"
                        "PER.ADD t 1 a 2.5 b max c;PER.SAMPLE t 2 beta 1 "
                        "stratified timeout 9;PER.UPDATE t 4294967296 0 7 1;"
                        "PER.DUMP t count 2;PER.INFO t;PER.REMOVE t 4294967297;"
                        "PER.LIMIT t ratio 1 2 slack 3;PER.SAMPLE t 9;"
                        "PER.DROP t;PER.SAVE;PER.LOAD"),
            "per-frames": many("PER.CREATE t capacity 2 selector lifo times 2;"
                               "PER.FRAMES t 2 2;PER.ADD t 1 aabbbbccT 1 "
                               "bbccccdd;PER.SAMPLE t 2;PER.SAMPLE t 1 refs") +
            req("PER.ADD", "t", "frames", 2, "dd", "ee", "max",
                b"\0\0\0\0\1\0\1\0tail") +
            many("PER.SAMPLE t 1 refs binary;PER.INFO t;FLUSHALL") +
            req("PER.UPDATE", "t", "binary", bytes(8), bytes(4)),
            "inline": b"SET a 'b c'\r\nGET a\nECHO \"\\x41\\n\"\r\n\r\nPING\r\n",
            "inline-unbalanced": b"ECHO 'a\r\n",
            "bad-length": b"*1\r\n$x\r\n",
            "bad-count": b"*9999999\r\n",
            "no-dollar": b"*1\r\nPING\r\n",
            "http": b"POST / HTTP/1.1\r\n",
    }.items():
        put("resp", name, b"\3" + data)
        if name in ("lists", "big-bulks", "multi-big"):
            put("resp", name + "-by-the-byte", b"\0" + data)
    put("resp", "memory-full", b"\x0e" + b"".join(
        req("RPUSH", "l", b"y" * 20000) for _ in range(8)) +
        req("LLEN", "l"))
    put("resp", "memory-full-in-one", b"\x0e" + req(
        "RPUSH", "l", *[b"y" * 9000] * 15) + req("LLEN", "l"))
    put("resp", "output-full-of-text", b"\x03" + req("COMMAND") * 30)
    put("resp", "output-full", b"\x07" + req("SET", "a", b"z" * 9000) +
        req("GET", "a") * 40)


checkpoints()
control_sessions()
ports()
resp_requests()
specs()
scenarios()
