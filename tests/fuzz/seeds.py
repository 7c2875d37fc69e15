#!/usr/bin/env python3
"""seeds.py - write the seed corpora of the fuzz targets, in corpus/ here.

Each file is small and named for what it shows.  Run it again after a layout
changes; what is in corpus/ besides (findings that were fixed) stays.
"""
import os
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


def udp(src, dst, payload, check=None, length=None):
    n = 8 + len(payload) if length is None else length
    h = struct.pack(">HHHH", 4000, 46638, n, 0)
    pseudo = src + dst + struct.pack(">HH", 17, n)
    c = ~fold(pseudo + h + payload) & 0xffff or 0xffff
    if check == "partial":
        c = fold(pseudo)
    elif check is not None:
        c = check
    return h[:6] + struct.pack(">H", c) + payload


def ip4(payload=b"hello", frag=0, options=b"", total=None, tos=0x2c, **kw):
    src, dst = bytes([10, 0, 1, 1]), bytes([10, 255, 255, 1])
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


frames()
updates()
streams()
numbers()
captures()
filters()
stores()
