"""frame_seeds.py - make seeds that are frames, of any link layer, with one datagram
or several; and functions for other seeds."""
import struct

from corpus_file import put


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
        "ipv6": 8, "sll2": 9, "unknown": 10, "ppp": 11, "hdlc": 12,
        "pppoe": 13, "wifi": 14, "radiotap": 15}
SNAP = b"\xaa\xaa\3\0\0\0\x08\0"


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
    frame("ppp", "ppp", b"\0\x21" + ip4())
    frame("ppp-short-protocol", "ppp", b"\x57" + ip6())
    frame("ppp-lcp", "ppp", b"\xff\3\xc0\x21" + bytes(40))
    frame("ppp-hdlc", "hdlc", b"\xff\3\0\x21" + ip4())
    frame("ppp-cisco", "hdlc", b"\x0f\0\x08\0" + ip4())
    frame("pppoe", "pppoe", b"\x11\0\0\1\0\x40\0\x21" + ip4())
    frame("wifi", "wifi", b"\x08\1" + bytes(22) + SNAP + ip4())
    frame("wifi-qos-htc-4", "wifi", b"\x88\x83" + bytes(34) + SNAP + ip4())
    frame("wifi-encrypted", "wifi", b"\x08\x41" + bytes(22) + SNAP + ip4())
    frame("wifi-beacon", "wifi", b"\x80\0" + bytes(60))
    frame("radiotap", "radiotap", b"\0\0\x08\0\0\0\0\0\x08\1" + bytes(22)
          + SNAP + ip4())
    frame("radiotap-padded", "radiotap", b"\0\0\x19\0\3\0\0\x80" + bytes(16)
          + b"\x20\x88\1" + bytes(26) + SNAP + ip4())
    frame("radiotap-length-lies", "radiotap", b"\0\0\xff\xff" + bytes(60))
    frame("update", "ethernet", eth(ip4(payload=update())))


def several():
    """Write codepoint and link, cut, frame: see tests/fuzz/split.c."""
    def put_frame(name, how, payloads, cut=0, **kw):
        kw.setdefault("check", "partial")
        kw["tos"] = [0x2c, 0x1c, 0x0c, 0][how & 3]
        whole = eth(ip4(payload=b"".join(payloads), **kw))
        put("split", name, bytes([how, cut]) + whole[:len(whole) - 4 * cut])

    def seg(index, iteration=7, n=4):
        return struct.pack(">Q", iteration << 40 | 1 << 24 | index) \
            + struct.pack("<%df" % n, *range(n))

    def help_(xid):
        return struct.pack(">BBHIQ", 6, 0, 1, xid, 7)
    put_frame("updates", 0, [update()] * 9)
    put_frame("updates-shorter-last", 0, [update()] * 3 + [update(2)])
    put_frame("updates-no-checksum", 0, [update()] * 9, check=0)
    put_frame("updates-sealed", 0, [update()] * 9, check=None)
    put_frame("updates-lengths-0", 0, [update()] * 9, total=0, length=0)
    put_frame("updates-length-of-first", 0, [update()] * 9, length=56)
    put_frame("updates-cut", 0, [update()] * 9, cut=80)
    put_frame("parts", 0, [update(4, following=k, elements=40)
                           for k in range(9, 0, -1)])
    put_frame("parts-cut", 0, [update(4, following=k, elements=40)
                               for k in range(9, 0, -1)], cut=105)
    put_frame("cannot", 0, [update(), bytes(70)])
    put_frame("ones", 0, [b"\1" * 2000])
    put_frame("segments", 1, [seg(k) for k in range(9)])
    put_frame("segments-next-vector", 1, [seg(9), seg(0, 8), seg(1, 8, 2)])
    put_frame("segment", 1, [seg(9, n=100)])
    put_frame("segments-any-order", 1, [seg(k, n=366) for k in (3, 1, 2)])
    put_frame("controls", 2, [help_(k) for k in range(9)])
    put_frame("dlp", 3, [bytes(30)] * 9)
    put("split", "raw", b"\4\0" + ip4(payload=update() * 5,
                                      check="partial"))
    put("split", "v6", b"\0\0" + eth(ip6(payload=update() * 5,
                                         check="partial")))
