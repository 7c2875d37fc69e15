"""path_seeds.py - make seeds of a switch in the path: frames from a packet socket,
and the kernel's messages about interfaces and neighbours."""
import struct

from corpus_file import put
from packet_seeds import MACS, eth, ip4, ip6, update


def frame(name, data, flags=0, gso=0, size=0, start=34):
    head = struct.pack("<BBHHHH", flags, gso, 42, size, start, 6)
    put("inpath", name, head + data)


def frames():
    one = update(n=100)
    run = one * 7 + update(n=20)
    frame("update", eth(ip4(payload=one)))
    frame("update-unfinished", eth(ip4(payload=one, check="partial")), 1)
    frame("update-v6", eth(ip6(payload=one)))
    frame("update-tagged", eth(ip4(payload=one), b"\x81\0\0\7"))
    frame("run", eth(ip4(payload=run, check="partial")), 1, 5, len(one))
    frame("run-v6", eth(ip6(payload=run, check="partial")), 1, 5, len(one))
    frame("run-tagged", eth(ip4(payload=run, check="partial"),
                            b"\x81\0\0\7"), 1, 5, len(one))
    frame("run-of-ones", eth(ip4(payload=run[:900], check="partial")), 1, 5, 1)
    frame("run-of-more", eth(ip4(payload=run, check="partial")), 1, 5, 1)
    frame("run-size-0", eth(ip4(payload=run, check="partial")), 1, 5, 0)
    frame("run-longer", eth(ip4(payload=one, check="partial")), 1, 5, 60000)
    frame("model", eth(ip4(payload=update(kind=2, status=bytes(8)))))
    frame("models", eth(ip4(payload=update(n=9, kind=2, status=bytes(8)) * 5,
                            check="partial")), 1, 5, 32 + 8 + 36)
    frame("weights", eth(ip4(payload=update(kind=3))))
    frame("others", eth(ip4(payload=b"not ours")))
    frame("empty", eth(ip4(payload=b"")))
    frame("options", eth(ip4(payload=one, options=b"\1\1\1\0")))
    frame("length-lies", eth(ip4(payload=one, length=2000)))
    frame("padded", eth(ip4()) + bytes(13))
    frame("arp", MACS + b"\x08\6" + bytes(28))
    frame("elsewhere", b"\2" + bytes(4) + b"\x09" + eth(ip4(payload=one))[6:])


def attribute(kind, data):
    n = 4 + len(data)
    return struct.pack("<HH", n, kind) + data + bytes(-n % 4)


def message(kind, data, n=None):
    return struct.pack("<IHHII", 16 + len(data) if n is None else n, kind, 0,
                       1, 0) + data


def link(*attributes, kind=16, family=7):
    return message(kind, struct.pack("<BBHiII", family, 0, 1, 9, 0x10001, 0)
                   + b"".join(attributes))


def neighbour(*attributes, kind=28, family=7):
    return message(kind, struct.pack("<BBHiHBB", family, 0, 0, 9, 2, 0, 0)
                   + b"".join(attributes))


def netlinks():
    mac = attribute(1, bytes([2, 0, 0, 0, 0, 1]))
    port = attribute(0x8000 | 12, attribute(1, b"\3") + attribute(33, b"\1"))
    info = attribute(18, attribute(1, b"bridge\0") +
                     attribute(2, attribute(7, b"\1")))
    good = [
        ("port", link(attribute(3, b"p0\0"), mac, attribute(10, b"\7\0\0\0"),
                      port)),
        ("bridge", link(attribute(3, b"br0\0"), mac, info, family=0)),
        ("port-gone", link(attribute(3, b"p0\0"), kind=17)),
        ("behind", neighbour(attribute(2, bytes(6)), attribute(9, bytes(4)),
                             attribute(5, b"\7\0"))),
        ("host", neighbour(attribute(1, bytes(4)), attribute(2, bytes(6)),
                           family=2)),
        ("host-v6", neighbour(attribute(1, bytes(16)), attribute(2, bytes(6)),
                              family=10)),
        ("host-gone", neighbour(attribute(1, bytes(4)), kind=29, family=2))]
    for name, data in good:
        put("netlink", name, data)
        put("netlink", name + "-cut", data[:-3])
    put("netlink", "all", b"".join(d for _, d in good) + message(3, bytes(4)))
    put("netlink", "length-0", message(16, bytes(16), 0))
    put("netlink", "length-lies", message(16, bytes(16), 4000))
    put("netlink", "name-long", link(attribute(3, b"x" * 40)))
    put("netlink", "attribute-0", link(struct.pack("<HH", 0, 3)))
    put("netlink", "attribute-lies", link(struct.pack("<HH", 99, 3)))
    put("netlink", "short", message(16, bytes(3)))
    put("netlink", "empty", b"")


def paths():
    frames()
    netlinks()
